//! `Bug`: mistakes that real stores and their clients made, to be put back on purpose. With any of
//! them the simulation must turn red; otherwise it would not notice the next one either.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use leafid::store::{Reserve, Reserved, StoreError};
use leafid::{Clock as _, Segment, Tag};

use crate::executor::lock;
use crate::segment::store::StoreServer;

/// A mistake in the store or in the connection to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Now and then the store hands out half of the previous segment again.
    Overlap,
    /// A connection whose call failed assumes that the call had no effect elsewhere, and hands out
    /// the numbers it guesses to be next.
    ReuseAfterUnknown,
    /// `SELECT max_id`, a pause, `UPDATE max_id`: two servers read the same value.
    ReadThenWrite,
    /// Acknowledged reservations are lost now and then, as in a fail-over to a lagging replica.
    LostWrite,
    /// The column holds no more than this, silently: as an `INT` without strict mode, or a trigger.
    Clamped,
    /// The outcome of a commit is not checked: one that lost against another counts as done.
    ConflictIgnored,
    /// A replaced file is still used.
    MovedFileUsed,
    /// A failed flush is retried, and believed the second time.
    FlushRepeated,
    /// A lost transaction is reported as an outage.
    ConflictAsOutage,
    /// A connection stays with a node that answers reads.
    NodeKept,
    /// A probe that only reads reports that reservations succeed.
    ProbedByReading,
    /// The limit is not checked.
    NoLimit,
    /// The floor in the statement is not checked.
    NoFloor,
}

impl Bug {
    /// The bugs that no client can see, so that the checkers must.
    pub const FATAL: [Self; 8] = [
        Self::Clamped,
        Self::Overlap,
        Self::ReuseAfterUnknown,
        Self::ReadThenWrite,
        Self::LostWrite,
        Self::ConflictIgnored,
        Self::MovedFileUsed,
        Self::FlushRepeated,
    ];

    /// The bugs that repeat nothing, but withhold available ids or report what is not true.
    pub const STARVING: [Self; 3] = [
        Self::ConflictAsOutage,
        Self::NodeKept,
        Self::ProbedByReading,
    ];

    /// The bugs that show in the answer, so that the library must refuse it.
    pub const VISIBLE: [Self; 2] = [Self::NoLimit, Self::NoFloor];
}

/// The largest max id that a clamped column holds.
const CLAMP: u64 = 4_000;

/// The memory of a connection with a bug.
#[derive(Default)]
pub(crate) struct Memory {
    /// Per tag, where the last segment ended, and whether a call failed since.
    last: BTreeMap<Tag, (u64, bool)>,
}

impl Memory {
    pub(crate) fn note(&mut self, tag: &Tag, outcome: &Result<Reserved, StoreError>) {
        match outcome {
            Ok(reserved) => {
                let end = reserved.segment.end();
                self.last.insert(tag.clone(), (end, false));
            }
            Err(StoreError::Unavailable { .. }) => {
                if let Some((_, has_failed)) = self.last.get_mut(tag) {
                    *has_failed = true;
                }
            }
            Err(_) => {}
        }
    }
}

impl Bug {
    /// An answer that never saw the store.
    pub(crate) fn answer_without_asking(
        self,
        memory: &Mutex<Memory>,
        request: &Reserve,
    ) -> Option<Reserved> {
        if self != Self::ReuseAfterUnknown {
            return None;
        }
        let (end, has_failed) = *lock(memory).last.get(&request.tag)?;
        let segment = Segment::new(end, end.checked_add(request.count)?)?;
        has_failed.then_some(Reserved {
            previous: end,
            segment,
        })
    }

    pub(crate) async fn reserve(
        self,
        server: &StoreServer,
        request: &Reserve,
        right: impl Fn(&Reserve) -> Result<Reserved, StoreError>,
    ) -> Result<Reserved, StoreError> {
        let before = self.max_id(server, &request.tag)?;
        match self {
            Self::ReuseAfterUnknown
            | Self::ConflictIgnored
            | Self::MovedFileUsed
            | Self::FlushRepeated
            | Self::ConflictAsOutage
            | Self::NodeKept
            | Self::ProbedByReading => right(request),
            Self::Overlap => {
                let is_struck = lock(&server.network.random).u8(..) < 64;
                let again = before.saturating_sub(request.count / 2 + 1);
                if is_struck && again >= request.floor.unwrap_or(1) {
                    server.rows().put_max_id(&request.tag, again)?;
                }
                right(request)
            }
            Self::ReadThenWrite => {
                server.network.clock.sleep(Duration::from_millis(20)).await;
                server.rows().put_max_id(&request.tag, before)?;
                right(request)
            }
            Self::Clamped => {
                let reserved = right(request)?;
                let end = reserved.segment.end().min(CLAMP);
                server
                    .rows()
                    .put_max_id(&request.tag, end.max(before.min(CLAMP)))?;
                Ok(reserved)
            }
            Self::LostWrite => {
                let reserved = right(request)?;
                if lock(&server.network.random).u8(..) < 32 {
                    server.rows().put_max_id(&request.tag, before)?;
                }
                Ok(reserved)
            }
            Self::NoLimit => {
                let limit = leafid::Limit::INT64;
                right(&Reserve {
                    limit,
                    ..request.clone()
                })
            }
            Self::NoFloor => right(&Reserve {
                floor: None,
                ..request.clone()
            }),
        }
    }

    fn max_id(self, server: &StoreServer, tag: &Tag) -> Result<u64, StoreError> {
        let rows = server.now(leafid::store::SegmentStore::read(
            &*server.rows(),
            std::slice::from_ref(tag),
        ))?;
        let row = rows.first().ok_or(StoreError::UnknownTag)?;
        Ok(row.max_id)
    }
}
