//! Guards the promise when the embedded store's files are removed, replaced, restored from an older
//! copy or not flushed, by hand or by a disk fault, on the real binary. Ids are compared over the
//! server and all that come after it.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::{TempDir, tempdir};

use crate::server_process::{Run, Server, command, finish, ids, run, until};

const SETTINGS: [&str; 3] = ["--snowflake=false", "--policy=fixed", "--step=1000"];
const BATCH: &str = "/v1/tags/order/ids?count=1000";
const BATCHES_MAX: usize = 20;

/// All issued ids.
#[derive(Default)]
struct Given {
    ids: HashSet<u64>,
    twice: usize,
}

impl Given {
    fn add(&mut self, ids: impl IntoIterator<Item = u64>) -> usize {
        let before = self.ids.len() + self.twice;
        for id in ids {
            if !self.ids.insert(id) {
                self.twice += 1;
            }
        }
        self.ids.len() + self.twice - before
    }

    /// Takes batches until one is refused; returns how many ids came.
    fn take_all(&mut self, server: &Server) -> usize {
        let batches = (0..BATCHES_MAX).map_while(|_| match server.get(BATCH) {
            (200, body) => Some(self.add(ids(&body))),
            _ => None,
        });
        batches.sum()
    }

    /// Takes ids directly from the file, as a later process does.
    fn take_after(&mut self, folder: &Path) -> Run {
        let next = ["next", "order", "-n", "9000", "--data-dir", "leafid-data"];
        let run = run(folder, &next);
        self.add(run.out.lines().map(|line| line.parse().unwrap()));
        run
    }
}

fn file(folder: &Path, ending: &str) -> PathBuf {
    folder.join(format!("leafid-data/leafid.db{ending}"))
}

/// A server that has issued ids, and those ids.
fn used(folder: &TempDir) -> (Server, Given) {
    let server = Server::start(folder.path(), &SETTINGS);
    let mut given = Given::default();
    for _ in 0..5 {
        assert_eq!(given.add(ids(&server.get(BATCH).1)), 1000);
    }
    (server, given)
}

/// Does something to the files of a running server, and counts repeats: from the server itself,
/// from a process beside it, and from one after it was killed.
fn check_deed(name: &str, wanted: &str, deed: impl FnOnce(&Path)) {
    let folder = tempdir().unwrap();
    let (server, mut given) = used(&folder);
    deed(folder.path());
    given.take_all(&server);
    let beside = given.take_after(folder.path());
    given.take_all(&server);
    let (status, told) = server.get(BATCH);
    let (ready, why) = server.get("/readyz?verbose");
    server.kill();
    let after = given.take_after(folder.path());
    println!("{name}: {} ids, {} twice", given.ids.len(), given.twice);
    assert_eq!(given.twice, 0, "{name}: {beside:?} {after:?}");
    assert_eq!((status, ready), (503, 503), "{name}: {told} {why}");
    assert!(told.contains(wanted), "{name}: {told}");
    assert!(told.contains("start this program again"), "{name}: {told}");
    assert!(why.contains(wanted), "{name}: {why}");
}

/// Copies the whole store to a folder from which `restore` puts it back.
fn copy(folder: &Path) {
    for ending in ["", "-wal"] {
        fs::copy(file(folder, ending), folder.join(format!("old{ending}"))).unwrap();
    }
}

#[test]
fn a_file_that_is_removed_gives_no_id_twice() {
    check_deed("removed", "was removed while it was in use", |folder| {
        for ending in ["", "-wal", "-shm"] {
            fs::remove_file(file(folder, ending)).unwrap();
        }
    });
}

#[test]
fn a_file_that_is_renamed_gives_no_id_twice() {
    check_deed("renamed", "was removed while it was in use", |folder| {
        fs::rename(file(folder, ""), folder.join("leafid-data/other.db")).unwrap();
    });
}

#[test]
fn a_lost_write_ahead_log_gives_no_id_twice() {
    check_deed("-wal removed", "leafid.db-wal was removed", |folder| {
        fs::remove_file(file(folder, "-wal")).unwrap();
    });
}

/// The same for a store that is reached through a link: the log lies beside the file itself.
#[test]
fn a_lost_write_ahead_log_behind_a_link_gives_no_id_twice() {
    let folder = tempdir().unwrap();
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).unwrap();
    fs::create_dir(folder.path().join("leafid-data")).unwrap();
    fs::File::create(disk.join("leafid.db")).unwrap();
    symlink(disk.join("leafid.db"), file(folder.path(), "")).unwrap();
    let (server, mut given) = used(&folder);
    for ending in ["-wal", "-shm"] {
        fs::remove_file(disk.join(format!("leafid.db{ending}"))).unwrap();
    }
    given.take_all(&server);
    let beside = given.take_after(folder.path());
    given.take_all(&server);
    let told = server.get(BATCH).1;
    server.kill();
    println!(
        "behind a link: {} ids, {} twice",
        given.ids.len(),
        given.twice
    );
    assert_eq!(given.twice, 0, "{beside:?}");
    assert!(told.contains("disk/leafid.db-wal was removed"), "{told}");
}

