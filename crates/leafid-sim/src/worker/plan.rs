//! `Plan`: everything that a seed decides before a run begins.

use std::time::Duration;

use fastrand::Rng;
use leafid::{
    ClockPolicy, Epoch, Layout, LayoutSpec, RegistryOptions, SequencePlace, SnowflakeOptions,
    TimeUnit,
};

use crate::network::NetworkFaults;
use crate::span::span;

/// The external faults, each with a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Kill,
    /// All servers lose power, and start at once.
    KillAll,
    Stop,
    Pause,
    Outage,
    StepWall,
    SetWallRight,
    AcceptWall,
    FailDisk,
    /// The folder of one server replaces another's, and both start at once.
    CopyFolder,
    /// A server comes with a journal that is about another registry.
    ForeignJournal,
    /// The registry is copied.
    BackUp,
    /// It loses all rows.
    Empty,
    /// It holds again what it held when it was copied.
    PutBack,
}

/// Now and then a write to a journal takes so many times as long as it should.
pub(crate) const STALL: u32 = 1_000;

/// One run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) servers: usize,
    /// Callers per server.
    pub(crate) callers: usize,
    /// The longest time between two calls of a caller.
    pub(crate) think_max: Duration,
    /// The most ids in one call.
    pub(crate) count_max: u64,
    pub(crate) network_faults: NetworkFaults,
    pub(crate) faults: Vec<Fault>,
    /// The longest time between two faults.
    pub(crate) fault_gap_max: Duration,
    /// How long a write to a journal takes at most, most of the time.
    pub(crate) disk_delay_max: Duration,
    /// How far wall clocks are off at most.
    pub(crate) wall_error_max: Duration,
    /// The registry has a clock that can be asked.
    pub(crate) has_clock: bool,
    pub(crate) options: RegistryOptions,
}

impl Plan {
    pub(crate) fn new(random: &mut Rng) -> Self {
        let layout = layout(random);
        let options = options(random, layout);
        let workers = usize::try_from(layout.worker_max()).unwrap_or(usize::MAX);
        // One worker id more than servers, so that each can get one.
        let servers = random.usize(1..=5).min(workers);
        let callers = random.usize(1..=3);
        let fault_gap_max = options.lease.mul_f64(random.f64().powi(2));
        // About as many calls between two faults, of all callers together.
        let calls = f64::from(1 << random.u32(2..=8));
        let callers_all = f64::from(u32::try_from(servers * callers).unwrap_or(u32::MAX));
        Self {
            servers,
            callers,
            think_max: fault_gap_max.mul_f64(callers_all / calls * THINK_MEAN),
            count_max: 1 << random.u32(0..=layout.sequence_bits()),
            network_faults: NetworkFaults::draw(random),
            faults: faults(random),
            fault_gap_max,
            disk_delay_max: span(random, 1, 20),
            wall_error_max: span(random, 1, 3 * 3_600_000),
            has_clock: random.bool(),
            options,
        }
    }

    /// How far an id may be ahead of what its server takes for the time. A server that starts goes
    /// on where its journal ends, which lies as far ahead of the last report as ids may run, and the
    /// report as far ahead of the clock as clocks may be apart.
    pub(crate) fn ahead_max(&self) -> Duration {
        let snowflake = &self.options.snowflake;
        let unit = Duration::from_millis(snowflake.layout.unit().ms());
        let journal = self.options.journal_ahead + self.options.clock_offset_max;
        journal + snowflake.ahead_max * 2 + Duration::from_secs(1) + unit * 3
    }

    /// How long a server may have to wait for a worker id at most, once nothing fails any longer:
    /// until leases end that were made with wrong clocks.
    pub(crate) fn patience(&self) -> Duration {
        let options = &self.options;
        let waits = options.call_max * 3 + options.retry_max * 3 + options.check_interval * 2;
        (self.wall_error_max + options.lease + self.ahead_max()) * 2 + waits
    }

