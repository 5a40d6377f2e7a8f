//! `FamilyFormat`: how the ids of a family are written, compiled from the text of a tag's format.

mod options;
mod template;

use leafid::Family;
use leafid::format::FormatError;

use super::digits::TEXT_LEN_MAX;
use options::Options;
use template::Template;
pub(crate) use template::is_type_id_prefix;

/// How the ids of a [`Family`] are written: literal text around one `{id}`.
///
/// | family | options of `{id}` | without a format |
/// | --- | --- | --- |
/// | all UUIDs | `form=hyphenated`, `simple` or `typeid` | `hyphenated`, small letters |
/// | ULID | `form=crockford`, `crockford-lower` or `uuid` | `crockford`: 26 capitals and digits |
/// | TSID | `form=crockford`, `crockford-lower`, `hex`, `hex-upper`, `decimal` (20 digits) or `base62` (11) | `crockford`: 13 capitals and digits |
/// | CosId | `form=radix62` (15), `radix36` (17) or `friendly` (a date in UTC, machine, sequence) | `radix62` |
/// | NanoID | `length=` 2 to 128, `alphabet=` ASCII letters, digits and signs | 21 symbols of its 64 |
/// | CUID2 | `length=` 2 to 32 | 24 |
/// | others | none | |
///
/// `{{` and `}}` stand for braces. All ids of a format have the same length. `form=typeid` makes a
/// TypeID, in which what stands before `{id}` is the prefix and an underscore:
/// `order_{id form=typeid}`. Lengths and alphabets with less than 80 random bits are refused,
/// because such ids would repeat by chance.
///
/// Ids of one format **differ as the ids of the family do**, and their texts are in the same
/// **order**. A plain value, **thread-safe**.
///
/// # Example
///
/// ```
/// use leafid::Family;
/// use leafid_formats::FamilyFormat;
///
/// let format = FamilyFormat::compile(Family::Uuid7, Some("order_{id form=typeid}"))?;
/// assert_eq!(format.text_len(), "order_01h455vb4pex5vsknk084sn02q".len());
///
/// let error = FamilyFormat::compile(Family::Uuid7, Some("order_{idd}")).unwrap_err();
/// assert_eq!(error.to_string(), "at character 7: {idd} is not a part of a family's format: write {id}");
/// # Ok::<(), leafid::format::FormatError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FamilyFormat {
    family: Family,
    before: Box<str>,
    after: Box<str>,
    form: Form,
}

/// How the id itself is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// The one form that the family has.
    Usual,
    Hyphenated,
    Simple,
    TypeId,
    Crockford,
    CrockfordLower,
    Hex,
    HexUpper,
    Decimal,
    Base62,
    Radix62,
    Radix36,
    Friendly,
    Symbols {
        len: usize,
        alphabet: Box<[u8]>,
    },
}

impl FamilyFormat {
    /// Compiles the text of a tag's format; without one, the family's usual text.
    ///
    /// # Errors
    ///
    /// [`FormatError::Invalid`] names the part of the text that is wrong, its position, and what to
    /// write instead.
    pub fn compile(family: Family, text: Option<&str>) -> Result<Self, FormatError> {
        let template = Template::parse(text.unwrap_or("{id}"))?;
        let form = Options::of(&template, family)?.form(family)?;
        if form == Form::TypeId {
            template.check_type_id()?;
        }
        Ok(Self {
            family,
            before: template.before.into(),
            after: template.after.into(),
            form,
        })
    }

    /// The family whose ids it writes.
    #[must_use]
    pub const fn family(&self) -> Family {
        self.family
    }

    /// How long each text is, in bytes.
    #[must_use]
    pub fn text_len(&self) -> usize {
        self.before.len() + self.id_len() + self.after.len()
    }

