//! `Format`: the format of a scrape. Scrapes are written as OpenMetrics; for clients that do not
//! request it, the headers of families are converted to the text format of Prometheus.

use std::fmt::Write as _;

/// The format of a scrape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// The text format of Prometheus, version 0.0.4.
    Text,
    /// OpenMetrics, version 1.0.0.
    OpenMetrics,
}

impl Format {
    /// The format that a client accepts, by its header `accept`.
    pub(crate) fn accepted(accept: &str) -> Self {
        match accept.contains("application/openmetrics-text") {
            true => Self::OpenMetrics,
            false => Self::Text,
        }
    }

    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    /// Converts a scrape that was written as OpenMetrics.
    pub(super) fn write(self, scrape: String) -> String {
        match self {
            Self::Text => text(&scrape),
            Self::OpenMetrics => scrape,
        }
    }
}

/// In the text format a family has the name of its samples, and there is no type `info`.
fn text(scrape: &str) -> String {
    let mut text = String::with_capacity(scrape.len());
    let mut help = None;
    for line in scrape.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ').map(|(_, help)| help);
        } else if let Some((name, kind)) = line
            .strip_prefix("# TYPE ")
            .and_then(|rest| rest.split_once(' '))
        {
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                kind => ("", kind),
            };
            let help = help.take().unwrap_or_default();
            // Writing to a string does not fail.
            let _written = write!(
                text,
                "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}\n"
            );
        } else if !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_format_names_families_as_their_samples() {
        let scrape = "# HELP a_calls calls made.\n# TYPE a_calls counter\na_calls_total 1\n\
                      # HELP a_build the program.\n# TYPE a_build info\na_build_info{v=\"1\"} 1\n\
                      # HELP a_up whether.\n# TYPE a_up gauge\na_up 1.0\n# EOF\n";
        let text = Format::Text.write(scrape.to_owned());
        assert_eq!(
            text,
            "# HELP a_calls_total calls made.\n# TYPE a_calls_total counter\na_calls_total 1\n\
             # HELP a_build_info the program.\n# TYPE a_build_info gauge\n\
             a_build_info{v=\"1\"} 1\n# HELP a_up whether.\n# TYPE a_up gauge\na_up 1.0\n"
        );
        assert_eq!(Format::OpenMetrics.write(scrape.to_owned()), scrape);
    }

    #[test]
    fn openmetrics_is_for_those_who_ask_for_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.2";
        assert_eq!(Format::accepted(prometheus), Format::OpenMetrics);
        assert_eq!(Format::accepted("*/*"), Format::Text);
        assert_eq!(Format::accepted(""), Format::Text);
    }
}
