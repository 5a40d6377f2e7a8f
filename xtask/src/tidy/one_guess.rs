//! The rule that a search for the words of a question in ARCHITECTURE.md finds the file that the
//! table names first.

use super::{Finding, SourceFile};

const PAGE: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Find it in one guess";
/// Shorter words and these are in every file, or say nothing about it.
const WORD_LEN_MIN: usize = 4;
const COMMON_WORDS: [&str; 25] = [
    "after", "also", "before", "between", "both", "does", "each", "from", "have", "like", "many",
    "more", "most", "must", "only", "over", "same", "such", "than", "that", "their", "this",
    "what", "when", "which",
];

/// Every row of the table: each word of its question is in the first file that it names.
pub(super) fn words_are_found(files: &[SourceFile]) -> Vec<Finding> {
    let Some(page) = files.iter().find(|file| file.path == PAGE) else {
        return Vec::new();
    };
    rows(&page.text)
        .filter_map(|(line, question, answer)| {
            let named = answer.split('`').skip(1).step_by(2);
            let first = named.into_iter().find(|code| code.ends_with(".rs"))?;
            let missing = missing_words(question, text_of(first, files)?);
            let message = format!(
                "{first} lacks \"{}\": describe it there in these words, or ask in its own",
                missing.join("\", \"")
            );
            (!missing.is_empty()).then(|| Finding::new(PAGE, line, message))
        })
        .collect()
}

/// The lines of the table with their questions and answers.
fn rows(page: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let lines = (1..).zip(page.lines());
    let table = lines
        .skip_while(|(_, line)| *line != HEADING)
        .skip(1)
        .take_while(|(_, line)| !line.starts_with("## "));
    table.filter_map(|(line, text)| {
        let (question, answer) = text.strip_prefix("| ")?.split_once(" | ")?;
        Some((line, question, answer))
    })
}

/// The file of a crate that a row names by its path, or by the end of it.
fn text_of<'a>(named: &str, files: &'a [SourceFile]) -> Option<&'a str> {
    let ending = format!("/{named}");
    let of_a_crate = files.iter().filter(|file| file.path.starts_with("crates/"));
    let mut found = of_a_crate.filter(|file| file.path.ends_with(&ending));
    found.next().map(|file| file.text.as_str())
}

fn missing_words<'a>(question: &'a str, text: &str) -> Vec<&'a str> {
    let text = text.to_lowercase();
    let words = question.split(|letter: char| !letter.is_alphanumeric());
    words
        .filter(|word| word.len() >= WORD_LEN_MIN && !COMMON_WORDS.contains(word))
        .filter(|word| !text.contains(&stem(&word.to_lowercase())))
        .collect()
}

/// A word without the ending of its form, so that "chooses" finds "choose".
fn stem(word: &str) -> String {
    let endings = ["ies", "ing", "ed", "es", "s"];
    let stems = endings
        .iter()
        .filter_map(|ending| word.strip_suffix(ending));
    let mut long_enough = stems.filter(|stem| stem.len() >= WORD_LEN_MIN);
    long_enough.next().unwrap_or(word).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(row: &str, expected_lines: &[usize]) {
        let page = format!("# Map\n\n| no row | `pool.rs` |\n\n{HEADING}\n\n{row}\n\n## Next\n");
        let files = [
            SourceFile::new(PAGE, page),
            SourceFile::new("crates/x/src/pool.rs", "//! The connection pool: retries."),
        ];
        let found = words_are_found(&files);
        let lines: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, expected_lines, "{row}: {found:?}");
    }

    #[test]
    fn the_words_of_a_question_are_in_its_file() {
        check(
            "| which connections are in the pool? | `x/src/pool.rs` |",
            &[],
        );
        check("| when is a call retried? | `pool.rs`, `other.rs` |", &[7]);
        check("| when does it retry? | `pool.rs`: the pool |", &[7]);
        check("| the SQL protocol | [proto](proto) |", &[]);
    }
}
