//! `HttpSpeech`: one GET again and again, and answers with an id as their body.

use super::ids::{Expected, number};
use super::{Heard, Speech};

const HEADERS_MAX: usize = 32;

/// A GET and what may be answered.
pub(crate) struct HttpSpeech {
    path: &'static str,
    expected: Expected,
    /// The head of the last answer, whose next one is mostly the same; it changes with the date
    /// and with the length of the number.
    last: Head,
}

#[derive(Default)]
struct Head {
    bytes: Vec<u8>,
    status: u16,
    body_len: usize,
}

impl HttpSpeech {
    pub(crate) fn new(path: &'static str, expected: Expected) -> Self {
        Self {
            path,
            expected,
            last: Head::default(),
        }
    }

    /// Knows the head at the front; `false`: its end has not come yet.
    fn know(&mut self, bytes: &[u8]) -> bool {
        if !self.last.bytes.is_empty() && bytes.starts_with(&self.last.bytes) {
            return true;
        }
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut answer = httparse::Response::new(&mut headers);
        let parsed = answer.parse(bytes).expect("an answer of HTTP/1.1");
        let httparse::Status::Complete(head_len) = parsed else {
            return false;
        };
        let body_len = answer
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case("content-length"))
            .and_then(|header| number(header.value))
            .and_then(|len| usize::try_from(len).ok());
        self.last = Head {
            bytes: bytes[..head_len].to_vec(),
            status: answer.code.unwrap_or(0),
            body_len: body_len.expect("an answer with its length"),
        };
        true
    }

    /// Takes note of a body under the last head.
    fn note(&mut self, body: &[u8]) {
        let is_success = self.last.status == 200 && self.expected.note_text(body);
        if !is_success {
            let answer = [&self.last.bytes, body].concat();
            self.expected.count(false, &answer);
        }
    }
}

impl Speech for HttpSpeech {
    fn request(&self) -> Vec<u8> {
        format!("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", self.path).into_bytes()
    }

    fn read(&mut self, bytes: &[u8]) -> Heard {
        let mut heard = Heard { len: 0, answers: 0 };
        while heard.len < bytes.len() && self.know(&bytes[heard.len..]) {
            let start = heard.len + self.last.bytes.len();
            let Some(body) = bytes.get(start..start + self.last.body_len) else {
                break;
            };
            self.note(body);
            heard.len = start + self.last.body_len;
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

    fn answer(status: u16, body: &str) -> String {
        let len = body.len();
        format!("HTTP/1.1 {status} X\r\ncontent-length: {len}\r\n\r\n{body}")
    }

    #[test]
    fn answers_come_in_pieces_and_each_counts_once() {
        let bytes = [answer(200, "7"), answer(200, "8"), answer(200, "10")].concat();
        for cut in 0..bytes.len() {
            let mut speech = HttpSpeech::new("/", Expected::ids());
            let first = speech.read(&bytes.as_bytes()[..cut]);
            let second = speech.read(&bytes.as_bytes()[first.len..]);
            assert_eq!(first.answers + second.answers, 3, "cut at {cut}");
            assert_eq!(first.len + second.len, bytes.len(), "cut at {cut}");
            assert_eq!(speech.expected.failures(), 0, "cut at {cut}");
        }
    }

    #[test]
    fn what_is_no_success_is_counted() {
        let mut speech = HttpSpeech::new("/", Expected::ids());
        let bytes = [
            answer(200, "7"),
            answer(503, "8"),
            answer(200, "x"),
            answer(200, "7"),
        ];
        speech.read(bytes.concat().as_bytes());
        assert_eq!(
            (speech.expected.failures(), speech.expected.repeated()),
            (3, 1)
        );
    }
}
