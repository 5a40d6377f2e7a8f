//! `RespSpeech`: `INCR` of one key again and again, and answers that are integers.

use super::ids::Expected;
use super::{Heard, Speech};

/// `INCR` and what may be answered.
pub(crate) struct RespSpeech {
    key: &'static str,
    expected: Expected,
    failures: u64,
}

impl RespSpeech {
    pub(crate) fn new(key: &'static str, expected: Expected) -> Self {
        Self {
            key,
            expected,
            failures: 0,
        }
    }

    /// An answer that is no integer, or none that may be there.
    fn failed(&mut self, line: &[u8]) {
        self.failures += 1;
        if self.failures == 1 {
            eprintln!("an answer is no success: {}", String::from_utf8_lossy(line));
        }
    }
}

impl Speech for RespSpeech {
    fn request(&self) -> Vec<u8> {
        let Self { key, .. } = self;
        format!("*2\r\n$4\r\nINCR\r\n${}\r\n{key}\r\n", key.len()).into_bytes()
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
                    if !(is_plain && self.expected.note(number)) {
                        self.failed(&bytes[start..at]);
                    }
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

    fn failures(&self) -> u64 {
        self.failures
    }

    fn repeated(&self) -> u64 {
        self.expected.repeated()
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
            assert_eq!(speech.failures(), 0, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_success_is_counted() {
        let mut speech = RespSpeech::new("t", Expected::ids());
        speech.read(b":7\r\n-ERR no 8\r\n:\r\n:-9\r\n:7\r\n");
        assert_eq!((speech.failures(), speech.repeated()), (4, 1));
    }
}
