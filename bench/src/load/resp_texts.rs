//! `RespTextSpeech`: `INCR` of one key again and again, and answers that are bulk strings or
//! integers: ids of any tag.

use super::ids::Expected;
use super::resp::incr;
use super::{Heard, Speech};

/// `INCR` and what may be answered.
pub(crate) struct RespTextSpeech {
    key: &'static str,
    expected: Expected,
}

impl RespTextSpeech {
    pub(crate) fn new(key: &'static str) -> Self {
        Self {
            key,
            expected: Expected::texts(),
        }
    }
}

/// The line at the front, and how many bytes it takes.
fn line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    Some((&bytes[..end], end + 2))
}

impl Speech for RespTextSpeech {
    fn request(&self) -> Vec<u8> {
        incr(self.key)
    }

    fn read(&mut self, bytes: &[u8]) -> Heard {
        let mut heard = Heard { len: 0, answers: 0 };
        while let Some((first, len)) = line(&bytes[heard.len..]) {
            let rest = &bytes[heard.len + len..];
            let (id, more) = match first {
                [b':', digits @ ..] => (Some(digits), 0),
                [b'$', b'1'..=b'9', ..] => match line(rest) {
                    Some((text, len)) => (Some(text), len),
                    None => break,
                },
                _ => (None, 0),
            };
            let is_success = id.is_some_and(|id| self.expected.note_text(id));
            self.expected.count(is_success, first);
            heard.len += len + more;
            heard.answers += 1;
        }
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
        let bytes = b"$4\r\nSO-7\r\n:8\r\n$5\r\nSO-10\r\n";
        for cut in 0..bytes.len() {
            let mut speech = RespTextSpeech::new("t");
            let first = speech.read(&bytes[..cut]);
            let second = speech.read(&bytes[first.len..]);
            assert_eq!(first.answers + second.answers, 3, "cut at {cut}");
            assert_eq!(first.len + second.len, bytes.len(), "cut at {cut}");
            assert_eq!(speech.expected.failures(), 0, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_success_is_counted() {
        let mut speech = RespTextSpeech::new("t");
        speech.read(b"$1\r\n7\r\n-ERR no 8\r\n$-1\r\n:7\r\n");
        assert_eq!(
            (speech.expected.failures(), speech.expected.repeated()),
            (3, 1)
        );
    }
}