    /// How long a server may continue at most after the registry forgot its row, if it can read it:
    /// what the settings say, and while its driver waits for the disk: before the read begins,
    /// before it is sent, and before its answer is handled.
    pub(crate) fn notice_max(&self) -> Duration {
        self.options.check_interval + self.disk_delay_max * 6
    }

    /// How long the registry takes at most to answer when nothing fails: one that takes longer than
    /// a read may take is as good as down.
    pub(crate) fn answer_max(&self) -> Duration {
        self.options.call_max.min(self.options.check_interval) / 4
    }

    /// How long it takes at most to give a worker id back.
    pub(crate) fn stop_max(&self) -> Duration {
        self.options.call_max * 2 + self.disk_delay_max * STALL * 4
    }
}

/// So many times the mean is the longest time that a caller thinks.
const THINK_MEAN: f64 = 5.0;

fn layout(random: &mut Rng) -> Layout {
    let (worker_bits, sequence_bits) = match random.u8(..6) {
        0 => return Layout::LEAF,
        1 => (random.u32(2..=4), 12),
        _ => (random.u32(2..=4), random.u32(1..=6)),
    };
    let spec = LayoutSpec {
        time_bits: random.choice([53, 63]).unwrap_or(63) - worker_bits - sequence_bits,
        worker_bits,
        data_center_bits: 0,
        sequence_bits,
        shard_bits: 0,
        unit: random
            .choice([TimeUnit::Ms1, TimeUnit::Ms10, TimeUnit::S1])
            .unwrap_or(TimeUnit::Ms1),
        // In 2025: no layout here ends within four years of that.
        epoch: Epoch::from_unix_ms(random.i64(1_735_000_000_000..1_767_000_000_000)),
        sequence_place: random
            .choice([SequencePlace::Low, SequencePlace::AboveWorker])
            .unwrap_or(SequencePlace::Low),
    };
    Layout::new(spec).expect("the widths are chosen to fit")
}

fn faults(random: &mut Rng) -> Vec<Fault> {
    let is_forgetful = random.bool();
    let weights = [
        (Fault::Kill, 4),
        (Fault::KillAll, 1),
        (Fault::Stop, 2),
        (Fault::Pause, 3),
        (Fault::Outage, 2),
        (Fault::StepWall, 3),
        (Fault::SetWallRight, 2),
        (Fault::AcceptWall, 1),
        (Fault::FailDisk, 1),
        (Fault::CopyFolder, 3),
        (Fault::ForeignJournal, 1),
    ];
    let forgets = [(Fault::BackUp, 2), (Fault::Empty, 1), (Fault::PutBack, 2)];
    // In half of the runs the registry remembers, so that nothing is excused.
    let forgets = forgets.into_iter().filter(|_| is_forgetful);
    let mut faults = vec![Fault::Kill];
    for (fault, weight) in weights.into_iter().chain(forgets) {
        faults.extend(std::iter::repeat_n(fault, random.usize(..=weight)));
    }
    faults
}

fn options(random: &mut Rng, layout: Layout) -> RegistryOptions {
    let unit = Duration::from_millis(layout.unit().ms());
    let journal_ahead = unit * 3 + span(random, 500, 4_000);
    let retry_min = span(random, 10, 200);
    RegistryOptions::default()
        .with_snowflake(
            SnowflakeOptions::default()
                .with_layout(layout)
                .with_policy(
                    random
                        .choice([ClockPolicy::Borrow, ClockPolicy::Wait, ClockPolicy::Refuse])
                        .unwrap_or_default(),
                )
                .with_ahead_max(unit + span(random, 1, 3_000))
                .with_wait_max(span(random, 1, 3_000)),
        )
        .with_lease(Duration::from_secs(10).max(span(random, 10_000, 200_000)))
        .with_step_interval(journal_ahead / random.u32(2..=4))
        .with_journal_ahead(journal_ahead)
        .with_check_interval(span(random, 500, 10_000))
        .with_clock_offset_max(span(random, 1_000, 10_000))
        .with_call_max(span(random, 200, 10_000))
        .with_retry_min(retry_min)
        .with_retry_max(retry_min + span(random, 100, 3_000))
        .with_seed(random.u64(..))
}
