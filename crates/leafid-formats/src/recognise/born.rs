//! Since when each family and layout exists: none of its ids is older. All times are milliseconds
//! since 1970-01-01T00:00:00Z.

use leafid::{Family, Layout};
use uuid::Uuid;

use super::number;
use crate::decode::is_rfc_9562;

/// 1987-01-01, when Apollo's NCS had the first UUIDs.
const UUID1_MS: i64 = 536_457_600_000;
/// 2020-02-24, the first draft of versions 6 to 8.
const UUID7_MS: i64 = 1_582_502_400_000;
/// 2016-01-01, the year of ULID.
const ULID_MS: i64 = 1_451_606_400_000;
/// 2017-01-01, the year of KSUID.
const KSUID_MS: i64 = 1_483_228_800_000;
/// 2009-01-01, the year of MongoDB.
const OBJECT_ID_MS: i64 = 1_230_768_000_000;
/// 2015-01-01, the year of XID.
const XID_MS: i64 = 1_420_070_400_000;
/// 2022-01-01, the year of CosId's ids of 80 bits.
const COSID_MS: i64 = 1_640_995_200_000;

/// The least time, for those that have no known beginning after their epoch.
pub(super) const UNKNOWN_MS: i64 = i64::MIN;

pub(super) const fn of_family(family: Family) -> i64 {
    match family {
        Family::Uuid1 => UUID1_MS,
        Family::Uuid6 | Family::Uuid7 | Family::Uuid8 => UUID7_MS,
        Family::Ulid => ULID_MS,
        Family::Ksuid => KSUID_MS,
        Family::ObjectId => OBJECT_ID_MS,
        Family::Xid => XID_MS,
        Family::CosId => COSID_MS,
        _ => UNKNOWN_MS,
    }
}

pub(super) fn of_uuid(uuid: Uuid) -> i64 {
    match uuid.get_version_num() {
        _ if !is_rfc_9562(uuid) => UNKNOWN_MS,
        1 => UUID1_MS,
        6 | 7 => UUID7_MS,
        _ => UNKNOWN_MS,
    }
}

pub(super) fn of_layout(layout: Layout) -> i64 {
    number::name_of(layout).map_or(UNKNOWN_MS, |(_, born_ms)| born_ms)
}