/// Guards a second name of the file: a process that uses it has another write-ahead log.
#[test]
fn a_file_with_two_names_gives_no_id_twice() {
    let folder = tempdir().unwrap();
    let (server, mut given) = used(&folder);
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::hard_link(file(folder.path(), ""), other.join("leafid.db")).unwrap();
    given.take_all(&server);
    let next = ["next", "order", "-n", "9000", "--data-dir", "other"];
    let beside = run(folder.path(), &next);
    given.add(beside.out.lines().map(|line| line.parse().unwrap()));
    given.take_all(&server);
    server.kill();
    let after = given.take_after(folder.path());
    println!("two names: {} ids, {} twice", given.ids.len(), given.twice);
    assert_eq!(given.twice, 0, "{beside:?} {after:?}");
    beside.check_failed(1, "has 2 names (hard links)", "");
    after.check_failed(1, "has 2 names (hard links)", "");
    fs::remove_file(other.join("leafid.db")).unwrap();
    given.take_after(folder.path()).ok();
    assert_eq!(given.twice, 0);
}

/// Guards a file that is mounted by itself, as in containers: a process that uses it there has
/// another write-ahead log. The mount is in a namespace, which needs no privileges.
#[test]
fn a_file_that_is_mounted_by_itself_gives_no_id_twice() {
    let folder = tempdir().unwrap();
    let (server, mut given) = used(&folder);
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("leafid.db"), "").unwrap();
    let next = ["next", "order", "-n", "9000", "--data-dir", "other"];
    let mount = "mount --bind leafid-data/leafid.db other/leafid.db";
    let hide = "mount -t tmpfs tmpfs /proc";
    let unseen = format!("{mount} && {hide}");
    let cases = [
        (mount, "is mounted by itself"),
        (
            &unseen,
            "cannot be distinguished from one that is mounted by itself",
        ),
    ];
    for (mounts, wanted) in cases {
        let program = command(folder.path(), &next);
        let mut inside = Command::new("unshare");
        let script = format!("{mounts} && echo mounted >&2 && exec \"$0\" \"$@\"");
        inside.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
        inside.arg(program.get_program()).args(program.get_args());
        let beside = finish(inside.current_dir(folder.path()));
        given.add(beside.out.lines().map(|line| line.parse().unwrap()));
        given.take_all(&server);
        println!("{wanted}: {} ids, {} twice", given.ids.len(), given.twice);
        assert_eq!(given.twice, 0, "{beside:?}");
        assert!(beside.errors.starts_with("mounted"), "{beside:?}");
        assert!(beside.errors.contains(wanted), "{beside:?}");
        assert_eq!(beside.code, 1, "{beside:?}");
    }
    server.stop();
}

#[test]
fn lost_shared_memory_gives_no_id_twice() {
    check_deed("-shm removed", "leafid.db-shm was removed", |folder| {
        fs::remove_file(file(folder, "-shm")).unwrap();
    });
}

#[test]
fn an_older_copy_in_place_of_the_file_gives_no_id_twice() {
    let folder = tempdir().unwrap();
    let (server, mut given) = used(&folder);
    copy(folder.path());
    given.take_all(&server);
    for ending in ["", "-wal"] {
        let old = folder.path().join(format!("old{ending}"));
        fs::rename(old, file(folder.path(), ending)).unwrap();
    }
    given.take_all(&server);
    let told = server.get(BATCH).1;
    server.kill();
    let _ = fs::remove_file(file(folder.path(), "-shm"));
    let after = given.take_after(folder.path());
    println!("replaced: {} ids, {} twice", given.ids.len(), given.twice);
    assert_eq!(given.twice, 0, "{after:?}");
    assert!(told.contains("was replaced while it was in use"), "{told}");
    after.check_failed(1, "is an older copy", "");
}

/// Guards the restart after an operator restores a backup by hand: everything was stopped properly.
#[test]
fn an_older_copy_restored_by_hand_is_refused_at_the_next_start() {
    let folder = tempdir().unwrap();
    let (server, mut given) = used(&folder);
    copy(folder.path());
    given.take_all(&server);
    server.kill();
    for ending in ["", "-wal"] {
        let old = folder.path().join(format!("old{ending}"));
        fs::copy(old, file(folder.path(), ending)).unwrap();
    }
    let _ = fs::remove_file(file(folder.path(), "-shm"));
    let after = given.take_after(folder.path());
    println!("put back: {} ids, {} twice", given.ids.len(), given.twice);
    assert_eq!(given.twice, 0, "{after:?}");
    after.check_failed(1, "is an older copy", "");
    let serve = [&["serve", "--http", "127.0.0.1:0"][..], &SETTINGS].concat();
    run(folder.path(), &serve).check_failed(1, "leafid store restore", "");
}

