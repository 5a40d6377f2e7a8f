//! `Formats`: understands the text of a tag's format.

use std::sync::Arc;

use leafid::format::{CompileFormat, FormatError, IdFormat, TextGenerator};
use leafid::{Family, Tag};

use crate::families::{Families, FamilyFormat, FamilyGenerator};
use crate::keys::{Keys, SharedKeys};
use crate::template::Template;

/// Understands the templates that tags have as formats, such as `SO-{date %Y%m%d}-{number width=8}`.
///
/// **Unique**: two numbers of a tag never have the same text, unless the format begins with
/// `{may_repeat}`. **Thread-safe**, and so are the formats it makes; issuing a text allocates
/// nothing but the text, unless it has `{sqids}`, `{uuid3}` or `{uuid5}`.
///
/// # The language
///
/// A template is literal text and parts in braces; `{{` and `}}` are braces in the text.
///
/// | part | writes |
/// | --- | --- |
/// | `{zone Asia/Shanghai}` | nothing: the time zone of all dates, a name of the IANA database, `UTC` or an offset such as `+08:00`. Before all that writes; without it, UTC |
/// | `{date %Y%m%d}` | the date, by directives of `strftime` whose width is fixed |
/// | `${date6}` … `${date17}` | the date as in ns4_gear_idgen: `yyMMdd`, 8 `yyMMddHH`, 10 and 12 with minutes and seconds, 14 `yyyyMMddHHmmss`, 15 and 17 with milliseconds, 16 the last 16 digits of 17 |
/// | `{number}` | the number; `radix=` 10, 36, 58, 62 or `crockford`, `width=` its digits with zeros on the left, or `total=` the characters of the whole text |
/// | `{opaque}` | the number enciphered: `radix=` 10, 36 or 62 with `width=` digits, or `63bit` for a number of 63 bits; `key=ID` |
/// | `{key}` | the id of the key of `{opaque}`, four digits of radix 62 |
/// | `{sqids min=8}` | the number as a Sqid of at least so many characters |
/// | `{gene fixed=32}` | `number << bits`, with `number mod fixed` in the low bits, or `factor=` mod fixed; `radix=`, `width=` |
/// | `{uuid8}` | the number in the first 64 free bits of a UUID, the tag in the other 58 |
/// | `{uuid5 namespace=url}`, `{uuid3 namespace=dns}` | the hash of the name `TAG/NUMBER`, which cannot be read back; the namespace is `dns`, `url`, `oid`, `x500` or a UUID |
/// | `{worker width=4}` | the worker id of the process; `radix=` |
/// | `{random 6}` | random digits, which are no secret; `radix=` |
/// | `{unix_ms}` | milliseconds since 1970, in 13 digits |
/// | `{check luhn}` | the check digit of all that stands before it: `luhn`, `damm`, `verhoeff`, `37-36` or `97-10` |
/// | `{may_repeat}` | nothing: allows a template without a number, whose texts may repeat |
///
/// A check digit counts the ASCII digits before it, those of literal text included, and with
/// `37-36` and `97-10` the ASCII letters too. It skips all other characters. `luhn`, `damm` and
/// `verhoeff` skip the letters of literal text, which reading compares anyway, and of `{key}`.
///
/// `{number restart=day}` is a calendar counter: it starts at 1 in each `year`, `month`, `day` or
/// `hour` of the zone. The template must write the date down to the period, or its texts would
/// repeat. The text takes that part of the date from the number; the finer part is that of the
/// clock, or the nearest within the period where the clock is in another. Local dates only go up:
/// an hour that a zone repeats continues its counter. Years of two digits are those of 2000 to
/// 2099. The width limits the numbers of each period: `width=6` is 999,999.
///
/// `{opaque}` is FF1 of NIST SP 800-38G with AES-256 and the tag as the tweak: without the key,
/// nobody can tell a text's number or its neighbours, nor how many there are. A format writes with
/// the current key and `{key}`, or with one key for life, `key=ID`: otherwise texts of two keys
/// could be the same. `63bit` and 19 decimal digits stay below 2^63 (by walking the cycle), as do
/// 12 digits of radix 36 and 10 of radix 62. There are at least a million texts. A text that is
/// altered is noticed for certain only with a check digit.
///
/// Sqids are an obfuscation and **no encryption**: anyone can decode them, and count.
///
/// A number that is too long for its `width` or `total` is an error, never cut. Every part but the
/// number has a fixed width, so that the number can be read back without doubt. Crockford digits
/// are read as [`Radix`](leafid::format::Radix) reads them: small letters too, `O` as `0`.
///
/// # Example
///
/// ```
/// use leafid::Tag;
/// use leafid::format::{CompileFormat, FormatContext};
/// use leafid_formats::Formats;
///
/// let tag = Tag::new("order")?;
/// let format = Formats::new().compile(&tag, "SO-{date %y%m%d}-{number width=6}{check damm}")?;
///
/// let context = FormatContext { unix_ms: 1_570_807_338_079, worker_id: None };
/// let mut text = String::new();
/// format.write(4711, &context, &mut text)?;
/// assert_eq!(text, "SO-191011-0047115");
/// assert_eq!(format.read(&text)?, 4711);
/// assert!(format.read("SO-191011-0074115").is_err());
///
/// let error = Formats::new().compile(&tag, "SO-{nmber}").unwrap_err();
/// assert!(error.to_string().contains("did you mean {number}?"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Formats {
    families: Option<Families>,
    is_alone: bool,
    keys: SharedKeys,
}

