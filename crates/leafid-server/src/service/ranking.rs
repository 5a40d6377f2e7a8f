//! Tags in use, ranked by what an operator looks for. A million are looked at in turn, and only the
//! first few are kept.

use std::cmp::Ordering;

use leafid::{Stage, Status};

use super::{Caller, Service, ServiceError};

/// How many ranked tags can be had.
pub(crate) const RANKED_MAX: usize = 1000;

/// What tags are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ranking {
    /// The highest rate first.
    Rate,
    /// The shortest cover first.
    Cover,
    /// The least headroom first, in time.
    Headroom,
}

impl Ranking {
    /// The smaller, the earlier.
    fn key(self, status: &Status) -> f64 {
        let endless = f64::INFINITY;
        match self {
            Self::Rate => -status.rate,
            Self::Cover => status.cover.map_or(endless, |cover| cover.as_secs_f64()),
            Self::Headroom => {
                let days = status.headroom_days(status.max_id.unwrap_or(1));
                days.unwrap_or(endless)
            }
        }
    }

    fn compare(self, one: &Status, other: &Status) -> Ordering {
        let keys = self.key(one).total_cmp(&self.key(other));
        keys.then_with(|| one.tag.cmp(&other.tag))
    }
}

impl Service {
    /// The first tags in use here, by a ranking, whose names have `search` in them. It takes a good
    /// part of a second where a million tags are in use, so call it beside what serves.
    ///
    /// # Errors
    ///
    /// [`ServiceError::NoToken`], [`ServiceError::SegmentOff`].
    pub(crate) fn ranked(
        &self,
        caller: &Caller,
        ranking: Ranking,
        search: &str,
    ) -> Result<Vec<Status>, ServiceError> {
        self.access.check_look(caller, None)?;
        self.switched_on()?;
        let mut first: Vec<Status> = Vec::new();
        self.for_each_status(|status| {
            let name = status.tag.as_str();
            let is_wanted = status.stage != Stage::Unknown && name.contains(search);
            if !is_wanted || !self.access.shows(caller, name) {
                return;
            }
            first.push(status);
            // Half of it at a time: a sort for each would be a sort of all.
            if first.len() == 2 * RANKED_MAX {
                cut(&mut first, ranking);
            }
        });
        cut(&mut first, ranking);
        Ok(first)
    }
}

fn cut(first: &mut Vec<Status>, ranking: Ranking) {
    first.sort_by(|one, other| ranking.compare(one, other));
    first.truncate(RANKED_MAX);
}
