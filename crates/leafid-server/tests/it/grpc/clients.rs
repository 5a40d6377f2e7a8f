//! Guards the gRPC front end against real clients, generated from `proto/` by the tools of their
//! languages: a program in Go and one in Python do the same and print what they saw, which is
//! checked here.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use leafid_server::{Config, Limits, TokenSpec};
use leafid_testbed::{Clients, go_build, install_python, run};
use prost::Message as _;
use prost_types::FileDescriptorSet;
use prost_types::compiler::{CodeGeneratorRequest, CodeGeneratorResponse};
use serde_json::{Value, json};

use super::address;
use crate::test_server::TestServer;

const SECRET: &str = "open sesame";
const SOURCES: [&str; 2] = ["leafid/v1/ids.proto", "leafid/v1/tags.proto"];

#[test]
fn a_program_in_go() {
    let folder = installed("go", install_go);
    check(&mut Command::new(folder.join("program")), "go", "gophers");
}

#[test]
fn a_program_in_python() {
    let folder = installed("python", install_python_and_protocol);
    let mut python = Command::new(folder.join("bin/python"));
    python.arg(clients().source("python").join("check.py"));
    python.env("PYTHONPATH", folder.join("made"));
    check(&mut python, "python", "snakes");
}

/// Guards that the programs of docs/grpc.md run as they are printed, except for the port, the name
/// of the module, and the name that `grpc.NewClient` has in the version of Go's library tested
/// here.
#[test]
fn the_examples_of_the_page_run() {
    let config = Config {
        create_tags: Some(true),
        ..Config::default()
    };
    let server = TestServer::with(&config, Limits::default());
    let example = |language: &str| {
        let page = include_str!("../../../../../docs/grpc.md");
        let (_, rest) = page.split_once(&format!("```{language}\n")).unwrap();
        let (example, _) = rest.split_once("```").unwrap();
        example.replace("localhost:50051", &address(&server).to_string())
    };

    let folder = installed("python", install_python_and_protocol);
    let mut python = Command::new(folder.join("bin/python"));
    python.args(["-c", &example("python")]);
    assert_eq!(run(python.env("PYTHONPATH", folder.join("made"))), "1");

    let folder = installed("go", install_go);
    let package = folder.join("example");
    fs::create_dir_all(&package).unwrap();
    let program = example("go").replace("example.com/shop/", "leafid.test/grpc/");
    let program = program.replace("grpc.NewClient(", "grpc.Dial(");
    fs::write(package.join("main.go"), program).unwrap();
    run(go_build(&folder).args(["-o", "example/program", "./example"]));
    assert_eq!(run(&mut Command::new(package.join("program"))), "2");
}

/// Runs a program to its end, and checks what it saw.
fn check(program: &mut Command, tag: &str, description: &str) {
    let mut token = TokenSpec::new("shop", SECRET);
    token.is_admin = true;
    let config = Config {
        create_tags: Some(true),
        tokens: vec![token],
        ..Config::default()
    };
    let server = TestServer::with(&config, Limits::default());
    program.args([&address(&server).to_string(), SECRET]);
    let printed = run(program);
    let steps: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let expected = [
        ("health", json!("SERVING")),
        ("next", json!(1)),
        ("next many", json!([2, 3, 4])),
        ("range", json!([5, 14, 10])),
        ("decode", json!(["2019-09-06T01:35:00.834Z", 39, 3448])),
        ("stream", json!([[15], [16, 17], "BAD_COUNT", [18]])),
        ("tag", json!([tag, 100, 7, description])),
        ("unknown tag", told("NOT_FOUND", "UNKNOWN_TAG", None)),
        (
            "too many",
            told("INVALID_ARGUMENT", "BAD_COUNT", Some("count")),
        ),
        ("no token", told("UNAUTHENTICATED", "NO_TOKEN", None)),
    ];
    let expected = expected.map(|(step, value)| json!({ "step": step, "value": value }));
    for (step, expected) in steps.iter().zip(&expected) {
        // Go writes a status in its own way.
        let seen = step.to_string().replace("NotFound", "NOT_FOUND");
        let seen = seen.replace("InvalidArgument", "INVALID_ARGUMENT");
        let seen = seen.replace("Unauthenticated", "UNAUTHENTICATED");
        assert_eq!(seen, expected.to_string());
    }
    assert_eq!(steps.len(), expected.len(), "{steps:?}");
}

fn told(code: &str, reason: &str, field: Option<&str>) -> Value {
    let mut told = json!({ "code": code, "reason": reason, "domain": "leafid" });
    if let Some(field) = field {
        told["field"] = json!(field);
    }
    told
}

/// The folder in which a language is installed; again, too, when the protocol changes.
fn installed(language: &str, install: fn(&Path, &Path)) -> PathBuf {
    let protocol = SOURCES.map(|source| protocol().join(source));
    clients().installed(language, &protocol, install)
}

/// The programs of this crate, installed in cargo's folder for tests.
fn clients() -> Clients {
    Clients::new(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients"),
        concat!(env!("CARGO_TARGET_TMPDIR"), "/grpc-clients"),
    )
}

fn protocol() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proto")
}

/// A compiler of protocol files comes with the packages.
fn install_python_and_protocol(source: &Path, folder: &Path) {
    install_python(source, folder);
    let made = folder.join("made");
    fs::create_dir_all(&made).unwrap();
    let mut compiler = Command::new(folder.join("bin/python"));
    compiler.args(["-m", "grpc_tools.protoc", "-I", "."]);
    for out in ["--python_out", "--grpc_python_out"] {
        compiler.arg(format!("{out}={}", made.display()));
    }
    run(compiler.args(SOURCES).current_dir(protocol()));
}

/// The generated code stands beside the program, so that is copied. No compiler of protocol files
/// is needed: its plugins are called as it would call them.
fn install_go(source: &Path, folder: &Path) {
    for name in ["go.mod", "go.sum", "main.go", "plugins.go"] {
        fs::copy(source.join(name), folder.join(name)).unwrap();
    }
    let build = |words: &[&str]| run(go_build(folder).args(words));
    let plugins = [
        "google.golang.org/protobuf/cmd/protoc-gen-go",
        "google.golang.org/grpc/cmd/protoc-gen-go-grpc",
    ];
    for plugin in plugins {
        let (_, name) = plugin.rsplit_once('/').unwrap();
        build(&["-tags", "plugins", "-o", name, plugin]);
        ask_plugin(&folder.join(name), folder);
    }
    build(&["-ldflags", "-s -w", "-o", "program", "."]);
}

/// Has a plugin of the compiler write its files.
fn ask_plugin(plugin: &Path, folder: &Path) {
    let described = include_bytes!("../../../src/frontends/grpc/generated/leafid.v1.bin");
    let module = "leafid.test/grpc";
    let packages = SOURCES.map(|source| format!(",M{source}={module}/leafidv1"));
    let question = CodeGeneratorRequest {
        file_to_generate: SOURCES.map(str::to_owned).into(),
        parameter: Some(format!("module={module}{}", packages.concat())),
        proto_file: FileDescriptorSet::decode(&described[..]).unwrap().file,
        compiler_version: None,
    };
    let mut child = Command::new(plugin)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&question.encode_to_vec()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let answer = CodeGeneratorResponse::decode(&*output.stdout).unwrap();
    assert_eq!(answer.error, None, "{}", plugin.display());
    for file in answer.file {
        let path = folder.join(file.name());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file.content()).unwrap();
    }
}
