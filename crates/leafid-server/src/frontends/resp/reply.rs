//! `Reply`: encodes answers in RESP2 and RESP3. Only the output buffer allocates.

use std::fmt::{self, Write as _};

use itoa::Buffer;

/// The protocol version of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Protocol {
    /// The default.
    #[default]
    Resp2,
    /// After `HELLO 3`.
    Resp3,
}

impl Protocol {
    pub(super) const fn version(self) -> i64 {
        match self {
            Self::Resp2 => 2,
            Self::Resp3 => 3,
        }
    }
}

/// How an id is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `:7`, as Redis answers INCR.
    Number,
    /// `$1`, `7`: JavaScript clients keep all digits of it.
    Bulk,
}

/// Appends answers to a buffer.
pub(super) struct Reply<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) protocol: Protocol,
}

impl Reply<'_> {
    pub(super) fn ok(&mut self) {
        self.out.extend_from_slice(b"+OK\r\n");
    }

    pub(super) fn status(&mut self, text: &str) {
        self.line(b'+', text.as_bytes());
    }

    /// An error: its first word, then the message. Line ends in the message become spaces.
    pub(super) fn error(&mut self, parts: &[&[u8]]) {
        self.out.push(b'-');
        for part in parts {
            push_printed(self.out, part);
        }
        self.out.extend_from_slice(b"\r\n");
    }

    /// An error whose parts implement `Display`.
    pub(super) fn error_text(&mut self, text: fmt::Arguments<'_>) {
        self.out.push(b'-');
        // Writing to memory does not fail.
        let _written = OneLine(self.out).write_fmt(text);
        self.out.extend_from_slice(b"\r\n");
    }

    pub(super) fn number(&mut self, number: i64) {
        self.line(b':', Buffer::new().format(number).as_bytes());
    }

    pub(super) fn bulk(&mut self, bytes: &[u8]) {
        self.len(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    /// A number as a string.
    pub(super) fn bulk_number(&mut self, number: impl itoa::Integer) {
        self.bulk(Buffer::new().format(number).as_bytes());
    }

    /// A field of a map, whose value is a string.
    pub(super) fn field(&mut self, name: &str, value: impl fmt::Display) {
        self.bulk(name.as_bytes());
        self.bulk(value.to_string().as_bytes());
    }

    pub(super) fn null(&mut self) {
        let null: &[u8] = match self.protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        };
        self.out.extend_from_slice(null);
    }

    /// The header of an array.
    pub(super) fn array(&mut self, len: usize) {
        self.len(b'*', len);
    }

    /// The header of a set.
    pub(super) fn set(&mut self, len: usize) {
        let sign = match self.protocol {
            Protocol::Resp2 => b'*',
            Protocol::Resp3 => b'~',
        };
        self.len(sign, len);
    }

    /// The header of a map.
    pub(super) fn map(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.len(b'*', 2 * len),
            Protocol::Resp3 => self.len(b'%', len),
        }
    }

    /// A long text for people.
    pub(super) fn verbatim(&mut self, text: &str) {
        match self.protocol {
            Protocol::Resp2 => self.bulk(text.as_bytes()),
            Protocol::Resp3 => {
                self.len(b'=', text.len() + 4);
                self.out.extend_from_slice(b"txt:");
                self.out.extend_from_slice(text.as_bytes());
                self.out.extend_from_slice(b"\r\n");
            }
        }
    }

    /// Consecutive numbers from `first` on, one answer each.
    pub(super) fn run(&mut self, first: u64, count: u64, form: Form) {
        let mut line = IdLine::new(first, form);
        for number in 1..=count {
            self.out.extend_from_slice(line.bytes());
            if number < count {
                line.count_up();
            }
        }
    }

    fn line(&mut self, sign: u8, text: &[u8]) {
        self.out.push(sign);
        self.out.extend_from_slice(text);
        self.out.extend_from_slice(b"\r\n");
    }

    fn len(&mut self, sign: u8, len: usize) {
        self.line(sign, Buffer::new().format(len).as_bytes());
    }
}

/// The longest encoding of an id: `$19`, 19 digits, and two line ends.
pub(super) const ID_LEN_MAX: usize = 26;

