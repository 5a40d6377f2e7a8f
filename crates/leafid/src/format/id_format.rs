//! `IdFormat`: how the ids of a tag are written as text and read back; a store keeps a format as
//! text, and [`CompileFormat`] understands it. The crate `leafid-formats` has an implementation.

use std::fmt;
use std::sync::Arc;

use super::TEXT_LEN_MAX;
use super::form::TextGenerator;
use crate::family::Family;
use crate::tag::Tag;
use crate::worker_id::WorkerId;

/// The format of one tag: its numbers to text and back.
///
/// A format never writes two numbers as one text, whatever the context, unless it says that it
/// [may repeat](Self::may_repeat). **Thread-safe**.
///
/// # Example
///
/// See [`CompileFormat`].
pub trait IdFormat: fmt::Debug + Send + Sync + 'static {
    /// Appends the text of a number. After an error nothing was appended.
    ///
    /// # Errors
    ///
    /// [`FormatError::TooLong`] when the number has more digits than the format has room for, and
    /// [`FormatError::MissingKey`], and [`FormatError::Unavailable`] when something is missing, such as a
    /// worker id.
    fn write(
        &self,
        number: u64,
        context: &FormatContext,
        text: &mut String,
    ) -> Result<(), FormatError>;

    /// The number of a text that this format wrote.
    ///
    /// # Errors
    ///
    /// [`FormatError::NotOfFormat`] for any other text, and for every text of a format that cannot
    /// be read back; [`FormatError::MissingKey`] when its key is missing.
    fn read(&self, text: &str) -> Result<u64, FormatError>;

    /// What a text that this format wrote says: its number, and other parts that it has.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    fn decode(&self, text: &str) -> Result<TextParts, FormatError> {
        self.read(text).map(TextParts::of_number)
    }

    /// The largest number that it can write.
    fn largest(&self) -> u64;

    /// The period of a calendar counter at a time; `None` for numbers that never restart.
    fn period(&self, unix_ms: u64) -> Option<Period> {
        let _ = unix_ms;
        None
    }

    /// Whether it writes the worker id.
    fn needs_worker_id(&self) -> bool {
        false
    }

    /// The largest worker id that it can write; `None` if it writes none, or any.
    fn worker_id_max(&self) -> Option<u32> {
        None
    }

    /// Whether what every text needs is there now, such as a key or a worker id that fits. It is asked
    /// before a number is taken, which would be lost.
    ///
    /// # Errors
    ///
    /// [`FormatError::MissingKey`], [`FormatError::Unavailable`], or [`FormatError::TooLong`] for a
    /// worker id that does not fit, as [`write`](Self::write) would return.
    fn check(&self, worker_id: Option<WorkerId>) -> Result<(), FormatError> {
        let _ = worker_id;
        Ok(())
    }

    /// About the most bytes that a text has, by which callers bound the memory that many take.
    /// Default: 256.
    fn text_len_max(&self) -> usize {
        TEXT_LEN_MAX
    }

    /// Whether its numbers restart with each [`Period`].
    fn is_calendar(&self) -> bool {
        self.period(0).is_some()
    }

    /// Whether there is a [`Period`] with this label. Default: any label is one.
    fn has_period(&self, label: u64) -> bool {
        let _ = label;
        true
    }

    /// Whether [`read`](Self::read) can give the number back.
    fn is_readable(&self) -> bool {
        true
    }

    /// Whether a number has one text at any time and in any process, so that the text of an id can
    /// be written again: it has no date, no worker id, no random digits and no key that may be
    /// replaced. `false` unless a format says so.
    fn is_stable(&self) -> bool {
        false
    }

    /// Whether two numbers may have one text, which nobody but the tag's creator can want.
    fn may_repeat(&self) -> bool {
        false
    }

    /// What whoever gives a tag this format should know, in words; nothing of most formats.
    fn warnings(&self) -> Vec<&'static str> {
        if self.may_repeat() {
            return vec![
                "texts of this format may repeat: no number is in them, so nothing makes them unique",
            ];
        }
        match self.is_readable() {
            true => Vec::new(),
            false => vec!["texts of this format cannot be decoded to their numbers"],
        }
    }
}

/// What a format may write besides the number.
///
/// # Example
///
/// ```
/// use leafid::format::FormatContext;
///
/// let context = FormatContext { unix_ms: 1_570_807_338_079, worker_id: None };
/// assert_eq!(context.unix_ms / 1000, 1_570_807_338);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FormatContext {
    /// The time of day, in milliseconds since 1970-01-01T00:00:00Z.
    pub unix_ms: u64,
    /// The worker id of this process, if it has one.
    pub worker_id: Option<WorkerId>,
}

/// What the text of an id says.
///
/// # Example
///
/// ```
/// use leafid::format::TextParts;
///
/// let parts = TextParts::of_number(4711);
/// assert_eq!((parts.number, parts.unix_ms, parts.worker_id), (4711, None, None));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextParts {
    /// The number.
    pub number: u64,
    /// When it was written, in milliseconds since 1970-01-01T00:00:00Z: from the first time to
    /// before the second, as a date tells a day. `None` if the text does not say.
    pub unix_ms: Option<(i64, i64)>,
    /// The worker id of the process that wrote it, if the text has one.
    pub worker_id: Option<WorkerId>,
    /// The label of its period and its number in that, of a calendar counter.
    pub period: Option<(u64, u64)>,
}