impl Formats {
    /// Formats without keys: `{opaque}` is refused until [`replace_keys`](Self::replace_keys).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// With the generators of families, for tags such as those of kind `uuid7`.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use leafid::format::CompileFormat;
    /// use leafid::{Family, SystemClock};
    /// use leafid_formats::{Families, Formats};
    ///
    /// let families = Families::new(Arc::new(SystemClock::new()));
    /// let formats = Formats::new().with_families(families);
    /// let mut text = String::new();
    /// formats.family(Family::Uuid7, None)?.push_next(&mut text)?;
    /// assert_eq!(text.len(), 36);
    /// # Ok::<(), leafid::format::FormatError>(())
    /// ```
    #[must_use]
    pub fn with_families(mut self, families: Families) -> Self {
        self.families = Some(families);
        self
    }

    /// Says that no other process makes ids of these tags. TSID and CosId have so few bits for
    /// a process that two of them can make one id, so that without this they are refused, unless
    /// the families have a leased worker id ([`Families::set_snowflake`]).
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use leafid::format::CompileFormat;
    /// use leafid::{Family, SystemClock};
    /// use leafid_formats::{Families, Formats};
    ///
    /// let families = Families::new(Arc::new(SystemClock::new()));
    /// let formats = Formats::new().with_families(families);
    /// assert!(formats.family(Family::Tsid, None).is_err());
    /// assert!(formats.alone(true).family(Family::Tsid, None).is_ok());
    /// ```
    #[must_use]
    pub const fn alone(mut self, is_alone: bool) -> Self {
        self.is_alone = is_alone;
        self
    }

    /// Uses these keys from now on, in the formats that it has made too, and in its clones. Ids
    /// that are being written keep the key that they began with.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::Tag;
    /// use leafid::format::{CompileFormat, FormatContext};
    /// use leafid_formats::{Formats, Keys};
    ///
    /// let formats = Formats::new();
    /// formats.replace_keys(Keys::parse(&Keys::generate_line()?)?);
    /// let format = formats.compile(&Tag::new("order")?, "{key}-{opaque radix=62}")?;
    ///
    /// let mut text = String::new();
    /// format.write(1, &FormatContext::default(), &mut text)?;
    /// assert_eq!(format.read(&text)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replace_keys(&self, keys: Keys) {
        self.keys.replace(keys);
    }
}

impl CompileFormat for Formats {
    fn compile(&self, tag: &Tag, text: &str) -> Result<Arc<dyn IdFormat>, FormatError> {
        Ok(Arc::new(Template::new(text, tag, &self.keys)?))
    }

    fn family(
        &self,
        family: Family,
        text: Option<&str>,
    ) -> Result<Arc<dyn TextGenerator>, FormatError> {
        let format = FamilyFormat::compile(family, text)?;
        let families = self.families.as_ref();
        let is_leased = families.is_some_and(|families| families.leased(family).is_some());
        let needs_lease = matches!(family, Family::Tsid | Family::CosId) && !self.is_alone;
        if needs_lease && !is_leased {
            let message = format!(
                "two servers can make the same {family}, whose bits for a server are few, and this \
                 store is for several: ask a server whose layout of snowflake ids fits, such as \
                 leaf, or create a tag of kind snowflake"
            );
            return Err(FormatError::Unavailable(message));
        }
        let Some(families) = self.families.clone() else {
            let message = format!("this program makes no {family}: give its formats the families");
            return Err(FormatError::Unavailable(message));
        };
        Ok(Arc::new(FamilyGenerator { families, format }))
    }
}
