//! Redis commands that are refused with a reason, because they would break the promise that no id
//! repeats. Any other command is unknown.

const SETS: &str = "would repeat ids: the numbers of a tag are never set. INCR takes the next id; \
                    the start of a tag is set when it is created";
const GOES_BACK: &str =
    "would repeat ids: the numbers of a tag never go back. INCR takes the next id";
const FLOATS: &str = "is for fractions, and ids are whole numbers. INCR takes the next id, \
                      INCRBY a range of ids";
const BEGINS_AGAIN: &str = "would repeat ids: in Redis the counter would start again at 1. \
                            To delete a tag, use leafid tag delete";
const MOVES: &str = "would repeat ids: the numbers of one tag would become those of another. \
                     INCR takes the next id of any tag";
const WATCHES: &str = "has nothing to watch: each id is issued once, however many clients take ids. \
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
