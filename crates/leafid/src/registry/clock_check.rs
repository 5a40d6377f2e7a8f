//! Whether this machine's clock can be trusted: compared with a second source, which is the
//! registry's own clock or the mean of the peers', and with this server's own last report.

use std::time::Duration;

use super::Shared;
use super::calls::Access;
use crate::layout::Instant;
use crate::store::LeaseRecord;
use crate::timeline::FOLLOW_MAX;

/// The reading of a second source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SecondSource {
    pub(super) source: &'static str,
    /// Its time, and this machine's wall clock at that moment; in milliseconds since 1970.
    pub(super) shows_ms: u64,
    pub(super) wall_ms: u64,
    /// The time in ids then.
    pub(super) timeline_ms: u64,
    /// Half of the round trip.
    pub(super) unsure_ms: u64,
}

/// Whose clock is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Wall,
    Timeline,
    Inconclusive,
}

impl SecondSource {
    fn is_near(&self, other_ms: u64, max: Duration) -> bool {
        let max_ms = u64::try_from(max.as_millis()).unwrap_or(u64::MAX);
        self.shows_ms.abs_diff(other_ms) <= max_ms.saturating_add(self.unsure_ms)
    }

    fn is_unsure(&self, max: Duration) -> bool {
        Duration::from_millis(self.unsure_ms) > max
    }

    pub(super) fn verdict(&self) -> Verdict {
        if self.is_unsure(FOLLOW_MAX) {
            // The server may have been paused while it asked.
            Verdict::Inconclusive
        } else if self.is_near(self.wall_ms, FOLLOW_MAX) {
            Verdict::Wall
        } else if self.is_near(self.timeline_ms, FOLLOW_MAX) {
            Verdict::Timeline
        } else {
            Verdict::Inconclusive
        }
    }
}

/// Asks for the registry's clock, or for the peers' if it has none.
pub(super) async fn ask(shared: &Shared) -> Option<SecondSource> {
    if let Some(second) = ask_store(shared).await {
        return Some(second);
    }
    let store = shared.store.as_deref()?;
    let rows = shared.bounded(store.leases()).await.ok()?;
    ask_peers(shared, &rows).await
}

async fn ask_store(shared: &Shared) -> Option<SecondSource> {
    let store = shared.store.as_deref()?;
    let asked = async {
        let answer = shared
            .within(shared.options.call_max, store.clock_ms())
            .await;
        // A registry without a clock answers that without a call.
        if !matches!(answer, Ok(None)) {
            shared.note(Access::Read, answer.as_ref().err());
        }
        answer.ok().flatten()
    };
    timed(shared, "the registry's", asked).await
}

async fn ask_peers(shared: &Shared, rows: &[LeaseRecord]) -> Option<SecondSource> {
    let now_ms = shared.core.timeline.now_ms();
    let is_peer = |row: &&LeaseRecord| {
        !row.address.is_empty() && row.address != shared.options.address && row.until_ms > now_ms
    };
    let peers: Vec<LeaseRecord> = rows.iter().filter(is_peer).cloned().collect();
    if peers.is_empty() {
        return None;
    }
    timed(
        shared,
        "the mean of the running peers",
        shared.peers.mean_ms(&peers),
    )
    .await
}

async fn timed(
    shared: &Shared,
    source: &'static str,
    asked: impl Future<Output = Option<u64>>,
) -> Option<SecondSource> {
    let timeline = &shared.core.timeline;
    let before = timeline.clock().now();
    let shows_ms = asked.await?;
    let took = timeline.clock().now().saturating_sub(before);
    let unsure_ms = u64::try_from(took.as_millis() / 2).unwrap_or(u64::MAX);
    Some(SecondSource {
        source,
        shows_ms: shows_ms.saturating_add(unsure_ms),
        wall_ms: timeline.wall_ms(),
        timeline_ms: timeline.now_ms(),
        unsure_ms,
    })
}

/// Compares the clock with the registry's and with the peers' before a worker id is claimed.
/// Returns whether any of them confirmed it.
pub(super) async fn check_at_start(shared: &Shared, rows: &[LeaseRecord]) -> Result<bool, String> {
    let mut is_confirmed = false;
    let sources = [ask_store(shared).await, ask_peers(shared, rows).await];
    for second in sources.into_iter().flatten() {
        let max = shared.options.clock_offset_max;
        if !second.is_near(second.wall_ms, max) {
            return Err(too_far_apart(
                second.source,
                second.wall_ms,
                second.shows_ms,
                max,
            ));
        }
        is_confirmed |= !second.is_unsure(max);
    }
    Ok(is_confirmed)
}

fn too_far_apart(source: &str, wall_ms: u64, other_ms: u64, max: Duration) -> String {
    format!(
        "this server's clock shows {}, and {source} {}: they are {:.3} s apart, and at most {} s \
         are allowed; correct the clock, or raise clock-offset-max",
        shown(wall_ms),
        shown(other_ms),
        Duration::from_millis(wall_ms.abs_diff(other_ms)).as_secs_f64(),
        max.as_secs_f64(),
    )
}

/// Whether this server's own last report lies too far ahead of its clock: then one of the two is
/// wrong. The text says so.
pub(super) fn behind_own_report(shared: &Shared, written_ms: u64) -> Option<String> {
    let max = shared.options.clock_offset_max;
    let wall_ms = shared.core.timeline.wall_ms();
    let max_ms = u64::try_from(max.as_millis()).unwrap_or(u64::MAX);
    let is_behind = written_ms > wall_ms.saturating_add(max_ms);
    is_behind.then(|| too_far_apart("its own last report was at", wall_ms, written_ms, max))
}

/// Whether ids would start too far ahead of the clock. Each start continues where the journal ends,
/// which is ahead of the clock, and takes it further: a server that is restarted again and again
/// waits for the clock instead of running away from it.
pub(super) fn too_far_ahead(shared: &Shared, start_ms: u64, now_ms: u64) -> Option<String> {
    let options = &shared.options;
    let max = options.clock_offset_max + options.journal_ahead + options.snowflake.ahead_max;
    let ahead = Duration::from_millis(start_ms.saturating_sub(now_ms));
    (ahead > max).then(|| {
        let reason = too_far_apart("its ids would continue at", now_ms, start_ms, max);
        format!("{reason}; until then it waits for its clock")
    })
}

fn shown(unix_ms: u64) -> Instant {
    Instant {
        unix_ms: unix_ms.cast_signed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that an answer which took long, for example because the server was paused, decides
    /// nothing.
    #[test]
    fn who_is_right() {
        let second = |wall_ms, unsure_ms| SecondSource {
            source: "the registry's",
            shows_ms: 1_000_000,
            wall_ms,
            timeline_ms: 2_000_000,
            unsure_ms,
        };
        assert_eq!(second(1_000_900, 0).verdict(), Verdict::Wall);
        assert_eq!(second(1_001_900, 1_000).verdict(), Verdict::Wall);
        assert_eq!(second(1_002_100, 1_000).verdict(), Verdict::Inconclusive);
        assert_eq!(second(1_000_000, 1_001).verdict(), Verdict::Inconclusive);
        let timeline = SecondSource {
            timeline_ms: 1_000_500,
            ..second(9_000_000, 0)
        };
        assert_eq!(timeline.verdict(), Verdict::Timeline);
    }
}