    fn id_len(&self) -> usize {
        match &self.form {
            Form::Hyphenated => 36,
            Form::Simple => 32,
            Form::TypeId => 26,
            Form::Crockford | Form::CrockfordLower if self.family == Family::Tsid => 13,
            Form::Crockford | Form::CrockfordLower => 26,
            Form::Hex | Form::HexUpper => 16,
            Form::Decimal => 20,
            Form::Usual => match self.family {
                Family::Ksuid => 27,
                Family::ObjectId => 24,
                _ => 20,
            },
            Form::Base62 => 11,
            Form::Radix62 => 15,
            Form::Radix36 => 17,
            Form::Friendly => 31,
            Form::Symbols { len, .. } => (*len).min(TEXT_LEN_MAX),
        }
    }

    pub(crate) fn form(&self) -> &Form {
        &self.form
    }

    pub(crate) fn before(&self) -> &str {
        &self.before
    }

    pub(crate) fn after(&self) -> &str {
        &self.after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text around the id, and its length.
    fn check(family: Family, text: &str, around: (&str, usize, &str)) {
        let format = FamilyFormat::compile(family, Some(text)).unwrap();
        let compiled = (format.before(), format.id_len(), format.after());
        assert_eq!(compiled, around, "{family} {text}");
        let total = around.0.len() + around.1 + around.2.len();
        assert_eq!(format.text_len(), total);
    }

    #[test]
    fn formats_have_literal_text_and_options() {
        check(Family::Uuid7, "{id}", ("", 36, ""));
        check(Family::Uuid4, "a-{id form=simple}-z", ("a-", 32, "-z"));
        check(Family::Uuid7, "order_{id form=typeid}", ("order_", 26, ""));
        check(Family::Uuid7, "a__b_{id  form=typeid }", ("a__b_", 26, ""));
        check(Family::Uuid7, "{id form=typeid}", ("", 26, ""));
        check(Family::Ulid, "{{{id}}}", ("{", 26, "}"));
        check(Family::Ulid, "单{id form=uuid}", ("单", 36, ""));
        check(Family::Tsid, "{id form=decimal}", ("", 20, ""));
        check(Family::Tsid, "{id form=base62}", ("", 11, ""));
        check(Family::Tsid, "{id form=hex}", ("", 16, ""));
        check(Family::Tsid, "{id}", ("", 13, ""));
        check(Family::ObjectId, "{id}", ("", 24, ""));
        check(Family::Xid, "x{id}", ("x", 20, ""));
        check(Family::NanoId, "{id length=14}", ("", 14, ""));
        check(Family::NanoId, "{id alphabet=01 length=128}", ("", 128, ""));
        check(
            Family::NanoId,
            "{id alphabet=a=b,c/ length=40}",
            ("", 40, ""),
        );
        check(Family::Cuid2, "{id length=32}", ("", 32, ""));
        check(Family::Cuid2, "{id}", ("", 24, ""));
    }

    #[test]
    fn formats_that_cannot_be_are_refused_with_advice() {
        let check = |family: Family, text: &str, error: &str| {
            let refused = FamilyFormat::compile(family, Some(text)).unwrap_err();
            assert_eq!(refused.to_string(), error, "{family} {text}");
        };
        let uuid = Family::Uuid7;
        check(
            uuid,
            "",
            "at character 1: no {id}: write it where the id belongs",
        );
        check(
            uuid,
            "x{{id}}",
            "at character 8: no {id}: write it where the id belongs",
        );
        check(
            uuid,
            "{id}{number}",
            "at character 5: {number} is not a part of a family's format: write {id}",
        );
        check(
            uuid,
            "订单{id}{id}",
            "at character 7: a second {id}: keep one",
        );
        check(uuid, "{id}{id}", "at character 5: a second {id}: keep one");
        check(
            uuid,
            "a{id",
            "at character 2: the brace is not closed: close it, or write {{ for a brace",
        );
        check(
            uuid,
            "{id}}",
            "at character 5: a closing brace without an opening one: write }} for a brace",
        );
        check(
            uuid,
            "{}",
            "at character 1: {} is not a part of a family's format: write {id}",
        );
        check(
            uuid,
            "é{ id}",
            "at character 2: { id} is not a part of a family's format: write {id}",
        );
        check(
            uuid,
            "{number}",
            "at character 1: {number} is not a part of a family's format: write {id}",
        );
        check(
            uuid,
            "a\n{id}",
            "at character 2: a control character: remove it",
        );
        check(
            uuid,
            &"x".repeat(256),
            "a format has at most 255 bytes: shorten it",
        );
        check(
            uuid,
            "{id width=3}",
            "at character 5: there is no option \"width\": uuid7 has form",
        );
        check(
            uuid,
            "{id form=short}",
            "at character 5: form is short, but must be hyphenated, simple or typeid",
        );
        check(
            uuid,
            "{id form=simple form=simple}",
            "at character 17: form is given twice: keep one",
        );
        check(
            uuid,
            "{id length=3}",
            "at character 5: length is not an option of uuid7, which has form: remove it",
        );
        check(
            Family::Xid,
            "{id length=3}",
            "at character 5: length is not an option of xid, which has no options: remove it",
        );
        check(
            Family::Ksuid,
            "{id form=}",
            "at character 5: ksuid has one form: remove the option",
        );
        check(
            Family::NanoId,
            "{id form=simple}",
            "at character 5: form is not an option of nanoid, which has length and alphabet: remove it",
        );
        check(
            Family::NanoId,
            "{id length=10}",
            "at character 5: ids of length 10 would repeat by chance: write length=14 or more",
        );
        check(
            Family::NanoId,
            "{id alphabet=01}",
            "at character 5: ids of length 21 would repeat by chance: write length=80 or more",
        );
        check(
            Family::NanoId,
            "{id length=129}",
            "at character 5: length is 129, but must be a number from 14 to 128",
        );
        check(
            Family::NanoId,
            "{id length=}",
            "at character 5: length is empty, but must be a number from 14 to 128",
        );
        check(
            Family::Tsid,
            "订{id form=}",
            "at character 6: form is empty, but must be crockford, crockford-lower, hex, hex-upper, \
             decimal or base62",
        );
        check(
            Family::NanoId,
            "{id alphabet=abca}",
            "at character 5: 'a' occurs twice in the alphabet: keep one",
        );
        check(
            Family::NanoId,
            "{id alphabet=x}",
            "at character 5: alphabet must have at least 2 characters, all of them visible ASCII",
        );
        check(
            Family::Cuid2,
            "{id length=15}",
            "at character 5: ids of length 15 would repeat by chance: write length=16 or more",
        );
        check(
            Family::Cuid2,
            "{id alphabet=ab}",
            "at character 5: alphabet is not an option of cuid2, which has length: remove it",
        );
    }

    #[test]
    fn the_prefix_of_a_type_id_keeps_to_its_specification() {
        let check = |text: &str, error: &str| {
            let refused = FamilyFormat::compile(Family::Uuid7, Some(text)).unwrap_err();
            assert_eq!(refused.to_string(), error, "{text}");
        };
        let wrong = |prefix: &str| {
            let rule = "a prefix is 1 to 63 letters a to z, with underscores between them";
            let position = prefix.chars().count() + 6;
            let error = format!("at character {position}: form=typeid: {rule}: change {prefix:?}");
            check(&format!("{prefix}_{{id form=typeid}}"), &error);
        };
        for prefix in [
            "",
            "_",
            "a_",
            "_a",
            "Order",
            "order1",
            "order-line",
            "é",
            &"a".repeat(64),
        ] {
            wrong(prefix);
        }
        check(
            "order{id form=typeid}",
            "at character 10: form=typeid: an underscore ends the prefix: write order_",
        );
        check(
            "order_{id form=typeid}x",
            "at character 11: form=typeid: a TypeID ends with its id: remove \"x\"",
        );
        let longest = format!("{}_{{id form=typeid}}", "a".repeat(63));
        assert!(FamilyFormat::compile(Family::Uuid7, Some(&longest)).is_ok());
    }
}
