//! `leafid tag`: creates, lists, shows, changes and deletes tags.

use leafid::store::{TagKind, TagPatch, TagSettings};
use leafid::{Escaped, Limit, StepPolicy, Tag};
use serde_json::{Map, Value, json};

use crate::client::quoted;
use crate::failure::{Failure, Outcome, check_new};
use crate::output;
use crate::row::{TagPage, TagRow};
use crate::target::{Target, TargetFlags};

/// Create, list, show, change or delete tags.
#[derive(clap::Args)]
#[command(before_help = "\
Examples:
  leafid tag create order --start 1000000 --description 'order numbers'
  leafid tag create trace --kind snowflake
  leafid tag list
  leafid tag set order --step 5000
  leafid tag set order --next 2000000
  leafid tag show order --json --store mysql://leaf@db:3306/leaf")]
pub(crate) struct Tags {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Create(Create),
    List(List),
    Show(Show),
    Set(Set),
    Delete(Delete),
}

/// Create a tag.
#[derive(clap::Args)]
struct Create {
    /// The tag: 1 to 128 characters.
    tag: Tag,
    /// Where its ids come from, for good: segment, or snowflake, which takes no other setting.
    #[arg(long, value_name = "KIND", default_value_t)]
    kind: TagKind,
    /// Its first id [default: 1]
    #[arg(long, value_name = "ID")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=Limit::INT64.largest()))]
    start: Option<u64>,
    #[command(flatten)]
    settings: Settings,
    /// What it is for.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    #[command(flatten)]
    target: TargetFlags,
}

/// List tags, in ascending byte order.
#[derive(clap::Args)]
struct List {
    /// Start after this tag.
    #[arg(long, value_name = "TAG")]
    after: Option<Tag>,
    /// How many tags.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1000))]
    count: u32,
    #[command(flatten)]
    target: TargetFlags,
}

/// Show one tag; from a server also how it stands there.
#[derive(clap::Args)]
struct Show {
    /// The tag.
    tag: Tag,
    #[command(flatten)]
    target: TargetFlags,
}

/// Change settings of a tag; what is not named stays as it is.
#[derive(clap::Args)]
struct Set {
    /// The tag.
    tag: Tag,
    #[command(flatten)]
    settings: Settings,
    /// What it is for; an empty text removes it.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Where its next segment starts; upwards only. Servers issue what they hold in memory first.
    #[arg(long, value_name = "ID")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=Limit::INT64.largest()))]
    next: Option<u64>,
    #[command(flatten)]
    target: TargetFlags,
}

/// Delete a tag. The store remembers how far it went: created again, it repeats no id.
#[derive(clap::Args)]
struct Delete {
    /// The tag.
    tag: Tag,
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
    /// As fields of a request to a server.
    fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        if let Some(step) = self.step {
            fields.insert("step".into(), step.into());
        }
        if let Some(PolicyChoice(policy)) = self.policy {
            let value = policy.map(|policy| json!({ "name": policy.name() }));
            fields.insert("policy".into(), value.into());
        }
        if let Some(limit) = self.limit {
            fields.insert("limit".into(), limit.to_string().into());
        }
        fields
    }
}

impl Tags {
    pub(crate) fn run(self) -> Outcome {
        match self.command {
            Command::Create(create) => create.run(),
            Command::List(list) => list.run(),
            Command::Show(show) => show.run(),
            Command::Set(set) => set.run(),
            Command::Delete(delete) => delete.run(),
        }
    }
}

impl Create {
    fn run(self) -> Outcome {
        check_new(&self.tag)?;
        let mut fields = self.settings.fields();
        if let Some(start) = self.start {
            fields.insert("start".into(), start.to_string().into());
        }
        if let (TagKind::Snowflake, Some((name, _))) = (self.kind, fields.iter().next()) {
            return Err(no_setting(&self.tag, name));
        }
        let row = match self.target.target()? {
            Target::Server(client) => {
                fields.insert("tag".into(), self.tag.as_str().into());
                fields.insert("kind".into(), self.kind.name().into());
                if let Some(description) = &self.description {
                    fields.insert("description".into(), description.as_str().into());
                }
                read(client.create(&fields.into())?)?
            }
            Target::Store(source) => {
                let mut spec = source.spec(&self.tag);
                spec.start = self.start.unwrap_or(spec.start);
                spec.settings.kind = self.kind;
                spec.settings.step = self.settings.step.unwrap_or(spec.settings.step);
                spec.settings.policy = self.settings.policy.and_then(|choice| choice.0);
                spec.settings.limit = self.settings.limit.unwrap_or_default();
                spec.description = self.description;
                TagRow::from(&source.create(&spec)?)
            }
        };
        print_row(&row, self.target.json)
    }
}

impl List {
    fn run(self) -> Outcome {
        let page: TagPage = match self.target.target()? {
            Target::Server(client) => {
                let after = self.after.as_ref().map(Tag::as_str);
                read(client.list(after, self.count)?)?
            }
            Target::Store(source) => {
                let records = source.list(self.after.as_ref(), self.count + 1)?;
                let len = usize::try_from(self.count).unwrap_or(usize::MAX);
                let tags: Vec<TagRow> = records.iter().take(len).map(TagRow::from).collect();
                let last = tags.last().filter(|_| records.len() > len);
                let next = last.map(|last| last.tag.clone());
                TagPage { tags, next }
            }
        };
        print_page(page, self.target.json)
    }
}

