//! Guards what docs/upgrade.md promises: what a release wrote is read and kept by this version, and
//! what programs use of a release is still there (compatibility). `tests/releases` has a folder for
//! each release:
//!
//! | file | what it is |
//! | --- | --- |
//! | `STORE/written.txt` | all rows or keys in the store or registry |
//! | `STORE/worker.journal`, `STORE/leafid.db-mark` | the files of the data folder, without padding |
//! | `STORE/facts.json` | what the server answered: tags, ids, its worker id |
//! | `surface.txt` | each name and type that programs can use, one a line |
//! | `http.json`, `grpc.json`, `resp.json` | requests and their answers |
//!
//! `LEAFID_RECORD_RELEASE=1 cargo test -p leafid-cli --test it -- releases` writes the folder of
//! this version. Nothing else writes it, and no line of a published release is changed.

mod journal;
mod lines;
mod place;
mod recording;
mod registries;
mod surface;
mod tables;
mod wire;

use std::fs;
use std::path::{Path, PathBuf};

use place::Place;
use recording::{Facts, Recording};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/releases")
}

/// The folders of all releases.
fn releases() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).unwrap();
    let folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert!(!folders.is_empty(), "there is no release to compare with");
    folders
}

/// Where to write the folder of this version; `None`: only compare.
fn to_record() -> Option<PathBuf> {
    std::env::var_os("LEAFID_RECORD_RELEASE")?;
    let folder = folder().join(env!("CARGO_PKG_VERSION"));
    fs::create_dir_all(&folder).unwrap();
    Some(folder)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Writes the file of this version if that is asked for, and hands that of each release to `check`.
fn compare(file: &str, now: &str, check: impl Fn(&str, &str)) {
    if let Some(folder) = to_record() {
        fs::write(folder.join(file), now).unwrap();
    }
    for release in releases() {
        let path = release.join(file);
        check(&read(&path), &path.display().to_string());
    }
}

/// Everything about one kind of store or registry.
fn check_place(new: impl Fn(&Path) -> Box<dyn Place>) {
    let folder = tempfile::tempdir().unwrap();
    let now = Recording::make(&*new(folder.path()), folder.path());
    if let Some(release) = to_record() {
        now.write(&release);
    }
    for release in releases() {
        let recording = Recording::read(&release, now.name);
        // A server of that release beside us has to read what we write.
        lines::check_all_there(&recording.files(), &now.files(), &release);
        let folder = tempfile::tempdir().unwrap();
        let place = new(folder.path());
        recording.put(&*place, folder.path());
        let facts = Facts::parse(&recording.facts);
        facts.check_a_new_server(&*place, folder.path());
        facts.check_the_same_server(&*place, folder.path());
        let written = place.written(folder.path());
        lines::check_all_there(&[recording.written], &[written], &release);
    }
}

#[test]
fn a_sqlite_file_of_each_release_is_read_and_kept() {
    check_place(|folder| Box::new(tables::Sqlite::new(folder)));
}

#[test]
fn a_mariadb_database_of_each_release_is_read_and_kept() {
    check_place(|_| Box::new(tables::MariaDbTables::new()));
}

#[test]
fn a_postgres_database_of_each_release_is_read_and_kept() {
    check_place(|_| Box::new(tables::PostgresTables::new()));
}

#[test]
fn worker_ids_in_redis_of_each_release_are_read_and_kept() {
    check_place(|_| Box::new(registries::RedisKeys::new()));
}

#[test]
fn worker_ids_in_etcd_of_each_release_are_read_and_kept() {
    check_place(|_| Box::new(registries::EtcdKeys::new()));
}

#[test]
fn worker_ids_in_zookeeper_of_each_release_are_read_and_kept() {
    check_place(|_| Box::new(registries::ZooKeeperTree::new()));
}

/// Guards every name and type that programs use: of HTTP, gRPC, the Redis protocol, settings and
/// metrics. New ones may come.
#[test]
fn nothing_that_a_release_offers_is_gone() {
    let now = surface::render();
    compare("surface.txt", &now, |then, release| {
        let gone: Vec<&str> = then
            .lines()
            .filter(|line| !now.lines().any(|other| other == *line))
            .collect();
        assert!(
            gone.is_empty(),
            "{release} has, and now there is not: {gone:#?}"
        );
    });
}

#[test]
fn requests_of_each_release_over_http_are_answered_as_then() {
    wire::check_http();
}

#[test]
fn commands_of_each_release_are_answered_as_then() {
    wire::check_resp();
}

#[test]
fn calls_of_each_release_over_grpc_are_answered_as_then() {
    wire::check_grpc();
}
