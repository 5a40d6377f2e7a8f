//! The journal in a file: durable, complete, and of one process.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use leafid::WorkerId;
use leafid::blocking::block_on;
use leafid::store::{Journal, JournalLease, JournalRecord, JournalRegistry};
use leafid_stores::FileJournal;
use tempfile::TempDir;

use crate::{chain, runtime};

fn record(below_ms: u64) -> JournalRecord {
    JournalRecord {
        registry: Some(JournalRegistry {
            identity: "0a1b/shop".into(),
            location: "redis://db pool shop".into(),
        }),
        lease: Some(JournalLease {
            worker: WorkerId::new(3),
            epoch: 7,
            nonce: 0x1f,
            until_ms: 1_900_003_600_000,
            acknowledged: true,
            below_ms,
            written_ms: 1_900_000_000_000,
        }),
        ..JournalRecord::new("6f1c", "leaf")
    }
}

fn path_in(folder: &TempDir) -> PathBuf {
    folder.path().join("data/deep/worker.journal")
}

/// Guards that a path of the journal at which something else is does not block its caller.
#[test]
fn what_is_not_a_regular_file_is_refused() {
    for ending in ["", ".lock"] {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("worker.journal");
        let path = folder.path().join(format!("worker.journal{ending}"));
        let check = || {
            let text = chain(&FileJournal::open(&journal).unwrap_err());
            assert!(text.contains("cannot open the journal"), "{text}");
            assert!(text.contains("it is not a regular file"), "{text}");
        };
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        check();
        fs::remove_file(&path).unwrap();
        symlink("/dev/zero", &path).unwrap();
        check();
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        check();
    }
}

/// Opens a journal that was closed just now. A child that another test starts at this moment has its
/// lock until it runs a program of its own.
fn reopen(path: &Path) -> FileJournal {
    for _ in 0..1000 {
        match FileJournal::open(path) {
            Err(error) if error.to_string().contains("another leafid process") => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            opened => return opened.unwrap(),
        }
    }
    panic!("{} stays locked", path.display());
}

fn refusal(path: &Path) -> String {
    chain(&FileJournal::open(path).unwrap_err())
}

/// Guards that the next process finds the record, and that there is none before the first.
#[tokio::test]
async fn a_record_outlives_its_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(&folder);
    let journal = FileJournal::open(&path).unwrap();
    assert_eq!(journal.read().await.unwrap(), None);
    for below_ms in 1..20 {
        journal.write(&record(below_ms)).await.unwrap();
        assert_eq!(journal.read().await.unwrap(), Some(record(below_ms)));
    }
    drop(journal);
    let journal = reopen(&path);
    assert_eq!(journal.read().await.unwrap(), Some(record(19)));
}

/// Guards that a journal works without a runtime too, as the library does.
#[test]
fn a_journal_needs_no_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::open(path_in(&folder)).unwrap();
    block_on(journal.write(&record(1))).unwrap();
    assert_eq!(block_on(journal.read()).unwrap(), Some(record(1)));
}

/// Each of the two slots of a record.
const PLACES: [usize; 2] = [0, 4096];

/// Guards that a damaged record never counts as missing, whatever byte it is; and that one damaged
/// slot does no harm, because the other has the same record.
#[tokio::test]
async fn damage_in_both_places_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(&folder);
    let journal = FileJournal::open(&path).unwrap();
    journal.write(&record(5)).await.unwrap();
    let good = fs::read(&path).unwrap();
    let spoiled = |places: &[usize], at: usize| {
        let mut bytes = good.clone();
        places.iter().for_each(|place| bytes[place + at] ^= 1);
        bytes
    };
    let len = good.iter().position(|byte| *byte == 0).unwrap();
    for at in 0..len {
        for place in PLACES {
            fs::write(&path, spoiled(&[place], at)).unwrap();
            assert_eq!(
                journal.read().await.unwrap(),
                Some(record(5)),
                "{place} {at}"
            );
        }
    }
    let others = [vec![b'\n'; 10_000], good[..20].to_vec(), good[1..].to_vec()];
    for bytes in (0..len).map(|at| spoiled(&PLACES, at)).chain(others) {
        fs::write(&path, &bytes).unwrap();
        let error = journal.read().await.unwrap_err();
        assert!(error.to_string().contains("move the file away"), "{error}");
        assert!(error.to_string().contains("worker.journal"), "{error}");
        assert!(!error.is_retryable());
    }
    fs::write(&path, &good).unwrap();
    assert_eq!(journal.read().await.unwrap(), Some(record(5)));
}

