//! Commands of Redis that are refused with a reason, because what they ask for would break the
//! promise that no id is given out twice. Any other command is unknown.

const SETS: &str = "would give out ids twice: the numbers of a tag are never set. INCR takes its \
                    next id; where a new tag begins is said when it is created";
const GOES_BACK: &str = "would give out ids twice: the numbers of a tag never go back. INCR takes \
                         its next id";
const FLOATS: &str = "is for numbers with a fraction, and ids are whole. INCR takes the next id, \
                      INCRBY a run of them";
const BEGINS_AGAIN: &str = "would give out ids twice: in Redis the counter would begin again at 1. \
                            A tag that is not needed is deleted with leafid tag delete";
const MOVES: &str = "would give out ids twice: the numbers of one tag would become those of \
                     another. INCR takes the next id of any tag";
const WATCHES: &str = "has nothing to watch: each id is given out once, whoever else takes some. \
                       Leave it out";

/// Why a command is refused; `None` if it is not.
pub(in crate::frontends::resp) fn reason(name: &[u8]) -> Option<&'static str> {
    let is_named = |other: &str| name.eq_ignore_ascii_case(other.as_bytes());
    REFUSED
        .iter()
        .find(|(names, _)| names.iter().any(|other| is_named(other)))
        .map(|(_, reason)| *reason)
}

const REFUSED: [(&[&str], &str); 6] = [
    (
        &[
            "set", "setnx", "setex", "psetex", "getset", "getdel", "getex", "mset", "msetnx",
            "append", "setrange", "setbit", "bitfield", "restore",
        ],
        SETS,
    ),
    (&["decr", "decrby"], GOES_BACK),
    (&["incrbyfloat"], FLOATS),
    (
        &[
            "del",
            "unlink",
            "expire",
            "pexpire",
            "expireat",
            "pexpireat",
            "flushall",
            "flushdb",
        ],
        BEGINS_AGAIN,
    ),
    (
        &["rename", "renamenx", "move", "copy", "swapdb", "migrate"],
        MOVES,
    ),
    (&["watch"], WATCHES),
];