/// The encoding of one id. The next one is made by incrementing its digits, which is several times
/// as fast as formatting a number.
struct IdLine {
    bytes: [u8; ID_LEN_MAX],
    len: usize,
    form: Form,
}

impl IdLine {
    fn new(number: u64, form: Form) -> Self {
        let mut digits = Buffer::new();
        let digits = digits.format(number).as_bytes();
        let mut line = Self {
            bytes: [0; ID_LEN_MAX],
            len: 0,
            form,
        };
        match form {
            Form::Number => line.push(b":"),
            Form::Bulk => {
                line.push(b"$");
                line.push(Buffer::new().format(digits.len()).as_bytes());
                line.push(b"\r\n");
            }
        }
        line.push(digits);
        line.push(b"\r\n");
        line
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..][..bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn count_up(&mut self) {
        let digits = self.bytes[..self.len - 2].iter_mut().rev();
        for digit in digits {
            match digit {
                b'0'..=b'8' => {
                    *digit += 1;
                    return;
                }
                b'9' => *digit = b'0',
                _ => break,
            }
        }
        // All were nines, so there is one more digit.
        let digits = self.digits();
        *self = Self::new(10_u64.pow(digits), self.form);
    }

    /// The number of digits; called when all of them are zeros.
    fn digits(&self) -> u32 {
        let digits = self.bytes[..self.len - 2].iter().rev();
        let zeros = digits.take_while(|digit| **digit == b'0').count();
        u32::try_from(zeros).unwrap_or(u32::MAX)
    }
}

/// Appends a text, with spaces for line ends.
fn push_printed(out: &mut Vec<u8>, text: &[u8]) {
    out.extend(text.iter().map(|byte| match byte {
        b'\r' | b'\n' => b' ',
        other => *other,
    }));
}

/// Replaces line ends by spaces.
struct OneLine<'a>(&'a mut Vec<u8>);

impl fmt::Write for OneLine<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        push_printed(self.0, text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(protocol: Protocol, write: impl FnOnce(&mut Reply<'_>)) -> String {
        let mut out = Vec::new();
        write(&mut Reply {
            out: &mut out,
            protocol,
        });
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn runs_are_counted_up_as_they_are_written_out() {
        let check = |first: u64, count: u64| {
            for form in [Form::Number, Form::Bulk] {
                let run = written(Protocol::Resp2, |reply| reply.run(first, count, form));
                let each = written(Protocol::Resp2, |reply| {
                    for number in first..first + count {
                        match form {
                            Form::Number => reply.number(number.cast_signed()),
                            Form::Bulk => reply.bulk_number(number),
                        }
                    }
                });
                assert_eq!(run, each, "{count} from {first}");
            }
        };
        check(1, 0);
        check(1, 1200);
        check(95, 10);
        check(999_999_999_999_999_990, 20);
        check(i64::MAX as u64 - 9, 10);
    }

    #[test]
    fn an_error_is_one_line() {
        let error = written(Protocol::Resp2, |reply| {
            reply.error(&[b"ERR a\r\nb ", b"c\n"]);
        });
        assert_eq!(error, "-ERR a  b c \r\n");
        let error = written(Protocol::Resp2, |reply| {
            reply.error_text(format_args!("ERR {}", "a\r\nb"));
        });
        assert_eq!(error, "-ERR a  b\r\n");
    }

    #[test]
    fn the_two_protocols_differ() {
        let check = |write: fn(&mut Reply<'_>), resp2: &str, resp3: &str| {
            assert_eq!(written(Protocol::Resp2, write), resp2);
            assert_eq!(written(Protocol::Resp3, write), resp3);
        };
        check(
            |reply| {
                reply.null();
            },
            "$-1\r\n",
            "_\r\n",
        );
        check(|reply| reply.map(2), "*4\r\n", "%2\r\n");
        check(|reply| reply.set(2), "*2\r\n", "~2\r\n");
        check(
            |reply| reply.verbatim("a"),
            "$1\r\na\r\n",
            "=5\r\ntxt:a\r\n",
        );
    }
}
