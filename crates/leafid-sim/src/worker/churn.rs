//! `churn`: many starts, each of a new server, with few servers at a time. As in a cluster that
//! replaces its containers forever: the pool of worker ids must not run out.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use leafid::store::MemoryLeaseStore;
use leafid::{
    Clock as _, Epoch, Layout, LayoutSpec, RegistryOptions, SequencePlace, SnowflakeOptions,
    TimeUnit, WorkerRegistry,
};

use crate::executor::{Executor, Livelock, Process};
use crate::violation::Violation;

/// How many servers run at a time.
pub const LIVE: usize = 20;
/// The bits of a worker id.
pub const WORKER_BITS: u32 = 6;
/// How often a server starts.
pub const START_INTERVAL: Duration = Duration::from_secs(1);

/// Starts servers one after the other, each with an empty journal, and ends the oldest: half of
/// them as `kill -9` does, so that their leases expire.
///
/// There is a worker id for each as long as
/// `live + killed_per_second * lease_seconds <= 2^worker_bits`: a lease expires at most its own
/// length after its holder ends.
///
/// # Errors
///
/// A server that gets no worker id at once, or an id that was issued twice.
pub fn churn(seed: u64, starts: u32, lease: Duration) -> Result<(), Violation> {
    let mut random = Rng::with_seed(seed);
    fastrand::seed(random.u64(..));
    let mut executor = Executor::new(random.u64(..));
    let store = MemoryLeaseStore::new();
    let mut live: VecDeque<(Process, WorkerRegistry)> = VecDeque::new();
    let mut issued = BTreeSet::new();
    for number in 1..=starts {
        if live.len() == LIVE {
            end_oldest(&mut live, &mut executor, number % 2 == 0);
        }
        let process = Process(number);
        let registry = start(&store, &executor, process, lease, random.u64(..));
        live.push_back((process, registry));
        let until = executor.clock.now() + START_INTERVAL;
        let ran = executor.run(until, || false);
        ran.map_err(|Livelock| Violation::new("livelock", format!("at start {number}")))?;
        for (process, registry) in &live {
            let id = registry.snowflake().try_next().map_err(|error| {
                let message = format!("start {number}, process {}: {error}", process.0);
                Violation::new("exhausted", message)
            })?;
            if !issued.insert(id) {
                return Err(Violation::new("unique", format!("{id} was issued twice")));
            }
        }
    }
    Ok(())
}

fn end_oldest(
    live: &mut VecDeque<(Process, WorkerRegistry)>,
    executor: &mut Executor,
    is_killed: bool,
) {
    let Some((process, registry)) = live.pop_front() else {
        return;
    };
    if is_killed {
        executor.end(process);
    } else {
        registry.stop();
    }
}

fn start(
    store: &MemoryLeaseStore,
    executor: &Executor,
    process: Process,
    lease: Duration,
    seed: u64,
) -> WorkerRegistry {
    let options = RegistryOptions::default()
        .with_snowflake(SnowflakeOptions::default().with_layout(layout()))
        .with_lease(lease)
        .with_seed(seed);
    let (registry, driver) = WorkerRegistry::builder()
        .store(store.clone())
        .clock(Arc::new(executor.clock.clone()))
        .options(options)
        .build();
    executor.spawner.spawn(process, driver);
    registry
}

fn layout() -> Layout {
    let spec = LayoutSpec {
        time_bits: 53 - WORKER_BITS - 4,
        worker_bits: WORKER_BITS,
        data_center_bits: 0,
        sequence_bits: 4,
        shard_bits: 0,
        unit: TimeUnit::Ms1,
        epoch: Epoch::from_unix_ms(1_735_689_600_000),
        sequence_place: SequencePlace::Low,
    };
    Layout::new(spec).expect("the widths make 53 bits")
}
