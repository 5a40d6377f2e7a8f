//! `Source`: a store that a command works on directly, without a server.

use std::fmt::Display;
use std::sync::Arc;

use leafid::format::{CompileFormat as _, FormatCompiler, FormatContext};
use leafid::store::{SegmentStore, StoreError, TagKind, TagPatch, TagRecord, TagSettings, TagSpec};
use leafid::{Clock as _, Escaped, Family, Generators, Limit, Options, SystemClock, Tag};
use leafid_formats::{Families, Formats};
use leafid_server::api::{self, DecodedOfTag};
use leafid_server::{Config, FormatKeys, TagId, with_causes};
use leafid_stores::{AuditRecord, AuditStore, StoreUrl};
use tokio::runtime::{Builder, Runtime};

use crate::client::quoted;
use crate::failure::{Failure, Outcome};
use crate::output;

/// An open store. Its generators keep nothing in memory: nothing runs their driver.
pub(crate) struct Source {
    pub(crate) runtime: Runtime,
    pub(crate) generators: Generators,
    config: Box<Config>,
}

/// Opens the store that the settings name.
pub(crate) async fn open(config: &Config) -> Outcome<Arc<dyn SegmentStore>> {
    let url = url(config)?;
    Ok(leafid_stores::open(&url, &config.store_options()).await?)
}

/// Generators that keep nothing in memory: nothing runs their driver.
pub(crate) fn generators(store: Arc<dyn SegmentStore>, formats: Formats) -> Generators {
    let formats = Some(FormatCompiler::new(formats));
    Generators::open(store, Options::default().with_formats(formats)).0
}

/// The formats of tags, with the keys that the settings name.
pub(crate) fn formats(config: &Config) -> Outcome<Formats> {
    let families = Families::new(Arc::new(SystemClock::new()));
    let formats = Formats::new().with_families(families);
    let formats = formats.alone(config.is_embedded());
    if let Some(read) = format_keys(config)? {
        formats.replace_keys(read.keys);
    }
    Ok(formats)
}

/// The keys of opaque ids, if the settings give any.
pub(crate) fn format_keys(config: &Config) -> Outcome<Option<FormatKeys>> {
    Ok(FormatKeys::of(config)?)
}

/// Opens the audit log of that store.
pub(crate) fn open_audit(config: &Config) -> Outcome<Arc<dyn AuditStore>> {
    let url = url(config)?;
    Ok(leafid_stores::open_audit(&url, &config.store_options())?)
}

/// The location of the store that the settings name.
pub(crate) fn url(config: &Config) -> Outcome<StoreUrl> {
    let url = config.store_url();
    url.map_err(|error| Failure::new(error, "docs/config.md describes store URLs"))
}

/// The location for people: a file with its whole path.
pub(crate) fn place(config: &Config) -> String {
    let Ok(url) = config.store_url() else {
        return String::new();
    };
    let file = url.file().and_then(|file| std::path::absolute(file).ok());
    file.map_or_else(
        || url.to_string(),
        |file| StoreUrl::sqlite(file).to_string(),
    )
}

/// Warnings about the files of store and registry, before they are opened.
pub(crate) fn notes(config: &Config) -> Outcome<Vec<String>> {
    let store = url(config)?;
    let mut notes = leafid_stores::file_notes(&store);
    if let Ok(Some(registry)) = config.registry_url()
        && registry != store
    {
        notes.extend(leafid_stores::file_notes(&registry));
    }
    Ok(notes)
}

/// Folds the write-ahead logs of store and registry into their files, at the end of a program.
pub(crate) async fn settle(config: &Config) {
    let registry = config.registry_url().ok().flatten();
    for url in config.store_url().into_iter().chain(registry) {
        if let Err(error) = leafid_stores::checkpoint(&url, &config.store_options()).await {
            let error = with_causes(&error);
            tracing::warn!(error, "the store's write-ahead log stays beside its file");
        }
    }
}

/// A runtime for a command that does one thing after the other.
pub(crate) fn runtime() -> Outcome<Runtime> {
    leafid_server::warm_up();
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(not_started)
}

/// The system does not let a runtime or a thread start.
pub(crate) fn not_started(error: impl Display) -> Failure {
    let message = format!("cannot start: {error}");
    Failure::new(message, "raise the limit on open files (ulimit -n)")
}

