//! `Code`: Rust source with comments and texts blanked out, so that a rule can look for words in
//! what is code. Every character keeps its line.

use std::iter::Peekable;
use std::str::Chars;

/// What is code in a Rust file.
pub(super) struct Code {
    /// The code; comments and the insides of texts are blank.
    pub(super) blanked: String,
    /// The same without white space, save between two words, for things that rustfmt spreads
    /// over lines.
    compact: String,
    /// The line of each byte of `compact`.
    lines: Vec<usize>,
    /// The first line of the tests at the end of the file.
    pub(super) tests_from: usize,
}

impl Code {
    pub(super) fn of(text: &str) -> Self {
        let blanked = Blanking::new(text).run();
        let mut compact = String::new();
        let mut lines = Vec::new();
        for (line, content) in (1..).zip(blanked.lines()) {
            for word in content.split_whitespace() {
                if compact.ends_with(is_word) && word.starts_with(is_word) {
                    compact.push(' ');
                }
                compact.push_str(word);
                lines.resize(compact.len(), line);
            }
        }
        let tests_from = (1..)
            .zip(blanked.lines().zip(blanked.lines().skip(1)))
            .find(|(_, (mark, item))| *mark == "#[cfg(test)]" && item.starts_with("mod tests {"))
            .map_or(usize::MAX, |(line, _)| line);
        Self {
            blanked,
            compact,
            lines,
            tests_from,
        }
    }

    /// The lines where `pattern`, with white space only between words, occurs; never in the
    /// middle of a longer word.
    pub(super) fn lines_with(&self, pattern: &str) -> Vec<usize> {
        let starts_as_word = pattern.starts_with(is_word);
        let ends_as_word = pattern.ends_with(is_word);
        self.compact
            .match_indices(pattern)
            .filter(|(at, _)| {
                let before = self.compact[..*at].chars().next_back();
                let after = self.compact[at + pattern.len()..].chars().next();
                !(starts_as_word && before.is_some_and(is_word)
                    || ends_as_word && after.is_some_and(is_word))
            })
            .map(|(at, _)| self.lines[at])
            .collect()
    }

    /// The lines of code with this word.
    pub(super) fn lines_with_word(&self, word: &str) -> Vec<usize> {
        (1..)
            .zip(self.blanked.lines())
            .filter(|(_, line)| {
                line.split(|character| !is_word(character))
                    .any(|part| part == word)
            })
            .map(|(line, _)| line)
            .collect()
    }
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// A walk over the source that copies code and blanks the rest.
struct Blanking<'a> {
    rest: Peekable<Chars<'a>>,
    done: String,
}

impl<'a> Blanking<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text.chars().peekable(),
            done: String::with_capacity(text.len()),
        }
    }

    fn run(mut self) -> String {
        while let Some(character) = self.rest.next() {
            match (character, self.rest.peek()) {
                ('/', Some('/')) => self.line_comment(),
                ('/', Some('*')) => self.block_comment(),
                ('"', _) => self.text(),
                ('\'', _) => self.quote(),
                ('r', Some('"' | '#')) if !self.done.ends_with(is_word) => self.raw_text(),
                _ => self.done.push(character),
            }
        }
        self.done
    }

    fn blank(&mut self, character: char) {
        self.done.push(if character == '\n' { '\n' } else { ' ' });
    }

    fn line_comment(&mut self) {
        while self.rest.next_if(|character| *character != '\n').is_some() {}
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        let mut previous = '/';
        while let Some(character) = self.rest.next() {
            self.blank(character);
            match (previous, character) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth = depth.saturating_sub(1),
                _ => {
                    previous = character;
                    continue;
                }
            }
            if depth == 0 {
                return;
            }
            previous = ' ';
        }
    }

    /// The inside of a text, up to its closing quotation mark.
    fn text(&mut self) {
        self.done.push('"');
        while let Some(character) = self.rest.next() {
            match character {
                '\\' => {
                    if let Some(escaped) = self.rest.next() {
                        self.blank(escaped);
                    }
                }
                '"' => {
                    self.done.push('"');
                    return;
                }
                _ => self.blank(character),
            }
        }
    }

    /// A raw text, or the raw name of something.
    fn raw_text(&mut self) {
        let mut hashes = 0;
        while self.rest.next_if_eq(&'#').is_some() {
            hashes += 1;
        }
        if self.rest.next_if_eq(&'"').is_none() {
            self.done.push_str("r#");
            return;
        }
        self.done.push('"');
        while let Some(character) = self.rest.next() {
            if character == '"' {
                let mut closing = 0;
                while closing < hashes && self.rest.next_if_eq(&'#').is_some() {
                    closing += 1;
                }
                if closing == hashes {
                    self.done.push('"');
                    return;
                }
            }
            self.blank(character);
        }
    }

    /// A character in quotation marks, or the name of a lifetime.
    fn quote(&mut self) {
        self.done.push('\'');
        let mut ahead = self.rest.clone();
        let is_character = match ahead.next() {
            Some('\\') => true,
            Some(_) => ahead.next() == Some('\''),
            None => false,
        };
        if !is_character {
            return;
        }
        while let Some(character) = self.rest.next() {
            match character {
                '\\' => {
                    let _escaped = self.rest.next();
                }
                '\'' => {
                    self.done.push('\'');
                    return;
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        assert_eq!(Code::of(source).blanked, expected, "{source}");
    }

    #[test]
    fn comments_and_texts_are_blank() {
        check("a // b\nc", "a \nc");
        check("a /* b /* c */ d */ e", "a                  e");
        check(r#"f("x // y", z)"#, r#"f("      ", z)"#);
        check(r#"f("a\"b", c)"#, r#"f("   ", c)"#);
        check("f(r#\"a\"b\"#, c)", "f(\"   \", c)");
        check("f('\"', '\\'', 'a') // x", "f('', '', '') ");
        check("fn f<'a>(x: &'a str) {}", "fn f<'a>(x: &'a str) {}");
        check("\"a\nb\"", "\" \n \"");
    }

    #[test]
    fn patterns_are_found_across_lines_and_as_whole_words() {
        let code = Code::of("self\n    .store\n    .read(x);\nrestore.read(y);");
        assert_eq!(code.lines_with("store.read("), [2]);
        assert_eq!(code.lines_with("self.store"), [1]);
        assert_eq!(
            Code::of("return store.read(x)").lines_with("store.read("),
            [1]
        );
        assert_eq!(code.lines_with_word("restore"), [4]);
        assert_eq!(Code::of("a\n#[cfg(test)]\nmod tests {}").tests_from, 2);
        let import = "#[cfg(test)]\nuse a::b;\n#[cfg(test)]\nmod tests {}";
        assert_eq!(Code::of(import).tests_from, 3);
    }
}
