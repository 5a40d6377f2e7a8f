//! `Imports`: which file of a crate uses what of which other file, read from paths in the code.
//!
//! A name that a file only passes on (`pub use`) counts for the file that has it. Test code does
//! not count.

use std::collections::{BTreeMap, BTreeSet};

use super::SourceFile;

/// Who uses whom within one crate.
pub(super) struct Imports {
    /// For each file the files that it uses, each with the first line that says so.
    uses: BTreeMap<String, BTreeMap<String, usize>>,
}

impl Imports {
    /// Those of a crate, by the folder of its sources, such as `crates/leafid/src/`.
    pub(super) fn of(files: &[SourceFile], folder: &str) -> Self {
        let sources: BTreeMap<Vec<String>, Source> = files
            .iter()
            .filter(|file| file.is_rust() && file.path.starts_with(folder))
            .map(|file| {
                let module = module(&file.path[folder.len()..]);
                (module, Source::of(file))
            })
            .collect();
        let modules: BTreeSet<&Vec<String>> = sources.keys().collect();
        let mut uses: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
        for (module, source) in &sources {
            for import in &source.imports {
                let Some(used) = resolve(&sources, &modules, module, &import.path, 0) else {
                    continue;
                };
                if used != source.path {
                    let used = uses.entry(source.path.clone()).or_default().entry(used);
                    used.or_insert(import.line);
                }
            }
        }
        Self { uses }
    }

    /// User, used and line.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str, usize)> {
        self.uses.iter().flat_map(|(user, used)| {
            used.iter()
                .map(move |(used, line)| (user.as_str(), used.as_str(), *line))
        })
    }

    pub(super) fn has(&self, user: &str, used: &str) -> bool {
        self.uses
            .get(user)
            .is_some_and(|files| files.contains_key(used))
    }
}

/// What a file says of others.
struct Source {
    path: String,
    imports: Vec<Import>,
    /// What it passes on, by name.
    passed_on: BTreeMap<String, Vec<String>>,
}

struct Import {
    path: Vec<String>,
    line: usize,
}

/// The path of a module within its crate, by the file's path within the sources.
fn module(file: &str) -> Vec<String> {
    let stem = file.trim_end_matches(".rs");
    if ["lib", "main"].contains(&stem) {
        return Vec::new();
    }
    stem.split('/').map(str::to_owned).collect()
}

/// The file that has what a path names, as written in `from`; `None` for another crate's.
fn resolve(
    sources: &BTreeMap<Vec<String>, Source>,
    modules: &BTreeSet<&Vec<String>>,
    from: &[String],
    path: &[String],
    depth: usize,
) -> Option<String> {
    let mut base = from.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            base.clear();
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|part| part == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        name => {
            base.push(name.to_owned());
            if !modules.contains(&base) {
                return None;
            }
            rest = &path[1..];
        }
    }
    while let Some(name) = rest.first() {
        base.push(name.clone());
        if !modules.contains(&base) {
            base.pop();
            break;
        }
        rest = &rest[1..];
    }
    let source = sources.get(&base)?;
    // No name is passed on through more files than that.
    if let Some(name) = rest.first()
        && depth < 8
        && let Some(passed_on) = source.passed_on.get(name)
        && let Some(file) = resolve(sources, modules, &base, passed_on, depth + 1)
    {
        return Some(file);
    }
    Some(source.path.clone())
}

impl Source {
    fn of(file: &SourceFile) -> Self {
        let tokens = tokens(file);
        let mut source = Self {
            path: file.path.clone(),
            imports: Vec::new(),
            passed_on: BTreeMap::new(),
        };
        let mut at = 0;
        while at < tokens.len() {
            if is_test_only(&tokens[at..]) {
                at = after_item(&tokens, at + TEST_ONLY.len());
            } else if tokens[at].text == "use" {
                at = source.statement(&tokens, at);
            } else {
                at = source.inline(&tokens, at);
            }
        }
        source
    }