/// Ids of a tag without segments of its own. Those of a family need no server.
fn others(record: &TagRecord, formats: &Formats, count: u64) -> Outcome<Vec<String>> {
    let TagKind::Family(family) = record.settings.kind else {
        return Err(made_by_servers(&record.tag));
    };
    // Their bits for a process are few: a server beside this one could make the same id.
    if matches!(family, Family::Tsid | Family::CosId) {
        return Err(made_by_servers(&record.tag));
    }
    let family = formats.family(family, record.format.as_deref())?;
    let texts = (0..count).map(|_| {
        let mut text = String::new();
        family.push_next(&mut text).map(|()| text)
    });
    Ok(texts.collect::<Result<_, _>>()?)
}

impl Source {
    pub(crate) fn open(config: &Config) -> Outcome<Self> {
        let runtime = runtime()?;
        let store = runtime.block_on(open(config))?;
        let notes = format_keys(config)?.map(|read| read.notes);
        notes.iter().flatten().for_each(|note| output::note(note));
        Ok(Self {
            runtime,
            generators: generators(store, formats(config)?),
            config: Box::new(config.clone()),
        })
    }

    /// Takes exactly `count` ids out of the store: a whole step would be lost with this process.
    /// Refuses a snowflake tag: this process holds no worker id.
    pub(crate) fn take(&self, tag: &Tag, count: u64) -> Outcome<Vec<String>> {
        let reserving = async {
            match self.generators.reserve(tag, count).await {
                Err(StoreError::UnknownTag) if self.config.creates_tags() => {
                    tag.check_new().map_err(|_| StoreError::UnknownTag)?;
                    match self.generators.create_tag(&self.spec(tag)).await {
                        Ok(created) => self.note("tag created", tag, None, Some(&created)).await,
                        Err(StoreError::TagExists) => {}
                        Err(error) => return Err(error),
                    }
                    self.generators.reserve(tag, count).await
                }
                done => done,
            }
        };
        let reserved = self.runtime.block_on(reserving);
        if matches!(reserved, Err(StoreError::Unsupported { .. })) {
            return others(&self.show(tag)?, &formats(&self.config)?, count);
        }
        let segment = reserved?;
        let ids = segment.start()..segment.end();
        let Some(format) = self.show(tag)?.format else {
            return Ok(ids.map(|id| id.to_string()).collect());
        };
        let format = formats(&self.config)?.compile(tag, &format)?;
        let now = SystemClock::new().wall().as_millis();
        let context = FormatContext {
            unix_ms: u64::try_from(now).unwrap_or(u64::MAX),
            worker_id: None,
        };
        let written = ids.map(|id| {
            let mut text = String::new();
            format.write(id, &context, &mut text).map(|()| text)
        });
        Ok(written.collect::<Result<_, _>>()?)
    }

    /// A tag with the settings of one that is created on first use.
    fn spec(&self, tag: &Tag) -> TagSpec {
        TagSpec {
            settings: TagSettings {
                step: self.config.step,
                ..TagSettings::default()
            },
            ..TagSpec::new(tag.clone())
        }
    }

    /// The step of tags without one.
    pub(crate) fn step(&self) -> u32 {
        self.config.step
    }

    pub(crate) fn create(&self, spec: &TagSpec) -> Outcome<TagRecord> {
        let layout = self.config.workers.layout;
        self.generators.check_snowflake_format(spec, layout)?;
        self.runtime.block_on(async {
            let created = self.generators.create_tag(spec).await?;
            let after = Some(&created);
            self.note("tag created", &spec.tag, None, after).await;
            Ok(created)
        })
    }

    /// A tag as a server shows it.
    pub(crate) fn view(&self, record: &TagRecord) -> api::Tag {
        let layout = self.config.workers.layout;
        api::Tag {
            warnings: self.generators.tag_warnings(record, layout),
            ..api::Tag::from(record)
        }
    }

    pub(crate) fn list(&self, after: Option<&Tag>, count: u32) -> Outcome<Vec<TagRecord>> {
        Ok(self
            .runtime
            .block_on(self.generators.list_tags(after, count))?)
    }

    pub(crate) fn show(&self, tag: &Tag) -> Outcome<TagRecord> {
        let record = self.runtime.block_on(self.generators.read_tag(tag))?;
        Ok(record.ok_or(StoreError::UnknownTag)?)
    }

