//! The journal in a file: durable, whole, and of one process.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use leafid::WorkerId;
use leafid::blocking::block_on;
use leafid::store::{Journal, JournalLease, JournalRecord, StoreError};
use leafid_stores::FileJournal;
use tempfile::TempDir;

use crate::{chain, runtime};

fn record(below_ms: u64) -> JournalRecord {
    JournalRecord {
        holder: "6f1c".into(),
        layout: "leaf".into(),
        lease: Some(JournalLease {
            worker: WorkerId::new(3),
            epoch: 7,
            until_ms: 1_900_003_600_000,
            acknowledged: true,
            below_ms,
            written_ms: 1_900_000_000_000,
        }),
    }
}

fn path_in(folder: &TempDir) -> PathBuf {
    folder.path().join("data/deep/worker.journal")
}

fn new_of(path: &Path) -> PathBuf {
    path.with_extension("journal.new")
}

fn refusal(path: &Path) -> String {
    chain(&FileJournal::open(path).unwrap_err())
}

/// Guards that a record is there for the next process, and none before the first.
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
    let journal = FileJournal::open(&path).unwrap();
    assert_eq!(journal.read().await.unwrap(), Some(record(19)));
    assert!(!new_of(&path).exists());
}

/// Guards that a journal works without a runtime too, as the library does.
#[test]
fn a_journal_needs_no_runtime() {
    let folder = tempfile::tempdir().unwrap();
    let journal = FileJournal::open(path_in(&folder)).unwrap();
    block_on(journal.write(&record(1))).unwrap();
    assert_eq!(block_on(journal.read()).unwrap(), Some(record(1)));
}

/// Guards that a damaged record is never taken for a missing one, whatever byte it is.
#[tokio::test]
async fn damage_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(&folder);
    let journal = FileJournal::open(&path).unwrap();
    journal.write(&record(5)).await.unwrap();
    let good = fs::read(&path).unwrap();
    let damaged = (0..good.len()).map(|at| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    });
    let others = [Vec::new(), vec![b'\n'; 10_000], good[..20].to_vec()];
    for bytes in damaged.chain(others) {
        fs::write(&path, &bytes).unwrap();
        let error = journal.read().await.unwrap_err();
        assert!(error.to_string().contains("move the file away"), "{error}");
        assert!(error.to_string().contains("worker.journal"), "{error}");
        assert!(!error.is_retryable());
    }
    fs::write(&path, &good).unwrap();
    assert_eq!(journal.read().await.unwrap(), Some(record(5)));
}

/// Guards that a process which was killed while it wrote leaves the former record.
#[tokio::test]
async fn half_a_record_is_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(&folder);
    let journal = FileJournal::open(&path).unwrap();
    journal.write(&record(5)).await.unwrap();
    drop(journal);
    fs::write(new_of(&path), "leafid-journal 1\nhol".repeat(100)).unwrap();
    let journal = FileJournal::open(&path).unwrap();
    assert_eq!(journal.read().await.unwrap(), Some(record(5)));
    journal.write(&record(6)).await.unwrap();
    assert_eq!(journal.read().await.unwrap(), Some(record(6)));
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
    drop(FileJournal::open(&path).unwrap());
}

/// Lets one write fail, puts right what was wrong, and expects that the next is refused anyway.
async fn check_no_second_try(spoil: impl Fn(&Path), mend: impl Fn(&Path), reason: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = path_in(&folder);
    let journal = FileJournal::open(&path).unwrap();
    journal.write(&record(5)).await.unwrap();
    spoil(&path);
    let error = journal.write(&record(6)).await.unwrap_err();
    assert!(chain(&error).contains("cannot write the journal"));
    assert!(chain(&error).contains(reason), "{}", chain(&error));
    mend(&path);
    for _ in 0..2 {
        let error = journal.write(&record(7)).await.unwrap_err();
        assert!(matches!(error, StoreError::Unsupported { .. }), "{error:?}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    drop(journal);
    let journal = FileJournal::open(&path).unwrap();
    let kept = journal.read().await.unwrap();
    assert!(kept.is_none() || kept == Some(record(5)), "{kept:?}");
    journal.write(&record(8)).await.unwrap();
    assert_eq!(journal.read().await.unwrap(), Some(record(8)));
}

fn lead_new_to(device: &str) -> impl Fn(&Path) {
    move |path| symlink(device, new_of(path)).unwrap()
}

fn remove_new(path: &Path) {
    fs::remove_file(new_of(path)).unwrap();
}

/// Guards that a full disk ends the writing.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_disk_is_final() {
    check_no_second_try(lead_new_to("/dev/full"), remove_new, "No space left").await;
}

/// Guards that a flush which failed is not tried again: the device takes every byte, and cannot
/// be flushed.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_failed_flush_is_final() {
    check_no_second_try(lead_new_to("/dev/null"), remove_new, "Invalid argument").await;
}

/// Guards that a folder which went away ends the writing, also when another comes in its place.
#[tokio::test]
async fn a_folder_that_went_away_is_final() {
    let folder_of = |path: &Path| path.parent().unwrap().to_owned();
    let remove = |path: &Path| fs::remove_dir_all(folder_of(path)).unwrap();
    let make = |path: &Path| fs::create_dir(folder_of(path)).unwrap();
    check_no_second_try(remove, make, "No such file").await;
}

/// Guards that a call which was given up never replaces what a later one wrote.
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
