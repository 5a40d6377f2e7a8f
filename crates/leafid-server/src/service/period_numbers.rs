//! The numbers of a period's tag, if it is one: another tag may have its name.

use leafid::format::{Form, FormatError, IdFormat};
use leafid::{Formatted, IssueError, OtherKind, Permanent, Tag};

/// A period's tag writes plain numbers: one with a format issues them as ids of its own.
pub(super) fn no_format(_: &dyn IdFormat) -> Result<(), FormatError> {
    Err(FormatError::Invalid("a period has no format".to_owned()))
}

/// The numbers of a period's tag, which may be no period: it was there before the counter, or
/// others wrote its row.
pub(super) fn numbers_of<T>(
    period: &str,
    taken: Result<Formatted<T>, IssueError>,
) -> Result<T, IssueError> {
    let what = match taken? {
        Formatted::Numbers { ids, format: None } => return Ok(ids),
        Formatted::Numbers { .. } | Formatted::Refused(_) => "is a tag with a format".to_owned(),
        Formatted::OtherKind(OtherKind {
            form: Form::Calendar(_),
            ..
        }) => "is a calendar counter itself".to_owned(),
        Formatted::OtherKind(OtherKind { kind, .. }) => format!("is a {kind} tag"),
    };
    let tag = Tag::new(period).map_err(Permanent::BadTag)?;
    Err(no_period(tag, &what))
}

/// The refusal of a counter whose present period's name is taken: in words by what.
pub(super) fn no_period(tag: Tag, what: &str) -> IssueError {
    let message = format!(
        "it {what} with the name of a period of a calendar counter, which therefore has no \
         numbers until its next period; create the counter under another name, or keep other tags \
         from such names"
    );
    Permanent::BadRow { tag, message }.into()
}
