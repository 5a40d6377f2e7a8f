//! Formats of snowflake tags: those that could not write the ids are refused at once.

use crate::generators::Generators;
use crate::layout::Layout;
use crate::store::{TagFieldError, TagKind, TagSpec};

impl Generators {
    /// Refuses a new tag of kind snowflake whose format cannot write every id of a layout. Other
    /// tags pass, and so do formats that cannot be understood: creating the tag refuses them.
    ///
    /// # Errors
    ///
    /// For a number that restarts, for one that is too short, and for a worker id that is.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::store::{MemoryStore, TagKind, TagSpec};
    /// use leafid::{Generators, Layout, Options, Tag};
    ///
    /// let (generators, _driver) = Generators::open(MemoryStore::new(), Options::default());
    /// let mut spec = TagSpec::new(Tag::new("trace")?);
    /// spec.settings.kind = TagKind::Snowflake;
    /// generators.check_snowflake_format(&spec, Layout::LEAF)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_snowflake_format(
        &self,
        spec: &TagSpec,
        layout: Layout,
    ) -> Result<(), TagFieldError> {
        if spec.settings.kind != TagKind::Snowflake {
            return Ok(());
        }
        let Ok(form) = self.form_of(&spec.record()) else {
            return Ok(());
        };
        let Some(format) = form.format() else {
            return Ok(());
        };
        let (largest, number_max) = (format.largest(), layout.number_max());
        let worker_max = layout.worker_max();
        let message = if format.is_calendar() {
            "a snowflake id does not restart: leave out restart=, or create a tag of kind segment"
                .to_owned()
        } else if largest < number_max {
            format!(
                "its largest number is {largest}, and snowflake ids of the layout {layout} go up to \
                {number_max}: give the number more digits"
            )
        } else if let Some(max) = format.worker_id_max().filter(|max| *max < worker_max) {
            format!(
                "its {{worker}} has room for worker ids up to {max}, and those of the layout {layout} \
                go up to {worker_max}: give {{worker}} more digits"
            )
        } else {
            return Ok(());
        };
        Err(TagFieldError::bad_format(spec.format.as_deref(), &message))
    }
}
