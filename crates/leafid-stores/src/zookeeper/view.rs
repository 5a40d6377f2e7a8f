//! The registry's view of a worker id, given our row and Java Leaf's child: the rules by which both
//! can use one tree. Pure.

use leafid::WorkerId;
use leafid::store::LeaseRecord;

/// A Java server reports every 3 s, so it may be that far past its last report.
const REPORT_EVERY_MS: u64 = 3_000;

/// A Java server that has not reported for this long is not running.
const SILENT_MS: u64 = 10_000;

/// How long after `forever` was made a Java server may still make its child without having seen
/// it. Such a server uses 0, whatever the number of its child.
pub(super) const FIRST_START_MS: u64 = 10_000;

/// The other party that may use a worker id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Owner {
    /// None, for good: Java Leaf can no longer assign the number.
    NoJava {
        /// It cannot be claimed before this time, if it had no holder before.
        from_ms: u64,
    },
    /// The next server of Java Leaf, which may be assigned it.
    NextJava,
    /// The Java server at this address. It may return and use its number without asking.
    Java { address: String },
    /// The Java server that this server replaces.
    Own(Former),
}

/// A Java server that ran at this server's own address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Former {
    pub(super) address: String,
    /// The time of its last report; `None` if that cannot be read.
    pub(super) reported_ms: Option<u64>,
    /// Whether that report was ours.
    pub(super) is_own_report: bool,
    /// When it was written, and the present time, both by ZooKeeper's clock.
    pub(super) written_ms: u64,
    pub(super) now_ms: u64,
}

/// A worker id as the registry shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct View {
    pub(super) record: LeaseRecord,
    /// Whether the row may be swapped at all.
    pub(super) is_ours: bool,
}

/// The view of a worker id; `None` if it has no row.
pub(super) fn view(worker: WorkerId, row: Option<LeaseRecord>, owner: &Owner) -> Option<View> {
    match owner {
        Owner::NoJava { from_ms } => row.map(|row| ours(from(row, *from_ms))),
        Owner::NextJava => row.map(|row| taken(row.worker, "")),
        Owner::Java { address } => Some(taken(worker, address)),
        Owner::Own(former) => Some(own_number(worker, row, former)),
    }
}

/// The row of a number before it is first claimed.
pub(super) fn free_row(worker: WorkerId) -> LeaseRecord {
    LeaseRecord {
        worker,
        epoch: 0,
        holder: String::new(),
        address: String::new(),
        until_ms: 0,
    }
}

fn own_number(worker: WorkerId, row: Option<LeaseRecord>, former: &Former) -> View {
    let row = match row {
        Some(row) if former.is_own_report => return ours(row),
        Some(row) => row,
        None => java_row(worker, &former.address),
    };
    let is_silent = former.now_ms.saturating_sub(former.written_ms) > SILENT_MS;
    match former.reported_ms {
        Some(reported_ms) if is_silent => {
            let until_ms = reported_ms.saturating_add(REPORT_EVERY_MS);
            ours(LeaseRecord {
                until_ms: row.until_ms.max(until_ms).min(LeaseRecord::FOREVER),
                ..row
            })
        }
        _ => taken(worker, &former.address),
    }
}

fn java_row(worker: WorkerId, address: &str) -> LeaseRecord {
    LeaseRecord {
        holder: format!("leaf {address}").trim_end().to_owned(),
        address: address.to_owned(),
        ..free_row(worker)
    }
}

fn from(row: LeaseRecord, from_ms: u64) -> LeaseRecord {
    if row != free_row(row.worker) {
        return row;
    }
    LeaseRecord {
        until_ms: from_ms,
        ..row
    }
}

const fn ours(record: LeaseRecord) -> View {
    View {
        record,
        is_ours: true,
    }
}

/// Leaves out our row: its writer must not take this for its own.
fn taken(worker: WorkerId, address: &str) -> View {
    View {
        record: LeaseRecord {
            until_ms: LeaseRecord::FOREVER,
            ..java_row(worker, address)
        },
        is_ours: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: &str = "10.0.0.5:8080";
    const WORKER: WorkerId = WorkerId::new(4);

    fn row(until_ms: u64) -> LeaseRecord {
        LeaseRecord {
            epoch: 2,
            holder: "6f1c".into(),
            until_ms,
            ..free_row(WORKER)
        }
    }

    fn former(silent_ms: u64) -> Former {
        Former {
            address: ADDRESS.into(),
            reported_ms: Some(50_000),
            is_own_report: false,
            written_ms: 49_000,
            now_ms: 49_000 + silent_ms,
        }
    }

    fn check(row: Option<&LeaseRecord>, owner: &Owner, wanted: Option<(u64, u64, bool)>) {
        let seen = view(WORKER, row.cloned(), owner)
            .map(|view| (view.record.epoch, view.record.until_ms, view.is_ours));
        assert_eq!(seen, wanted, "{row:?} {owner:?}");
    }

    #[test]
    fn numbers_of_java_are_not_to_be_had() {
        let java = Owner::Java {
            address: ADDRESS.into(),
        };
        check(None, &java, Some((0, LeaseRecord::FOREVER, false)));
        check(Some(&row(7)), &java, Some((0, LeaseRecord::FOREVER, false)));
        check(None, &Owner::NextJava, None);
        let next = Owner::NextJava;
        check(Some(&row(7)), &next, Some((0, LeaseRecord::FOREVER, false)));
        let seen = view(WORKER, None, &java).expect("a row").record;
        assert_eq!(
            (&*seen.holder, &*seen.address),
            ("leaf 10.0.0.5:8080", ADDRESS)
        );
    }

    #[test]
    fn own_numbers_are_shown_as_they_are() {
        let no_java = |from_ms| Owner::NoJava { from_ms };
        check(None, &no_java(9), None);
        check(Some(&row(7)), &no_java(9), Some((2, 7, true)));
        check(Some(&free_row(WORKER)), &no_java(0), Some((0, 0, true)));
        check(Some(&free_row(WORKER)), &no_java(9), Some((0, 9, true)));
    }

    #[test]
    fn the_number_of_a_silent_former_server_is_to_be_had() {
        let silent = Owner::Own(former(SILENT_MS + 1));
        check(None, &silent, Some((0, 53_000, true)));
        check(Some(&row(7)), &silent, Some((2, 53_000, true)));
        check(Some(&row(60_000)), &silent, Some((2, 60_000, true)));
    }

    #[test]
    fn the_number_of_a_former_server_that_lives_is_not() {
        let alive = Owner::Own(former(SILENT_MS));
        check(None, &alive, Some((0, LeaseRecord::FOREVER, false)));
        check(
            Some(&row(7)),
            &alive,
            Some((0, LeaseRecord::FOREVER, false)),
        );
        let unreadable = Owner::Own(Former {
            reported_ms: None,
            ..former(SILENT_MS + 1)
        });
        check(None, &unreadable, Some((0, LeaseRecord::FOREVER, false)));
    }

    /// A restart within seconds of our own last report.
    #[test]
    fn our_own_report_does_not_keep_us_out() {
        let own = |silent_ms| {
            Owner::Own(Former {
                is_own_report: true,
                ..former(silent_ms)
            })
        };
        check(Some(&row(7)), &own(0), Some((2, 7, true)));
        check(None, &own(0), Some((0, LeaseRecord::FOREVER, false)));
        check(None, &own(SILENT_MS + 1), Some((0, 53_000, true)));
    }
}
