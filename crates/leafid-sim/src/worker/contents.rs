//! `Contents`: the rows of the registry, and how it forgets: all rows, or all that was written
//! since a copy was made.

use std::sync::Mutex;

use futures_util::FutureExt as _;
use leafid::store::{LeaseRecord, LeaseStore as _, LeaseSwap, MemoryLeaseStore};

use super::history::Event;
use super::store::Registry;
use crate::executor::lock;

/// What a registry holds, and what was copied of it.
pub(crate) struct Contents {
    now: Mutex<Held>,
    copy: Mutex<Option<(String, Vec<LeaseRecord>)>>,
}

#[derive(Clone)]
struct Held {
    rows: MemoryLeaseStore,
    /// The identity of the registry until it is created anew.
    identity: String,
    /// How often it has forgotten.
    forgot: u64,
}

impl Contents {
    pub(crate) fn new() -> Self {
        Self {
            now: Mutex::new(Held {
                rows: MemoryLeaseStore::new(),
                identity: "first".to_owned(),
                forgot: 0,
            }),
            copy: Mutex::default(),
        }
    }
}

impl Registry {
    pub(crate) fn rows(&self) -> MemoryLeaseStore {
        lock(&self.contents.now).rows.clone()
    }

    pub(crate) fn identity(&self) -> String {
        lock(&self.contents.now).identity.clone()
    }

    pub(crate) fn location(&self) -> String {
        self.rows().location()
    }

    /// How often it has forgotten.
    pub(crate) fn forgot(&self) -> u64 {
        lock(&self.contents.now).forgot
    }

    /// Keeps a copy of all rows.
    pub(crate) fn back_up(&self) {
        *lock(&self.contents.copy) = Some((self.identity(), self.rows_now()));
    }

    /// Restores the last copy, if there is one.
    pub(crate) fn put_back(&self) -> bool {
        let Some((identity, rows)) = lock(&self.contents.copy).clone() else {
            return false;
        };
        self.forget(identity, rows);
        true
    }

    /// Loses all rows; with a number it is another registry from now on.
    pub(crate) fn empty(&self, number: Option<u64>) {
        let identity = number.map_or_else(|| self.identity(), |number| format!("{number:x}"));
        self.forget(identity, Vec::new());
    }

    /// Holds exactly these rows from now on.
    fn forget(&self, identity: String, rows: Vec<LeaseRecord>) {
        let memory = MemoryLeaseStore::new();
        for record in rows {
            let put = LeaseSwap {
                expected: None,
                record,
            };
            // It completes at once, and there is no other row of that worker id.
            let _is_put = memory.swap(&put).now_or_never();
        }
        let mut now = lock(&self.contents.now);
        *now = Held {
            rows: memory,
            identity,
            forgot: now.forgot + 1,
        };
        drop(now);
        let at = leafid::Clock::now(&self.network.clock);
        self.history.push(Event::Forgot { at });
    }
}
