//! The server's front ends beside others' servers: each scenario prints a table, with what must be
//! reached and whether it is.

mod formats;
mod grpc;
mod http;
mod idle;
mod open_loop;
mod paced;
mod resp;
mod start;

use std::process::Command;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::affinity::Core;
use crate::contest::Length;
use crate::machine;

type Scenario = fn(&Settings);

const SCENARIOS: [(&str, Scenario); 9] = [
    ("http", http::run),
    ("pipelined", http::run_pipelined),
    ("resp", resp::run),
    ("grpc", grpc::run),
    ("formats", formats::run),
    ("paced", paced::run),
    ("open-loop", open_loop::run),
    ("idle", idle::run),
    ("start", start::run),
];

/// What was asked for on the command line.
#[derive(Debug, Default)]
struct Settings {
    rounds: Option<usize>,
    seconds: Option<f64>,
}

impl Settings {
    fn length(&self, rounds: usize, slice: Duration) -> Length {
        Length {
            rounds: self.rounds.unwrap_or(rounds),
            slice: self.seconds.map_or(slice, Duration::from_secs_f64),
        }
    }
}

/// Runs the scenarios that are named, or all; `Err`: the usage.
pub(crate) fn run(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    let (settings, chosen) = parse(arguments).ok_or_else(usage)?;
    build_server();
    Core::LOAD.stay();
    raise_file_limit();
    machine::print();
    for (name, scenario) in chosen {
        println!("## {name}\n");
        scenario(&settings);
        println!();
    }
    Ok(())
}

/// Under cargo, the server that is measured is built first: an old one would be measured in
/// silence. Alone, as its users build it, so that no other crate's wishes for features change it.
fn build_server() {
    let Some(cargo) = std::env::var_os("CARGO") else {
        return;
    };
    let mut command = Command::new(cargo);
    let built = command
        .args(["build", "--release", "-p", "leafid-cli"])
        .status();
    assert!(
        built.is_ok_and(|status| status.success()),
        "cannot build leafid"
    );
}

fn usage() -> String {
    let names = SCENARIOS.map(|(name, _)| name).join("|");
    format!("usage: leafid-bench protocols [{names}]... [--rounds N] [--seconds S]")
}

fn parse(
    mut arguments: impl Iterator<Item = String>,
) -> Option<(Settings, Vec<(&'static str, Scenario)>)> {
    let (mut settings, mut chosen) = (Settings::default(), Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => settings.rounds = Some(arguments.next()?.parse().ok()?),
            "--seconds" => settings.seconds = Some(arguments.next()?.parse().ok()?),
            name => chosen.push(*SCENARIOS.iter().find(|(known, _)| *known == name)?),
        }
    }
    if chosen.is_empty() {
        chosen.extend(SCENARIOS);
    }
    let is_sound = settings.rounds != Some(0) && settings.seconds.is_none_or(|time| time > 0.0);
    is_sound.then_some((settings, chosen))
}

/// As many open files as the system lets this process and its children have.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // Where it is not granted, connecting says so.
    let _ = setrlimit(Resource::Nofile, raised);
}
