//! Figures to quote: each scenario runs by name and prints a table.
//!
//! ```text
//! cargo run --release -p leafid-bench -- issue        # in process, beside a bare fetch_add
//! cargo run --release -p leafid-bench -- snowflake    # the same for snowflake ids, and other crates
//! cargo run --release -p leafid-bench -- outage       # a minute without the store
//! cargo run --release -p leafid-bench -- slow-store   # a store that answers in a second
//! cargo run --release -p leafid-bench -- idle-tags    # a million tags, a thousand in use
//! cargo run --release -p leafid-bench -- start        # start to first durable id, memory
//! cargo run --release -p leafid-bench -- opaque       # opaque ids: distinct texts, time
//! cargo run --release -p leafid-bench -- protocols    # each protocol beside others' servers
//! ```
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the table is the product"
)]
#![expect(clippy::panic, reason = "a measurement ends at the first surprise")]
#![expect(clippy::disallowed_methods, reason = "this measures real time")]

mod affinity;
mod at_cap;
mod contest;

mod cpu;
mod echo;
mod h2load;
mod idle_tags;
mod issue;
mod load;
mod machine;
mod opaque;
mod outage;
mod pace;
mod peers;
mod protocols;
mod redis_benchmark;
mod rounds;
mod serve;
mod slow_store;
mod snowflake;
mod start;
mod wrk;

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("issue") => issue::run(),
        Some("snowflake") => snowflake::run(),
        // Started by `snowflake`, once a measurement.
        Some("at-cap") => at_cap::run_child(std::env::args().skip(2)),
        Some("outage") => outage::run(),
        Some("slow-store") => slow_store::run(),
        Some("idle-tags") => idle_tags::run(),
        Some("start") => start::run(),
        Some("opaque") => opaque::run(),
        Some("protocols") => {
            if let Err(usage) = protocols::run(std::env::args().skip(2)) {
                eprintln!("{usage}");
                return ExitCode::from(2);
            }
        }
        // Started by `protocols grpc`.
        Some("grpc-echo") => echo::run_child(std::env::args().skip(2)),
        _ => {
            eprintln!(
                "usage: leafid-bench issue|snowflake|outage|slow-store|idle-tags|start|opaque|protocols"
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// The middle one of several figures.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