/// Guards that a failed flush is never retried: a second one may succeed although the data is gone.
/// strace makes one flush of the store's thread fail.
#[test]
fn a_flush_that_failed_ends_reservations_until_a_restart() {
    let folder = tempdir().unwrap();
    let (server, mut given) = used(&folder);
    server.kill();
    let server = Server::spawn(folder.path(), &SETTINGS, |command| {
        *command = failing_flush(command, 12);
    });
    server.wait_until_ready();
    // A busy machine may also refuse ids because the next ones are not there yet.
    until("failed flush", || {
        given.take_all(&server);
        let (_, why) = server.get("/readyz?verbose");
        why.contains("start this program again").then_some(())
    });
    let more = given.take_all(&server);
    let (status, told) = server.get(BATCH);
    let (ready, why) = server.get("/readyz?verbose");
    println!("{more} ids after a flush that failed, then {status} {told}");
    assert_eq!((more, status, ready), (0, 503, 503), "{told} {why}");
    assert!(told.contains("what was written last may be lost"), "{told}");
    assert!(why.contains("start this program again"), "{why}");
    server.stop();
    let after = given.take_after(folder.path());
    assert_eq!((after.code, given.twice), (0, 0), "{after:?}");
}

/// The same command, in which the `nth` flush of each thread fails, and no other.
fn failing_flush(command: &Command, nth: u32) -> Command {
    let mut traced = Command::new("strace");
    let inject = format!("inject=fsync,fdatasync:error=EIO:when={nth}");
    traced.args(["-D", "-f", "-qq", "-o", "/dev/null", "-e"]);
    traced.args(["trace=fsync,fdatasync", "-e", &inject]);
    traced.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => traced.env(name, value),
            None => traced.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        traced.current_dir(folder);
    }
    traced
}

/// Guards that no store starts at 1 silently: in another folder, or when the file is gone.
#[test]
fn a_new_store_is_reported_and_a_lost_one_is_refused() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &SETTINGS);
    let path = file(&folder.path().canonicalize().unwrap(), "");
    let place = format!("ids from sqlite:{}", path.display());
    assert!(server.greeting.contains(&place), "{}", server.greeting);
    let log = server.log();
    assert!(
        log.contains("WARN") && log.contains("new store: the file"),
        "{log}"
    );
    server.stop();
    let again = Server::start(folder.path(), &SETTINGS);
    assert!(!again.log().contains("new store"), "{}", again.log());
    again.stop();
    fs::remove_file(file(folder.path(), "")).unwrap();
    let mut serve = command(folder.path(), &["serve", "--http", "127.0.0.1:0"]);
    finish(serve.args(SETTINGS)).check_failed(1, "is another database", "");
}

/// Guards that a server ends with an error that names the path, and never waits, if something else
/// is where one of its files belongs; nor is the store called new then.
#[test]
fn what_is_not_a_regular_file_is_refused() {
    let make: [fn(&Path); 3] = [
        |path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        |path| symlink("/dev/zero", path).unwrap(),
        |path| fs::create_dir(path).unwrap(),
    ];
    for name in ["leafid.db", "leafid.db-mark", "worker.journal"] {
        for make in make {
            let folder = tempdir().unwrap();
            let data = folder.path().join("leafid-data");
            fs::create_dir(&data).unwrap();
            make(&data.join(name));
            let mut serve = command(folder.path(), &["serve", "--http", "127.0.0.1:0"]);
            let ended = finish(&mut serve);
            ended.check_failed(1, "not a regular file", "");
            let names = [name, "/dev/zero"];
            let is_named = names.iter().any(|name| ended.errors.contains(name));
            assert!(is_named, "{ended:?}");
            let is_new = name != "leafid.db";
            assert_eq!(ended.errors.contains("new store"), is_new, "{ended:?}");
        }
    }
}

/// Guards that no other user of the machine can read the server's files.
#[test]
fn files_and_their_folder_are_for_their_owner_alone() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let data = folder.path().join("leafid-data");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    let mut names = Vec::new();
    for entry in fs::read_dir(&data).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        names.push(path.file_name().unwrap().to_string_lossy().into_owned());
    }
    names.sort();
    let wanted = [
        "leafid.db",
        "leafid.db-mark",
        "leafid.db-shm",
        "leafid.db-wal",
    ];
    assert_eq!(names[..4], wanted);
    assert_eq!(names[4], "worker.journal", "{names:?}");
    server.stop();
}

/// Guards that a file which is also the registry of worker ids takes the worker id with it: whoever
/// opens what is there now may be given the same one.
#[test]
fn a_file_that_is_replaced_ends_the_lease_of_its_worker_id() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &["--registry-check=1s"]);
    let path = "/api/snowflake/get/order";
    assert_eq!(server.get(path).0, 200);
    for ending in ["", "-wal", "-shm"] {
        let away = file(folder.path(), ending).with_extension(format!("away{ending}"));
        fs::rename(file(folder.path(), ending), away).unwrap();
    }
    until("snowflake ids end", || {
        (server.get(path).0 != 200).then_some(())
    });
    let (_, worker) = server.get("/v1/worker");
    assert!(
        worker.contains("was removed while it was in use"),
        "{worker}"
    );
    server.kill();
}
