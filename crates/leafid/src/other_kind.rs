//! `OtherKind`: where the ids of a tag without segments come from.

use crate::error::{IssueError, Permanent};
use crate::format::Form;
use crate::store::TagKind;
use crate::tag::Tag;

/// Where the ids of a tag without segments come from.
///
/// # Example
///
/// ```
/// use leafid::{OtherKind, format::Form, store::TagKind};
///
/// let other = OtherKind { kind: TagKind::Snowflake, form: Form::Plain, min_id: 1 };
/// let error = other.into_error("trace");
/// assert!(error.to_string().contains("has no segments"));
/// ```
#[derive(Debug, Clone)]
pub struct OtherKind {
    /// The tag's kind: segment for a calendar counter, whose periods have the segments.
    pub kind: TagKind,
    /// What its ids look like.
    pub form: Form,
    /// No snowflake id below this may be issued for the tag: a former tag of this name was a
    /// segment tag, and may have issued it. 1 if there was none.
    pub min_id: u64,
}

impl OtherKind {
    /// The refusal of a caller that wants numbers of segments.
    #[must_use]
    pub fn into_error(self, tag: &str) -> IssueError {
        let Self { kind, form, min_id } = self;
        let permanent = Tag::new(tag).map_or_else(Permanent::BadTag, |tag| Permanent::NoSegments {
            tag,
            kind,
            form,
            min_id,
        });
        permanent.into()
    }
}
