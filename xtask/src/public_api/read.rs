//! Reads the public items off source as rustfmt writes it: what a line begins with, and how far it
//! is indented, says what it is.

use std::collections::BTreeSet;

/// The public items of a crate; `sources` are the files below `src`.
pub(super) fn items(crate_name: &str, sources: &[(&str, &str)]) -> BTreeSet<String> {
    let mut found = Found::default();
    for (path, text) in sources {
        let module = module_of(crate_name, path);
        let mut attributes = Vec::new();
        for block in blocks(text, 0) {
            match block.attribute() {
                Some(attribute) => attributes.push(attribute),
                None => found.item(&module, &block, &std::mem::take(&mut attributes)),
            }
        }
    }
    found.finish()
}

fn module_of(crate_name: &str, path: &str) -> String {
    let path = path.trim_end_matches(".rs").replace('/', "::");
    match path.as_str() {
        "lib" => crate_name.to_owned(),
        path => format!("{crate_name}::{path}"),
    }
}

/// A line with all that belongs to it: up to its closing bracket.
struct Block<'a> {
    lines: Vec<&'a str>,
}

/// The blocks of a text that are indented by `indent`, without comments and tests.
fn blocks(text: &str, indent: usize) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let text = text.split("\n#[cfg(test)]\nmod tests {").next();
    for line in text.unwrap_or_default().lines() {
        let trimmed = line.trim_start();
        if trimmed.is_empty() || trimmed.starts_with("//") {
            continue;
        }
        let is_end = trimmed.starts_with(['}', ')', ']']) || trimmed == "where";
        match blocks.last_mut() {
            Some(block) if line.len() - trimmed.len() > indent || is_end => block.lines.push(line),
            _ => blocks.push(Block { lines: vec![line] }),
        }
    }
    blocks
}

impl Block<'_> {
    /// On one line, with one space where there was more.
    fn text(&self) -> String {
        let words = self.lines.iter().flat_map(|line| line.split_whitespace());
        let text = words.collect::<Vec<_>>().join(" ");
        text.replace("( ", "(")
            .replace(", )", ")")
            .replace(",)", ")")
            .replace("< ", "<")
            .replace(", >", ">")
    }

    /// Up to the body.
    fn head(&self) -> String {
        let text = self.text();
        let end = text.find(" {").or_else(|| text.find(';'));
        text[..end.unwrap_or(text.len())].to_owned()
    }

    fn attribute(&self) -> Option<String> {
        let text = self.text();
        text.starts_with("#[").then_some(text)
    }

    fn body(&self) -> String {
        let count = self.lines.len();
        let first = self.lines.iter().position(|line| line.ends_with('{'));
        let inner = first.map_or(&[][..], |first| &self.lines[first + 1..count - 1]);
        inner.join("\n")
    }

    /// What is declared inside, each with its attributes.
    fn members(&self) -> Vec<(String, Vec<String>)> {
        let body = self.body();
        let mut members = Vec::new();
        let mut attributes = Vec::new();
        for block in blocks(&body, 4) {
            match block.attribute() {
                Some(attribute) => attributes.push(attribute),
                None => {
                    let is_function = block.head().contains("fn ");
                    let text = match is_function {
                        true => block.head(),
                        false => block.text().trim_end_matches([',', ';']).to_owned(),
                    };
                    members.push((text, std::mem::take(&mut attributes)));
                }
            }
        }
        members
    }
}

#[derive(Default)]
struct Found {
    items: BTreeSet<String>,
    public: BTreeSet<String>,
    private: BTreeSet<String>,
    /// Headers of trait implementations, until it is known which types are public.
    implemented: Vec<String>,
    /// What inherent implementations declare, with their type.
    declared: Vec<(String, String)>,
}

/// What users notice of an attribute: when the item is there, and what it derives.
fn shown(attributes: &[String]) -> String {
    let kept = attributes.iter().filter(|attribute| {
        let starts = |word| attribute.starts_with(word);
        starts("#[cfg(") || starts("#[non_exhaustive") || starts("#[must_use")
    });
    kept.map(|attribute| match attribute.starts_with("#[must_use") {
        true => "#[must_use] ".to_owned(),
        false => format!("{attribute} "),
    })
    .collect()
}

/// The name in front of generics, fields or a bound.
fn name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

