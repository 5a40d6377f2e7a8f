//! One command of a session, from its name to its answer. It is executed, queued for EXEC, or
//! refused.

use crate::config::RespLimits;
use crate::frontends::resp::args::Args;
use crate::frontends::resp::command::{self, Command, Found, Outcome, Turn, Wanted};
use crate::frontends::resp::error::NO_AUTH;
use crate::frontends::resp::reply::ID_LEN_MAX;
use crate::frontends::resp::state::{Mode, Replies};

/// How much of an unknown command is quoted, as in Redis.
const SHOWN_LEN_MAX: usize = 128;

/// The error of a transaction with too many commands.
const TOO_MANY: &[u8] =
    b"BUSY overloaded too many commands in one transaction; send fewer before EXEC";

/// What the command waits for.
#[derive(Debug)]
pub(in crate::frontends::resp) struct Pending {
    /// The command that waits for it.
    pub(super) at: usize,
    pub(super) wanted: Wanted,
}

/// What a session needs to continue.
#[derive(Debug)]
pub(in crate::frontends::resp) enum Then {
    /// At least this many bytes, including those that are not consumed.
    Read(usize),
    /// That the answers are sent; then the same bytes again.
    Flush,
    /// That this is waited for; then the same bytes again.
    Wait(Pending),
    /// Nothing: the answers are sent, and the connection ends.
    Close,
}

/// How many ids the answers have room for; at least one.
pub(super) fn room(out: &[u8], limits: &RespLimits) -> u64 {
    let room = limits.out_len_max.saturating_sub(out.len()) / ID_LEN_MAX;
    u64::try_from(room).unwrap_or(u64::MAX).max(1)
}

