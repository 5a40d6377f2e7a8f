//! The code blocks of a page in Markdown, and the commands in a block.

/// A code block.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The line of its first fence, from 1.
    pub(super) line: usize,
    /// The language of the fence; "indented" if there is none.
    pub(super) language: String,
    pub(super) text: String,
    /// Why it is not run, from a comment above it.
    pub(super) reason: Option<String>,
}

impl Block {
    /// The file that it is, if its first line is a comment with nothing but a name.
    pub(super) fn file(&self) -> Option<&str> {
        let first = self.text.lines().next()?.strip_prefix("# ")?;
        let name = first.split(',').next()?;
        let is_name = name.contains('.') && !name.contains(char::is_whitespace);
        is_name.then_some(name)
    }
}

/// All code blocks, in order.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(Block, usize)> = None;
    let (mut above, mut is_list) = ("", false);
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        if let Some((block, fence_indent)) = &mut open {
            if trimmed == "```" {
                blocks.extend(open.take().map(|(block, _)| block));
            } else {
                let cut = indent.min(*fence_indent);
                block.text.push_str(&line[cut..]);
                block.text.push('\n');
            }
            continue;
        }
        let mut block = Block {
            line: number,
            language: trimmed.trim_start_matches('`').to_owned(),
            text: String::new(),
            reason: reason(above),
        };
        if trimmed.starts_with("```") {
            open = Some((block, indent));
        } else if indent >= 4 && !is_list && !above.starts_with("<!--") {
            block.language = "indented".to_owned();
            blocks.push(block);
        }
        if !trimmed.is_empty() {
            above = line;
            is_list = is_list && indent > 0 || is_item(trimmed);
        }
    }
    assert!(open.is_none(), "a block that does not end: {open:?}");
    blocks
}

fn reason(above: &str) -> Option<String> {
    let reason = above.trim().strip_prefix("<!-- not run: ")?;
    Some(reason.strip_suffix(" -->")?.to_owned())
}

fn is_item(line: &str) -> bool {
    let after_number = line.trim_start_matches(|sign: char| sign.is_ascii_digit());
    line.starts_with("- ") || after_number.len() < line.len() && after_number.starts_with(". ")
}

/// The commands of a script: lines that end with a backslash go on, comments are left out.
pub(super) fn commands(script: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut command = String::new();
    for line in script.lines() {
        if command.is_empty() && (line.trim().is_empty() || line.starts_with('#')) {
            continue;
        }
        command.push_str(line);
        match command.strip_suffix('\\') {
            Some(begun) => command = format!("{begun} "),
            None => commands.push(std::mem::take(&mut command)),
        }
    }
    assert!(command.is_empty(), "a command that does not end: {command}");
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_a_line_a_language_and_a_reason() {
        let text =
            "a\n```sh\nb\n```\n<!-- not run: because -->\n\n1. c\n\n   ```sql\n   d\n   ```\n";
        let blocks = blocks(text);
        let seen: Vec<_> = blocks
            .iter()
            .map(|block| (block.line, block.language.as_str(), block.text.as_str()))
            .collect();
        assert_eq!(seen, [(2, "sh", "b\n"), (9, "sql", "d\n")]);
        assert_eq!(blocks[0].reason, None);
        assert_eq!(reason("<!-- not run: because -->").unwrap(), "because");
    }

    #[test]
    fn an_indented_block_is_one_without_a_language() {
        assert_eq!(blocks("a\n\n    b\n")[0].language, "indented");
        assert_eq!(blocks("- a\n\n    b\n"), []);
    }

    #[test]
    fn commands_go_over_lines() {
        let script = "# c\na \\\n  b # d\n\ne\n";
        assert_eq!(commands(script), ["a    b # d", "e"]);
    }
}
