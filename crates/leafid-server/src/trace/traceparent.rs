//! The header `traceparent` of [W3C Trace Context](https://www.w3.org/TR/trace-context/): which
//! trace a request belongs to. One that is malformed counts as missing, as the standard says.

/// The trace of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TraceParent {
    /// Not 0.
    pub(super) trace_id: u128,
    /// The caller's span, not 0.
    pub(super) span_id: u64,
    /// Whether the caller records the trace.
    pub(super) is_sampled: bool,
}

/// `00-TRACE_ID-SPAN_ID-FLAGS`.
const LEN: usize = 55;

impl TraceParent {
    /// Parses a header; `None` if it is malformed. A later version may have more after a `-`.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let (fields, rest) = text.split_at_checked(LEN)?;
        let is_whole = match hex(&fields[..2])? {
            0 => rest.is_empty(),
            0xff => false,
            _ => rest.is_empty() || rest.starts_with(b"-"),
        };
        let has_hyphens = [2, 35, 52].iter().all(|&at| fields[at] == b'-');
        if !is_whole || !has_hyphens {
            return None;
        }
        let trace_id = hex(&fields[3..35])?;
        let span_id = u64::try_from(hex(&fields[36..52])?).ok()?;
        let flags = hex(&fields[53..])?;
        (trace_id != 0 && span_id != 0).then_some(Self {
            trace_id,
            span_id,
            is_sampled: flags & 1 == 1,
        })
    }
}

/// At most 32 hexadecimal digits, in lower case only.
fn hex(digits: &[u8]) -> Option<u128> {
    digits.iter().try_fold(0, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u128::from(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn parse(text: &str) -> Option<TraceParent> {
        TraceParent::parse(text.as_bytes())
    }

    #[test]
    fn a_valid_header_is_read() {
        let expected = TraceParent {
            trace_id: 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
            span_id: 0xb7ad_6b71_6920_3331,
            is_sampled: true,
        };
        assert_eq!(parse(VALID), Some(expected));
        let unsampled = |flags: &str| parse(&format!("{}{flags}", &VALID[..53])).unwrap();
        assert!(!unsampled("00").is_sampled);
        assert!(!unsampled("fe").is_sampled);
        assert!(unsampled("ff").is_sampled);
        assert_eq!(parse(&VALID.replacen("00", "cc", 1)), Some(expected));
        let later = format!(
            "{}-what-the-future-will-be-like",
            VALID.replacen("00", "cc", 1)
        );
        assert_eq!(parse(&later), Some(expected));
    }

    #[test]
    fn malformed_headers_are_ignored() {
        let no_trace = format!("00-{}-b7ad6b7169203331-01", "0".repeat(32));
        let no_span = format!("00-0af7651916cd43dd8448eb211c80319c-{}-01", "0".repeat(16));
        for text in [
            "",
            "00",
            &VALID[..54],
            &format!("{VALID}-"),
            &format!("{VALID}-01"),
            &format!(" {VALID}"),
            &VALID.to_uppercase(),
            &VALID.replacen("00", "ff", 1),
            &VALID.replacen("00", "0x", 1),
            &VALID.replacen('-', "_", 1),
            &VALID.replace("b7ad", "b7ag"),
            &VALID.replace("-01", "-0 "),
            &format!("{}.", VALID.replacen("00", "cc", 1)),
            &no_trace,
            &no_span,
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    /// Guards that no bytes panic, and that what is accepted is written as it was read.
    #[test]
    fn any_bytes_are_read_or_ignored() {
        leafid_fuzz::fuzz("traceparent", |data| {
            let Some(parent) = TraceParent::parse(data) else {
                return false;
            };
            let TraceParent {
                trace_id, span_id, ..
            } = parent;
            let written = format!("-{trace_id:032x}-{span_id:016x}-");
            assert_eq!(&data[2..53], written.as_bytes());
            assert!(trace_id != 0 && span_id != 0);
            true
        });
    }
}
