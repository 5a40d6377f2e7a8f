//! `Caller`: one client thread of a server. It requests ids in every way there is, sometimes gives
//! up before the answer, and records the results.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use futures_util::future::{Either, select};
use leafid::{Block, Clock as _, Generators, Id, IssueError, ManualClock, Permanent, Segment};

use crate::executor::{Process, lock};
use crate::segment::history::{Event, History, TagNumber};
use crate::segment::plan::{Plan, TagPlan};
use crate::violation::Violation;

/// Ids in a caller's block.
pub(crate) const BLOCK_LEN: u32 = 16;

/// The state that all callers and the simulation share.
pub(crate) struct Field {
    pub(crate) plan: Plan,
    pub(crate) clock: ManualClock,
    pub(crate) history: Arc<History>,
    /// Calls still to be made before the faults end.
    pub(crate) calls_left: AtomicU64,
    /// The faults are over: every caller must soon be served.
    pub(crate) is_healed: std::sync::atomic::AtomicBool,
    /// Callers that were served since, and of how many tags each.
    pub(crate) served: AtomicU64,
    /// A wrong answer that a caller saw itself.
    pub(crate) violation: Mutex<Option<Violation>>,
}

impl Field {
    pub(crate) fn is_healed(&self) -> bool {
        // Relaxed, here and below: there is one thread.
        self.is_healed.load(Ordering::Relaxed)
    }

    fn is_refusal_right(&self, tag: &TagPlan, error: &IssueError) -> bool {
        let options = &self.plan.options;
        match error {
            IssueError::Transient(transient) => {
                let longest = options.retry_max.max(options.unknown_for);
                transient.retry_after <= longest.max(Duration::from_secs(1))
            }
            IssueError::Permanent(Permanent::UnknownTag { .. }) => {
                tag.may_be_unknown(options.create_missing.is_some())
            }
            IssueError::Permanent(Permanent::LimitReached { .. }) => tag.may_end(),
            IssueError::Permanent(_) => false,
        }
    }
}

/// One way to ask for ids.
#[derive(Debug, Clone, Copy)]
enum TakeCall {
    Next,
    TryNext,
    Held,
    Many(u64),
    TryMany(u64),
    Range(u64),
    Block,
}

/// One client thread.
pub(crate) struct Caller {
    pub(crate) field: Arc<Field>,
    pub(crate) process: Process,
    pub(crate) generators: Generators,
    pub(crate) random: Rng,
    /// A block for each tag, with its own number.
    pub(crate) blocks: Vec<Option<(usize, Block)>>,
    pub(crate) next_block: usize,
}

