//! `Rest`: when a thread of connections waits for the next requests, and when it lets some of
//! them gather first.
//!
//! Who sends to a sleeping thread pays for waking it, on a virtual machine more than for sending.
//! A thread that answers faster than its peers ask is asleep whenever one of them asks: it is
//! woken for every few requests, each time at the cost of a peer that has no time to spare. So
//! such a thread, once it has answered several connections in a turn, sleeps by the clock for a
//! moment, in which requests come in without waking anybody. Network cards hold back interrupts
//! for the same reason.
//!
//! Nobody waits for long: [`GATHER`], and what the system needs to wake the thread. It is not done
//! for a few: several connections must have had turns since the thread last rested. A few that
//! send without pause would all stand still in it, and have nothing to send. A thread without time
//! to spare never does it; to know that, it looks for a while, without sleeping by the clock, in
//! each period.

use std::cell::Cell;
use std::thread;
use std::time::Duration;

use leafid::{Clock as _, SystemClock};

/// For how long requests gather.
const GATHER: Duration = Duration::from_micros(40);
/// As many connections with turns since the last rest show that there are requests to gather.
const CONNECTIONS_MIN: u32 = 10;
/// How often the thread looks anew whether it has time to spare, and for how long.
const PERIOD: Duration = Duration::from_millis(40);
const LOOK: Duration = Duration::from_millis(2);
/// It has if it is busy for less than this share of a look, in percent.
const BUSY_MAX_PERCENT: u32 = 75;

thread_local! {
    /// Connections that had turns since the last rest.
    static CONNECTIONS: Cell<u32> = const { Cell::new(0) };
    /// How often this thread went to rest.
    static RESTS: Cell<u32> = const { Cell::new(0) };
    static REST: Cell<Rest> = const { Cell::new(Rest::new()) };
}

/// A connection's turns, on one thread.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// How often the thread had gone to rest when the last turn was counted.
    rests: u32,
}

impl Turns {
    /// Counts the connection, once between two rests.
    #[inline]
    pub(super) fn count(&mut self) {
        let rests = RESTS.get();
        if self.rests != rests {
            self.rests = rests;
            CONNECTIONS.set(CONNECTIONS.get() + 1);
        }
    }
}

/// The thread has nothing left to do.
pub(super) fn begin(clock: &SystemClock) {
    let mut rest = REST.get();
    RESTS.set(RESTS.get().wrapping_add(1));
    if rest.begin(clock.now(), CONNECTIONS.take()) {
        if !rest.is_exact {
            be_exact();
            rest.is_exact = true;
        }
        thread::sleep(GATHER);
    }
    REST.set(rest);
}

/// Something happened.
pub(super) fn end(clock: &SystemClock) {
    let mut rest = REST.get();
    rest.end(clock.now());
    REST.set(rest);
}

