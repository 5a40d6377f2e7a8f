//! CLIENT: settings of a connection, and which of its commands are answered.

use super::{Outcome, Turn};
use crate::frontends::resp::args::Args;
use crate::frontends::resp::state::{Replies, State};

pub(super) const NAME_ERROR: &str =
    "ERR Client names cannot contain spaces, newlines or special characters.";

/// Whether this is a valid name of a connection; an empty one removes its name.
pub(super) fn is_name(name: &[u8]) -> bool {
    name.len() <= NAME_LEN_MAX && name.iter().all(u8::is_ascii_graphic)
}

/// The longest name of a connection or of a library. It is kept as long as the connection.
const NAME_LEN_MAX: usize = 256;

pub(super) fn id(turn: &mut Turn<'_>, _args: Args<'_>) -> Outcome {
    turn.reply.number(turn.state.id.cast_signed());
    Outcome::Done
}

pub(super) fn name(turn: &mut Turn<'_>, _args: Args<'_>) -> Outcome {
    if turn.state.name.is_empty() {
        turn.reply.null();
    } else {
        turn.reply.bulk(&turn.state.name);
    }
    Outcome::Done
}

pub(super) fn set_name(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    if !is_name(args.get(2)) {
        return turn.fail(NAME_ERROR);
    }
    turn.state.name = args.get(2).into();
    turn.ok()
}

pub(super) fn set_library(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    let (what, kept) = if args.is(2, "LIB-NAME") {
        ("lib-name", &mut turn.state.library)
    } else if args.is(2, "LIB-VER") {
        ("lib-ver", &mut turn.state.library_version)
    } else {
        return turn.fail_with(&[b"ERR Unrecognized option '", args.get(2), b"'"]);
    };
    if is_name(args.get(3)) {
        *kept = args.get(3).into();
        return turn.ok();
    }
    turn.fail(&format!(
        "ERR {what} cannot contain spaces, newlines or special characters."
    ))
}

pub(super) fn describe(turn: &mut Turn<'_>, _args: Args<'_>) -> Outcome {
    let line = line(turn.state, "client|info");
    turn.reply.verbatim(&line);
    Outcome::Done
}

/// Lists only this connection: the others would need shared state.
pub(super) fn list(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    let is_told = if args.len() == 2 {
        true
    } else if args.is(2, "TYPE") && args.len() == 4 {
        let others = ["master", "replica", "slave", "pubsub"];
        let is_normal = args.is(3, "normal");
        if !is_normal && !others.iter().any(|other| args.is(3, other)) {
            return turn.fail_with(&[b"ERR Unknown client type '", args.get(3), b"'"]);
        }
        is_normal
    } else if args.is(2, "ID") && args.len() > 3 {
        let own = Some(turn.state.id.cast_signed());
        let mut ids = (3..args.len()).map(|at| args.number(at));
        if ids.any(|id| id.is_none()) {
            return turn.fail("ERR Invalid client ID");
        }
        (3..args.len()).any(|at| args.number(at) == own)
    } else {
        return turn.syntax_error();
    };
    let line = if is_told {
        line(turn.state, "client|list")
    } else {
        String::new()
    };
    turn.reply.verbatim(&line);
    Outcome::Done
}

/// A connection in the format of CLIENT LIST. Clients read fields by name, and find all they need.
fn line(state: &State, command: &str) -> String {
    let text = String::from_utf8_lossy;
    format!(
        "id={} addr=?:0 laddr=?:0 fd=0 name={} age=0 idle=0 flags=N db=0 sub=0 psub=0 ssub=0 \
         multi={} qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 \
         tot-mem=0 events=r cmd={command} user={} redir=-1 resp={} lib-name={} \
         lib-ver={}\n",
        state.id,
        text(&state.name),
        state.queued().map_or(-1, u64::cast_signed),
        state.caller.token().unwrap_or("default"),
        state.protocol.version(),
        text(&state.library),
        text(&state.library_version),
    )
}

pub(super) fn reply(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    if args.is(2, "ON") {
        turn.state.replies = Replies::On;
        turn.ok()
    } else if args.is(2, "OFF") {
        turn.state.replies = Replies::Off;
        Outcome::Done
    } else if args.is(2, "SKIP") {
        if turn.state.replies != Replies::Off {
            turn.state.replies = Replies::SkipNext;
        }
        Outcome::Done
    } else {
        turn.syntax_error()
    }
}

pub(super) fn on_or_off(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    if args.is(2, "ON") || args.is(2, "OFF") {
        turn.ok()
    } else {
        turn.syntax_error()
    }
}

pub(super) fn redirection(turn: &mut Turn<'_>, _args: Args<'_>) -> Outcome {
    turn.reply.number(-1);
    Outcome::Done
}
