//! Framing: finds the commands in a stream of bytes, and their arguments. It knows no commands and
//! keeps nothing of the stream.
//!
//! It accepts and refuses the same input as Redis 7.0, with the same messages
//! (`processMultibulkBuffer` and `processInlineBuffer` of its `networking.c`), but tighter bounds.
//! The result does not depend on how the stream was cut into reads, as the fuzzer checks.

mod inline;

use std::ops::Range;

use super::args::{Args, integer};
use crate::config::RespLimits;

/// The longest line, as in Redis: an inline command, or the line of a count or length.
const LINE_LEN_MAX: usize = 64 * 1024;
/// The limits before AUTH, as in Redis: arguments of a command, and bytes of an argument.
const UNAUTHENTICATED_ARGS_MAX: i64 = 10;
const UNAUTHENTICATED_BULK_LEN_MAX: i64 = 16 * 1024;
/// The longest argument that Redis accepts. Our limit is far below; this one only decides between
/// two errors before AUTH.
const REDIS_BULK_LEN_MAX: i64 = 512 * 1024 * 1024;

/// Finds commands. A parser is reused, so that no command costs an allocation.
#[derive(Debug, Default)]
pub(super) struct Parser {
    /// The ranges of the arguments: in the stream, or in `unquoted`.
    ranges: Vec<Range<usize>>,
    /// The arguments of an inline command, one after the other, without their quotes.
    unquoted: Vec<u8>,
    is_inline: bool,
}

/// The beginning of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parsed {
    /// A complete command of this length.
    Command(usize),
    /// Bytes without a command, such as an empty line or an array without arguments.
    Nothing(usize),
    /// An incomplete command; it cannot be complete before the stream has this many bytes.
    Part(usize),
    /// Invalid input. The rest of the stream cannot be parsed.
    Broken(Broken),
}

/// What is wrong with a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    LongInline,
    LongCount,
    LongLength,
    Quotes,
    Count,
    Length,
    CountBeforeAuth,
    LengthBeforeAuth,
    /// The byte found instead of the `$` of an argument.
    NotBulk(u8),
}

impl Parser {
    /// Parses the beginning of a stream.
    pub(super) fn parse(
        &mut self,
        stream: &[u8],
        limits: &RespLimits,
        is_authenticated: bool,
    ) -> Parsed {
        self.ranges.clear();
        self.is_inline = false;
        let parsed = match stream.first() {
            None => Ok(Parsed::Part(1)),
            Some(b'*') => self.array(stream, limits, is_authenticated),
            Some(_) => self.line(stream),
        };
        parsed.unwrap_or_else(|stop| stop)
    }

    /// The arguments of the command that was just found at the beginning of `stream`.
    pub(super) fn args<'a>(&'a self, stream: &'a [u8]) -> Args<'a> {
        let bytes = if self.is_inline {
            &self.unquoted
        } else {
            stream
        };
        Args::new(bytes, &self.ranges)
    }

    /// Frees memory that an unusual command needed.
    pub(super) fn shrink(&mut self) {
        self.ranges.shrink_to(16);
        self.unquoted.shrink_to(0);
    }

    fn array(
        &mut self,
        stream: &[u8],
        limits: &RespLimits,
        is_authenticated: bool,
    ) -> Result<Parsed, Parsed> {
        let (text, mut at) = counted(stream, 0, Broken::LongCount)?;
        let count = integer(text).filter(|count| *count <= i64::from(limits.args_max));
        let count = count.ok_or(Parsed::Broken(Broken::Count))?;
        if count > UNAUTHENTICATED_ARGS_MAX && !is_authenticated {
            return Err(Parsed::Broken(Broken::CountBeforeAuth));
        }
        if count <= 0 {
            return Ok(Parsed::Nothing(at));
        }
        for _ in 0..count {
            let (text, start) = bulk_header(stream, at)?;
            let len = bulk_len(text, limits, is_authenticated)?;
            // The two bytes after the payload are skipped unchecked, as in Redis.
            let end = start + len;
            at = end + 2;
            if at > limits.command_len_max {
                return Err(Parsed::Broken(Broken::Length));
            }
            if at > stream.len() {
                return Err(Parsed::Part(at));
            }
            self.ranges.push(start..end);
        }
        Ok(Parsed::Command(at))
    }

