//! `INCR` beside redis-server without persistence.

use std::net::SocketAddr;
use std::time::Duration;

use crate::contest::{self, Case, Goal, Outcome};
use crate::load::{Expected, Load, RespSpeech, Speech as _};
use crate::peers::{Peer, answers_ping, redis_server};
use crate::redis_benchmark::RedisBenchmark;
use crate::serve::Serve;

use super::Settings;
use super::http::Leafid;

const CONNECTIONS: usize = 50;
const KEY: &str = "t";

/// Requests in a batch, and what must be reached under redis-benchmark and under our own load.
const GOALS: [(usize, Goal, Goal); 3] = [
    (1, Goal::both(0.9, 1.0), Goal::rate(1.1)),
    (16, Goal::both(1.1, 0.6), Goal::rate(2.2)),
    (128, Goal::both(2.5, 0.25), Goal::rate(5.0)),
];

pub(super) fn run(settings: &Settings) {
    let redis = redis_server();
    let leafid = Leafid::start(&[]);
    let address = leafid.serve.resp;
    assert!(answers_ping(address), "leafid does not answer on {address}");
    let length = settings.length(11, Duration::from_secs(1));
    Outcome::print_head();
    for (pipelined, goal, _) in GOALS {
        let cases = both(&redis, &leafid.serve).map(|(name, process, address)| {
            let mut benchmark = RedisBenchmark::new(address, pipelined);
            Case::new(name, process, move |time| benchmark.run(time))
        });
        let work = format!("INCR, redis-benchmark -c 50 -P {pipelined}");
        contest::run(cases.into(), length).print(&work, Some(goal));
    }
    for (pipelined, _, goal) in GOALS {
        // Each server counts on from where it is, so nothing may come twice from either.
        let mut loads = both(&redis, &leafid.serve).map(|(_, _, address)| {
            let speech = RespSpeech::new(KEY, Expected::ids());
            Load::connect(address, CONNECTIONS, speech)
        });
        let cases = both(&redis, &leafid.serve).into_iter().zip(&mut loads);
        let cases = cases.map(|((name, process, _), load)| {
            Case::new(name, process, move |time| load.closed(pipelined, time))
        });
        let work = format!("INCR, {pipelined} pipelined, own load, 50 connections");
        contest::run(cases.collect(), length).print(&work, Some(goal));
        for load in &loads {
            assert_eq!(load.speech().expected().failures(), 0, "a server failed");
        }
    }
}

/// Name, process and address of each.
fn both(redis: &Peer, leafid: &Serve) -> [(&'static str, u32, SocketAddr); 2] {
    [
        ("redis-server", redis.process(), redis.address),
        ("leafid", leafid.process(), leafid.resp),
    ]
}
