//! Commands about the connection itself: protocol, authentication, and its end.

use super::client::{NAME_ERROR, is_name};
use super::{Outcome, Turn};
use crate::frontends::resp::args::Args;
use crate::frontends::resp::error::WRONG_PASS;
use crate::frontends::resp::reply::Protocol;
use crate::frontends::resp::state::{Replies, State};

/// The release of Redis that the answers imitate.
pub(super) const REDIS_VERSION: &str = "7.0.15";

const BAD_INDEX: &str = "ERR value is out of range, value must between -2147483648 and 2147483647";
const NO_PASSWORD: &str = "ERR AUTH <password> called without any password configured for the \
                           default user. Are you sure your configuration is correct?";
const HELLO_NO_AUTH: &str = "NOAUTH HELLO must be called with the client already authenticated, \
                             otherwise the HELLO AUTH <user> <pass> option can be used to \
                             authenticate the client and select the RESP protocol version at the \
                             same time";

pub(super) fn ping(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    match args.len() {
        1 => turn.reply.status("PONG"),
        2 => turn.reply.bulk(args.get(1)),
        _ => return turn.fail("ERR wrong number of arguments for 'ping' command"),
    }
    Outcome::Done
}

pub(super) fn echo(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    turn.reply.bulk(args.get(1));
    Outcome::Done
}

pub(super) fn select(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    match args.number(1).map(i32::try_from) {
        Some(Ok(0)) => turn.ok(),
        Some(Ok(_)) => turn.fail("ERR DB index is out of range"),
        Some(Err(_)) => turn.fail(BAD_INDEX),
        None => turn.not_an_integer(),
    }
}

pub(super) fn quit(turn: &mut Turn<'_>, _args: Args<'_>) -> Outcome {
    turn.reply.ok();
    Outcome::Close
}

pub(super) fn reset(turn: &mut Turn<'_>, _args: Args<'_>) -> Outcome {
    let replies = turn.state.replies;
    *turn.state = State::new(turn.state.id);
    if replies == Replies::Skip {
        // As in Redis: this command is the one without an answer.
        turn.state.replies = replies;
    }
    turn.reply.protocol = Protocol::Resp2;
    turn.reply.status("RESET");
    Outcome::Done
}

pub(super) fn auth(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    let authenticated = match args.len() {
        2 => admit(turn, None, args.get(1)),
        3 => admit(turn, Some(args.get(1)), args.get(2)),
        _ => return turn.syntax_error(),
    };
    match authenticated {
        Ok(()) => turn.ok(),
        Err(text) => turn.fail(text),
    }
}

pub(super) fn hello(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    let protocol = match args.number(1) {
        _ if args.len() == 1 => None,
        Some(2) => Some(Protocol::Resp2),
        Some(3) => Some(Protocol::Resp3),
        Some(_) => return turn.fail("NOPROTO unsupported protocol version"),
        None => return turn.fail("ERR Protocol version is not an integer or out of range"),
    };
    if let Some(refused) = take_options(turn, args) {
        return refused;
    }
    let access = turn.context.service.access();
    if access.check_token(&turn.state.caller).is_err() {
        return turn.fail(HELLO_NO_AUTH);
    }
    if let Some(protocol) = protocol {
        turn.state.protocol = protocol;
        turn.reply.protocol = protocol;
    }
    greet(turn);
    Outcome::Done
}

/// Applies the options of HELLO one by one, as Redis does; answers with an error if one is refused.
fn take_options(turn: &mut Turn<'_>, args: Args<'_>) -> Option<Outcome> {
    let mut at = 2;
    while at < args.len() {
        let more = args.len() - 1 - at;
        if args.is(at, "AUTH") && more >= 2 {
            let (user, secret) = (args.get(at + 1), args.get(at + 2));
            if let Err(text) = admit(turn, Some(user), secret) {
                return Some(turn.fail(text));
            }
            at += 3;
        } else if args.is(at, "SETNAME") && more >= 1 {
            let name = args.get(at + 1);
            if !is_name(name) {
                return Some(turn.fail(NAME_ERROR));
            }
            turn.state.name = name.into();
            at += 2;
        } else {
            let option = args.get(at);
            return Some(turn.fail_with(&[b"ERR Syntax error in HELLO option '", option, b"'"]));
        }
    }
    None
}

/// Authenticates a caller by a secret, or refuses with Redis's reason. If no tokens are configured,
/// Redis's user `default` is accepted with any password.
fn admit(turn: &mut Turn<'_>, user: Option<&[u8]>, secret: &[u8]) -> Result<(), &'static str> {
    let service = &turn.context.service;
    let name = user.filter(|user| *user != b"default");
    if !service.needs_token() {
        return match (user, name) {
            (None, _) => Err(NO_PASSWORD),
            (Some(_), None) => Ok(()),
            (Some(_), Some(_)) => Err(WRONG_PASS),
        };
    }
    let name = name.map(std::str::from_utf8).transpose();
    let authenticated = match (name, std::str::from_utf8(secret)) {
        (Ok(name), Ok(secret)) => service.authenticate(name, secret),
        // A secret that is not UTF-8 counts as wrong.
        _ => service.authenticate(None, ""),
    };
    turn.state.caller = authenticated.map_err(|_| WRONG_PASS)?;
    Ok(())
}

fn greet(turn: &mut Turn<'_>) {
    let reply = &mut turn.reply;
    reply.map(7);
    reply.field("server", "redis");
    reply.field("version", REDIS_VERSION);
    reply.bulk(b"proto");
    reply.number(turn.state.protocol.version());
    reply.bulk(b"id");
    reply.number(turn.state.id.cast_signed());
    reply.field("mode", "standalone");
    reply.field("role", "master");
    reply.bulk(b"modules");
    reply.array(0);
}
