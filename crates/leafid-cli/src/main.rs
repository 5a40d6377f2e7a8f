//! The `leafid` command: parses the command line and runs one file per subcommand.
//!
//! Exit codes: 0 done, 1 failed or a check found something wrong, 2 invalid command line. Answers
//! go to standard output, everything else to standard error.

mod audit;
mod bench;
mod completions;
mod config;
mod decode;
mod health;
mod man;
mod next;
mod quota;
mod serve;
mod store;
mod tag;
mod worker;

// What the subcommands share.
mod client;
mod failure;
mod flags;
mod format_key;
mod log;
mod output;
mod shard;
mod source;
mod target;
mod tls;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Outcome;

const EXAMPLES: &str = "\
Examples:
  leafid serve                          serve ids on http://127.0.0.1:8080
  leafid next order -n 3                take three ids of the tag `order`
  leafid decode 1169786042799259000     decode a snowflake id
  leafid tag list                       show the tags of the running server
  leafid config show --origin           show every setting, and where it comes from";

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed, or a check found something wrong; 2 invalid command line.
Errors go to standard error, each with what to do next.
";

/// Unique ids across servers.
#[derive(Parser)]
#[command(name = "leafid", version, before_help = EXAMPLES, after_help = EXIT_CODES)]
#[command(arg_required_else_help = true, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::Serve),
    Next(next::Next),
    Decode(decode::Decode),
    FormatKey(format_key::FormatKey),
    #[command(subcommand)]
    Tag(tag::Tags),
    #[command(subcommand)]
    Worker(worker::Workers),
    #[command(subcommand)]
    Quota(quota::Quotas),
    Audit(audit::Audit),
    Health(health::Health),
    #[command(subcommand)]
    Store(store::Stores),
    #[command(subcommand)]
    Config(config::Configs),
    Bench(bench::Bench),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    fn run(self) -> Outcome {
        match self {
            Self::Serve(serve) => serve.run(),
            Self::Next(next) => next.run(),
            Self::Decode(decode) => decode.run(),
            Self::FormatKey(format_key) => format_key.run(),
            Self::Tag(tags) => tags.run(),
            Self::Worker(workers) => workers.run(),
            Self::Quota(quotas) => quotas.run(),
            Self::Audit(audit) => audit.run(),
            Self::Health(health) => health.run(),
            Self::Store(stores) => stores.run(),
            Self::Config(configs) => configs.run(),
            Self::Bench(bench) => bench.run(),
            Self::Completions(completions) => completions.run(),
            Self::Man(man) => man.run(),
        }
    }
}

fn main() -> ExitCode {
    let Arguments { command } = Arguments::parse();
    match command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
