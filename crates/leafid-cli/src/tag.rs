//! `leafid tag`: creates, lists, shows, changes and deletes tags.

use std::sync::Arc;

use leafid::store::{TagKind, TagPatch, TagSettings, TagSpec};
use leafid::{Limit, StepPolicy, Tag};
use leafid_server::api::{self, TagChange, TagList, TagRequest};
use serde_json::json;

use crate::client::quoted;
use crate::failure::{Failure, Outcome, check_new};
use crate::output;
use crate::target::{Target, TargetFlags};

/// Create, list, show, change or delete tags.
#[derive(clap::Subcommand)]
#[command(before_help = "\
Examples:
  leafid tag create order --start 1000000 --description 'order numbers'
  leafid tag create trace --kind snowflake
  leafid tag create session --kind uuid7
  leafid tag create invoice --format 'SO-{date %Y%m%d}-{number width=6 restart=day}'
  leafid tag list
  leafid tag set order --step 5000
  leafid tag set order --next 2000000
  leafid tag show order --json --store mysql://leaf@db:3306/leaf")]
pub(crate) enum Tags {
    Create(Create),
    /// List tags, in ascending byte order.
    List {
        /// Start after this tag.
        #[arg(long, value_name = "TAG")]
        after: Option<Tag>,
        /// The number of tags.
        #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 100)]
        #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
        count: u32,
        #[command(flatten)]
        target: TargetFlags,
    },
    /// Show one tag; from a server, its state there as well.
    Show {
        /// The tag.
        tag: Tag,
        #[command(flatten)]
        target: TargetFlags,
    },
    Set(Set),
    /// Delete a tag. The store remembers how far it went: if it is created again, no id repeats.
    Delete {
        /// The tag.
        tag: Tag,
        #[command(flatten)]
        target: TargetFlags,
    },
}

/// Create a tag.
#[derive(clap::Args)]
pub(crate) struct Create {
    /// The tag: 1 to 128 characters.
    tag: Tag,
    /// Where its ids come from, permanently: segment, snowflake, or a family such as uuid7. Only
    /// segment tags have a start, a step, a policy and a limit.
    #[arg(long, value_name = "KIND", default_value_t)]
    kind: TagKind,
    /// How its ids are written, permanently, such as 'SO-{date %Y%m%d}-{number width=6}'; see
    /// docs/formats.md.
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Its first id [default: 1]
    #[arg(long, value_name = "ID")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=Limit::INT64.largest()))]
    start: Option<u64>,
    #[command(flatten)]
    settings: Settings,
    /// What the tag is for.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    #[command(flatten)]
    target: TargetFlags,
}

/// Change settings of a tag; the others stay as they are.
#[derive(clap::Args)]
pub(crate) struct Set {
    /// The tag.
    tag: Tag,
    #[command(flatten)]
    settings: Settings,
    /// What it is for; an empty text removes it.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Where its next segment starts; it can only be raised. Servers first issue the ids that they
    /// hold in memory. A calendar counter's period, NAME@LABEL, that has not begun begins there.
    #[arg(long, value_name = "ID")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=Limit::INT64.largest()))]
    next: Option<u64>,
    #[command(flatten)]
    target: TargetFlags,
}

#[derive(clap::Args)]
struct Settings {
    /// The smallest segment.
    #[arg(long, value_name = "COUNT")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(TagSettings::STEP_MAX)))]
    step: Option<u32>,
    /// How segments grow: cover, leaf, fixed, or default for the server's own.
    #[arg(long, value_name = "NAME", value_parser = policy)]
    policy: Option<PolicyChoice>,
    /// The largest id: int32, js53, int64, or a number.
    #[arg(long, value_name = "LIMIT")]
    limit: Option<Limit>,
}

/// A policy, or none for the server's default.
#[derive(Clone, Copy)]
struct PolicyChoice(Option<StepPolicy>);

fn policy(name: &str) -> Result<PolicyChoice, &'static str> {
    match (name, StepPolicy::from_name(name)) {
        ("default", _) => Ok(PolicyChoice(None)),
        (_, Some(policy)) => Ok(PolicyChoice(Some(policy))),
        (_, None) => Err("a policy is cover, leaf, fixed or default"),
    }
}

impl Settings {
    fn named(self, description: Option<Option<String>>) -> TagPatch {
        TagPatch {
            step: self.step,
            policy: self.policy.map(|choice| choice.0),
            limit: self.limit,
            description,
        }
    }
}

impl Tags {
    pub(crate) fn run(self) -> Outcome {
        match self {
            Self::Create(create) => create.run(),
            Self::List {
                after,
                count,
                target,
            } => list(after.as_ref(), count, &target),
            Self::Show { tag, target } => show(&tag, &target),
            Self::Set(set) => set.run(),
            Self::Delete { tag, target } => delete(&tag, &target),
        }
    }
}

impl Create {
    fn run(self) -> Outcome {
        check_new(&self.tag)?;
        let named = self.settings.named(self.description.map(Some));
        let (tag, kind, start) = (self.tag, self.kind, self.start);
        let format: Option<Arc<str>> = self.format.map(Arc::from);
        let spec = |named: TagPatch, step: u32| {
            TagSpec::with_named(tag.clone(), kind, format.clone(), start, named, step)
        };
        spec(named.clone(), TagSettings::STEP_DEFAULT)?;
        let row = match self.target.target()? {
            Target::Server(client) => {
                let request = TagRequest::new(&tag, kind, format.as_deref(), start, named);
                client.create(tag.as_str(), &request)?
            }
            Target::Store(source) => {
                let record = source.create(&spec(named, source.step())?)?;
                source.view(&record)
            }
        };
        for warning in &row.warnings {
            output::note(warning);
        }
        print_row(row, self.target.ask.json)
    }
}

