//! CosId's ids of 80 bits: milliseconds (44), machine (20), sequence (16), in three forms.
//!
//! Source: CosId, `RadixCosIdGenerator`, `RadixCosIdStateParser`, `FriendlyIdStateParser`.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};

use super::digits::{BASE36_UPPER, BASE62, Digits};
use super::format::Form;

pub(crate) const SEQUENCE_BITS: u32 = 16;
pub(crate) const MACHINE_BITS: u32 = 20;
pub(crate) const TIME_BITS: u32 = 44;

/// The numbers of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CosId {
    pub(crate) unix_ms: u64,
    pub(crate) machine: u64,
    pub(crate) sequence: u64,
}

impl CosId {
    /// The id, and for the friendly form its time in UTC, whose labels never repeat.
    pub(super) fn push(self, form: &Form, text: &mut Digits) {
        let Self {
            unix_ms,
            machine,
            sequence,
        } = self;
        match form {
            Form::Friendly => {
                push_date(unix_ms, text);
                text.push(b'-');
                text.push_radix(machine, 7, DECIMAL);
                text.push(b'-');
                text.push_radix(sequence, 5, DECIMAL);
            }
            Form::Radix36 => {
                text.push_radix(unix_ms, 9, BASE36_UPPER);
                text.push_radix(machine, 4, BASE36_UPPER);
                text.push_radix(sequence, 4, BASE36_UPPER);
            }
            _ => {
                text.push_radix(unix_ms, 8, BASE62);
                text.push_radix(machine, 4, BASE62);
                text.push_radix(sequence, 3, BASE62);
            }
        }
    }
}

const DECIMAL: &[u8; 10] = b"0123456789";

/// `yyyyMMddHHmmssSSS` in UTC; times have 44 bits, and end in 2527.
fn push_date(unix_ms: u64, text: &mut Digits) {
    let time = i64::try_from(unix_ms).ok().map(Timestamp::from_millisecond);
    let date = Offset::UTC.to_datetime(time.and_then(Result::ok).unwrap_or_default());
    let fields = [
        (i64::from(date.year()), 4),
        (date.month().into(), 2),
        (date.day().into(), 2),
        (date.hour().into(), 2),
        (date.minute().into(), 2),
        (date.second().into(), 2),
        (date.millisecond().into(), 3),
    ];
    for (field, len) in fields {
        text.push_radix(field.unsigned_abs(), len, DECIMAL);
    }
}

/// The milliseconds since 1970 of a date as `yyyyMMddHHmmssSSS` in UTC; `None` if there is none.
pub(crate) fn read_date(text: &str) -> Option<u64> {
    let is_decimal = text.len() == 17 && text.bytes().all(|byte| byte.is_ascii_digit());
    let field = |from: usize, to: usize| text.get(from..to)?.parse::<i16>().ok();
    let small = |from: usize, to: usize| i8::try_from(field(from, to)?).ok();
    let date = DateTime::new(
        field(0, 4).filter(|_| is_decimal)?,
        small(4, 6)?,
        small(6, 8)?,
        small(8, 10)?,
        small(10, 12)?,
        small(12, 14)?,
        i32::from(field(14, 17)?) * 1_000_000,
    );
    let time = date.ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
    u64::try_from(time.as_millisecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(id: CosId, form: &Form) -> String {
        let mut text = Digits::new();
        id.push(form, &mut text);
        text.as_str().to_owned()
    }

    /// Computed from the alphabet and the widths in CosId's sources.
    #[test]
    fn each_form_has_cosids_widths() {
        let id = CosId {
            unix_ms: 1_704_265_904_677,
            machine: 5,
            sequence: 62 * 62 + 61,
        };
        assert_eq!(written(id, &Form::Radix62), "0U0HW3Mr000510z");
        assert_eq!(written(id, &Form::Radix36), "0LQXFX06D0005030H");
        assert_eq!(
            written(id, &Form::Friendly),
            "20240103071144677-0000005-03905"
        );
        let last = CosId {
            unix_ms: (1 << TIME_BITS) - 1,
            machine: (1 << MACHINE_BITS) - 1,
            sequence: (1 << SEQUENCE_BITS) - 1,
        };
        assert_eq!(written(last, &Form::Radix62).len(), 15);
        assert_eq!(written(last, &Form::Radix36).len(), 17);
        assert_eq!(
            written(last, &Form::Friendly),
            "25270623062044415-1048575-65535"
        );
    }

    #[test]
    fn dates_are_read_back_and_others_refused() {
        for unix_ms in [
            0,
            1,
            951_782_400_000,
            1_704_265_904_677,
            (1 << TIME_BITS) - 1,
        ] {
            let mut text = Digits::new();
            push_date(unix_ms, &mut text);
            assert_eq!(read_date(text.as_str()), Some(unix_ms));
        }
        for text in [
            "",
            "20240230000000000",
            "2024010307114467x",
            "20241301000000000",
            "+0240103071144677",
        ] {
            assert_eq!(read_date(text), None, "{text}");
        }
    }
}
