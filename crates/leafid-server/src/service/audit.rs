//! `Audit`: the audit log: who changed what, from where, and the values before and after. Each
//! change is a log line with the target `audit`, and a row in the store's table if there is one.
//!
//! A change is recorded after it was made. If it cannot be recorded, the log says so, and the
//! change remains.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leafid::store::{LeaseRecord, StoreError, TagRecord};
use leafid::{Clock, Escaped};
use leafid_stores::{AuditRecord, AuditStore};
use tokio::sync::{mpsc, oneshot};

use super::{Caller, ServiceError};
use crate::error::with_causes;
use crate::excerpt::shown;
use crate::log_rate_limit::LogRateLimiter;
use crate::wall_clock as wall;

/// How many changes may wait to be written; more are only logged.
const WAITING_MAX: usize = 1024;

/// Receives changes and refusals.
pub(crate) struct Audit {
    /// The name of this server in the table.
    server: String,
    clock: Arc<dyn Clock>,
    /// Refused attempts, by the name of the token; empty for those without one.
    refused: Mutex<HashMap<String, LogRateLimiter>>,
    unwritten: Mutex<LogRateLimiter>,
    queue: mpsc::Sender<Work>,
}

/// The commands to the [`AuditWriter`], in order.
enum Work {
    Write(AuditRecord),
    Read(u32, oneshot::Sender<Result<Vec<AuditRecord>, StoreError>>),
    End(oneshot::Sender<()>),
}

/// Writes the rows. It is one task beside the drivers, so that its connections outlive the calls,
/// and calls do not wait for it.
pub(crate) struct AuditWriter {
    store: Option<Arc<dyn AuditStore>>,
    work: mpsc::Receiver<Work>,
    /// Whether the missing table has been logged.
    told_missing: bool,
}

/// A change in progress. If it is dropped, because its caller disconnected or timed out, it is
/// recorded too: the store may have made it.
pub(super) struct Attempt<'a> {
    audit: &'a Audit,
    caller: &'a Caller,
    /// The action, in a few words.
    action: &'static str,
    /// The thing that is changed.
    subject: String,
    /// The state before; empty if it did not exist.
    before: String,
    is_settled: bool,
}

impl Audit {
    pub(crate) fn new(
        server: String,
        clock: Arc<dyn Clock>,
        store: Option<Arc<dyn AuditStore>>,
    ) -> (Self, AuditWriter) {
        let (queue, work) = mpsc::channel(WAITING_MAX);
        let audit = Self {
            server,
            clock,
            refused: Mutex::default(),
            unwritten: Mutex::default(),
            queue,
        };
        let scribe = AuditWriter {
            store,
            work,
            told_missing: false,
        };
        (audit, scribe)
    }

    /// Records the state before a change.
    pub(super) fn attempt<'a>(
        &'a self,
        caller: &'a Caller,
        action: &'static str,
        subject: impl Into<String>,
        before: String,
    ) -> Attempt<'a> {
        Attempt {
            audit: self,
            caller,
            action,
            subject: subject.into(),
            before,
            is_settled: false,
        }
    }

    /// Logs a change, and queues its row.
    fn note(&self, attempt: &mut Attempt<'_>, after: String) {
        attempt.is_settled = true;
        let (caller, action) = (attempt.caller, attempt.action);
        let record = AuditRecord {
            at_ms: u64::try_from(wall::now().as_millisecond()).unwrap_or(0),
            server: self.server.clone(),
            token: caller.shown_name().to_owned(),
            address: address(caller.address()),
            action: action.to_owned(),
            subject: std::mem::take(&mut attempt.subject),
            before: std::mem::take(&mut attempt.before),
            after,
        };
        let AuditRecord {
            token,
            address,
            subject,
            before,
            after,
            ..
        } = &record;
        tracing::info!(
            target: "audit",
            token, address, subject, before, after, "{action}"
        );
        if self.queue.try_send(Work::Write(record)).is_err()
            && let Some(left_out) = lock(&self.unwritten).admit(self.clock.now())
        {
            tracing::warn!(target: "audit", action, left_out, "a change is not in leafid_audit, only in the log: too many wait to be written");
        }
    }

    /// Logs an unauthorized attempt to change something. The names of tokens come from the access
    /// file, so there are not many.
    pub(super) fn note_refused(
        &self,
        token: &str,
        at: Option<SocketAddr>,
        action: &str,
        subject: &str,
        why: &ServiceError,
    ) {
        let now = self.clock.now();
        let mut limits = lock(&self.refused);
        let limit = limits.entry(token.to_owned()).or_default();
        let Some(left_out) = limit.admit(now) else {
            return;
        };
        drop(limits);
        let (subject, address) = (shown(subject), address(at));
        tracing::warn!(
            target: "audit",
            token, address, subject = &*subject, left_out, "refused: {action}: {why}"
        );
    }

    /// The last changes, newest first, including all that were made here before.
    pub(super) async fn recent(&self, count: u32) -> Result<Vec<AuditRecord>, StoreError> {
        let (reply, answer) = oneshot::channel();
        let ended = |_| StoreError::unavailable("the server is shutting down", "nothing is read");
        let asked = self.queue.send(Work::Read(count, reply)).await;
        asked.map_err(|error| ended(error.to_string()))?;
        answer.await.map_err(|error| ended(error.to_string()))?
    }

    /// Waits until all rows are written.
    pub(crate) async fn end(&self) {
        let (reply, ended) = oneshot::channel();
        if self.queue.send(Work::End(reply)).await.is_ok() {
            let _ended = ended.await;
        }
    }
}

