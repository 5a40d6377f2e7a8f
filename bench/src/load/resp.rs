//! `RespSpeech`: `INCR` of one key again and again, and answers that are integers.

use super::ids::Expected;
use super::{Heard, Speech};

/// The command that takes an id.
pub(super) fn incr(key: &str) -> Vec<u8> {
    format!("*2\r\n$4\r\nINCR\r\n${}\r\n{key}\r\n", key.len()).into_bytes()
}

/// `INCR` and what may be answered.
pub(crate) struct RespSpeech {
    key: &'static str,
    expected: Expected,
}

impl RespSpeech {
    pub(crate) fn new(key: &'static str, expected: Expected) -> Self {
        Self { key, expected }
    }
}

impl Speech for RespSpeech {
    fn request(&self) -> Vec<u8> {
        incr(self.key)
    }

    fn read(&mut self, bytes: &[u8]) -> Heard {
        let mut heard = Heard { len: 0, answers: 0 };
        // One pass: the digits end where the line does.
        let (mut number, mut is_integer, mut start) = (0_u64, true, 0);
        for (at, &byte) in bytes.iter().enumerate() {
            let digit = byte.wrapping_sub(b'0');
            if digit < 10 {
                number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
                continue;
            }
            match byte {
                b'\n' => {
                    let is_plain = is_integer && at - start > 2;
                    let is_success = is_plain && self.expected.note(number);
                    self.expected.count(is_success, &bytes[start..at]);
                    (number, is_integer, start) = (0, true, at + 1);
                    heard.answers += 1;
                }
                b':' if at == start => {}
                b'\r' => {}
                _ => is_integer = false,
            }
        }
        heard.len = start;
        heard
    }

    fn expected(&self) -> &Expected {
        &self.expected
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_in_pieces_and_each_counts_once() {
        let bytes = b":7\r\n:8\r\n:10\r\n";
        for cut in 0..bytes.len() {
            let mut speech = RespSpeech::new("t", Expected::ids());
            let first = speech.read(&bytes[..cut]);
            let second = speech.read(&bytes[first.len..]);
            assert_eq!(first.answers + second.answers, 3, "cut at {cut}");
            assert_eq!(speech.expected.failures(), 0, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_success_is_counted() {
        let mut speech = RespSpeech::new("t", Expected::ids());
        speech.read(b":7\r\n-ERR no 8\r\n:\r\n:-9\r\n:7\r\n");
        assert_eq!(
            (speech.expected.failures(), speech.expected.repeated()),
            (4, 1)
        );
    }
}
