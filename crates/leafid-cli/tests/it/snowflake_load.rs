//! `Callers`: clients that constantly request snowflake ids from a server, over Leaf's own route,
//! 10,000 times a second with many requests in flight; and the checks of all answers. The true time
//! is that of the test, whose clock is never set.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use leafid::{Clock, Fields, Layout, Parts, SystemClock, WorkerId};

use crate::server_process::{Server, until};

/// How many requests are sent at once, and how often: 10,000 a second.
const BURST: usize = 100;
const INTERVAL: Duration = Duration::from_millis(10);
/// How much a caller that had to wait catches up.
const LATE_MAX: Duration = Duration::from_millis(500);
/// How long one answer may take; a server that is stopped on purpose takes its time.
const ANSWER_MAX: Duration = Duration::from_secs(60);
const REQUEST: &[u8] = b"GET /api/snowflake/get/order HTTP/1.1\r\nhost: x\r\n\r\n";

/// An id, and the true time around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given {
    pub(crate) id: u64,
    pub(crate) asked_ms: u64,
    pub(crate) told_ms: u64,
}

impl Given {
    pub(crate) fn parts(&self) -> Parts {
        Layout::LEAF.decompose(self.id)
    }

    pub(crate) fn worker(&self) -> u32 {
        self.parts().worker.get()
    }

    /// The time in the id, in milliseconds since 1970-01-01T00:00:00Z.
    pub(crate) fn unix_ms(&self) -> u64 {
        self.parts().unix_ms.unsigned_abs()
    }
}

/// A request that was refused.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) body: String,
}

/// All answers that callers got.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) given: Vec<Given>,
    pub(crate) refused: Vec<Refused>,
}

struct Shared {
    address: Mutex<String>,
    is_stopped: AtomicBool,
    told: Mutex<Told>,
}

/// A caller, until it is stopped.
pub(crate) struct Callers {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Callers {
    /// Starts the callers.
    pub(crate) fn start(server: &Server) -> Self {
        let shared = Arc::new(Shared {
            address: Mutex::new(server.address().to_owned()),
            is_stopped: AtomicBool::new(false),
            told: Mutex::default(),
        });
        let asked = Arc::clone(&shared);
        let thread = Some(thread::spawn(move || ask_until_stopped(&asked)));
        Self { shared, thread }
    }

    /// Asks another server from now on, once the connection to the present one is lost.
    pub(crate) fn turn_to(&self, server: &Server) {
        server
            .address()
            .clone_into(&mut self.shared.address.lock().unwrap());
    }

    pub(crate) fn told(&self) -> MutexGuard<'_, Told> {
        self.shared.told.lock().unwrap()
    }

    /// Waits for this many more ids.
    pub(crate) fn wait_for_ids(&self, count: usize) {
        let wanted = self.told().given.len() + count;
        until("ids", || (self.told().given.len() >= wanted).then_some(()));
    }

    /// Waits for this many more refusals; returns the last one.
    pub(crate) fn wait_for_refusals(&self, count: usize) -> Refused {
        let wanted = self.told().refused.len() + count;
        until("refusals", || {
            let told = self.told();
            let is_there = told.refused.len() >= wanted;
            is_there.then(|| told.refused.last().cloned()).flatten()
        })
    }

    /// Stops the callers.
    pub(crate) fn stop(mut self) -> Told {
        self.shared.is_stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
        std::mem::take(&mut *self.told())
    }
}

impl Drop for Callers {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::Relaxed);
    }
}

fn ask_until_stopped(shared: &Shared) {
    let clock = SystemClock::new();
    let mut connection = None;
    let mut due = clock.now();
    while !shared.is_stopped.load(Ordering::Relaxed) {
        due = (due + INTERVAL).max(clock.now().saturating_sub(LATE_MAX));
        thread::sleep(due.saturating_sub(clock.now()));
        let opened = connection.take().map_or_else(|| connect(shared), Ok);
        // A broken connection is reopened, to wherever the server is by then.
        connection = opened
            .and_then(|opened| ask(opened, shared, &clock))
            .ok()
            .flatten();
    }
}