impl Found {
    fn item(&mut self, module: &str, block: &Block<'_>, attributes: &[String]) {
        let head = block.head();
        let what = shown(attributes);
        if let Some(rest) = head.strip_prefix("pub ") {
            let kind = rest.split(' ').next().unwrap_or_default();
            match kind {
                "use" => self.exported(module, &block.text(), &what),
                "mod" => drop(self.items.insert(format!("{what}{rest} in {module}"))),
                "struct" | "enum" | "trait" | "union" => {
                    self.type_item(kind, rest, block, attributes);
                }
                _ => drop(self.items.insert(format!("{what}{rest}"))),
            }
        } else if head.starts_with("impl") {
            self.implementation(&head, block);
        } else if head.starts_with("pub(") || !head.contains("macro_rules!") {
            let declared = head
                .trim_start_matches("pub(crate) ")
                .trim_start_matches("pub(super) ");
            for kind in ["struct ", "enum ", "trait ", "type "] {
                if let Some(rest) = declared.strip_prefix(kind) {
                    self.private.insert(name(rest).to_owned());
                }
            }
            if name(&head).len() + 1 == head.find('!').map_or(0, |at| at + 1) {
                self.items.insert(block.text());
            }
        }
    }

    /// `pub use a::{B, C}`, one by one.
    fn exported(&mut self, module: &str, text: &str, what: &str) {
        let text = text.trim_start_matches("pub use ").trim_end_matches(';');
        let names = text.rsplit_once("::").map_or(text, |(_, name)| name);
        let names = text.split_once('{').map_or(names, |(_, names)| names);
        for name in names.trim_end_matches('}').split(',') {
            let name = name.trim();
            let name = name.split_once(" as ").map_or(name, |(_, name)| name);
            if !name.is_empty() {
                self.items.insert(format!("{what}use {module}::{name}"));
            }
        }
    }

    fn type_item(&mut self, kind: &str, rest: &str, block: &Block<'_>, attributes: &[String]) {
        let named = name(rest[kind.len()..].trim_start()).to_owned();
        let private_fields = rest.find('(').filter(|_| !rest.contains("(pub "));
        let rest = &rest[..private_fields.unwrap_or(rest.len())];
        self.items.insert(format!("{}{rest}", shown(attributes)));
        for derive in attributes
            .iter()
            .filter_map(|text| text.strip_prefix("#[derive("))
        {
            for derived in derive.trim_end_matches(")]").split(',') {
                self.items
                    .insert(format!("{named}: derive {}", derived.trim()));
            }
        }
        for (member, attributes) in block.members() {
            let member = match kind {
                "struct" | "union" => member.strip_prefix("pub ").map(str::to_owned),
                _ => Some(member),
            };
            if let Some(member) = member {
                let what = shown(&attributes);
                self.items.insert(format!("{named}: {what}{member}"));
            }
        }
        self.public.insert(named);
    }

    fn implementation(&mut self, head: &str, block: &Block<'_>) {
        if head.contains(" for ") {
            self.implemented.push(head.to_owned());
            return;
        }
        let of = head.rsplit_once("> ").map_or(head, |(_, of)| of);
        let of = name(of.trim_start_matches("impl ")).to_owned();
        for (member, attributes) in block.members() {
            if let Some(member) = member.strip_prefix("pub ") {
                let what = shown(&attributes);
                self.declared.push((of.clone(), format!("{what}{member}")));
            } else if let Some((call, body)) = member.split_once("! {") {
                for line in body.trim_end_matches('}').split(',').map(str::trim) {
                    self.declared.push((of.clone(), format!("{call}! {line}")));
                }
            }
        }
    }

    fn finish(mut self) -> BTreeSet<String> {
        for (of, member) in self.declared {
            if self.public.contains(&of) {
                self.items.insert(format!("{of}: {member}"));
            }
        }
        for head in self.implemented {
            let (_, of) = head.rsplit_once(" for ").unwrap_or_default();
            let is_private = self.private.contains(name(of)) && !self.public.contains(name(of));
            let words = head.split(|c: char| !c.is_alphanumeric() && c != '_');
            if !is_private && words.into_iter().any(|word| self.public.contains(word)) {
                self.items.insert(head);
            }
        }
        self.items
    }
}