/// Linux lets a sleep last 50 us longer unless told otherwise. If it will not be told, requests
/// gather for longer.
fn be_exact() {
    #[cfg(target_os = "linux")]
    let _told = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// How a thread spends its time.
#[derive(Debug, Clone, Copy)]
struct Rest {
    /// When it last went to rest, or came back.
    since: Duration,
    /// When the period began.
    period: Duration,
    /// While it looks whether it has time to spare: for how long it was busy so far.
    busy: Option<Duration>,
    /// What it saw then.
    has_time: bool,
    /// Whether its sleeps are as long as it asks for.
    is_exact: bool,
}

impl Rest {
    const fn new() -> Self {
        Self {
            since: Duration::ZERO,
            period: Duration::ZERO,
            busy: None,
            has_time: false,
            is_exact: false,
        }
    }

    /// Goes to rest after so many connections had turns; whether requests shall gather first.
    fn begin(&mut self, now: Duration, connections: u32) -> bool {
        if now < self.period {
            // Another runtime on the same thread, with a clock of its own.
            *self = Self {
                since: now,
                period: now,
                is_exact: self.is_exact,
                ..Self::new()
            };
        }
        let worked = now.saturating_sub(self.since);
        self.since = now;
        let looked = now.saturating_sub(self.period);
        match &mut self.busy {
            _ if looked >= PERIOD => {
                (self.period, self.busy) = (now, Some(Duration::ZERO));
            }
            Some(busy) => {
                *busy += worked;
                if looked >= LOOK {
                    self.has_time = *busy * 100 < looked * BUSY_MAX_PERCENT;
                    self.busy = None;
                }
            }
            None => {}
        }
        self.has_time && self.busy.is_none() && connections >= CONNECTIONS_MIN
    }

    fn end(&mut self, now: Duration) {
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROSECOND: Duration = Duration::from_micros(1);

    /// Lets a thread work and rest in turns for `PERIOD` three times; how often requests gathered,
    /// and in how many rests.
    fn gathered(work: Duration, rest: Duration, connections: u32) -> (u32, u32) {
        let mut thread = Rest::new();
        let (mut gathered, mut rests) = (0, 0);
        let mut now = Duration::from_secs(1000);
        let end = now + 3 * PERIOD;
        thread.end(now);
        while now < end {
            now += work;
            rests += 1;
            if thread.begin(now, connections) {
                gathered += 1;
                now += GATHER;
            } else {
                now += rest;
            }
            thread.end(now);
        }
        (gathered, rests)
    }

    #[test]
    fn requests_gather_where_there_is_time_to_spare() {
        let (gathered, rests) = gathered(60 * MICROSECOND, 40 * MICROSECOND, 10);
        // All but the looks.
        assert!(gathered * 100 > rests * 80, "{gathered} of {rests}");
        assert!(gathered < rests, "it never looks");
    }

    #[test]
    fn a_thread_without_time_to_spare_goes_on() {
        assert_eq!(gathered(80 * MICROSECOND, 20 * MICROSECOND, 50).0, 0);
    }

    #[test]
    fn a_few_do_not_wait() {
        assert_eq!(gathered(10 * MICROSECOND, 90 * MICROSECOND, 9).0, 0);
    }

    /// Guards: connections that send without pause have many turns, and a nap would stop them all.
    #[test]
    fn a_connection_counts_once_between_two_rests() {
        let clock = SystemClock::new();
        let mut connections = [Turns::default(), Turns::default()];
        for _ in 0..2 {
            begin(&clock);
            for _ in 0..3 {
                connections.iter_mut().for_each(Turns::count);
            }
            assert_eq!(CONNECTIONS.get(), 2);
        }
    }

    /// Guards: a runtime that comes after another on the same thread has a clock of its own.
    #[test]
    fn another_runtime_looks_for_itself() {
        let mut thread = Rest::new();
        let mut now = Duration::from_secs(1000);
        for _ in 0..10_000 {
            now += 20 * MICROSECOND;
            thread.begin(now, 50);
            now += 80 * MICROSECOND;
            thread.end(now);
        }
        assert!(thread.has_time);
        now = Duration::ZERO;
        for _ in 0..10_000 {
            now += 99 * MICROSECOND;
            assert!(!thread.begin(now, 50), "at {now:?}");
            now += MICROSECOND;
            thread.end(now);
        }
    }

    /// Guards that what a thread did long ago does not count.
    #[test]
    fn a_thread_that_becomes_busy_stops() {
        let mut thread = Rest::new();
        let mut now = Duration::from_secs(1000);
        thread.end(now);
        let mut went = |work: Duration, rest: Duration| {
            let mut last = false;
            let end = now + 2 * PERIOD;
            while now < end {
                now += work;
                last = thread.begin(now, 50);
                now += rest;
                thread.end(now);
            }
            last
        };
        assert!(went(20 * MICROSECOND, 80 * MICROSECOND));
        assert!(!went(99 * MICROSECOND, MICROSECOND));
        assert!(went(20 * MICROSECOND, 80 * MICROSECOND));
    }
}
