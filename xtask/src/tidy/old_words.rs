//! Words of our own that the field has terms for. They were replaced, and do not come back.

use super::words::has_word;
use super::{Finding, SourceFile};

/// The folder of the rules themselves, which name these words.
const RULES: &str = "xtask/src/tidy/";
/// The pages that say what a thing was called before.
const HISTORY: [&str; 1] = ["CHANGELOG.md"];

/// Each with its replacement. A phrase counts wherever it stands; a word by itself, or as a part of
/// a name between underscores.
const OLD_WORDS: &[(&str, &str)] = &[
    ("door", "front end, or protocol"),
    ("doors", "front ends, or protocols"),
    ("Door", "FrontEnd"),
    ("Hall", "Acceptor"),
    ("lane", "runtime of a core"),
    ("lanes", "runtimes of cores"),
    ("Lane", "CoreRuntime"),
    ("Lanes", "CoreRuntimes"),
    ("OperatorPlaces", "AdminSlots"),
    ("Belled", "PollOnWake"),
    ("Owed", "PendingReplies"),
    ("Watched", "InstrumentedStore"),
    ("Judged", "DurabilityChecked"),
    ("Alarms", "EventLog"),
    ("Anybody", "NoVerification"),
    ("NotYetReason", "TransientReason"),
    ("Starved", "TakeError"),
    ("blows", "faults"),
    ("Blow", "Fault"),
    ("release_dead", "force_release"),
    ("take apart", "decode"),
    ("takes apart", "decodes"),
    ("taken apart", "decoded"),
    ("put in force", "apply"),
    ("puts in force", "applies"),
    ("run of ids", "range of ids"),
    ("runs of ids", "ranges of ids"),
    ("run of adjacent", "range of adjacent"),
    ("run of numbers", "range of numbers"),
    ("worker_reservation", "worker_lease"),
    ("reservation of a worker id", "lease of a worker id"),
    ("inside its reservation", "inside its lease"),
    ("FullSite", "FullServer"),
    ("judge", "check, or what is decided"),
    ("judged", "checked, or what is decided"),
    ("himself", "it, or itself"),
    ("anybody", "any caller, server or process"),
    ("everybody", "all callers, servers or processes"),
    ("takes note of", "records"),
    ("take note of", "record"),
    ("for who", "for a caller that"),
    ("none any more", "no longer any"),
    ("comes by itself", "comes automatically"),
    ("of its own accord", "by itself"),
    ("gave out", "issued"),
    ("gives out", "issues"),
    ("told of", "reported"),
    ("tells of", "reports"),
    ("so many of", "this many of"),
];

/// No word that was replaced comes back, in code, comments or pages.
pub(super) fn private(file: &SourceFile) -> Vec<Finding> {
    let is_exempt = file.path.starts_with(RULES)
        || HISTORY.contains(&file.path.as_str())
        || file.path == "Cargo.lock";
    if is_exempt {
        return Vec::new();
    }
    let lines = (1..).zip(file.text.lines());
    lines
        .flat_map(|(line, text)| {
            let old = OLD_WORDS
                .iter()
                .filter(move |(word, _)| has_word(text, word));
            old.map(move |(word, instead)| (line, word, instead))
        })
        .map(|(line, word, instead)| {
            let message = format!("\"{word}\" is a word of our own: say \"{instead}\"");
            Finding::new(&file.path, line, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    #[test]
    fn old_words_do_not_come_back() {
        for (word, _) in OLD_WORDS {
            let comment = format!("// x\n// the {word}, again\n");
            check_rule(private, "crates/x/src/a.rs", &comment, &[2]);
            check_rule(private, "docs/x.md", &format!("{word}\n"), &[1]);
            check_rule(private, "CHANGELOG.md", word, &[]);
            check_rule(private, "docs/x.md", &format!("x{word}s"), &[]);
        }
        check_rule(private, "a.rs", "fn front_door() {}", &[1]);
        check_rule(private, "a.rs", "outdoors", &[]);
    }
}
