//! `leafid decode`: prints what an id says. Without a tag it needs no server and no store.

use leafid::{Clock as _, Layout, Parts, SystemClock, Tag};
use leafid_formats::{Mark, Recognised, decimal, recognise};
use leafid_server::api::{DecodedId, DecodedNumber, DecodedOfTag, DecodedText, Reading};

use crate::failure::{Failure, Outcome};
use crate::output;
use crate::target::{Target, TargetFlags};

/// Decode an id: when it was made, and by whom. Given its tag, exactly; without a tag or a layout,
/// print every family and layout that fits, the most likely first.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  leafid decode 1169786042799259000
  leafid decode 01ARZ3NDEKTSV4RRFFQ69G5FAV
  leafid decode SO-20261122-000001 --tag invoice
  leafid decode 175928847299117063 --layout discord
  leafid decode 660125991150026752 --layout twitter@2015-01-01T00:00:00+08:00 --json")]
pub(crate) struct Decode {
    /// The id: a number in decimal, or a text.
    id: String,
    /// The layout that it was made with: leaf, twitter, baidu, sonyflake-v1, sonyflake-v2, js53,
    /// js53-seconds, instagram, discord, wide; one of them with an epoch (leaf@TIME); or widths
    /// (time41x1ms/worker10/sequence12@TIME) [default for numbers: leaf]
    #[arg(long, value_name = "LAYOUT", conflicts_with = "tag")]
    layout: Option<Layout>,
    /// The tag that issued it: a text that the tag does not issue is refused
    #[arg(long, value_name = "TAG")]
    tag: Option<Tag>,
    #[command(flatten)]
    target: TargetFlags,
}

impl Decode {
    pub(crate) fn run(self) -> Outcome {
        if let Some(tag) = &self.tag {
            return self.print_of(tag);
        }
        if self.target.is_named() {
            let message = "a server or a store is named, and no tag";
            return Err(Failure::usage(message, "name the tag too: --tag TAG"));
        }
        match (decimal(&self.id), self.layout) {
            (Some(number), layout) => self.print_number(number, layout),
            (None, None) => self.print_text(),
            (None, Some(_)) => Err(not_an_id(
                &self.id,
                "give a number in decimal; see leafid decode --help",
            )),
        }
    }

    fn print_of(&self, tag: &Tag) -> Outcome {
        let decoded = match self.target.target()? {
            Target::Server(client) => client.decode(&self.id, tag.as_str())?,
            Target::Store(source) => source.decode(&self.id, tag)?,
        };
        match self.target.ask.json {
            true => output::json(&decoded),
            false => print_id_of_tag(decoded),
        }
    }

    fn print_number(&self, number: u64, named: Option<Layout>) -> Outcome {
        let layout = named.unwrap_or(Layout::LEAF);
        let parts = match layout.try_decompose(number) {
            Ok(parts) => parts,
            Err(_) if named.is_none() => return self.print_text(),
            Err(error) => {
                let next = "name the layout that the id was made with: --layout LAYOUT";
                return Err(Failure::usage(error, next));
            }
        };
        let marks = Mark::of_layout(layout, parts.unix_ms, now_ms());
        let readings = named.is_none().then(|| self.readings());
        if self.target.ask.json {
            let decoded = DecodedId::new(number, layout, parts);
            let readings = readings.map(|found| found.iter().map(Reading::from).collect());
            return output::json(&DecodedNumber::new(decoded, &marks, readings));
        }
        print_lines(layout, parts, &marks)?;
        let Some(readings) = readings else {
            return Ok(());
        };
        output::line("")?;
        print_readings(&readings)
    }

    fn print_text(&self) -> Outcome {
        let readings = self.readings();
        if readings.is_empty() {
            return Err(not_an_id(
                &self.id,
                "give an id as it was issued; see leafid decode --help",
            ));
        }
        if self.target.ask.json {
            let (id, readings) = (
                self.id.clone(),
                readings.iter().map(Reading::from).collect(),
            );
            return output::json(&DecodedText { id, readings });
        }
        print_readings(&readings)
    }

    fn readings(&self) -> Vec<Recognised> {
        recognise(&self.id, now_ms())
    }
}

fn now_ms() -> i64 {
    let now_ms = SystemClock::new().wall().as_millis();
    i64::try_from(now_ms).unwrap_or(i64::MAX)
}

fn not_an_id(text: &str, next: &str) -> Failure {
    Failure::usage(
        format!("\"{}\" is not an id of any family", leafid::Escaped(text)),
        next,
    )
}

fn print_id_of_tag(decoded: DecodedOfTag) -> Outcome {
    let parts = decoded.parts.iter();
    let parts: Vec<String> = parts
        .map(|(name, value)| format!("{name} {value}"))
        .collect();
    output::fields([
        ("tag", Some(decoded.tag)),
        ("number", decoded.number),
        ("time", decoded.time),
        ("parts", joined(&parts)),
        ("but", joined(&decoded.marks)),
    ])
}

fn joined(texts: &[String]) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join(", "))
}

fn print_lines(layout: Layout, parts: Parts, marks: &[Mark]) -> Outcome {
    let data_center = parts.data_center;
    let marks: Vec<String> = marks.iter().map(ToString::to_string).collect();
    let in_data_center = data_center.map(|_| parts.worker_in_data_center.to_string());
    output::fields([
        ("time", Some(parts.time().to_string())),
        ("worker id", Some(parts.worker.to_string())),
        ("data center", data_center.map(|id| id.to_string())),
        ("worker in it", in_data_center),
        ("sequence", Some(parts.sequence.to_string())),
        ("shard", parts.shard.map(|shard| shard.to_string())),
        ("layout", Some(layout.to_string())),
        ("but", joined(&marks)),
    ])
}

fn print_readings(readings: &[Recognised]) -> Outcome {
    let rows = readings.iter().map(|found| {
        let reading = Reading::from(found);
        let parts = found.decoded.parts.iter().map(ToString::to_string);
        [
            reading.name,
            reading.time.unwrap_or_else(|| "-".to_owned()),
            parts.collect::<Vec<_>>().join(", "),
            reading.marks.join(", "),
        ]
    });
    output::table(["MAY BE", "TIME", "PARTS", "BUT"], rows)
}
