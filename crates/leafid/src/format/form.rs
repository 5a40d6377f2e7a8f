//! `Form`: what the ids of a tag look like, as far as this process can make them.

use std::fmt;
use std::sync::Arc;

use super::TEXT_LEN_MAX;
use super::id_format::{CompileFormat, FormatError, IdFormat};
use crate::store::{TagKind, TagRecord};

/// Makes ids of a family, such as UUIDs. **Thread-safe**.
///
/// # Example
///
/// ```
/// use leafid::format::{FormatError, TextGenerator};
///
/// #[derive(Debug)]
/// struct Random;
///
/// impl TextGenerator for Random {
///     fn push_next(&self, text: &mut String) -> Result<(), FormatError> {
///         text.push_str("4b8c63");
///         Ok(())
///     }
/// }
///
/// let mut text = String::new();
/// Random.push_next(&mut text)?;
/// assert_eq!(text.len(), 6);
/// # Ok::<(), FormatError>(())
/// ```
pub trait TextGenerator: fmt::Debug + Send + Sync + 'static {
    /// Appends the next id. After an error nothing was appended.
    ///
    /// # Errors
    ///
    /// [`FormatError::Unavailable`] when there is none for now.
    fn push_next(&self, text: &mut String) -> Result<(), FormatError>;

    /// About the most bytes that a text has, by which callers bound the memory that many take.
    /// Default: 256.
    fn text_len_max(&self) -> usize {
        TEXT_LEN_MAX
    }
}

/// What the ids of a tag look like.
///
/// # Example
///
/// ```
/// use leafid::format::Form;
///
/// assert!(Form::default().format().is_none());
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Form {
    /// Numbers, written in decimal.
    #[default]
    Plain,
    /// Numbers, written in a format.
    Formatted(Arc<dyn IdFormat>),
    /// Numbers that restart with each period of a calendar, each period with a tag of its own.
    Calendar(Arc<dyn IdFormat>),
    /// Texts of a family.
    Family(Arc<dyn TextGenerator>),
}

impl Form {
    /// The format of its numbers, if they have one.
    #[must_use]
    pub const fn format(&self) -> Option<&Arc<dyn IdFormat>> {
        match self {
            Self::Formatted(format) | Self::Calendar(format) => Some(format),
            Self::Plain | Self::Family(_) => None,
        }
    }

    /// The form of a tag with this row.
    pub(crate) fn of(
        record: &TagRecord,
        compiler: Option<&dyn CompileFormat>,
    ) -> Result<Self, FormatError> {
        let (kind, text) = (record.settings.kind, record.format.as_deref());
        if kind.is_numbered() && text.is_none() {
            return Ok(Self::Plain);
        }
        let Some(compiler) = compiler else {
            let message = "it has a format, which this program cannot read: open its generators \
                with the formats of the crate leafid-formats";
            return Err(FormatError::Unavailable(message.to_owned()));
        };
        if let TagKind::Family(family) = kind {
            return compiler.family(family, text).map(Self::Family);
        }
        let format = compiler.compile(&record.tag, text.unwrap_or_default())?;
        Ok(match format.is_calendar() {
            true => Self::Calendar(format),
            false => Self::Formatted(format),
        })
    }
}
