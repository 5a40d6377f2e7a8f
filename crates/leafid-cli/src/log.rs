//! The log of `leafid serve`: one line for each event on standard error, which nothing from outside
//! can break or reorder.

mod outlet;

use std::io::{self, IsTerminal as _, Write};

use leafid::Escaped;
use leafid_server::{Config, LogFormat};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use self::outlet::Outlet;

/// Starts to log, as the settings say. Fails if the system has no threads left.
pub(crate) fn start(config: &Config) -> io::Result<()> {
    let outlet = Outlet::to(io::stderr())?;
    let is_json = config.log_format == LogFormat::Json;
    let has_colors = io::stderr().is_terminal();
    let log = tracing_subscriber::fmt()
        .with_max_level(config.log)
        .with_writer(move || Lines {
            is_json,
            has_colors,
            out: outlet.clone(),
        })
        .with_ansi(has_colors);
    let targets = targets(config.log);
    match config.log_format {
        LogFormat::Text => log.finish().with(targets).init(),
        LogFormat::Json => log.json().finish().with(targets).init(),
    }
    Ok(())
}

/// The HTTP/2 library logs a warning for each connection that it cuts, so a client that floods the
/// server with frames would fill the log. A metric counts those connections instead.
fn targets(max: LevelFilter) -> Targets {
    let of_http2 = match max {
        LevelFilter::DEBUG | LevelFilter::TRACE => max,
        _ => max.min(LevelFilter::ERROR),
    };
    Targets::new().with_default(max).with_target("h2", of_http2)
}

/// Writes events with their invisible characters escaped. The subscriber writes each event in one
/// call, line end included.
struct Lines<W> {
    is_json: bool,
    /// Whether the event contains the subscriber's own escape sequences; it escapes those of
    /// others.
    has_colors: bool,
    out: W,
}

impl<W> Lines<W> {
    fn escaped(&self, line: &str) -> String {
        let mut text = String::with_capacity(line.len() * 2);
        for c in line.chars() {
            if !Escaped::is_invisible(c) || (self.has_colors && c == '\u{1b}') {
                text.push(c);
            } else if self.is_json {
                // The character can only be inside a string.
                for unit in c.encode_utf16(&mut [0; 2]) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            } else {
                text.extend(c.escape_unicode());
            }
        }
        text
    }
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        let line = text.strip_suffix('\n').unwrap_or(&text);
        if line.contains(Escaped::is_invisible) {
            let end = &text[line.len()..];
            let escaped = self.escaped(line) + end;
            self.out.write_all(escaped.as_bytes())?;
        } else {
            self.out.write_all(event)?;
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(is_json: bool, has_colors: bool, event: &str, expected: &str) {
        let mut lines = Lines {
            is_json,
            has_colors,
            out: Vec::new(),
        };
        lines.write_all(event.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(lines.out).unwrap(), expected);
    }

    #[test]
    fn floods_of_frames_do_not_fill_the_log() {
        use tracing::Level;

        for (max, is_told) in [
            (LevelFilter::INFO, false),
            (LevelFilter::OFF, false),
            (LevelFilter::DEBUG, true),
        ] {
            let target = "h2::proto::streams::recv";
            assert_eq!(targets(max).would_enable(target, &Level::WARN), is_told);
        }
        assert!(targets(LevelFilter::INFO).would_enable("leafid", &Level::INFO));
    }

    #[test]
    fn an_event_stays_one_line() {
        check(false, false, "plain\n", "plain\n");
        check(false, false, "a\nb\u{2028}c\n", "a\\u{a}b\\u{2028}c\n");
        check(false, false, "\u{1b}[2m\n", "\\u{1b}[2m\n");
        check(false, true, "\u{1b}[2m\u{202e}\n", "\u{1b}[2m\\u{202e}\n");
        let json = "{\"tag\":\"a\u{202e}\u{e0041}\"}\n";
        check(true, false, json, "{\"tag\":\"a\\u202e\\udb40\\udc41\"}\n");
    }
}