fn connect(shared: &Shared) -> io::Result<BufReader<TcpStream>> {
    let address = shared.address.lock().unwrap().clone();
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_MAX))?;
    Ok(BufReader::new(stream))
}

type Connection = BufReader<TcpStream>;

/// Sends many requests and reads their answers; `None` if the server has closed the connection.
fn ask(
    mut connection: Connection,
    shared: &Shared,
    clock: &SystemClock,
) -> io::Result<Option<Connection>> {
    let asked_ms = now_ms(clock);
    connection.get_mut().write_all(&REQUEST.repeat(BURST))?;
    for _ in 0..BURST {
        let answer = read_answer(&mut connection)?;
        let told_ms = now_ms(clock);
        let mut told = shared.told.lock().unwrap();
        match answer.body.parse() {
            Ok(id) if answer.status == 200 => told.given.push(Given {
                id,
                asked_ms,
                told_ms,
            }),
            _ => told.refused.push(Refused {
                status: answer.status,
                body: answer.body,
            }),
        }
        drop(told);
        if answer.closes {
            return Ok(None);
        }
    }
    Ok(Some(connection))
}

struct Answer {
    status: u16,
    body: String,
    closes: bool,
}

fn read_answer(connection: &mut Connection) -> io::Result<Answer> {
    let mut line = String::new();
    if connection.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let status = line.split(' ').nth(1).unwrap().parse().unwrap();
    let (mut len, mut closes) = (0, false);
    loop {
        line.clear();
        connection.read_line(&mut line)?;
        let header = line.trim_end().to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length: ") {
            len = value.parse().unwrap();
        }
        closes |= header == "connection: close";
        if header.is_empty() {
            break;
        }
    }
    let mut body = vec![0; len];
    connection.read_exact(&mut body)?;
    Ok(Answer {
        status,
        body: String::from_utf8(body).unwrap(),
        closes,
    })
}

/// The true time, in milliseconds since 1970-01-01T00:00:00Z.
pub(crate) fn now_ms(clock: &SystemClock) -> u64 {
    clock.wall().as_millis().try_into().unwrap()
}

impl Told {
    /// Every request was answered with an id.
    pub(crate) fn check_nothing_refused(&self) {
        assert!(
            self.refused.is_empty(),
            "{} refused: {:?}",
            self.refused.len(),
            self.refused[0]
        );
    }

    /// The time in each id is within a second of the true time.
    pub(crate) fn check_true_times(&self) {
        self.given.iter().for_each(check_true_time);
    }
}

pub(crate) fn check_true_time(given: &Given) {
    const AWAY_MAX_MS: u64 = 1000;
    let allowed = given.asked_ms - AWAY_MAX_MS..=given.told_ms + AWAY_MAX_MS;
    let unix_ms = given.unix_ms();
    assert!(allowed.contains(&unix_ms), "{unix_ms} in {given:?}");
}

/// No id repeats; returns how many there were.
pub(crate) fn check_unique<'a>(given: impl IntoIterator<Item = &'a Given>) -> usize {
    let mut seen = HashMap::new();
    for given in given {
        let before = seen.insert(given.id, given);
        assert!(before.is_none(), "twice: {before:?} and {given:?}");
    }
    seen.len()
}

/// Guards the checks themselves: they must detect a duplicate, and a time that is not true.
#[test]
fn the_checks_see_what_is_wrong() {
    let now_ms = now_ms(&SystemClock::new());
    let given = |time_ms: u64| Given {
        id: Layout::LEAF
            .compose(Fields {
                tick: Layout::LEAF.tick_of(time_ms.cast_signed()).unwrap(),
                worker: WorkerId::new(1),
                sequence: 0,
                shard: 0,
            })
            .get(),
        asked_ms: now_ms,
        told_ms: now_ms,
    };
    let fails =
        |check: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).is_err();
    let right = given(now_ms);
    assert_eq!(check_unique([&right, &given(now_ms + 1)]), 2);
    assert!(fails(&|| assert_eq!(
        check_unique([&right, &given(now_ms)]),
        2
    )));
    check_true_time(&given(now_ms + 900));
    assert!(fails(&|| check_true_time(&given(now_ms + 1100))));
    assert!(fails(&|| check_true_time(&given(now_ms - 1100))));
}