impl Turn<'_> {
    /// Answers the command of `len` bytes at the beginning of `stream`, and the same commands after
    /// it if they can be answered together. Returns how many bytes that were, and what is needed
    /// to continue, if anything.
    pub(super) fn command(
        &mut self,
        stream: &[u8],
        len: usize,
        args: Args<'_>,
    ) -> (usize, Option<Then>) {
        let (at, found) = command::find(args);
        let command = match found {
            Found::Command(command) if command.takes(args.len()) => command,
            _ => return (len, self.refuse(at, &found, args)),
        };
        if !command.is_before_auth() && self.is_refused() {
            return (len, self.reject(at, command.name, &[NO_AUTH.as_bytes()]));
        }
        let mut times = 1;
        if command.can_repeat(args) {
            times = self.repeats(stream, len);
        }
        let used = len * usize::try_from(times).unwrap_or(1);
        if self.state.is_queuing() && !command.is_in_transaction() {
            self.queue(at, command, args, times);
            return (used, None);
        }
        let then = self.run(at, command, args, times);
        if !matches!(then, Some(Then::Wait(_))) && !self.state.is_executing() {
            self.state.replies = self.state.replies.after();
        }
        (used, then)
    }

    /// Whether the caller has yet to authenticate. A command that is refused for it is counted.
    #[inline]
    fn is_refused(&self) -> bool {
        let access = self.context.service.access();
        access.check_token(&self.state.caller).is_err()
    }

    /// Answers an unknown or forbidden command, with Redis's words if Redis has some.
    fn refuse(&mut self, at: usize, found: &Found, args: Args<'_>) -> Option<Then> {
        let name = args.get(0);
        match found {
            _ if is_cross_protocol(args) => {
                // Not even earlier commands of the same read are answered.
                self.reply.out.clear();
                Some(Then::Close)
            }
            Found::Command(command) => self.reject(
                at,
                command.name,
                &[
                    b"ERR wrong number of arguments for '",
                    command.name.as_bytes(),
                    b"' command",
                ],
            ),
            Found::UnknownWord(command) => {
                let word = args.get(1);
                let word = &word[..word.len().min(SHOWN_LEN_MAX)];
                let name = command.name.to_ascii_uppercase();
                self.reject(
                    at,
                    command.name,
                    &[
                        b"ERR unknown subcommand '",
                        word,
                        b"'. Try ",
                        name.as_bytes(),
                        b" HELP.",
                    ],
                )
            }
            Found::Unknown => match command::reason(name) {
                Some(_) if self.is_refused() => self.reject(at, "", &[NO_AUTH.as_bytes()]),
                Some(reason) => {
                    let name = name.to_ascii_uppercase();
                    self.reject(at, "", &[b"ERR ", &name, b" ", reason.as_bytes()])
                }
                None => self.unknown(at, args),
            },
        }
    }

    /// Redis's error for an unknown command.
    fn unknown(&mut self, at: usize, args: Args<'_>) -> Option<Then> {
        let name = to_zero(args.get(0));
        let name = &name[..name.len().min(SHOWN_LEN_MAX)];
        let mut shown = Vec::new();
        for arg in args.from(1) {
            if shown.len() >= SHOWN_LEN_MAX {
                break;
            }
            let arg = &arg[..arg.len().min(SHOWN_LEN_MAX - shown.len())];
            let arg = to_zero(arg);
            shown.extend_from_slice(b"'");
            shown.extend_from_slice(arg);
            shown.extend_from_slice(b"' ");
        }
        self.reject(
            at,
            "",
            &[
                b"ERR unknown command '",
                name,
                b"', with args beginning with: ",
                &shown,
            ],
        )
    }

    /// Answers with an error instead of executing or queueing a command. If it was sent in a
    /// transaction, EXEC then fails.
    fn reject(&mut self, at: usize, name: &str, error: &[&[u8]]) -> Option<Then> {
        let start = self.reply.out.len();
        if name == "exec" {
            let _discarded = self.state.take_queue();
            let error = error.concat();
            let error = error.strip_prefix(b"ERR ").unwrap_or(&error);
            self.reply
                .error(&[b"EXECABORT Transaction discarded because of: ", error]);
        } else {
            self.reply.error(error);
            self.state.abort_transaction();
        }
        self.count(at, 0, 1);
        self.settle(start);
        None
    }

    /// How often the first `len` bytes of the stream repeat in a row.
    fn repeats(&self, stream: &[u8], len: usize) -> u64 {
        if self.state.replies != Replies::On {
            return 1;
        }
        let limits = &self.context.limits;
        let times_max = limits.repeats_max.min(room(self.reply.out, limits));
        let (command, mut rest) = stream.split_at(len);
        let mut times = 1;
        while times < times_max && rest.starts_with(command) {
            rest = &rest[len..];
            times += 1;
        }
        times
    }

    pub(super) fn run(
        &mut self,
        at: usize,
        command: &'static Command,
        args: Args<'_>,
        times: u64,
    ) -> Option<Then> {
        let start = self.reply.out.len();
        (self.times, self.failed) = (times, 0);
        let outcome = (command.run)(self, args);
        let failed = self.failed;
        self.state.hush(self.reply.out, start);
        let (waiting, then) = match outcome {
            Outcome::Done => (0, None),
            Outcome::Close => (0, Some(Then::Close)),
            Outcome::Wait(wanted) => {
                let waiting = wanted.commands();
                (waiting, Some(Then::Wait(Pending { at, wanted })))
            }
        };
        self.count(at, times - failed - waiting, failed);
        then
    }

    /// Queues a command for EXEC.
    fn queue(&mut self, at: usize, command: &'static Command, args: Args<'_>, times: u64) {
        let Mode::Queuing(transaction) = &mut self.state.mode else {
            return;
        };
        let limits = &self.context.limits;
        let kept = transaction.push(at, command, args, times, limits);
        if kept < times {
            transaction.break_off();
        }
        let start = self.reply.out.len();
        for _ in 0..kept {
            self.reply.status("QUEUED");
        }
        if kept < times {
            let start = self.reply.out.len();
            self.reply.error(&[TOO_MANY]);
            let error = &self.reply.out[start..];
            self.state.repeat_reply(error, times - kept - 1);
        }
        self.count(at, 0, times - kept);
        self.settle(start);
    }

    /// Ends a command that has been answered.
    fn settle(&mut self, start: usize) {
        self.state.hush(self.reply.out, start);
        self.state.replies = self.state.replies.after();
    }
}

/// The part of a text that Redis quotes.
fn to_zero(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Whether this is a line of HTTP: the first of any request, or one that Redis recognises. A
/// browser that was tricked into calling this port must not be understood.
fn is_cross_protocol(args: Args<'_>) -> bool {
    let is_request = args.len() == 3 && args.get(2).starts_with(b"HTTP/");
    is_request || args.is(0, "POST") || args.is(0, "HOST:")
}
