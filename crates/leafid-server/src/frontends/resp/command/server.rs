//! Commands about the server: its version, its commands, its time.

use std::fmt::Write as _;

use super::greeting::REDIS_VERSION;
use super::{Command, Group, Kind, Outcome, Turn};
use crate::frontends::resp::args::Args;
use crate::frontends::resp::reply::Reply;
use crate::service::health::Phase;

/// More than the number of commands: a description takes up to 2 KB.
const INFO_NAMES_MAX: usize = 128;

pub(super) fn time(turn: &mut Turn<'_>, _args: Args<'_>) -> Outcome {
    let microseconds = crate::wall_clock::now().as_microsecond();
    turn.reply.array(2);
    turn.reply.bulk_number(microseconds.div_euclid(1_000_000));
    turn.reply.bulk_number(microseconds.rem_euclid(1_000_000));
    Outcome::Done
}

pub(super) fn info(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    let is_loading = turn.context.service.health().phase() == Phase::Starting;
    let all = ["default", "all", "everything"];
    let is_asked = |name: &str| {
        let is_all = args.from(1).any(|asked| {
            let is = |word: &str| asked.eq_ignore_ascii_case(word.as_bytes());
            is(name) || all.into_iter().any(is)
        });
        is_all || args.len() == 1
    };
    let mut text = String::new();
    for (name, lines) in sections(is_loading) {
        if is_asked(name) {
            let (first, rest) = name.split_at(1);
            let gap = if text.is_empty() { "" } else { "\r\n" };
            // Writing to memory does not fail.
            let _written = write!(text, "{gap}# {}{rest}\r\n", first.to_ascii_uppercase());
            text.push_str(&lines);
        }
    }
    turn.reply.verbatim(&text);
    Outcome::Done
}

/// The fields that clients read: the version of Redis it is compatible with, whether it is ready,
/// and that it is standalone.
fn sections(is_loading: bool) -> [(&'static str, String); 5] {
    let version = env!("CARGO_PKG_VERSION");
    let server = format!(
        "redis_version:{REDIS_VERSION}\r\nredis_mode:standalone\r\nleafid_version:{version}\r\n\
         arch_bits:64\r\nprocess_id:{}\r\n",
        std::process::id()
    );
    let persistence = format!("loading:{}\r\nasync_loading:0\r\n", u8::from(is_loading));
    let replication = "role:master\r\nconnected_slaves:0\r\n".to_owned();
    [
        ("server", server),
        ("persistence", persistence),
        ("replication", replication),
        ("cluster", "cluster_enabled:0\r\n".to_owned()),
        ("keyspace", String::new()),
    ]
}

pub(super) fn command(turn: &mut Turn<'_>, _args: Args<'_>) -> Outcome {
    let commands = turn.context.commands;
    turn.reply.array(commands.len());
    for command in commands {
        entry(&mut turn.reply, command);
    }
    Outcome::Done
}

pub(super) fn count(turn: &mut Turn<'_>, _args: Args<'_>) -> Outcome {
    turn.reply
        .number(i64::try_from(turn.context.commands.len()).unwrap_or(i64::MAX));
    Outcome::Done
}

pub(super) fn list(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    if args.len() > 2 {
        return turn.syntax_error();
    }
    let commands = turn.context.commands;
    turn.reply.array(commands.len());
    for command in commands {
        turn.reply.bulk(command.name.as_bytes());
    }
    Outcome::Done
}

pub(super) fn describe(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    if args.len() == 2 {
        return command(turn, args);
    }
    if args.len() - 2 > INFO_NAMES_MAX {
        return turn.fail("ERR COMMAND INFO takes up to 128 names");
    }
    turn.reply.array(args.len() - 2);
    for name in args.from(2) {
        match named(turn.context.commands, name) {
            Some(command) => entry(&mut turn.reply, command),
            None => turn.reply.null(),
        }
    }
    Outcome::Done
}

pub(super) fn docs(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    let is_asked = |command: &&Command| {
        args.len() == 2
            || args
                .from(2)
                .any(|name| name.eq_ignore_ascii_case(command.name.as_bytes()))
    };
    let commands = turn.context.commands;
    let found = || commands.iter().filter(is_asked);
    turn.reply.map(found().count());
    for command in found() {
        document(&mut turn.reply, command);
    }
    Outcome::Done
}

pub(super) fn keys(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    let Some(command) = named(turn.context.commands, args.get(2)) else {
        return turn.fail("ERR Invalid command specified");
    };
    if !command.has_tag() {
        return turn.fail("ERR The command has no key arguments");
    }
    if !command.takes(args.skip(2).len()) {
        return turn.fail("ERR Invalid number of arguments specified for command");
    }
    turn.reply.array(1);
    turn.reply.bulk(args.get(3));
    Outcome::Done
}

/// A command by its name, or by both of its words with a bar between them.
fn named(commands: &'static [Command], name: &[u8]) -> Option<&'static Command> {
    let words = commands.iter().flat_map(|command| command.words);
    let is_named = |command: &&Command| name.eq_ignore_ascii_case(command.name.as_bytes());
    commands.iter().chain(words).find(is_named)
}

/// A command in the format of COMMAND INFO: ten fields, of which clients read the first six.
fn entry(reply: &mut Reply<'_>, command: &Command) {
    reply.array(10);
    reply.bulk(command.name.as_bytes());
    reply.number(command.arity.into());
    let flags = flags(command);
    reply.set(flags.len());
    for flag in flags {
        reply.status(flag);
    }
    let key = i64::from(command.has_tag());
    for place in [key, key, key] {
        reply.number(place);
    }
    reply.set(0);
    reply.array(0);
    reply.array(0);
    reply.array(command.words.len());
    for word in command.words {
        entry(reply, word);
    }
}

fn flags(command: &Command) -> &'static [&'static str] {
    match command.kind {
        Kind::Taking => &["write", "fast"],
        Kind::Asking => &["readonly", "fast"],
        Kind::BeforeAuth | Kind::Always => &["noscript", "loading", "stale", "fast", "no_auth"],
        Kind::Plain | Kind::InTransaction => &["loading", "stale", "fast"],
    }
}

fn document(reply: &mut Reply<'_>, command: &Command) {
    let group = match command.group {
        Group::Ids => "string",
        Group::Connection => "connection",
        Group::Server => "server",
        Group::Transactions => "transactions",
    };
    reply.bulk(command.name.as_bytes());
    reply.map(if command.words.is_empty() { 2 } else { 3 });
    reply.field("summary", command.summary);
    reply.field("group", group);
    if !command.words.is_empty() {
        reply.bulk(b"subcommands");
        reply.map(command.words.len());
        for word in command.words {
            document(reply, word);
        }
    }
}