impl Caller {
    /// Calls at random until the faults end, and then for each tag until it is served once.
    pub(crate) async fn run(mut self) {
        while !self.field.is_healed() {
            self.think().await;
            let tag = self.random.usize(..self.field.plan.tags.len());
            self.field
                .calls_left
                .update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                    left.saturating_sub(1)
                });
            let take = self.take();
            if let Err(error) = self.call(tag, take).await {
                self.back_off(&error).await;
            }
        }
        for tag in 0..self.field.plan.tags.len() {
            self.call_until_served(tag).await;
        }
        self.field.served.fetch_add(1, Ordering::Relaxed);
    }

    async fn think(&mut self) {
        let share = self.random.f64().powi(4);
        let time = self.field.plan.think_max.mul_f64(share);
        self.field.clock.sleep(time).await;
    }

    /// Returns when it was told to, or at some other time.
    async fn back_off(&mut self, error: &IssueError) {
        let time = error
            .retry_after()
            .unwrap_or(self.field.plan.options.unknown_for);
        if self.random.u8(..8) > 0 {
            self.field.clock.sleep(time).await;
        }
    }

    async fn call_until_served(&mut self, tag: TagNumber) {
        let take = match self.take() {
            // More ids than memory ever holds are never available at once; only a waiting call gets
            // them.
            TakeCall::TryMany(count) => TakeCall::Many(count),
            take => take,
        };
        loop {
            match self.call(tag, take).await {
                Ok(()) => return,
                Err(error) if error.is_exhausted() && self.has_ended(tag) => return,
                Err(error) => {
                    let time = error.retry_after().unwrap_or_default();
                    self.field
                        .clock
                        .sleep(time.max(Duration::from_millis(1)))
                        .await;
                }
            }
        }
    }

    /// Whether the tag has reached an end that no raised limit can postpone.
    fn has_ended(&self, tag: TagNumber) -> bool {
        self.field.plan.tags[tag].is_near_the_end()
    }

    fn take(&mut self) -> TakeCall {
        let count = self.random.u64(1..=self.field.plan.count_max);
        match self.random.u8(..20) {
            0..8 => TakeCall::Next,
            8..11 => TakeCall::TryNext,
            11..13 => TakeCall::Held,
            13..15 => TakeCall::Many(count),
            15 => TakeCall::TryMany(count),
            16 => TakeCall::Range(count),
            _ => TakeCall::Block,
        }
    }

    /// Makes one call and records it.
    async fn call(&mut self, tag: TagNumber, take: TakeCall) -> Result<(), IssueError> {
        let block = matches!(take, TakeCall::Block)
            .then(|| self.block_number(tag))
            .flatten();
        let history = Arc::clone(&self.field.history);
        let call = history.began(self.process, tag, block, take.at_risk());
        let (began_at, in_quiet) = (self.field.clock.now(), self.field.is_healed());
        let patience = self.patience();
        let clock = self.field.clock.clone();
        let outcome = {
            let asked = std::pin::pin!(self.ask(tag, take));
            match select(asked, clock.sleep(patience)).await {
                Either::Left((outcome, _)) => Some(outcome),
                Either::Right(_) => None,
            }
        };
        match outcome {
            None => {
                history.push(Event::Abandoned { call });
                Ok(())
            }
            Some(Ok(ranges)) => {
                if in_quiet {
                    self.check_promptness(tag, self.field.clock.now().saturating_sub(began_at));
                }
                history.push(Event::Issued { call, ranges });
                Ok(())
            }
            Some(Err(error)) => {
                history.push(Event::Refused { call });
                self.check(tag, &error);
                Err(error)
            }
        }
    }

    /// How long this call waits before it gives up; for most, as long as it takes.
    fn patience(&mut self) -> Duration {
        if self.random.u8(..20) == 0 && !self.field.is_healed() {
            let wait_max = self.field.plan.options.wait_max;
            wait_max.mul_f64(self.random.f64())
        } else {
            Duration::from_secs(1_000_000)
        }
    }

    /// A waiting caller is woken when ids arrive, and need not wait for its time-out. (In a storm a
    /// paused process cannot guarantee that.)
    fn check_promptness(&self, tag: TagNumber, waited: Duration) {
        if waited >= self.field.plan.options.wait_max {
            let message = format!(
                "tag {tag} of process {}: ids were there, and the caller was woken by its timer",
                self.process.0
            );
            *lock(&self.field.violation) = Some(Violation::new("promptness", message));
        }
    }

    fn check(&self, tag: TagNumber, error: &IssueError) {
        let plan = &self.field.plan.tags[tag];
        if !self.field.is_refusal_right(plan, error) {
            let message = format!("tag {tag} of process {}: {error}", self.process.0);
            *lock(&self.field.violation) = Some(Violation::new("refusals", message));
        }
    }

    async fn ask(&mut self, tag: TagNumber, take: TakeCall) -> Result<Vec<Segment>, IssueError> {
        let field = Arc::clone(&self.field);
        let name = field.plan.tags[tag].spec.tag.as_str();
        let generators = &self.generators;
        match take {
            TakeCall::Next => generators.next(name).await.map(one),
            TakeCall::TryNext => generators.try_next(name).map(one),
            TakeCall::Held => generators.generator(name)?.next().await.map(one),
            TakeCall::Many(count) => generators
                .next_many(name, count)
                .await
                .map(|taken| taken.ranges().to_vec()),
            TakeCall::TryMany(count) => generators
                .generator(name)?
                .try_next_many(count)
                .map(|taken| taken.ranges().to_vec()),
            TakeCall::Range(count) => generators.take(name, count).await.map(|range| vec![range]),
            TakeCall::Block => match &mut self.blocks[tag] {
                Some((_, block)) => block.try_next().map(one),
                None => generators.next(name).await.map(one),
            },
        }
    }

    /// The number of this caller's block for the tag, which is made on first use.
    fn block_number(&mut self, tag: TagNumber) -> Option<usize> {
        if self.blocks[tag].is_none() {
            let name = self.field.plan.tags[tag].spec.tag.as_str();
            let generator = self.generators.generator(name).ok()?;
            self.blocks[tag] = Some((self.next_block, generator.block(BLOCK_LEN)));
            self.next_block += 1;
        }
        self.blocks[tag].as_ref().map(|(number, _)| *number)
    }
}

impl TakeCall {
    /// How many ids may be gathered before the answer.
    fn at_risk(self) -> u64 {
        match self {
            Self::Next | Self::TryNext | Self::Held | Self::Block | Self::TryMany(_) => 0,
            Self::Many(count) | Self::Range(count) => count,
        }
    }
}

fn one(id: Id) -> Vec<Segment> {
    Segment::new(id.get(), id.get() + 1).into_iter().collect()
}
