//! `leafid next`: takes ids.

use leafid::Tag;
use serde_json::json;

use crate::client::Client;
use crate::failure::Outcome;
use crate::output;
use crate::target::{Target, TargetFlags};

/// Take ids of a tag, one on each line.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  leafid next order                          the next id, from the server on this machine
  leafid next order -n 100 --server http://ids:8080
  leafid next order --data-dir leafid-data   straight from a store, without a server
  leafid next order --json                   {\"tag\":\"order\",\"ids\":[\"1\"]}")]
pub(crate) struct Next {
    /// The tag.
    tag: Tag,
    /// How many ids.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    count: u64,
    #[command(flatten)]
    target: TargetFlags,
}

impl Next {
    pub(crate) fn run(self) -> Outcome {
        let mut print = Printer {
            tag: &self.tag,
            json: self.target.ask.json.then(Vec::new),
        };
        match self.target.target()? {
            Target::Server(client) => self.ask(&client, &mut print)?,
            Target::Store(source) => {
                let segment = source.take(&self.tag, self.count)?;
                let ids = segment.start()..segment.end();
                print.take(ids.map(|id| id.to_string()).collect())?;
            }
        }
        print.finish()
    }

    /// Ids are printed as they arrive: those of earlier calls are not lost when a later one fails.
    fn ask(&self, client: &Client, print: &mut Printer<'_>) -> Outcome {
        let mut missing = self.count;
        while missing > 0 {
            let ids = client.take(self.tag.as_str(), missing)?;
            missing = missing.saturating_sub(u64::try_from(ids.len()).unwrap_or(u64::MAX).max(1));
            print.take(ids)?;
        }
        Ok(())
    }
}

struct Printer<'a> {
    tag: &'a Tag,
    /// The ids so far, for one JSON object at the end.
    json: Option<Vec<String>>,
}

impl Printer<'_> {
    fn take(&mut self, ids: Vec<String>) -> Outcome {
        match &mut self.json {
            Some(all) => {
                all.extend(ids);
                Ok(())
            }
            None => output::line(&ids.join("\n")),
        }
    }

    fn finish(self) -> Outcome {
        match self.json {
            Some(ids) => output::json(&json!({ "tag": self.tag.as_str(), "ids": ids })),
            None => Ok(()),
        }
    }
}