impl Show {
    fn run(self) -> Outcome {
        let row = match self.target.target()? {
            Target::Server(client) => read(client.show(self.tag.as_str())?)?,
            Target::Store(source) => TagRow::from(&source.show(&self.tag)?),
        };
        print_row(&row, self.target.json)
    }
}

impl Set {
    fn run(self) -> Outcome {
        let mut fields = self.settings.fields();
        let description = self
            .description
            .map(|text| Some(text).filter(|text| !text.is_empty()));
        if let Some(description) = &description {
            fields.insert("description".into(), description.clone().into());
        }
        if let Some(next) = self.next {
            fields.insert("next".into(), next.to_string().into());
        }
        if fields.is_empty() {
            return Err(Failure::usage(
                "nothing to change",
                "name a setting: --step, --policy, --limit, --description or --next",
            ));
        }
        let row = match self.target.target()? {
            Target::Server(client) => read(client.set(self.tag.as_str(), &fields.into())?)?,
            Target::Store(source) => {
                let set = self.settings.fields();
                if let Some((name, _)) = set.iter().next()
                    && source.show(&self.tag)?.settings.kind == TagKind::Snowflake
                {
                    return Err(no_setting(&self.tag, name));
                }
                let patch = TagPatch {
                    step: self.settings.step,
                    policy: self.settings.policy.map(|choice| choice.0),
                    limit: self.settings.limit,
                    description,
                };
                let record = source.set(&self.tag, &patch)?;
                let raised = self.next.map(|next| source.raise(&self.tag, next));
                TagRow::from(&raised.transpose()?.unwrap_or(record))
            }
        };
        print_row(&row, self.target.json)
    }
}

impl Delete {
    fn run(self) -> Outcome {
        match self.target.target()? {
            Target::Server(client) => client.delete(self.tag.as_str())?,
            Target::Store(source) => source.delete(&self.tag)?,
        }
        if self.target.json {
            return output::json(&json!({ "deleted": self.tag.as_str() }));
        }
        output::line(&format!("deleted {}", quoted(self.tag.as_str())))
    }
}

/// A setting that only segment tags have.
fn no_setting(tag: &Tag, name: &str) -> Failure {
    let tag = quoted(tag.as_str());
    Failure::usage(
        format!("the tag {tag} issues snowflake ids and has no {name}"),
        format!("leave out --{name}"),
    )
}

/// Reads what the server answered.
fn read<T: serde::de::DeserializeOwned>(value: Value) -> Outcome<T> {
    serde_json::from_value(value).map_err(|error| {
        let message = format!("the server's answer is not understood: {error}");
        Failure::new(message, "use the same version of leafid on both sides")
    })
}

fn print_row(row: &TagRow, is_json: bool) -> Outcome {
    if is_json {
        return output::json(row);
    }
    let mut lines = vec![("tag", row.tag.clone()), ("kind", row.kind.clone())];
    let next = row.max_id.as_ref().map(|max_id| format!("from {max_id}"));
    lines.extend(next.map(|next| ("next segment", next)));
    lines.extend(row.step.map(|step| ("step", step.to_string())));
    let policy = row.policy_name().map(str::to_owned);
    lines.extend(policy.map(|policy| ("policy", policy)));
    lines.extend(row.limit.clone().map(|limit| ("limit", limit)));
    let headroom = row.headroom().map(|left| ("ids left", left.to_string()));
    lines.extend(headroom);
    lines.extend(row.description.clone().map(|text| ("description", text)));
    lines.extend(row.updated.clone().map(|time| ("updated", time)));
    for (name, key) in [("issued here", "issued"), ("in memory here", "remaining")] {
        let value = row.live.as_ref().and_then(|live| live.get(key));
        lines.extend(value.map(|value| (name, plain(value))));
    }
    let line = |(name, value): &(&str, String)| format!("{name:<16}{}\n", Escaped(value));
    output::print(&lines.iter().map(line).collect::<String>())
}

/// A JSON value without quotes.
fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

fn print_page(page: TagPage, is_json: bool) -> Outcome {
    if is_json {
        return output::json(&page);
    }
    if page.tags.is_empty() {
        return output::line("no tags");
    }
    let header = [
        "TAG",
        "KIND",
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

/// A tag as a row of the table; a dash for what it does not have.
fn cells(row: &TagRow) -> [String; 7] {
    let or_dash = |text: Option<&str>| text.unwrap_or("-").to_owned();
    let step = row.step.map(|step| step.to_string());
    [
        row.tag.clone(),
        row.kind.clone(),
        or_dash(row.max_id.as_deref()),
        or_dash(step.as_deref()),
        or_dash(row.policy_name()),
        or_dash(row.limit.as_deref()),
        row.description.clone().unwrap_or_default(),
    ]
}