    fn line(&mut self, stream: &[u8]) -> Result<Parsed, Parsed> {
        let end = find(stream, b'\n', Broken::LongInline)?;
        let line = &stream[..end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.is_inline = true;
        self.unquoted.clear();
        if !inline::split(line, &mut self.unquoted, &mut self.ranges) {
            return Err(Parsed::Broken(Broken::Quotes));
        }
        Ok(if self.ranges.is_empty() {
            Parsed::Nothing(end + 1)
        } else {
            Parsed::Command(end + 1)
        })
    }
}

/// The text of a count or length after its sign, and where the next line begins. As in Redis the
/// `\r` ends it, and the next byte is skipped unchecked.
#[inline]
fn counted(stream: &[u8], at: usize, too_long: Broken) -> Result<(&[u8], usize), Parsed> {
    let rest = &stream[at..];
    // Nearly all are one digit.
    if let [b'*' | b'$', b'0'..=b'9', b'\r', _, ..] = rest {
        return Ok((&rest[1..2], at + 4));
    }
    let end = find(rest, b'\r', too_long).map_err(|stop| match stop {
        Parsed::Part(len) => Parsed::Part(at + len),
        other => other,
    })?;
    let next = at + end + 2;
    if next > stream.len() {
        return Err(Parsed::Part(next));
    }
    // The caller checks the sign itself, which may be the end.
    Ok((rest.get(1..end).unwrap_or_default(), next))
}

fn bulk_header(stream: &[u8], at: usize) -> Result<(&[u8], usize), Parsed> {
    let header = counted(stream, at, Broken::LongLength)?;
    match stream.get(at) {
        Some(b'$') => Ok(header),
        Some(other) => Err(Parsed::Broken(Broken::NotBulk(*other))),
        None => Err(Parsed::Part(at + 1)),
    }
}

fn bulk_len(text: &[u8], limits: &RespLimits, is_authenticated: bool) -> Result<usize, Parsed> {
    let len = integer(text).filter(|len| *len <= REDIS_BULK_LEN_MAX);
    let len = len.ok_or(Parsed::Broken(Broken::Length))?;
    if len > UNAUTHENTICATED_BULK_LEN_MAX && !is_authenticated {
        return Err(Parsed::Broken(Broken::LengthBeforeAuth));
    }
    let len = usize::try_from(len).ok();
    let len = len.filter(|len| *len <= limits.bulk_len_max);
    len.ok_or(Parsed::Broken(Broken::Length))
}

/// Where a line ends. A zero byte hides the rest of the line, as it does in Redis.
fn find(stream: &[u8], end: u8, too_long: Broken) -> Result<usize, Parsed> {
    let found = stream.iter().position(|byte| *byte == end || *byte == 0);
    let found = found.filter(|at| stream[*at] == end);
    if found.unwrap_or(stream.len()) > LINE_LEN_MAX {
        return Err(Parsed::Broken(too_long));
    }
    found.ok_or(Parsed::Part(stream.len() + 1))
}

impl Broken {
    /// Redis's message, after `Protocol error: `.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Self::LongInline => "too big inline request",
            Self::LongCount => "too big mbulk count string",
            Self::LongLength => "too big bulk count string",
            Self::Quotes => "unbalanced quotes in request",
            Self::Count => "invalid multibulk length",
            Self::Length => "invalid bulk length",
            Self::CountBeforeAuth => "unauthenticated multibulk length",
            Self::LengthBeforeAuth => "unauthenticated bulk length",
            Self::NotBulk(_) => "expected '$', got ",
        }
    }
}
