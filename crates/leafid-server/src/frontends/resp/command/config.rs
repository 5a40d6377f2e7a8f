//! CONFIG: the settings that Redis clients ask for, by the names of Redis.

use super::{Outcome, Turn};
use crate::frontends::resp::args::Args;

const REFUSED: &str =
    "ERR settings are not changed through the Redis protocol: see leafid serve --help";

/// Settings that clients and tools ask for, in the order of their names. A reservation is durable
/// before an id of it is issued, which is what `appendonly` stands for.
const SETTINGS: [(&str, &str); 6] = [
    ("appendonly", "yes"),
    ("databases", "1"),
    ("maxmemory", "0"),
    ("maxmemory-policy", "noeviction"),
    ("save", ""),
    ("timeout", "0"),
];

pub(super) fn get(turn: &mut Turn<'_>, args: Args<'_>) -> Outcome {
    let is_asked = |name: &str| {
        args.from(2)
            .any(|pattern| matches(pattern, name.as_bytes()))
    };
    let found = || SETTINGS.iter().filter(|(name, _)| is_asked(name));
    turn.reply.map(found().count());
    for (name, value) in found() {
        turn.reply.field(name, value);
    }
    Outcome::Done
}

pub(super) fn set(turn: &mut Turn<'_>, _args: Args<'_>) -> Outcome {
    turn.fail(REFUSED)
}

/// Whether a name matches a pattern, in which `*` stands for any text and `?` for one character.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    // Where to continue after the last `*`, and how much of the name it has matched.
    let mut star = None;
    while seen < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at + 1, seen));
                at += 1;
            }
            Some(byte) if *byte == b'?' || byte.eq_ignore_ascii_case(&name[seen]) => {
                at += 1;
                seen += 1;
            }
            _ => match star {
                Some((after, taken)) => {
                    star = Some((after, taken + 1));
                    (at, seen) = (after, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_in_a_shell() {
        let check = |pattern: &str, expected: bool| {
            let is_match = matches(pattern.as_bytes(), b"maxmemory-policy");
            assert_eq!(is_match, expected, "{pattern}");
        };
        for pattern in [
            "*",
            "max*",
            "*policy",
            "m*y-p*y",
            "MAXMEMORY-policy",
            "max?emory*",
            "**",
        ] {
            check(pattern, true);
        }
        for pattern in ["", "max", "*memory", "?", "maxmemory-policy?"] {
            check(pattern, false);
        }
    }
}
