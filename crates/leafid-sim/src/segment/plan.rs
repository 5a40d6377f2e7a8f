//! `Plan`: everything that a seed decides before a run begins.

use std::time::Duration;

use fastrand::Rng;
use leafid::store::{TagSettings, TagSpec};
use leafid::{Limit, Options, StepPolicy, Tag};

use crate::network::NetworkFaults;
use crate::span::span;

/// What is done to the system from outside, each with a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Crash,
    Pause,
    Outage,
    /// The end of an outage.
    Repair,
    Step,
    DeleteOrCreate,
    PutBack,
    /// The replica of the store catches up.
    Replicate,
    /// The replica is promoted: what it does not have is lost.
    Promote,
    RaiseLimit,
    Leaf,
    /// The file of the store is copied.
    CopyFile,
    /// The copy takes the place of the file.
    ReplaceFile,
    /// An operator makes a copy that took the file's place fit for use.
    RestoreFile,
    /// The next flush of a server fails.
    FailFlush,
    /// All servers lose power at once.
    PowerCut,
    /// A node of the store loses its cluster.
    Leave,
    /// It finds it again.
    Join,
}

/// What keeps the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeper {
    /// A server that nothing is known of.
    Server,
    /// A server with a replica that lags.
    Replica,
    /// A file that each process opens for itself.
    File,
    /// Two nodes of a cluster.
    Cluster,
}

/// One tag.
#[derive(Debug, Clone)]
pub(crate) struct TagPlan {
    pub(crate) spec: TagSpec,
    /// It has no row at first.
    pub(crate) is_late: bool,
    /// It is deleted and created again now and then.
    pub(crate) comes_and_goes: bool,
    /// Its store goes back in time.
    pub(crate) is_put_back: bool,
    /// Another writer uses Leaf's statements on it.
    pub(crate) has_leaf: bool,
}

impl TagPlan {
    /// Whether a server may truthfully say that it has no row.
    pub(crate) fn may_be_unknown(&self, create_missing: bool) -> bool {
        (self.is_late && !create_missing) || self.comes_and_goes
    }

    /// Whether it may come to its limit.
    pub(crate) fn may_end(&self) -> bool {
        self.spec.settings.limit != Limit::INT64 || self.is_near_the_end()
    }

    /// Whether it starts so high that no limit can be raised.
    pub(crate) fn is_near_the_end(&self) -> bool {
        self.spec.start > Limit::INT64.largest() / 2
    }
}

/// One run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) servers: usize,
    pub(crate) tags: Vec<TagPlan>,
    /// Callers per server.
    pub(crate) callers: usize,
    /// The longest time between two calls of a caller.
    pub(crate) think_max: Duration,
    /// The most ids in one call.
    pub(crate) count_max: u64,
    pub(crate) network_faults: NetworkFaults,
    pub(crate) keeper: Keeper,
    /// The share of reservations that lose against another transaction.
    pub(crate) conflicts: f64,
    pub(crate) faults: Vec<Fault>,
    /// The longest time between two faults.
    pub(crate) fault_gap_max: Duration,
    pub(crate) options: Options,
}

/// The margin of runs with a replica: more than others can have drawn, so that a promotion which
/// the first one to draw has noticed repeats nothing.
const PROMOTION_MARGIN: u64 = 1 << 40;

impl Plan {
    pub(crate) fn new(random: &mut Rng) -> Self {
        let tags = (0..random.usize(1..=4)).map(|number| tag(random, number));
        let mut tags: Vec<TagPlan> = tags.collect();
        let keeper = keeper(random);
        if matches!(keeper, Keeper::Replica | Keeper::File) {
            for tag in &mut tags {
                // One way of going back at a time, so that it is known what each may cost.
                (tag.is_put_back, tag.comes_and_goes) = (false, false);
                // Nobody else writes to the file of an embedded store.
                tag.has_leaf &= keeper != Keeper::File;
                tag.is_late &= keeper != Keeper::File;
            }
        }
        let mut options = options(random);
        if keeper == Keeper::Replica {
            options.regression_margin = Some(PROMOTION_MARGIN);
        }
        let mut faults = faults(random, &tags);
        faults.extend(keeper.faults());
        Self {
            servers: random.usize(1..=4),
            callers: random.usize(1..=6),
            think_max: span(random, 1, 2_000),
            count_max: 1 << random.u32(1..=10),
            network_faults: NetworkFaults::draw(random),
            keeper,
            conflicts: conflicts(random),
            faults,
            fault_gap_max: span(random, 50, 20_000),
            options,
            tags,
        }
    }