impl TextParts {
    /// A text that says no more than its number.
    #[must_use]
    pub const fn of_number(number: u64) -> Self {
        Self {
            number,
            unix_ms: None,
            worker_id: None,
            period: None,
        }
    }
}

/// One period of a calendar counter, such as a day.
///
/// Each period has a sequence of its own, which starts at 1: a tag of its own in the store, whose
/// name is that of the calendar tag, `@` and the label. So servers whose clocks disagree about the
/// date cannot issue one number twice, and a server with a wrong clock disturbs no other. The
/// format writes `first - 1` plus the number of that sequence.
///
/// # Example
///
/// ```
/// use leafid::format::Period;
///
/// let day = Period {
///     label: 20_261_122,
///     first: 2_026_112_200_000_000_001,
///     last: 2_026_112_200_000_999_999,
/// };
/// assert_eq!(day.len(), 999_999);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    /// Its name, in digits: `YYYY`, `YYYYMM`, `YYYYMMDD` or `YYYYMMDDHH` of local time.
    pub label: u64,
    /// The first number of the period: larger than any of a period with a smaller label.
    pub first: u64,
    /// The last one.
    pub last: u64,
}

impl Period {
    /// How many numbers it has.
    #[must_use]
    #[expect(
        clippy::len_without_is_empty,
        reason = "a period has at least one number"
    )]
    pub const fn len(&self) -> u64 {
        (self.last + 1).saturating_sub(self.first)
    }
}

/// Understands the texts of formats.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
///
/// use leafid::Tag;
/// use leafid::format::{CompileFormat, FormatContext, FormatError, IdFormat, Radix};
///
/// /// Numbers in radix 36.
/// #[derive(Debug)]
/// struct Base36;
///
/// impl IdFormat for Base36 {
///     fn write(
///         &self,
///         number: u64,
///         _context: &FormatContext,
///         text: &mut String,
///     ) -> Result<(), FormatError> {
///         Radix::Base36.push(number, 0, text);
///         Ok(())
///     }
///
///     fn read(&self, text: &str) -> Result<u64, FormatError> {
///         let number = Radix::Base36.parse(text);
///         number.map_err(|error| FormatError::NotOfFormat(error.to_string()))
///     }
///
///     fn largest(&self) -> u64 {
///         u64::MAX
///     }
/// }
///
/// struct OneFormat;
///
/// impl CompileFormat for OneFormat {
///     fn compile(&self, _tag: &Tag, text: &str) -> Result<Arc<dyn IdFormat>, FormatError> {
///         match text {
///             "base36" => Ok(Arc::new(Base36)),
///             _ => Err(FormatError::Invalid("the only format is base36".to_owned())),
///         }
///     }
/// }
///
/// let format = OneFormat.compile(&Tag::new("order")?, "base36")?;
/// let mut text = String::new();
/// format.write(2_576_460, &FormatContext::default(), &mut text)?;
/// assert_eq!((text.as_str(), format.read(&text)?), ("1j80c", 2_576_460));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait CompileFormat: Send + Sync + 'static {
    /// The format of a tag whose row has this text.
    ///
    /// # Errors
    ///
    /// [`FormatError::Invalid`] for a text that is no format. One whose key is missing writes once the
    /// key is there: see [`IdFormat::check`].
    fn compile(&self, tag: &Tag, text: &str) -> Result<Arc<dyn IdFormat>, FormatError>;

    /// The generator of a tag of a family, whose row may have a text for it, such as a prefix.
    ///
    /// # Errors
    ///
    /// As [`compile`](Self::compile).
    fn family(
        &self,
        family: Family,
        text: Option<&str>,
    ) -> Result<Arc<dyn TextGenerator>, FormatError> {
        let _ = text;
        let message = format!("this program makes no {family}");
        Err(FormatError::Unavailable(message))
    }
}

/// A [`CompileFormat`] to hand around. Cloning is cheap; two are equal if they are the same.
///
/// # Example
///
/// See [`Options::formats`](crate::Options::formats).
#[derive(Clone)]
pub struct FormatCompiler(Arc<dyn CompileFormat>);

impl FormatCompiler {
    /// Hands this one around.
    pub fn new(compiler: impl CompileFormat) -> Self {
        Self(Arc::new(compiler))
    }

    pub(crate) fn get(&self) -> &dyn CompileFormat {
        &*self.0
    }
}

impl PartialEq for FormatCompiler {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for FormatCompiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FormatCompiler")
    }
}

/// Why a format cannot be used, or does not fit a number or a text. Each text names the thing and
/// says what to do next.
///
/// # Example
///
/// ```
/// use leafid::format::FormatError;
///
/// let error = FormatError::Invalid("{nmber} is unknown; did you mean {number}?".to_owned());
/// assert_eq!(error.to_string(), "{nmber} is unknown; did you mean {number}?");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The text of the format is invalid.
    #[error("{0}")]
    Invalid(String),
    /// The number has more digits than the format has room for.
    #[error("{0}")]
    TooLong(String),
    /// The text was not written by this format.
    #[error("{0}")]
    NotOfFormat(String),
    /// Something that the format needs is missing for now, such as a worker id.
    #[error("{0}")]
    Unavailable(String),
    /// This process does not have the key of the format.
    #[error("{0}")]
    MissingKey(String),
}
