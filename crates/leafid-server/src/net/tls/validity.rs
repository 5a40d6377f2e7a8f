//! `Validity`: the validity period of a certificate, read from its DER.
//!
//! rustls checks the certificates of others and does not expose the dates of our own. They have a
//! fixed position (RFC 5280, 4.1), so a walk over five elements finds them; a full X.509 crate
//! would bring a dozen others.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The validity period of a certificate, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Validity {
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
}

impl Validity {
    /// Parses a certificate in DER; `None` if it is not one.
    pub(super) fn of(certificate: &[u8]) -> Option<Self> {
        let mut rest = within(&mut &*certificate, SEQUENCE)?;
        let mut body = within(&mut rest, SEQUENCE)?;
        if body.first() == Some(&VERSION) {
            element(&mut body)?;
        }
        // The serial number, the algorithm of the signature, the issuer.
        for _ in 0..3 {
            element(&mut body)?;
        }
        let mut validity = within(&mut body, SEQUENCE)?;
        Some(Self {
            from: time(element(&mut validity)?)?,
            until: time(element(&mut validity)?)?,
        })
    }
}

/// The content of the next element, which must be of this kind.
fn within<'a>(input: &mut &'a [u8], wanted: u8) -> Option<&'a [u8]> {
    let (kind, content) = element(input)?;
    (kind == wanted).then_some(content)
}

/// Takes the next element: its kind, and its content.
fn element<'a>(input: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let (&[kind, first], mut rest) = input.split_first_chunk()?;
    let len = if first < 0x80 {
        usize::from(first)
    } else {
        let (bytes, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
        rest = after;
        // No certificate needs more than four bytes of length.
        if bytes.is_empty() || bytes.len() > 4 {
            return None;
        }
        bytes
            .iter()
            .fold(0, |len, byte| (len << 8) | usize::from(*byte))
    };
    let (content, rest) = rest.split_at_checked(len)?;
    *input = rest;
    Some((kind, content))
}

/// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`.
fn time((kind, text): (u8, &[u8])) -> Option<Timestamp> {
    let digits = std::str::from_utf8(text).ok()?.strip_suffix('Z')?;
    let full = match kind {
        // Two-digit years mean 1950 to 2049.
        UTC_TIME if digits.get(..2)? < "50" => format!("20{digits}"),
        UTC_TIME => format!("19{digits}"),
        GENERALIZED_TIME => digits.to_owned(),
        _ => return None,
    };
    let time = DateTime::strptime("%Y%m%d%H%M%S", full).ok()?;
    TimeZone::UTC.to_timestamp(time).ok()
}

#[cfg(test)]
mod tests {
    use leafid_testbed::Authority;

    use super::*;

    fn seconds(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_second()
    }

    /// Guards that the dates are read in both of their forms.
    #[test]
    fn dates_are_those_of_the_certificate() {
        let check = |from: &str, until: &str| {
            let authority = Authority::new();
            let certificate = authority.issue_for(["ids"], seconds(from), seconds(until));
            let validity = Validity::of(&certificate.der).unwrap();
            let read = (validity.from.as_second(), validity.until.as_second());
            assert_eq!(read, (seconds(from), seconds(until)));
        };
        check("2020-02-29T23:59:58Z", "2049-12-31T23:59:59Z");
        check("1970-01-01T00:00:00Z", "2050-01-01T00:00:00Z");
        check("2050-06-07T08:09:10Z", "2999-12-31T23:59:59Z");
    }

    /// Guards that no input makes it panic.
    #[test]
    fn what_is_cut_or_wrong_has_no_dates() {
        let certificate = Authority::new().issue_for(["ids"], 0, 1_000_000_000);
        let der = certificate.der;
        let whole = Validity::of(&der).unwrap();
        for len in 0..der.len() {
            assert_eq!(Validity::of(&der[..len]), None, "{len}");
        }
        for place in 0..der.len() {
            for byte in [0, 0x30, 0x7f, 0x80, 0x84, 0x85, 0xff] {
                let mut changed = der.clone();
                changed[place] = byte;
                // Any result will do.
                let _read = Validity::of(&changed);
            }
        }
        assert_eq!(Validity::of(&der), Some(whole));
        assert_eq!(Validity::of(b""), None);
        assert_eq!(Validity::of(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
    }
}