    /// How long a caller may have to wait at most, once nothing fails any more: a call that hangs
    /// is given up, a refresh sees the row, a refill sees it, each after what was under way.
    pub(crate) fn patience(&self) -> Duration {
        let options = &self.options;
        let waits = options.call_max * 3 + options.refresh_interval * 2 + options.retry_max * 2;
        waits + options.unknown_for * 2 + options.wait_max * 2 + Duration::from_secs(1)
    }
}

impl Keeper {
    fn faults(self) -> &'static [Fault] {
        match self {
            Self::Server => &[],
            Self::Replica => &[Fault::Replicate, Fault::Replicate, Fault::Promote],
            Self::File => &[
                Fault::CopyFile,
                Fault::CopyFile,
                Fault::ReplaceFile,
                Fault::RestoreFile,
                Fault::RestoreFile,
                Fault::FailFlush,
                Fault::FailFlush,
                Fault::PowerCut,
            ],
            Self::Cluster => &[Fault::Leave, Fault::Leave, Fault::Join, Fault::Join],
        }
    }
}

fn keeper(random: &mut Rng) -> Keeper {
    match random.u8(..8) {
        0..2 => Keeper::Server,
        2..4 => Keeper::Replica,
        4..6 => Keeper::File,
        _ => Keeper::Cluster,
    }
}

/// In half of the runs none; in the others more than a healthy store ever has.
fn conflicts(random: &mut Rng) -> f64 {
    if random.bool() {
        random.f64() * CONFLICTS_MAX
    } else {
        0.0
    }
}

/// So that ten in a row stay rare.
const CONFLICTS_MAX: f64 = 0.5;

fn tag(random: &mut Rng, number: usize) -> TagPlan {
    let step = 1 << random.u32(0..=10);
    let start = match random.u8(..8) {
        0 => Limit::INT64.largest() - random.u64(..20_000),
        1 => random.u64(1..1_000_000_000),
        _ => 1,
    };
    let limit = match random.u8(..4) {
        0 => Limit::new(start.saturating_add(random.u64(1..20_000))).unwrap_or_default(),
        _ => Limit::INT64,
    };
    let mut spec = TagSpec::new(Tag::new(format!("tag-{number}")).expect("a plain name"));
    spec.start = start;
    spec.settings = TagSettings {
        step,
        policy: random.bool().then(|| policy(random)),
        limit,
        ..TagSettings::default()
    };
    let is_put_back = random.u8(..6) == 0;
    TagPlan {
        spec,
        is_late: random.u8(..4) == 0,
        comes_and_goes: random.u8(..5) == 0,
        is_put_back,
        has_leaf: random.u8(..4) == 0,
    }
}

fn policy(random: &mut Rng) -> StepPolicy {
    match random.u8(..3) {
        0 => StepPolicy::Fixed,
        1 => StepPolicy::Leaf {
            step_max: random.u64(1..100_000),
        },
        _ => StepPolicy::Cover {
            cover: span(random, 100, 600_000),
            step_max: random.u64(1..1_000_000),
        },
    }
}

fn faults(random: &mut Rng, tags: &[TagPlan]) -> Vec<Fault> {
    let mut faults = vec![Fault::Step, Fault::RaiseLimit];
    for (fault, weight) in [(Fault::Crash, 3), (Fault::Pause, 2), (Fault::Outage, 1)] {
        faults.extend(std::iter::repeat_n(fault, random.usize(..=weight)));
    }
    faults.extend([Fault::Repair; 3]);
    if tags.iter().any(|tag| tag.comes_and_goes) {
        faults.extend([Fault::DeleteOrCreate; 2]);
    }
    if tags.iter().any(|tag| tag.is_put_back) {
        faults.extend([Fault::PutBack; 2]);
    }
    if tags.iter().any(|tag| tag.has_leaf) {
        faults.extend([Fault::Leaf; 6]);
    }
    faults
}

fn options(random: &mut Rng) -> Options {
    let retry_min = span(random, 1, 100);
    Options::default()
        .with_policy(policy(random))
        .with_wait_max(span(random, 1, 3_000))
        .with_create_missing(random.bool().then(TagSettings::default))
        .with_refresh_interval(span(random, 50, 20_000))
        .with_unknown_for(span(random, 1, 2_000))
        .with_probe_interval(span(random, 10, 5_000))
        .with_calls_max(random.usize(1..=8))
        .with_tags_max(1_000)
        .with_regression_margin(random.bool().then(|| random.u64(..100_000)))
        .with_retry_min(retry_min)
        .with_retry_max(retry_min + span(random, 1, 2_000))
        .with_call_max(span(random, 50, 5_000))
        .with_seed(random.u64(..))
}
