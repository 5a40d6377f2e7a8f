//! What is made of `proto/`: the messages and services of the gRPC front end, the client that its tests
//! use, and the description that reflection answers. All of it is checked in, so that nothing but
//! this test needs a compiler of protocol files, and that one is a crate.
//!
//! Rewritten by `cargo xtask codegen`, as all that is made from something else.

use std::fs;
use std::path::{Path, PathBuf};

use prost::Message as _;

use crate::run::root;

/// The sources, from `proto/`.
const SOURCES: [&str; 2] = ["leafid/v1/ids.proto", "leafid/v1/tags.proto"];
/// What each file of Rust opens with.
const HEADING: &str = "// Made from proto/. Do not edit by hand: run cargo xtask codegen.\n";

/// Who speaks.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Server,
    Client,
}

#[test]
fn the_generated_grpc_code_is_that_of_the_protocol_files() {
    let sources = SOURCES.map(|source| root().join("proto").join(source));
    let files = protox::compile(sources, [root().join("proto")]).unwrap();
    let server = "crates/leafid-server/src/frontends/grpc/generated";
    let client = "crates/leafid-server/tests/it/generated";
    let mut described = files.clone();
    for file in &mut described.file {
        // Comments are for those who read the files.
        file.source_code_info = None;
    }
    let mut stale = Vec::new();
    let mut check = |folder: &str, name: &str, made: Vec<u8>| {
        if !is_current(&root().join(folder).join(name), &made) {
            stale.push(format!("{folder}/{name}"));
        }
    };
    check(server, "leafid.v1.bin", described.encode_to_vec());
    check(server, "leafid.v1.rs", rust(&files, Side::Server));
    check(client, "leafid.v1.rs", rust(&files, Side::Client));
    assert!(
        stale.is_empty(),
        "out of date: {stale:?}; run cargo xtask codegen"
    );
}

/// The messages, and one side of the services.
fn rust(files: &protox::prost_reflect::prost_types::FileDescriptorSet, side: Side) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    tonic_prost_build::configure()
        .build_server(side == Side::Server)
        .build_client(side == Side::Client)
        .build_transport(side == Side::Client)
        .emit_rerun_if_changed(false)
        .out_dir(folder.path())
        .compile_fds(files.clone())
        .unwrap();
    let made = fs::read_to_string(folder.path().join("leafid.v1.rs")).unwrap();
    format!("{HEADING}{made}").into_bytes()
}

/// Compares a file with what it should hold; with `LEAFID_UPDATE=1` writes it.
fn is_current(path: &Path, made: &[u8]) -> bool {
    if std::env::var_os("LEAFID_UPDATE").is_some() {
        fs::create_dir_all(path.parent().map(PathBuf::from).unwrap_or_default()).unwrap();
        fs::write(path, made).unwrap();
    }
    fs::read(path).unwrap_or_default() == made
}
