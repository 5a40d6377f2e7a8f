//! The time zone of a template: a name of the IANA database, `UTC`, or an offset such as `+08:00`.

use jiff::tz::{Offset, TimeZone};
use leafid::format::FormatError;

use super::field::{Field, parse_within};

/// Names that mean something else on another machine.
const OF_THIS_MACHINE: [&str; 4] = ["local", "localtime", "posixrules", "factory"];

/// The zone of `{zone …}`.
pub(super) fn zone(field: &Field<'_>) -> Result<TimeZone, FormatError> {
    let name = field.rest;
    if name.is_empty() {
        return Err(field.error("name the zone, as in {zone Asia/Shanghai} or {zone +08:00}"));
    }
    if name.starts_with(['+', '-']) {
        let offset = offset(name);
        return offset.ok_or_else(|| {
            field.error("an offset from UTC is written +08:00 or -03:30, less than a day")
        });
    }
    if OF_THIS_MACHINE
        .iter()
        .any(|of| name.eq_ignore_ascii_case(of))
    {
        return Err(field.error(
            "this zone differs from machine to machine: name the place, such as Asia/Shanghai",
        ));
    }
    if name == "UTC" {
        return Ok(TimeZone::UTC);
    }
    TimeZone::get(name).map_err(|_| match jiff::tz::db().available().next() {
        Some(_) => field.error(
            "the time zone database of this machine has no such zone: check the name in the list \
            of the IANA, update the package tzdata, or write an offset such as +08:00",
        ),
        None => field.error(
            "this machine has no time zone database: install the package tzdata, or write an \
            offset such as +08:00",
        ),
    })
}

fn offset(text: &str) -> Option<TimeZone> {
    let (sign, text) = text.split_at_checked(1)?;
    let (hours, minutes) = text.split_once(':').filter(|_| text.len() == 5)?;
    let hours = i32::try_from(parse_within(hours, &(0..=23))?).ok()?;
    let minutes = i32::try_from(parse_within(minutes, &(0..=59))?).ok()?;
    let seconds = hours * 3600 + minutes * 60;
    let seconds = if sign == "-" { -seconds } else { seconds };
    Some(TimeZone::fixed(Offset::from_seconds(seconds).ok()?))
}