impl Attempt<'_> {
    /// Records the outcome, if anything was changed or may have been: `after` returns `None` if
    /// nothing was.
    pub(super) fn settled<T, A: Into<Option<String>>>(
        mut self,
        outcome: Result<T, ServiceError>,
        after: impl FnOnce(&T) -> A,
    ) -> Result<T, ServiceError> {
        let audit = self.audit;
        match &outcome {
            Ok(made) => match after(made).into() {
                Some(after) => audit.note(&mut self, after),
                None => self.is_settled = true,
            },
            Err(ServiceError::Store(error @ StoreError::Unavailable { .. })) => {
                audit.note(
                    &mut self,
                    format!("unknown: {}", Escaped(&error.to_string())),
                );
            }
            Err(_) => self.is_settled = true,
        }
        outcome
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            let audit = self.audit;
            audit.note(self, "unknown: the call was given up".into());
        }
    }
}

impl AuditWriter {
    /// Runs until it is told to end.
    pub(crate) async fn run(mut self) {
        while let Some(work) = self.work.recv().await {
            match work {
                Work::Write(record) => self.write(&record).await,
                Work::Read(count, reply) => {
                    let read = match &self.store {
                        Some(store) => store.recent(count).await,
                        None => Err(StoreError::Unsupported {
                            message: "this server records changes in its log only".into(),
                        }),
                    };
                    // The caller may have given up.
                    let _unheard = reply.send(read);
                }
                Work::End(reply) => {
                    let _unheard = reply.send(());
                    return;
                }
            }
        }
    }

    async fn write(&mut self, record: &AuditRecord) {
        let Some(store) = &self.store else {
            return;
        };
        let error = match store.append(record).await {
            Ok(()) => {
                self.told_missing = false;
                return;
            }
            // Logged once: Leaf's own table is enough for a server.
            Err(StoreError::Unsupported { .. }) if self.told_missing => return,
            Err(error) => error,
        };
        self.told_missing = matches!(error, StoreError::Unsupported { .. });
        let AuditRecord {
            action,
            subject,
            token,
            address,
            before,
            after,
            ..
        } = record;
        let error = with_causes(&error);
        tracing::warn!(
            target: "audit",
            error, token, address, subject, before, after, "not in leafid_audit: {action}"
        );
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn address(at: Option<SocketAddr>) -> String {
    at.map(|at| at.to_string()).unwrap_or_default()
}

/// A tag's row, as in `before` and `after`; empty if there is none.
pub(super) fn of_tag(record: Option<&TagRecord>) -> String {
    record.map(AuditRecord::of_tag).unwrap_or_default()
}

/// The row of a worker id, as in `before` and `after`.
pub(super) fn of_worker(record: &LeaseRecord) -> String {
    let until = match record.until_ms {
        LeaseRecord::FOREVER => "never".to_owned(),
        until_ms => wall::time(until_ms.cast_signed()),
    };
    format!(
        "holder={} address={} epoch={} until={until}",
        Escaped(&record.holder),
        Escaped(&record.address),
        record.epoch
    )
}

/// A quota, as in `before` and `after`.
pub(super) fn of_quota(per_second: Option<u64>) -> String {
    per_second.map_or_else(String::new, |quota| format!("ids_per_second={quota}"))
}
