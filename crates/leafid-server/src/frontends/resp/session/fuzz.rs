//! Random and mutated input, cut into reads at random and at every place: the answers do not depend
//! on the cuts, nothing panics, and answers stay bounded.
//!
//! `LEAFID_RESP_SEED=N` runs one seed again; `LEAFID_RESP_ROUNDS=N` runs more of them.

use fastrand::Rng;

use super::tests::TestServer;
use crate::config::{Limits, RespLimits, TokenSpec};

/// The building blocks of inputs.
const PIECES: &[&str] = &[
    "INCR order\r\n",
    "*2\r\n$4\r\nINCR\r\n$5\r\norder\r\n",
    "*3\r\n$6\r\nINCRBY\r\n$5\r\norder\r\n$1\r\n1\r\n",
    "INCRBY order 7\r\n",
    "ID.NEXT order\r\n",
    "*3\r\n$7\r\nID.NEXT\r\n$5\r\norder\r\n$1\r\n3\r\n",
    "ID.RANGE order 4\r\n",
    "ID.DECODE 1169786042799259000 leaf\r\n",
    "PING\r\n",
    "PING \"a\\x41 b\" \r\n",
    "ECHO '\\''\n",
    "MULTI\r\n",
    "EXEC\r\n",
    "DISCARD\r\n",
    "HELLO 3\r\n",
    "HELLO 2 AUTH app secret SETNAME x\r\n",
    "AUTH secret\r\n",
    "AUTH wrong\r\n",
    "CLIENT REPLY OFF\r\n",
    "CLIENT REPLY ON\r\n",
    "CLIENT REPLY SKIP\r\n",
    "CLIENT INFO\r\n",
    "CONFIG GET *\r\n",
    "COMMAND\r\n",
    "INFO\r\n",
    "RESET\r\n",
    "SET order 1\r\n",
    "FOO a b c\r\n",
    "*0\r\n",
    "\r\n",
    "*1\r\n$4\r\nPING",
    "*3\r\n$",
    "$5\r\n",
    "*12\r\n",
    "$70000\r\n",
    "\"",
    "\0",
    "QUIT\r\n",
    "POST / HTTP/1.1\r\n",
];

/// Rounds of a usual run; each tries some ten ways to cut an input.
const ROUNDS: u64 = 400;

/// One input, generated from a seed.
struct Trial {
    seed: u64,
    input: Vec<u8>,
    needs_token: bool,
}

impl Trial {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let needs_token = rng.u8(..4) == 0;
        let mut input = Vec::new();
        if needs_token && rng.bool() {
            input.extend_from_slice(b"AUTH secret\r\n");
        }
        for _ in 0..rng.usize(1..25) {
            let piece = PIECES[rng.usize(..PIECES.len())];
            let times = if rng.u8(..6) == 0 {
                rng.usize(1..40)
            } else {
                1
            };
            input.extend(piece.repeat(times).bytes());
        }
        // Half of the inputs are not mutated, so that most of their commands are valid.
        for _ in 0..rng.usize(..8).saturating_sub(3) {
            mutate(&mut input, &mut rng);
        }
        Self {
            seed,
            input,
            needs_token,
        }
    }

    fn server(&self) -> TestServer {
        let limits = Limits {
            resp: RespLimits {
                out_len_max: 512,
                queued_max: 60,
                queue_len_max: 4096,
                repeats_max: 16,
                ..RespLimits::default()
            },
            ..Limits::default()
        };
        let tokens = self.needs_token.then(|| TokenSpec::new("app", "secret"));
        TestServer::with(tokens.into_iter().collect(), limits)
    }

    /// The answers to an input that arrives in these parts.
    fn answers(&self, parts: &[&[u8]], is_forgetful: bool) -> (Vec<u8>, bool) {
        let mut server = self.server();
        server.is_forgetful = is_forgetful;
        server.ask(parts)
    }

    /// Cuts the input in several ways, and compares.
    fn run(&self, is_forgetful: bool) -> Result<(), String> {
        let whole = self.answers(&[&self.input], is_forgetful);
        let check = |parts: &[&[u8]], how: &str| {
            let cut = self.answers(parts, is_forgetful);
            if cut == whole || self.is_cross_protocol() {
                return Ok(());
            }
            let shown = |answers: &[u8]| String::from_utf8_lossy(answers).into_owned();
            Err(format!(
                "seed {}, {how}: {:?} is answered\n{:?} {} in one piece, but\n{:?} {}",
                self.seed,
                shown(&self.input),
                shown(&whole.0),
                whole.1,
                shown(&cut.0),
                cut.1,
            ))
        };
        let bytes: Vec<_> = self.input.chunks(1).collect();
        check(&bytes, "byte by byte")?;
        let mut rng = Rng::with_seed(self.seed);
        for _ in 0..8 {
            let mut parts = Vec::new();
            let mut rest = &self.input[..];
            while !rest.is_empty() {
                let (part, after) = rest.split_at(rng.usize(1..=rest.len().min(200)));
                parts.push(part);
                rest = after;
            }
            check(&parts, "cut at random")?;
        }
        Ok(())
    }

    /// As in Redis, the answers of the same read are discarded when a browser is detected.
    fn is_cross_protocol(&self) -> bool {
        let text = String::from_utf8_lossy(&self.input).to_ascii_lowercase();
        ["post", "host:", "http/"]
            .iter()
            .any(|word| text.contains(word))
    }
}

fn mutate(input: &mut Vec<u8>, rng: &mut Rng) {
    let at = rng.usize(..=input.len());
    match rng.u8(..5) {
        0 => input.truncate(at),
        1 => input.insert(at, rng.u8(..)),
        2 if at < input.len() => drop(input.remove(at)),
        3 if at < input.len() => input[at] = b"\r\n*$\"'\\\0 019-"[rng.usize(..12)],
        _ => {
            let len = rng.usize(..=(input.len() - at).min(30));
            let copy = input[at..at + len].to_vec();
            let to = rng.usize(..=input.len());
            input.splice(to..to, copy);
        }
    }
}

fn rounds() -> u64 {
    let rounds = std::env::var("LEAFID_RESP_ROUNDS").ok();
    rounds.map_or(ROUNDS, |rounds| rounds.parse().unwrap())
}

#[test]
fn answers_do_not_depend_on_the_cuts() {
    let seed = std::env::var("LEAFID_RESP_SEED").ok();
    let (first, rounds) = match seed {
        Some(seed) => (seed.parse().unwrap(), 1),
        None => (fastrand::u64(..u64::MAX / 2), rounds()),
    };
    for seed in first..first + rounds {
        println!("LEAFID_RESP_SEED={seed}");
        if let Err(found) = Trial::new(seed).run(false) {
            panic!("{found}");
        }
    }
}

/// Guards that the fuzzer works: it detects a session that loses input.
#[test]
fn a_forgetful_session_is_found() {
    let found = (0..rounds()).find(|seed| Trial::new(*seed).run(true).is_err());
    assert!(found.is_some());
}

/// Guards that inputs are useful: most are at least partly valid, and some take ids.
#[test]
fn inputs_get_somewhere() {
    let takes_ids = |seed: &u64| {
        let trial = Trial::new(*seed);
        let (answers, _) = trial.answers(&[&trial.input], false);
        answers.windows(4).any(|bytes| bytes == b":1\r\n")
    };
    let count = (0..100).filter(takes_ids).count();
    assert!(count > 20, "{count}");
}
