//! Snowflake generators that are measured: ours, and those of other crates, each used as its own
//! documentation says.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ferroid::generator::AtomicSnowflakeGenerator;
use ferroid::id::{SnowflakeMastodonId, SnowflakeTwitterId};
use ferroid::time::{MASTODON_EPOCH, MonotonicClock, TWITTER_EPOCH};
use leafid::store::MemoryJournal;
use leafid::{
    ClockPolicy, Layout, RegistryOptions, Snowflake, SnowflakeOptions, SystemClock, WorkerChoice,
    WorkerId, WorkerRegistry, blocking,
};
use snowflake::SnowflakeIdGenerator;

const WORKER: WorkerId = WorkerId::new(7);

fn options(layout: Layout, policy: ClockPolicy) -> SnowflakeOptions {
    SnowflakeOptions::default()
        .with_layout(layout)
        .with_policy(policy)
}

/// Ours without a driver: each id reads the clock.
///
/// # Panics
///
/// When the layout has no worker id 7.
#[must_use]
pub fn alone(layout: Layout, policy: ClockPolicy) -> Snowflake {
    let options = options(layout, policy);
    Snowflake::with_options(options, WORKER, Arc::new(SystemClock::new())).expect("a sound layout")
}

/// Ours with a driver on a thread of its own, which keeps the time while ids are taken fast.
///
/// # Panics
///
/// When the machine gives no thread.
#[must_use]
pub fn registry(layout: Layout, policy: ClockPolicy) -> WorkerRegistry {
    let options = RegistryOptions::default()
        .with_snowflake(options(layout, policy))
        .with_choice(WorkerChoice::Exactly(WORKER));
    let (registry, driver) = WorkerRegistry::open(None, MemoryJournal::new(), options);
    let _detached = blocking::spawn(driver).expect("a thread for the driver");
    registry
        .snowflake()
        .next_blocking()
        .expect("a worker id chosen by hand is there at once");
    registry
}

/// What `ferroid` calls when a tick is used up.
#[derive(Debug, Clone, Copy)]
pub enum Backoff {
    /// "Lowest latency, but generally avoid".
    Spin,
    /// "Lets another thread run; still may busy-wait".
    Yield,
    /// "Frees the core, but wakeup is imprecise".
    Sleep,
}

impl Backoff {
    fn wait(self, ms: u64) {
        match self {
            Self::Spin => std::hint::spin_loop(),
            Self::Yield => std::thread::yield_now(),
            Self::Sleep => std::thread::sleep(Duration::from_millis(ms)),
        }
    }
}

/// `ferroid` in Twitter's layout: 4096 ids a millisecond.
pub fn ferroid_twitter(backoff: Backoff) -> impl Fn() -> u64 + Sync {
    let clock = MonotonicClock::<1>::with_epoch(TWITTER_EPOCH);
    let generator = AtomicSnowflakeGenerator::<SnowflakeTwitterId, _>::new(7, clock);
    move || generator.next_id(|ms| backoff.wait(ms)).to_raw()
}

/// `ferroid` in Mastodon's layout: 65,536 ids a millisecond.
pub fn ferroid_mastodon(backoff: Backoff) -> impl Fn() -> u64 + Sync {
    let clock = MonotonicClock::<1>::with_epoch(MASTODON_EPOCH);
    let generator = AtomicSnowflakeGenerator::<SnowflakeMastodonId, _>::new(0, clock);
    move || generator.next_id(|ms| backoff.wait(ms)).to_raw()
}

/// `snowflaked`, the generator for several threads.
pub fn snowflaked() -> impl Fn() -> u64 + Sync {
    let generator = snowflaked::sync::Generator::new(7);
    move || generator.generate()
}

/// `rs-snowflake` behind a lock, asking the clock for each id.
///
/// # Panics
///
/// In a call, when another one panicked.
pub fn rs_snowflake_real_time() -> impl Fn() -> i64 + Sync {
    let generator = Mutex::new(SnowflakeIdGenerator::new(1, 1));
    move || generator.lock().expect("no panic").real_time_generate()
}

/// `rs-snowflake` behind a lock, never asking the clock again.
///
/// # Panics
///
/// In a call, when another one panicked.
pub fn rs_snowflake_lazy() -> impl Fn() -> i64 + Sync {
    let generator = Mutex::new(SnowflakeIdGenerator::new(1, 1));
    move || generator.lock().expect("no panic").lazy_generate()
}
