//! `leafid next`: takes ids.

use leafid::Tag;
use serde_json::json;

use crate::client::Client;
use crate::failure::{Failure, Outcome};
use crate::output;
use crate::shard::ShardFlags;
use crate::target::{Target, TargetFlags};

/// Take ids of a tag, one on each line.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  leafid next order                          the next id, from the server on this machine
  leafid next order -n 100 --server http://ids:8080
  leafid next order --data-dir leafid-data   straight from a store, without a server
  leafid next order --json                   {\"tag\":\"order\",\"ids\":[\"1\"]}
  leafid next trace --shard-key 4711         a snowflake id in the shard of the key 4711")]
pub(crate) struct Next {
    /// The tag.
    tag: Tag,
    /// How many ids.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    count: u64,
    #[command(flatten)]
    shard: ShardFlags,
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
            Target::Store(_) if self.shard.is_named() => {
                let message = "only snowflake ids have a shard, and only a server makes them";
                let next = "name a server with --server URL, or leave the shard out";
                return Err(Failure::usage(message, next));
            }
            Target::Store(source) => print.take(source.take(&self.tag, self.count)?)?,
        }
        print.finish()
    }

    /// Ids are printed as they arrive: those of earlier calls are not lost when a later one fails.
    fn ask(&self, client: &Client, print: &mut Printer<'_>) -> Outcome {
        let mut missing = self.count;
        while missing > 0 {
            let ids = client.take_in(self.tag.as_str(), missing, &self.shard)?;
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
