//! An open loop: requests are due at a fixed rate, whether or not earlier ones were answered.
//!
//! A wait counts from when its request was due, also when no connection was free then; so a
//! server that stalls is not asked less, and its stall is seen in full. The loop never sleeps:
//! waking up would be measured too.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::{ANSWER_MAX, Load, Speech, Tally, own_cpu};

impl<S: Speech> Load<S> {
    /// Asks so many times a second for so long, one request in flight on each connection.
    pub(crate) fn open(&mut self, per_second: u32, time: Duration) -> Tally {
        let request = self.speech.request();
        let mut tally = Tally::new();
        let due_max = time.as_secs() * u64::from(per_second)
            + u64::from(time.subsec_nanos()) * u64::from(per_second) / 1_000_000_000;
        let mut events = Vec::with_capacity(self.connections.len());
        // In turn: a connection that never asks is closed after a time.
        let mut free: VecDeque<usize> = (0..self.connections.len()).collect();
        let (started, cpu) = (Instant::now(), own_cpu());
        let due = |number: u64| {
            started + Duration::from_nanos(number * 1_000_000_000 / u64::from(per_second))
        };
        let (mut asked, mut next) = (0, due(0));
        while tally.answers < due_max {
            let mut now = Instant::now();
            assert!(now < next + ANSWER_MAX, "requests wait in vain");
            while asked < due_max && next <= now {
                let Some(number) = free.pop_front() else {
                    break;
                };
                self.connections[number].ask(&request, 1, next);
                asked += 1;
                next = due(asked);
            }
            self.ready(Duration::ZERO, &mut events);
            for event in &events {
                let number = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
                let answers = self.hear(number) as u64;
                if answers > 0 {
                    now = Instant::now();
                    tally.waited(now - self.connections[number].since);
                    tally.answers += answers;
                    free.push_back(number);
                }
            }
        }
        tally.wall = started.elapsed();
        tally.load_cpu = own_cpu().saturating_sub(cpu);
        tally
    }
}
