//! The paths in ZooKeeper, and the names in Java Leaf's part of the tree.
//!
//! ```text
//! /snowflake/POOL/forever/IP:PORT-NNNNNNNNNN   a server of Java Leaf; N is its worker id
//!                         leafid-NNNNNNNNNN    a number that we took out of that sequence
//! /snowflake/POOL/leafid/workers/N             our row of worker id N
//!                        layout, identity, clock
//! ```

use std::collections::BTreeMap;

use leafid::WorkerId;
use serde::{Deserialize, Serialize};

use super::record::Stat;

/// Java Leaf cuts each name at "-" and reads the second part as a number, so there is one "-" and
/// it is followed by the number. No server of Java Leaf has this as its ip and port.
const OWN_PREFIX: &str = "leafid-";

/// The paths of one pool.
pub(super) struct Tree {
    root: String,
}

impl Tree {
    pub(super) fn new(chroot: &str, pool: &str) -> Self {
        Self {
            root: format!("{chroot}/snowflake/{pool}"),
        }
    }

    /// The parent of all sequential children, Java Leaf's and ours.
    pub(super) fn forever(&self) -> String {
        format!("{}/forever", self.root)
    }

    pub(super) fn child(&self, name: &str) -> String {
        format!("{}/forever/{name}", self.root)
    }

    /// The prefix that ZooKeeper completes with the next number.
    pub(super) fn next_own_child(&self) -> String {
        self.child(OWN_PREFIX)
    }

    /// Our folder.
    pub(super) fn own(&self) -> String {
        format!("{}/leafid", self.root)
    }

    pub(super) fn rows(&self) -> String {
        format!("{}/leafid/workers", self.root)
    }

    pub(super) fn row(&self, worker: WorkerId) -> String {
        format!("{}/leafid/workers/{worker}", self.root)
    }

    pub(super) fn layout(&self) -> String {
        format!("{}/leafid/layout", self.root)
    }

    pub(super) fn identity(&self) -> String {
        format!("{}/leafid/identity", self.root)
    }

    pub(super) fn clock(&self) -> String {
        format!("{}/leafid/clock", self.root)
    }
}

/// The name of the child through which we took this number.
pub(super) fn own_child(worker: WorkerId) -> String {
    format!("{OWN_PREFIX}{:010}", worker.get())
}

/// The name of the child of the Java server at this address with this number.
pub(super) fn java_child(address: &str, worker: WorkerId) -> String {
    format!("{address}-{:010}", worker.get())
}

/// The children of `forever` at one moment.
#[derive(Debug, Default)]
pub(super) struct Forever {
    /// The holder of each number: the address of a Java server, or `None` if we took it.
    pub(super) owners: BTreeMap<WorkerId, Option<String>>,
    /// The number of the next sequential child. All below were assigned, whether or not their
    /// children still exist.
    next: u32,
    pub(super) created_ms: u64,
}

impl Forever {
    pub(super) fn new(names: &[String], stat: &Stat) -> Self {
        let mut owners = BTreeMap::new();
        for (owner, worker) in names.iter().filter_map(|name| parse(name)) {
            // Numbers can only be equal after `forever` was created anew. Java's counts then.
            let slot = owners.entry(worker).or_insert(None);
            *slot = slot.take().or(owner);
        }
        // ZooKeeper numbers children by how many were created, and reports how many were created or
        // deleted.
        let next = (i64::from(stat.cversion) + i64::from(stat.num_children)) / 2;
        Self {
            owners,
            next: u32::try_from(next).unwrap_or(0),
            created_ms: u64::try_from(stat.ctime).unwrap_or(0),
        }
    }

    /// Whether Java Leaf can no longer assign this number.
    pub(super) fn has_given(&self, worker: WorkerId) -> bool {
        worker.get() < self.next
    }

    /// The Java server that started first, of those that are listed.
    pub(super) fn first_java(&self) -> Option<(WorkerId, &str)> {
        let mut owners = self.owners.iter();
        owners.find_map(|(worker, owner)| Some((*worker, owner.as_deref()?)))
    }
}

fn parse(name: &str) -> Option<(Option<String>, WorkerId)> {
    let (owner, number) = name.rsplit_once('-')?;
    let worker = WorkerId::new(number.parse().ok()?);
    let is_own = name.starts_with(OWN_PREFIX);
    Some(((!is_own).then(|| owner.to_owned()), worker))
}