/// Guards that a journal of the first version is used, and is complete at each moment of the
/// upgrade.
#[tokio::test]
async fn a_journal_of_the_first_version_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(&folder);
    let old = "leafid-journal 1\nholder 6f1c\nlayout leaf\nworker 3\nepoch 7\n\
        until_ms 1900003600000\nacknowledged true\nbelow_ms 5\nwritten_ms 1900000000000\n\
        crc32 e8a987cb\n";
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, old).unwrap();
    let lock = fs::File::create(path.with_extension("journal.lock")).unwrap();
    lock.lock().unwrap();
    let refused = refusal(&path);
    assert!(refused.contains("another leafid process"), "{refused}");
    drop(lock);
    let journal = reopen(&path);
    let found = journal.read().await.unwrap().unwrap();
    let lease = found.lease.unwrap();
    assert_eq!((found.registry, lease.nonce, lease.below_ms), (None, 0, 5));
    journal.write(&record(6)).await.unwrap();
    drop(journal);
    let journal = reopen(&path);
    assert_eq!(journal.read().await.unwrap(), Some(record(6)));
}

/// Guards that a copy of a journal only gives a right to times above those in it.
#[tokio::test]
async fn a_copy_is_known_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(&folder);
    let journal = FileJournal::open(&path).unwrap();
    journal.write(&record(5)).await.unwrap();
    drop(journal);
    let copy = folder.path().join("copied.journal");
    fs::copy(&path, &copy).unwrap();
    let copied = reopen(&copy).read().await.unwrap();
    assert_eq!(copied, Some(record(5).of_copy()));
    // Moved, it is the same file.
    let moved = folder.path().join("moved.journal");
    fs::rename(&path, &moved).unwrap();
    let journal = reopen(&moved);
    assert_eq!(journal.read().await.unwrap(), Some(record(5)));
}

/// Guards that two servers never share a journal, in one process or in two.
#[test]
fn a_second_process_is_refused() {
    const PATH: &str = "LEAFID_TEST_JOURNAL";
    if let Some(path) = std::env::var_os(PATH) {
        let opened = FileJournal::open(path);
        eprintln!("opened: {:?}", opened.map_err(|error| chain(&error)).err());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(&folder);
    let other = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "journal::a_second_process_is_refused"]);
        command.arg("--nocapture").env(PATH, &path);
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    let journal = FileJournal::open(&path).unwrap();
    let wanted = format!("another leafid process uses the journal {}", path.display());
    assert!(refusal(&path).contains(&wanted), "{}", refusal(&path));
    assert!(other().contains(&wanted), "{}", other());
    drop(journal);
    assert!(other().contains("opened: None"), "{}", other());
    drop(reopen(&path));
}

/// Guards that a running server notices when its file is removed or replaced, because a second
/// server could start there; and that it continues when the file is back.
#[tokio::test]
async fn a_file_that_is_not_in_its_place_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(&folder);
    let aside = folder.path().join("aside");
    let journal = FileJournal::open(&path).unwrap();
    journal.write(&record(5)).await.unwrap();
    let check = async |text: &str| {
        let error = journal.write(&record(6)).await.unwrap_err();
        assert!(
            error.is_retryable() && error.to_string().contains(text),
            "{error}"
        );
    };
    fs::rename(&path, &aside).unwrap();
    check("was removed").await;
    fs::copy(&aside, &path).unwrap();
    check("was replaced").await;
    fs::rename(&aside, &path).unwrap();
    journal.write(&record(7)).await.unwrap();
    assert_eq!(journal.read().await.unwrap(), Some(record(7)));
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    check("was removed").await;
}

/// Guards that a call whose caller gave up never replaces what a later one wrote.
#[test]
fn a_late_write_replaces_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::open(path_in(&folder)).unwrap();
    let (early, late) = (record(5), record(6));
    runtime().block_on(async {
        let waiting = journal.write(&early);
        journal.write(&late).await.unwrap();
        waiting.await.unwrap();
        assert_eq!(journal.read().await.unwrap(), Some(late));
    });
}