fn list(after: Option<&Tag>, count: u32, target: &TargetFlags) -> Outcome {
    let page = match target.target()? {
        Target::Server(client) => client.list(after.map(Tag::as_str), count)?,
        Target::Store(source) => {
            let records = source.list(after, count + 1)?;
            let len = usize::try_from(count).unwrap_or(usize::MAX);
            let tags: Vec<_> = records.iter().take(len).map(api::Tag::from).collect();
            let last = tags.last().filter(|_| records.len() > len);
            let next = last.map(|last| last.tag.clone());
            TagList { tags, next }
        }
    };
    print_page(page, target.ask.json)
}

fn show(tag: &Tag, target: &TargetFlags) -> Outcome {
    let row = match target.target()? {
        Target::Server(client) => client.show(tag.as_str())?,
        Target::Store(source) => source.view(&source.show(tag)?),
    };
    print_row(row, target.ask.json)
}

impl Set {
    fn run(self) -> Outcome {
        let description = self
            .description
            .map(|text| Some(text).filter(|text| !text.is_empty()));
        let patch = self.settings.named(description);
        if patch == TagPatch::default() && self.next.is_none() {
            return Err(Failure::usage(
                "nothing to change",
                "name a setting: --step, --policy, --limit, --description or --next",
            ));
        }
        let row = match self.target.target()? {
            Target::Server(client) => {
                client.set(self.tag.as_str(), &TagChange::new(patch, self.next))?
            }
            Target::Store(source) => {
                // Without other changes, the tag may be that of a period which has not begun.
                let is_raised_alone = self.next.is_some() && patch == TagPatch::default();
                if let Some(next) = self.next.filter(|_| !is_raised_alone) {
                    source.check_raise(&self.tag, next, patch.limit)?;
                }
                let changed = (!is_raised_alone).then(|| source.set(&self.tag, &patch));
                let mut changed = changed.transpose()?;
                if let Some(next) = self.next {
                    changed = Some(source.raise(&self.tag, next)?);
                }
                let Some(record) = changed else { return Ok(()) };
                api::Tag::from(&record)
            }
        };
        print_row(row, self.target.ask.json)
    }
}

fn delete(tag: &Tag, target: &TargetFlags) -> Outcome {
    match target.target()? {
        Target::Server(client) => client.delete(tag.as_str())?,
        Target::Store(source) => source.delete(tag)?,
    }
    if target.ask.json {
        return output::json(&json!({ "deleted": tag.as_str() }));
    }
    output::line(&format!("deleted {}", quoted(tag.as_str())))
}

fn print_row(row: api::Tag, is_json: bool) -> Outcome {
    if is_json {
        return output::json(&row);
    }
    let policy = policy_name(&row).map(str::to_owned);
    let headroom = headroom(&row).map(|left| left.to_string());
    let warnings = (!row.warnings.is_empty()).then(|| row.warnings.join("; "));
    let live = row.live.flatten();
    let days = live.as_ref().and_then(|live| live.headroom_days);
    let remaining = live.as_ref().map(|live| live.remaining.to_string());
    output::fields([
        ("tag", Some(row.tag)),
        ("kind", Some(row.kind)),
        ("format", row.format),
        (
            "next segment",
            row.max_id.map(|max_id| format!("from {max_id}")),
        ),
        ("step", row.step.map(|step| step.to_string())),
        ("policy", policy),
        ("limit", row.limit),
        ("ids left", headroom),
        ("days left here", days.map(|days| format!("{days:.1}"))),
        ("description", row.description),
        ("updated", row.updated),
        ("issued here", live.map(|live| live.issued)),
        ("in memory here", remaining),
        ("but", warnings),
    ])
}

/// The policy by its name; none for a snowflake tag.
fn policy_name(row: &api::Tag) -> Option<&str> {
    row.step?;
    let policy = row.policy.as_ref();
    Some(policy.map_or("default", |policy| &policy.name))
}

/// How many ids are left below the limit.
fn headroom(row: &api::Tag) -> Option<u64> {
    let limit: Limit = row.limit.as_ref()?.parse().ok()?;
    Some(limit.headroom(row.max_id.as_ref()?.parse().ok()?))
}

fn print_page(page: TagList, is_json: bool) -> Outcome {
    if is_json {
        return output::json(&page);
    }
    if page.tags.is_empty() {
        return output::line("no tags");
    }
    let header = [
        "TAG",
        "KIND",
        "FORMAT",
        "MAX ID",
        "STEP",
        "POLICY",
        "LIMIT",
        "DESCRIPTION",
    ];
    output::table(header, page.tags.iter().map(cells))?;
    match (page.next, page.tags.last()) {
        (Some(_), Some(last)) => {
            let after = quoted(&last.tag);
            output::line(&format!("there are more: leafid tag list --after {after}"))
        }
        _ => Ok(()),
    }
}

/// A tag as a row of the table; a dash for a missing value.
fn cells(row: &api::Tag) -> [String; 8] {
    let or_dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
    let step = row.step.map(|step| step.to_string());
    [
        row.tag.clone(),
        row.kind.clone(),
        or_dash(row.format.as_deref()),
        or_dash(row.max_id.as_deref()),
        or_dash(step.as_deref()),
        or_dash(policy_name(row)),
        or_dash(row.limit.as_deref()),
        row.description.clone().unwrap_or_default(),
    ]
}
