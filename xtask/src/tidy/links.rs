//! The rules that a relative link in a Markdown file leads to something, and that a source file it
//! names exists.

use std::path::{Path, PathBuf};

use super::{Finding, SourceFile};
use crate::run::root;

pub(super) fn targets(file: &SourceFile) -> Vec<Finding> {
    if !file.path.ends_with(".md") {
        return Vec::new();
    }
    let here = root().join(&file.path);
    let folder = here.parent().unwrap_or(Path::new("")).to_owned();
    links(&file.text)
        .filter(|(_, target)| !resolves(&folder, target))
        .map(|(line, target)| {
            let message = format!("the link to {target} leads nowhere: correct or remove it");
            Finding::new(&file.path, line, message)
        })
        .collect()
}

fn resolves(folder: &Path, target: &str) -> bool {
    let path: PathBuf = folder.join(target);
    path.exists()
}

/// A source file that a page names, such as `service/tags.rs`, exists: by its path, or by the end of
/// it.
pub(super) fn source_files(files: &[SourceFile]) -> Vec<Finding> {
    let exists = |named: &str| {
        let is_named = |file: &SourceFile| {
            let rest = file.path.strip_suffix(named);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
        };
        files.iter().any(is_named)
    };
    let pages = files.iter().filter(|file| file.path.ends_with(".md"));
    let pages = pages.filter(|page| page.path != "CHANGELOG.md");
    pages
        .flat_map(|page| (1..).zip(page.text.lines()).map(move |line| (page, line)))
        .flat_map(|(page, (line, text))| {
            // Every second part between backticks is code.
            let code = text.split('`').skip(1).step_by(2);
            let named = code.filter(|code| code.ends_with(".rs") && !code.contains([' ', '*']));
            named.map(move |named| (page, line, named))
        })
        .filter(|(_, _, named)| !exists(named))
        .map(|(page, line, named)| {
            let message = format!("there is no {named}: name the file as it is called now");
            Finding::new(&page.path, line, message)
        })
        .collect()
}

/// The targets of links within the repository, with their lines; not those in code.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    let lines = (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    });
    lines.flat_map(|(line, text)| {
        // Every second part between backticks is code.
        let prose = text.split('`').step_by(2);
        let opened = prose.flat_map(|part| part.split("](").skip(1));
        let targets = opened.filter_map(|rest| rest.split([')', '#', ' ']).next());
        let relative = targets.filter(|target| {
            !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")
        });
        relative.map(move |target| (line, target))
    })
}

#[cfg(test)]
mod tests {
    use super::super::check_rule;
    use super::*;

    #[test]
    fn links_lead_somewhere() {
        check_rule(
            targets,
            "README.md",
            "[a](Cargo.toml) [b](xtask/src#x)\n",
            &[],
        );
        check_rule(targets, "README.md", "x\n[a](no-such-file.md)\n", &[2]);
        check_rule(targets, "xtask/README.md", "[a](../Cargo.toml)\n", &[]);
        check_rule(targets, "README.md", "[a](https://x.org/y) [b](#z)\n", &[]);
        check_rule(
            targets,
            "README.md",
            "```\n[a](nowhere)\n```\n`[b](nowhere)`\n",
            &[],
        );
    }

    #[test]
    fn source_files_exist() {
        let file = |path: &str, text: &str| SourceFile::new(path, text);
        let files = [
            file("a/src/b/c.rs", ""),
            file(
                "x.md",
                "`b/c.rs` `a/src/b/c.rs`\n`c.rs` and `x/c.rs`\n`*.rs`\n",
            ),
        ];
        let found = source_files(&files);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string().split(": ").next(), Some("x.md:2"));
    }
}
