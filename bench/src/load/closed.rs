//! A closed loop: a connection asks again as soon as it has all its answers.

use std::time::{Duration, Instant};

use super::{ANSWER_MAX, Load, Speech, Tally, own_cpu};

impl<S: Speech> Load<S> {
    /// Asks for so long, with so many requests in each batch, until the last answer.
    pub(crate) fn closed(&mut self, pipelined: usize, time: Duration) -> Tally {
        let batch = self.speech.request().repeat(pipelined);
        let mut tally = Tally::new();
        let (started, cpu) = (Instant::now(), own_cpu());
        for connection in &mut self.connections {
            connection.ask(&batch, pipelined, started);
        }
        let mut events = Vec::with_capacity(self.connections.len());
        let mut asking = self.connections.len();
        while asking > 0 {
            self.ready(ANSWER_MAX, &mut events);
            assert!(!events.is_empty(), "{asking} connections wait in vain");
            for event in &events {
                let number = usize::try_from(event.data.u64()).unwrap_or(usize::MAX);
                tally.answers += self.hear(number) as u64;
                let connection = &mut self.connections[number];
                if connection.missing > 0 {
                    continue;
                }
                let now = Instant::now();
                tally.waited(now - connection.since);
                if now - started < time {
                    connection.ask(&batch, pipelined, now);
                } else {
                    asking -= 1;
                }
            }
        }
        tally.wall = started.elapsed();
        tally.load_cpu = own_cpu().saturating_sub(cpu);
        tally
    }
}
