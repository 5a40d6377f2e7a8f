//! What whoever made a tag should know.

use crate::format::IdFormat;
use crate::generators::Generators;
use crate::layout::Layout;
use crate::store::{TagKind, TagRecord};

impl Generators {
    /// What whoever made a tag should know, in words: that the texts of its format cannot be decoded
    /// or may repeat, that some worker ids of a layout do not fit into it, or that it has no number
    /// left. Nothing of most tags, and of formats that cannot be understood.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::{MemoryStore, TagSpec};
    /// use leafid::{Generators, Layout, Options, Tag};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// let order = TagSpec::new(Tag::new("order")?).record();
    /// assert!(generators.tag_warnings(&order, Layout::LEAF).is_empty());
    /// # Ok::<(), leafid::TagError>(())
    /// ```
    #[must_use]
    pub fn tag_warnings(&self, record: &TagRecord, layout: Layout) -> Vec<String> {
        let form = self.form_of(record).unwrap_or_default();
        let of_format = form.format().map(|format| of_format(&**format, layout));
        let mut warnings = of_format.unwrap_or_default();
        warnings.extend(spent(record));
        warnings
    }
}

fn of_format(format: &dyn IdFormat, layout: Layout) -> Vec<String> {
    let worker_max = layout.worker_max();
    let narrow = format.worker_id_max().filter(|max| *max < worker_max);
    let narrow = narrow.map(|max| {
        format!(
            "a server whose worker id is above {max}, which {{worker}} has no room for, issues \
            nothing of this tag, and there are worker ids up to {worker_max}"
        )
    });
    let warnings = format.warnings().into_iter().map(str::to_owned);
    warnings.chain(narrow).collect()
}

/// A tag whose next segment would start above its limit, as one may that had ids before.
fn spent(record: &TagRecord) -> Option<String> {
    let (next, limit) = (record.max_id, record.settings.limit);
    let is_spent = record.settings.kind == TagKind::Segment && next > limit.largest();
    is_spent.then(|| {
        format!("it issues nothing: its next number would be {next}, and its limit is {limit}")
    })
}
