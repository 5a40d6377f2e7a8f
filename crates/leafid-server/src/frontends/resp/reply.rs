//! `Reply`: answers on the wire, for RESP2 and RESP3. Nothing here allocates but the buffer that
//! is written to.

use std::fmt::{self, Write as _};

use itoa::Buffer;

/// Which of the two wires a connection speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Protocol {
    /// What a connection begins with.
    #[default]
    Resp2,
    /// After `HELLO 3`.
    Resp3,
}

/// How an id is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `:7`, as Redis answers INCR.
    Number,
    /// `$1`, `7`: JavaScript clients keep all digits of it.
    Bulk,
}

/// Writes answers behind what a buffer holds.
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

    /// An error: its first word, then what happened. Line ends in it become spaces.
    pub(super) fn error(&mut self, parts: &[&[u8]]) {
        self.out.push(b'-');
        for part in parts {
            let printed = part.iter().map(|byte| match byte {
                b'\r' | b'\n' => b' ',
                other => *other,
            });
            self.out.extend(printed);
        }
        self.out.extend_from_slice(b"\r\n");
    }

    /// An error out of things that can be displayed.
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

    /// A number as text.
    pub(super) fn bulk_number(&mut self, number: impl itoa::Integer) {
        self.bulk(Buffer::new().format(number).as_bytes());
    }

    /// Something that can be displayed, as text.
    pub(super) fn bulk_text(&mut self, text: impl fmt::Display) {
        self.bulk(text.to_string().as_bytes());
    }

    pub(super) fn null(&mut self) {
        let null: &[u8] = match self.protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        };
        self.out.extend_from_slice(null);
    }

    /// As many things follow.
    pub(super) fn array(&mut self, len: usize) {
        self.len(b'*', len);
    }

    /// As many things that differ follow.
    pub(super) fn set(&mut self, len: usize) {
        let sign = match self.protocol {
            Protocol::Resp2 => b'*',
            Protocol::Resp3 => b'~',
        };
        self.len(sign, len);
    }

    /// As many names follow, each with its value.
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

    /// The numbers from `first` on, one answer each.
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

/// The most bytes an id takes on the wire: `$19`, 19 digits, and two line ends.
pub(super) const ID_LEN_MAX: usize = 26;

/// One id as it stands on the wire. The next one is made by counting its digits up, which is
/// several times as fast as writing a number out.
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
        // All were nines: one digit more.
        let digits = self.digits();
        *self = Self::new(10_u64.pow(digits), self.form);
    }

    /// How many digits the number has; all are zeros when this is asked.
    fn digits(&self) -> u32 {
        let digits = self.bytes[..self.len - 2].iter().rev();
        let zeros = digits.take_while(|digit| **digit == b'0').count();
        u32::try_from(zeros).unwrap_or(u32::MAX)
    }
}

/// Keeps a text on one line.
struct OneLine<'a>(&'a mut Vec<u8>);

impl fmt::Write for OneLine<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let printed = text.bytes().map(|byte| match byte {
            b'\r' | b'\n' => b' ',
            other => other,
        });
        self.0.extend(printed);
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
