//! Names of calendar counters, as far as they are known here, and of their periods.

use std::collections::HashMap;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use leafid::Tag;
use leafid::store::StoreError;
use papaya::ResizeMode;

/// How many names are known at once. If more are called, all are asked for again.
const NAMES_MAX: usize = 100_000;
/// How many names are asked for at once.
const READS_MAX: usize = 1000;

/// What is known of names that may be those of calendar counters.
pub(super) struct CounterNames {
    known: papaya::HashMap<Tag, Answer>,
    /// The names that are being asked for, each once for all its callers.
    reads: Mutex<HashMap<Tag, Read>>,
}

/// The end of the read of a name's row; `None` if it panicked, or the runtime is shutting down.
pub(super) type Read = Shared<BoxFuture<'static, Option<Result<(), Arc<StoreError>>>>>;

/// Whether a name is that of a calendar counter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) is_calendar: bool,
    /// `None`: a calendar counter stays one for life.
    pub(super) until: Option<Duration>,
}

impl CounterNames {
    pub(super) fn new() -> Self {
        let known = papaya::HashMap::builder();
        Self {
            known: known.resize_mode(ResizeMode::Blocking).build(),
            reads: Mutex::default(),
        }
    }

    pub(super) fn of(&self, name: &str) -> Option<Answer> {
        self.known.pin().get(name).copied()
    }

    pub(super) fn learn(&self, name: Tag, is_calendar: bool, until: Option<Duration>) {
        let known = self.known.pin();
        if known.len() >= NAMES_MAX {
            known.clear();
        }
        known.insert(name, Answer { is_calendar, until });
    }

    /// Lets the last answer hold until then; false if there is none.
    pub(super) fn keep(&self, name: &Tag, until: Duration) -> bool {
        let later = |answer: &Answer| Answer {
            until: answer.until.map(|before| before.max(until)),
            ..*answer
        };
        self.known.pin().update(name.clone(), later).is_some()
    }

    /// The read of a name that is under way, or else `read`, which then goes on by itself, whether
    /// or not it is waited for. `None` while too many names are being asked for.
    pub(super) fn read<F>(self: &Arc<Self>, name: &Tag, read: impl FnOnce() -> F) -> Option<Read>
    where
        F: Future<Output = Result<(), Arc<StoreError>>> + Send + 'static,
    {
        let mut reads = self.reads();
        if let Some(read) = reads.get(name) {
            return Some(read.clone());
        }
        if reads.len() >= READS_MAX {
            return None;
        }
        let (names, read, key) = (Arc::clone(self), read(), name.clone());
        let task = tokio::spawn(async move {
            // Whatever happens, the name can be asked for again.
            let end = AssertUnwindSafe(read).catch_unwind().await;
            names.reads().remove(&key);
            end.ok()
        });
        let read = task.map(|end| end.ok().flatten()).boxed().shared();
        reads.insert(name.clone(), read.clone());
        Some(read)
    }

    fn reads(&self) -> MutexGuard<'_, HashMap<Tag, Read>> {
        self.reads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The name of the calendar counter of which a tag would be a period.
pub(super) fn counter_name(tag: &str) -> Option<&str> {
    let (name, label) = tag.rsplit_once('@')?;
    let is_label = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit());
    (is_label && Tag::new(name).is_ok()).then_some(name)
}
