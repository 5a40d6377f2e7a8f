//! `Outlet`: writes the lines of the log, and never blocks the server.
//!
//! A thread of its own writes them. The caller waits until its line is written, so that the log is
//! in order and has the last line before an exit; but not for long: the reader of a pipe may hang.
//! Then lines queue up, and are dropped when the queue is full. Lines that cannot be written, as on
//! a full disk, are dropped too. The next line that is written reports how many were dropped.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::Duration;

/// The capacity of the queue, in lines of some hundred bytes each.
const WAITING_MAX: usize = 4096;
/// How long to wait for one line. After one time-out no line is waited for until the queue is
/// empty.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// Queues lines. There is one per process.
#[derive(Clone)]
pub(super) struct Outlet {
    lines: SyncSender<Line>,
    state: Arc<State>,
}

struct Line {
    text: Vec<u8>,
    /// Notified when the line is written.
    out: SyncSender<()>,
}

#[derive(Default)]
struct State {
    /// Waiting for a line has timed out.
    hangs: AtomicBool,
    /// How many lines were dropped since the last one that was written.
    left_out: AtomicU64,
}

impl Outlet {
    /// Starts the thread.
    pub(super) fn to(target: impl Write + Send + 'static) -> io::Result<Self> {
        let (lines, waiting) = mpsc::sync_channel(WAITING_MAX);
        let state = Arc::default();
        let theirs = Arc::clone(&state);
        thread::Builder::new()
            .name("log".into())
            .spawn(move || write_all(target, &waiting, &theirs))?;
        Ok(Self { lines, state })
    }

    fn leave_out(&self) {
        self.state.left_out.fetch_add(1, Ordering::Relaxed);
    }
}

/// Takes a whole line each time, and never fails: a subscriber that gets an error would try to
/// print that instead.
impl Write for Outlet {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let (out, is_out) = mpsc::sync_channel(1);
        let text = line.to_vec();
        if self.lines.try_send(Line { text, out }).is_err() {
            self.leave_out();
        } else if !self.state.hangs.load(Ordering::Relaxed)
            && is_out.recv_timeout(WAIT_MAX) == Err(mpsc::RecvTimeoutError::Timeout)
        {
            self.state.hangs.store(true, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_all(mut target: impl Write, waiting: &Receiver<Line>, state: &State) {
    loop {
        let line = match waiting.try_recv() {
            Ok(line) => line,
            Err(_) => {
                state.hangs.store(false, Ordering::Relaxed);
                let Ok(line) = waiting.recv() else { return };
                line
            }
        };
        if write_one(&mut target, &line.text, state).is_err() {
            state.left_out.fetch_add(1, Ordering::Relaxed);
        }
        // The caller may have stopped waiting.
        let _ = line.out.send(());
    }
}

fn write_one(target: &mut impl Write, text: &[u8], state: &State) -> io::Result<()> {
    let left_out = state.left_out.load(Ordering::Relaxed);
    if left_out > 0 {
        let note = format!("leafid: {left_out} lines of the log could not be written\n");
        target.write_all(note.as_bytes())?;
        state.left_out.fetch_sub(left_out, Ordering::Relaxed);
    }
    target.write_all(text)?;
    target.flush()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::Sender;

    use super::*;

    /// Fails or blocks as the test sets it.
    #[derive(Clone, Default)]
    struct Target {
        text: Arc<Mutex<Vec<u8>>>,
        fails: Arc<AtomicBool>,
        goes_on: Option<Arc<Mutex<Receiver<()>>>>,
    }

    impl Write for Target {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if let Some(goes_on) = &self.goes_on {
                // At the end of the test it no longer blocks.
                let _ = goes_on.lock().unwrap().recv();
            }
            if self.fails.load(Ordering::SeqCst) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.text.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Target {
        fn text(&self) -> String {
            String::from_utf8(self.text.lock().unwrap().clone()).unwrap()
        }
    }

    /// Guards that a full disk loses lines, and nothing else.
    #[test]
    fn lines_that_cannot_be_written_are_counted() {
        let target = Target::default();
        let mut outlet = Outlet::to(target.clone()).unwrap();
        outlet.write_all(b"one\n").unwrap();
        target.fails.store(true, Ordering::SeqCst);
        for _ in 0..3 {
            outlet.write_all(b"lost\n").unwrap();
        }
        target.fails.store(false, Ordering::SeqCst);
        outlet.write_all(b"two\n").unwrap();
        let expected = "one\nleafid: 3 lines of the log could not be written\ntwo\n";
        assert_eq!(target.text(), expected);
    }

    /// Guards that a hanging reader of the log blocks no caller, whatever is logged meanwhile.
    #[test]
    fn a_reader_that_hangs_holds_nobody_up() {
        let (go_on, goes_on): (Sender<()>, _) = mpsc::channel();
        let target = Target {
            goes_on: Some(Arc::new(Mutex::new(goes_on))),
            ..Target::default()
        };
        let mut outlet = Outlet::to(target.clone()).unwrap();
        let lines = WAITING_MAX + 100;
        for number in 0..lines {
            outlet.write_all(format!("{number}\n").as_bytes()).unwrap();
        }
        let left_out = outlet.state.left_out.load(Ordering::Relaxed);
        assert!((90..=100).contains(&left_out), "{left_out}");
        drop(go_on);
        while outlet.state.hangs.load(Ordering::Relaxed) {
            thread::yield_now();
        }
        outlet.write_all(b"last\n").unwrap();
        let text = target.text();
        assert!(
            text.starts_with("0\n") || text.starts_with("leafid: "),
            "{text}"
        );
        assert!(text.ends_with("\nlast\n"), "{text}");
        let kept = u64::try_from(text.lines().count()).unwrap() - 2;
        assert_eq!(kept + left_out, u64::try_from(lines).unwrap());
    }
}