/// The data of a child of `forever`, as Java Leaf writes it.
#[derive(Serialize, Deserialize)]
struct Endpoint<'a> {
    #[serde(borrow)]
    ip: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    port: std::borrow::Cow<'a, str>,
    timestamp: u64,
}

/// Marks our reports, as Java's have no such field; Java's reader ignores it.
const OWN_END: u8 = b'\n';

/// The report of a server at this address, for others to read.
pub(super) fn report(address: &str, now_ms: u64) -> Result<Vec<u8>, serde_json::Error> {
    let (ip, port) = address.rsplit_once(':').unwrap_or((address, ""));
    let mut text = serde_json::to_vec(&Endpoint {
        ip: ip.into(),
        port: port.into(),
        timestamp: now_ms,
    })?;
    text.push(OWN_END);
    Ok(text)
}

/// The time of a server's last report; `None` if this is not a report.
pub(super) fn reported_ms(report: &[u8]) -> Option<u64> {
    let endpoint: Endpoint<'_> = serde_json::from_slice(report).ok()?;
    Some(endpoint.timestamp)
}

pub(super) fn is_own_report(report: &[u8]) -> bool {
    report.last() == Some(&OWN_END)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(cversion: i32, num_children: i32) -> Stat {
        Stat {
            czxid: 1,
            ctime: 7,
            mtime: 7,
            version: 0,
            cversion,
            num_children,
        }
    }

    fn forever(names: &[&str], cversion: i32) -> Forever {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let len = i32::try_from(names.len()).expect("few");
        Forever::new(&names, &stat(cversion, len))
    }

    #[test]
    fn names_say_who_has_which_number() {
        let names = [
            "leafid-0000000003",
            "10.0.0.5:8080-0000000004",
            "leafid-0000000004",
            "lock",
            "a-b",
        ];
        let seen = forever(&names, 9);
        let owners: Vec<(u32, Option<&str>)> = seen
            .owners
            .iter()
            .map(|(worker, owner)| (worker.get(), owner.as_deref()))
            .collect();
        assert_eq!(owners, [(3, None), (4, Some("10.0.0.5:8080"))]);
        assert_eq!(seen.first_java(), Some((WorkerId::new(4), "10.0.0.5:8080")));
        assert_eq!(own_child(WorkerId::new(3)), names[0]);
        assert_eq!(java_child("10.0.0.5:8080", WorkerId::new(4)), names[1]);
    }

    /// The figures come from a real server, which other tests check again.
    #[test]
    fn deleted_children_count_once() {
        let check = |cversion, children, next| {
            let names: Vec<String> = (0..children).map(|name: i32| name.to_string()).collect();
            let seen = Forever::new(&names, &stat(cversion, children));
            assert!(seen.has_given(WorkerId::new(next - 1)));
            assert!(!seen.has_given(WorkerId::new(next)));
        };
        check(4, 2, 3);
        check(24, 10, 17);
        check(58, 30, 44);
        assert!(!forever(&[], 0).has_given(WorkerId::new(0)));
    }

    #[test]
    fn reports_are_read_by_either_side() {
        let java = br#"{"ip":"10.0.0.5","port":"8080","timestamp":1567733700834}"#;
        let ours = report("10.0.0.5:8080", 1_567_733_700_834).expect("JSON");
        assert_eq!(ours.strip_suffix(b"\n"), Some(&java[..]));
        for text in [&java[..], &ours[..]] {
            assert_eq!(reported_ms(text), Some(1_567_733_700_834));
        }
        assert!(is_own_report(&ours) && !is_own_report(java));
        assert_eq!(reported_ms(b"10.0.0.5"), None);
    }

    /// Guards that no name or content of another program's node panics, and that what is a report
    /// is read as it is written.
    #[test]
    fn any_node_of_others_is_read_or_passed_over() {
        leafid_fuzz::fuzz("zookeeper-nodes", |data| {
            let text = str::from_utf8(data).unwrap_or_default();
            let is_name = parse(text).is_some_and(|(owner, worker)| {
                let name = match &owner {
                    Some(owner) => java_child(owner, worker),
                    None => own_child(worker),
                };
                assert_eq!(parse(&name), Some((owner, worker)));
                true
            });
            let time = reported_ms(data);
            if let Some(time) = time {
                let again = report("10.0.0.5:8080", time).unwrap();
                assert_eq!(reported_ms(&again), Some(time));
                assert!(is_own_report(&again));
            }
            is_name || time.is_some()
        });
    }
}
