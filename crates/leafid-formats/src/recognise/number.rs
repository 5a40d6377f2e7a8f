//! Readings of decimal numbers: each layout of snowflakes, TSID, and a plain number.

use leafid::{Epoch, Layout, LayoutSpec, SequencePlace, TimeUnit};

use super::{Candidate, born};
use crate::decimal::decimal;
use crate::decode::{Decoded, tsid_parts};

/// 2017-04-01, the month in which Leaf was described.
const LEAF_BORN_MS: i64 = 1_491_004_800_000;
/// 2021-01-01, the year of CosId.
const COSID_BORN_MS: i64 = 1_609_459_200_000;
/// 2015-01-01, the month of Sonyflake.
const SONYFLAKE_BORN_MS: i64 = 1_420_070_400_000;
/// 2017-12-25T00:00:00+08:00.
const ECP_UID_EPOCH: Epoch = Epoch::from_unix_ms(1_514_131_200_000);

const YEAR_MS: u64 = 365 * 24 * 3600 * 1000;
/// Plain numbers are mostly smaller, snowflakes of more than a few days larger.
const PLAIN_MAX: u64 = 1_000_000_000_000;
/// The score of an id of the layout that the caller uses: above all others of its length.
const OWN: u8 = 95;

/// A layout in use somewhere.
struct Known {
    name: &'static str,
    layout: Layout,
    /// How common it is: 0 to 8.
    common: u8,
    /// When its makers published it; ids before its epoch do not exist anyway.
    born_ms: i64,
}

const fn known(name: &'static str, layout: Layout, common: u8, born_ms: i64) -> Known {
    Known {
        name,
        layout,
        common,
        born_ms,
    }
}

/// The seconds of CosId.
fn cosid_seconds() -> Option<Layout> {
    let spec = LayoutSpec {
        time_bits: 31,
        worker_bits: 10,
        data_center_bits: 0,
        sequence_bits: 22,
        shard_bits: 0,
        unit: TimeUnit::S1,
        epoch: Epoch::COSID,
        sequence_place: SequencePlace::Low,
    };
    Layout::new(spec).ok()
}

fn layouts() -> impl Iterator<Item = Known> {
    let cosid = Layout::LEAF.with_epoch(Epoch::COSID);
    let ecp_uid = Layout::TWITTER.with_epoch(ECP_UID_EPOCH);
    let seconds = cosid_seconds().into_iter();
    [
        known("leaf", Layout::LEAF, 8, LEAF_BORN_MS),
        known("twitter", Layout::TWITTER, 7, born::UNKNOWN_MS),
        known("discord", Layout::DISCORD, 6, born::UNKNOWN_MS),
        known("instagram", Layout::INSTAGRAM, 3, born::UNKNOWN_MS),
        known("cosid-snowflake", cosid, 2, COSID_BORN_MS),
        known("sonyflake-v1", Layout::SONYFLAKE_V1, 3, SONYFLAKE_BORN_MS),
        known("sonyflake-v2", Layout::SONYFLAKE_V2, 2, born::UNKNOWN_MS),
        known("baidu", Layout::BAIDU, 3, born::UNKNOWN_MS),
        known("ecp-uid", ecp_uid, 1, born::UNKNOWN_MS),
        known("js53", Layout::JS53, 2, COSID_BORN_MS),
        known("js53-seconds", Layout::JS53_SECONDS, 1, COSID_BORN_MS),
        known("wide", Layout::WIDE, 1, born::UNKNOWN_MS),
    ]
    .into_iter()
    .chain(seconds.map(|layout| known("cosid-snowflake-seconds", layout, 1, COSID_BORN_MS)))
}

/// The name of a layout that is in use somewhere, and since when it is.
pub(super) fn name_of(layout: Layout) -> Option<(&'static str, i64)> {
    let known = layouts().find(|known| known.layout == layout);
    known.map(|known| (known.name, known.born_ms))
}

pub(super) fn candidates(text: &str, now_ms: i64, own: Option<Layout>) -> Vec<Candidate> {
    let Some(number) = decimal(text) else {
        return Vec::from_iter(padded_tsid(text, now_ms));
    };
    let mut found = vec![tsid(number, now_ms)];
    found.extend(plain(number));
    found.extend(layouts().filter_map(|known| snowflake(&known, number, now_ms)));
    found.extend(own.and_then(|own| unnamed(own, number, now_ms)));
    for found in &mut found {
        if own.is_some() && found.layout == own && number >= PLAIN_MAX {
            found.base = OWN;
        }
    }
    found
}

/// A TSID as a number with leading zeros: 20 digits.
fn padded_tsid(text: &str, now_ms: i64) -> Option<Candidate> {
    let is_padded = text.len() == 20 && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_padded)?;
    Some(tsid(number, now_ms))
}

/// A snowflake id of the layout that the caller uses, if no known one is the same.
fn unnamed(layout: Layout, number: u64, now_ms: i64) -> Option<Candidate> {
    if name_of(layout).is_some() {
        return None;
    }
    let own = known("snowflake", layout, 0, born::UNKNOWN_MS);
    let mut found = snowflake(&own, number, now_ms)?;
    found.decoded = found.decoded.text("layout", layout.to_string());
    Some(found)
}

fn plain(number: u64) -> Option<Candidate> {
    let is_id = number > 0 && i64::try_from(number).is_ok();
    is_id.then(|| Candidate {
        name: "segment",
        layout: None,
        decoded: Decoded::new(None),
        base: if number < PLAIN_MAX { 70 } else { 40 },
        born_ms: born::UNKNOWN_MS,
    })
}

fn tsid(number: u64, now_ms: i64) -> Candidate {
    let decoded = tsid_parts(number);
    let counter = number & 0xfff;
    let age = age_score(decoded.unix_ms, now_ms);
    Candidate {
        name: "tsid",
        layout: None,
        base: 40 + 2 + age + sequence_score(counter, 0xfff),
        decoded,
        born_ms: born::UNKNOWN_MS,
    }
}

fn snowflake(known: &Known, number: u64, now_ms: i64) -> Option<Candidate> {
    let parts = known.layout.try_decompose(number).ok()?;
    let mut decoded = Decoded::new(Some(parts.unix_ms));
    decoded = match parts.data_center {
        None => decoded.number("worker", parts.worker.get()),
        Some(data_center) => decoded
            .number("data_center", data_center)
            .number("worker", parts.worker_in_data_center),
    };
    decoded = decoded.number("sequence", parts.sequence);
    if let Some(shard) = parts.shard {
        decoded = decoded.number("shard", shard);
    }
    let age = age_score(Some(parts.unix_ms), now_ms);
    let sequence = sequence_score(parts.sequence, known.layout.sequence_max());
    Some(Candidate {
        name: known.name,
        layout: Some(known.layout),
        decoded,
        base: 40 + known.common + age + sequence,
        born_ms: known.born_ms,
    })
}

/// 10, and one less for each 2 years.
fn age_score(unix_ms: Option<i64>, now_ms: i64) -> u8 {
    let age_ms = unix_ms.map(|ms| now_ms.saturating_sub(ms).max(0).unsigned_abs());
    let lost = age_ms.map_or(10, |age_ms| age_ms / (2 * YEAR_MS));
    10 - u8::try_from(lost.min(10)).unwrap_or(10)
}

fn sequence_score(sequence: u64, max: u64) -> u8 {
    if sequence <= max / 64 { 10 } else { 0 }
}