    /// What an id of a tag says. This process knows no worker ids.
    pub(crate) fn decode(&self, id: &str, tag: &Tag) -> Outcome<DecodedOfTag> {
        let record = self.show(tag)?;
        let layout = self.config.workers.layout;
        let decoded = TagId::decode(&self.generators, layout, &record, id).map_err(|why| {
            let (id, tag) = (Escaped(id), quoted(tag.as_str()));
            let message = format!("\"{id}\" is not an id of the tag {tag}: {why}");
            Failure::usage(message, "give an id as it was issued")
        })?;
        let now_ms = SystemClock::new().wall().as_millis();
        let now_ms = i64::try_from(now_ms).unwrap_or(i64::MAX);
        let marks = decoded.time_marks(now_ms);
        Ok(DecodedOfTag::new(id, tag.as_str(), &decoded, &marks))
    }

    pub(crate) fn set(&self, tag: &Tag, patch: &TagPatch) -> Outcome<TagRecord> {
        let changing = self.generators.update_tag(tag, patch);
        if *patch == TagPatch::default() {
            return Ok(self.runtime.block_on(changing)?);
        }
        self.change("tag changed", tag, changing, |after| Some(after))
    }

    /// Refuses what [`raise`](Self::raise) would refuse after other changes were made.
    pub(crate) fn check_raise(&self, tag: &Tag, next: u64, limit: Option<Limit>) -> Outcome {
        let checking = self.generators.check_raise(tag, next, limit);
        Ok(self.runtime.block_on(checking)?)
    }

    pub(crate) fn raise(&self, tag: &Tag, next: u64) -> Outcome<TagRecord> {
        let raising = self.generators.raise_tag(tag, next);
        self.change("tag raised", tag, raising, |after| Some(after))
    }

    pub(crate) fn delete(&self, tag: &Tag) -> Outcome {
        self.change("tag deleted", tag, self.generators.delete_tag(tag), |()| {
            None
        })
    }

    /// The last changes, the newest first.
    pub(crate) fn changes(&self, count: u32) -> Outcome<Vec<AuditRecord>> {
        let audit = open_audit(&self.config)?;
        Ok(self.runtime.block_on(audit.recent(count))?)
    }

    /// Changes a tag, and records its row before and after.
    fn change<T>(
        &self,
        action: &str,
        tag: &Tag,
        changing: impl Future<Output = Result<T, StoreError>>,
        after: fn(&T) -> Option<&TagRecord>,
    ) -> Outcome<T> {
        self.runtime.block_on(async {
            // An invalid row may be changed all the same.
            let before = self.generators.read_tag(tag).await.ok().flatten();
            let changed = changing.await?;
            self.note(action, tag, before.as_ref(), after(&changed))
                .await;
            Ok(changed)
        })
    }

    async fn note(
        &self,
        action: &str,
        tag: &Tag,
        before: Option<&TagRecord>,
        after: Option<&TagRecord>,
    ) {
        let of_tag = |record: Option<&TagRecord>| record.map(AuditRecord::of_tag);
        let record = AuditRecord {
            action: action.to_owned(),
            subject: tag.as_str().to_owned(),
            before: of_tag(before).unwrap_or_default(),
            after: of_tag(after).unwrap_or_default(),
            ..AuditRecord::default()
        };
        note(&self.config, record).await;
    }
}

/// Records a change that this command made. The change is done: if it cannot be recorded, a note on
/// standard error says so.
pub(crate) async fn note(config: &Config, record: AuditRecord) {
    let at_ms = SystemClock::new().wall().as_millis();
    let user = rustix::process::getuid().as_raw();
    let record = AuditRecord {
        at_ms: u64::try_from(at_ms).unwrap_or(0),
        address: format!("command line, user id {user}"),
        ..record
    };
    let recorded = match open_audit(config) {
        Ok(audit) => audit.append(&record).await.map_err(Failure::from),
        Err(failure) => Err(failure),
    };
    if let Err(failure) = recorded {
        failure.note("the change was made, but is not recorded");
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.runtime.block_on(settle(&self.config));
    }
}

fn made_by_servers(tag: &Tag) -> Failure {
    let tag = quoted(tag.as_str());
    Failure::new(
        format!("the tag {tag} has ids that only a running server makes"),
        format!("ask a server: leafid next {tag} --server http://HOST:PORT"),
    )
}
