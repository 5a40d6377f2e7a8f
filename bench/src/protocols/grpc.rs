//! Unary calls and bidirectional streams beside a bare tonic echo.

use std::time::Duration;

use crate::contest::{self, Case, Goal, Outcome, Slice, yes_or_no};
use crate::echo;
use crate::h2load::H2Load;
use crate::load::{Expected, GrpcStreams};
use crate::median;
use crate::peers::grpc_echo;

use super::Settings;
use super::http::Leafid;

const CONNECTIONS: usize = 8;
const UNARY_IN_FLIGHT: usize = 32;
const STREAM_IN_FLIGHT: usize = 64;
const MESSAGES_MIN: f64 = 2e6;

pub(super) fn run(settings: &Settings) {
    let (echo, leafid) = (grpc_echo(), Leafid::start(&[]));
    let length = settings.length(11, Duration::from_secs(1));
    let h2load = H2Load::new(b't');
    let servers = [
        ("tonic echo", echo.address, echo.process()),
        ("leafid", leafid.serve.grpc, leafid.serve.process()),
    ];
    Outcome::print_head();
    let cases = servers.map(|(name, address, process)| {
        let h2load = &h2load;
        let load = move |time| h2load.run(address, CONNECTIONS, UNARY_IN_FLIGHT, time);
        Case::new(name, process, load)
    });
    let outcome = contest::run(cases.into(), length);
    outcome.print("unary, h2load, 8 connections x 32", Some(Goal::rate(0.9)));

    let expected = [Expected::constant(echo::ID), Expected::ids()];
    let mut streams: Vec<_> = servers
        .iter()
        .zip(expected)
        .map(|((_, address, _), expected)| {
            GrpcStreams::new(*address, CONNECTIONS, STREAM_IN_FLIGHT, expected)
        })
        .collect();
    let cases = servers.iter().zip(&mut streams).map(|(server, streams)| {
        let (name, _, process) = *server;
        Case::new(name, process, move |time| streams.run(time))
    });
    let outcome = contest::run(cases.collect(), length);
    outcome.print(
        "streams, own load, 8 connections x 64",
        Some(Goal::rate(0.9)),
    );
    for streams in &streams {
        assert_eq!(streams.failures(), 0, "a server failed");
    }
    print_verdict(&outcome);
}

/// The rate that must be reached on streams is one of messages, if the echo has it.
fn print_verdict(outcome: &Outcome) {
    let rate = |number: usize| {
        let slices = &outcome.servers[number].1;
        median(slices.iter().map(Slice::rate).collect())
    };
    let (echo, leafid) = (rate(0), rate(1));
    let verdict = match echo >= MESSAGES_MIN {
        true => yes_or_no(leafid >= MESSAGES_MIN),
        false => "the echo has not",
    };
    println!(
        "\nstreams must reach {MESSAGES_MIN:.0} messages/s where the echo has them: {verdict}"
    );
}