    /// Reads `use …;`, and answers where it ends.
    fn statement(&mut self, tokens: &[Token<'_>], at: usize) -> usize {
        let before = at.checked_sub(1).map(|before| tokens[before].text);
        let is_public = before == Some("pub") || before == Some(")");
        let mut paths = Vec::new();
        let end = tree(tokens, at + 1, &mut Vec::new(), &mut paths);
        for (path, name) in paths {
            if is_public {
                self.passed_on.insert(name, path);
            } else {
                let line = tokens[at].line;
                self.imports.push(Import { path, line });
            }
        }
        end
    }

    /// Reads a path within code, such as `crate::a::f(…)`, or goes on by one.
    fn inline(&mut self, tokens: &[Token<'_>], at: usize) -> usize {
        let follows = |at: usize| tokens.get(at).map(|token| token.text);
        let is_inside = at > 0 && ["::", ".", "mod", "fn"].contains(&tokens[at - 1].text);
        // As in `pub(in crate::a)`.
        let is_visibility = at > 1 && tokens[at - 1].text == "in" && tokens[at - 2].text == "(";
        let is_path = is_name(tokens[at].text) && follows(at + 1) == Some("::");
        if is_inside || is_visibility || !is_path {
            return at + 1;
        }
        let mut path = vec![tokens[at].text.to_owned()];
        let mut end = at + 1;
        while follows(end) == Some("::") && follows(end + 1).is_some_and(is_name) {
            path.push(tokens[end + 1].text.to_owned());
            end += 2;
        }
        let line = tokens[at].line;
        self.imports.push(Import { path, line });
        end
    }
}

/// Reads a tree of imports that begins at `at`, and answers where it ends. Each path comes with
/// the name under which it is known.
fn tree(
    tokens: &[Token<'_>],
    mut at: usize,
    prefix: &mut Vec<String>,
    paths: &mut Vec<(Vec<String>, String)>,
) -> usize {
    let len = prefix.len();
    while let Some(token) = tokens.get(at) {
        match token.text {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| token.text != "}") {
                    at = tree(tokens, at, prefix, paths);
                    at += usize::from(tokens.get(at).is_some_and(|token| token.text == ","));
                }
                prefix.truncate(len);
                return at + 1;
            }
            "as" => {
                let name = tokens.get(at + 1).map_or("_", |token| token.text);
                paths.push((prefix.clone(), name.to_owned()));
                prefix.truncate(len);
                return at + 2;
            }
            text if is_name(text) || text == "*" => {
                prefix.push(text.to_owned());
                at += 1;
            }
            _ => break,
        }
    }
    if prefix.len() > len {
        let name = prefix.last().cloned().unwrap_or_default();
        paths.push((prefix.clone(), name));
    }
    prefix.truncate(len);
    at
}

struct Token<'a> {
    text: &'a str,
    line: usize,
}

/// The code's names and signs, up to the tests at its end.
fn tokens(file: &SourceFile) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    for (line, mut rest) in (1..).zip(file.code.blanked.lines()) {
        if line >= file.code.tests_from {
            break;
        }
        while let Some(first) = rest.chars().next() {
            let len = match first {
                _ if is_name(&rest[..first.len_utf8()]) => rest
                    .find(|character: char| !character.is_alphanumeric() && character != '_')
                    .unwrap_or(rest.len()),
                ':' if rest.starts_with("::") => 2,
                _ => first.len_utf8(),
            };
            if !first.is_whitespace() {
                let text = &rest[..len];
                tokens.push(Token { text, line });
            }
            rest = &rest[len..];
        }
    }
    tokens
}

const TEST_ONLY: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];

fn is_test_only(tokens: &[Token<'_>]) -> bool {
    let texts = tokens.iter().take(TEST_ONLY.len()).map(|token| token.text);
    texts.eq(TEST_ONLY)
}

/// Where the item ends that begins at `at`.
fn after_item(tokens: &[Token<'_>], at: usize) -> usize {
    let mut depth = 0_usize;
    for (end, token) in tokens.iter().enumerate().skip(at) {
        match token.text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            ";" => {}
            _ => continue,
        }
        if depth == 0 {
            return end + 1;
        }
    }
    tokens.len()
}

fn is_name(text: &str) -> bool {
    text.starts_with(|character: char| character.is_alphabetic() || character == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<SourceFile> = files
            .iter()
            .map(|(path, text)| SourceFile::new(format!("x/src/{path}"), *text))
            .collect();
        let imports = Imports::of(&files, "x/src/");
        let shown = |(user, used, line): (&str, &str, usize)| {
            let [user, used] = [user, used].map(|path| path.trim_start_matches("x/src/"));
            format!("{user}:{line} {used}")
        };
        imports.iter().map(shown).collect()
    }

    #[test]
    fn statements_and_paths_count() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\n"),
            (
                "a.rs",
                "mod d;\nuse crate::b::{self, X, c::{Y as Z}};\nuse std::fmt;\nfn f() {\n    crate::c::g(d::h());\n}\n",
            ),
            (
                "a/d.rs",
                "use super::super::c;\npub(in crate::a) fn f() { x.b::<u8>() }\n",
            ),
            ("b.rs", "// use crate::a;\nfn f() { \"crate::a::x\" }\n"),
            ("c.rs", ""),
        ];
        let expected = [
            "a.rs:5 a/d.rs",
            "a.rs:2 b.rs",
            "a.rs:5 c.rs",
            "a/d.rs:1 c.rs",
        ];
        assert_eq!(uses(&files), expected);
    }

    #[test]
    fn what_is_passed_on_counts_for_its_file() {
        let files = [
            ("lib.rs", "pub use a::X;\nmod a;\nmod b;\n"),
            ("a.rs", "mod d;\npub(crate) use d::X;\n"),
            ("a/d.rs", "pub struct X;\n"),
            ("b.rs", "use crate::a::X;\n"),
        ];
        assert_eq!(uses(&files), ["b.rs:1 a/d.rs"]);
    }

    #[test]
    fn tests_do_not_count() {
        let a = "#[cfg(test)]\nuse crate::b;\n#[cfg(test)]\nimpl X {\n    fn f() { crate::b::g() }\n}\nuse crate::c;\n\n#[cfg(test)]\nmod tests {\n    use crate::b;\n}\n";
        let files = [("a.rs", a), ("b.rs", ""), ("c.rs", "")];
        assert_eq!(uses(&files), ["a.rs:7 c.rs"]);
    }
}
