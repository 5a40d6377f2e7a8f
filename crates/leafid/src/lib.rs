//! Unique ids across servers: segments reserved from a store by the thousand and issued from
//! memory, each id by one atomic operation. After Meituan's Leaf.
//!
//! ```
//! use leafid::store::{MemoryStore, TagSettings};
//! use leafid::{Generators, Options, blocking};
//!
//! let options = Options::default().with_create_missing(Some(TagSettings::default()));
//! let (generators, driver) = Generators::open(MemoryStore::new(), options);
//! let driver = blocking::spawn(driver)?; // or: tokio::spawn(driver)
//!
//! assert_eq!(generators.next_blocking("order")?.get(), 1);
//! assert_eq!(generators.next_blocking("order")?.get(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The promise: **no id is ever issued twice, and Leafid refuses rather than repeats.** An id
//! is issued only from a segment whose reservation a store has acknowledged as durable.
//!
//! This crate has no async runtime, does no I/O and has no `unsafe` code. Stores for SQLite,
//! MySQL, MariaDB and PostgreSQL are in `leafid-stores`; to write your own, implement
//! [`store::SegmentStore`] and run the suite in `store::conformance` (feature `conformance`).
//!
//! # Features
//!
//! None is on by default.
//!
//! | feature | what it brings |
//! | --- | --- |
//! | `serde` | values in serde formats: an [`Id`] is written as a string and read from `"5"` or `5`; [`Tag`], [`Limit`], [`StepPolicy`], [`Layout`], [`Epoch`] and others as their text; [`WorkerId`] as a number |
//! | `sqlx` | [`Id`] and [`Tag`] in statements and columns of sqlx 0.9, as `BIGINT` and text |
//! | `conformance` | the suites that stores and registries must pass |

pub mod blocking;
pub mod format;
pub mod store;

mod allocator;
mod availability;
mod backoff;
mod block;
mod catalog;
mod clock;
mod conflict_retry;
mod driver;
mod error;
mod error_kind;
mod escaped;
mod event;
mod family;
mod generator;
mod generators;
mod id;
mod id_generator;
mod layout;
mod lease;
mod limit;
mod options;
mod other_kind;
mod registry;
mod segment;
#[cfg(feature = "serde")]
mod serde_text;
mod setters;
mod snowflake;
#[cfg(feature = "sqlx")]
mod sqlx_types;
mod step;
mod sync;
mod tag;
mod timeline;
mod worker_id;

pub use allocator::{Stage, Status};
pub use block::Block;
pub use clock::{Clock, ManualClock, SystemClock};
pub use driver::Driver;
pub use error::{IssueError, Permanent, Transient, TransientReason};
pub use error_kind::ErrorKind;
pub use escaped::Escaped;
pub use event::{Event, Observer};
pub use family::{Family, ParseFamilyError};
pub use generator::Generator;
pub use generators::{Formatted, Generators};
pub use id::{Id, ParseIdError};
pub use id_generator::{GenerateError, IdFuture, IdGenerator, Ids};
pub use layout::{
    ComposeError, DecomposeError, EndWarning, Epoch, Fields, Layout, LayoutError, LayoutSpec,
    ParseEpochError, ParseLayoutError, ParseTimeUnitError, Parts, SequencePlace, TimeUnit,
};
pub use lease::Lease;
pub use limit::{Limit, ParseLimitError};
pub use options::Options;
pub use other_kind::OtherKind;
pub use registry::{
    ClockAhead, Closed, LateReads, PeerClocks, RegistryBuilder, RegistryDriver, RegistryOptions,
    RegistryStage, RegistryStatus, WorkerChoice, WorkerRegistry,
};
pub use segment::{Segment, SegmentIds, TakenIds, TakenMany};
pub use snowflake::{
    ClockPolicy, ParseClockPolicyError, Snowflake, SnowflakeError, SnowflakeIds, SnowflakeOptions,
};
pub use step::{ParseStepPolicyError, StepPolicy};
pub use tag::{Tag, TagError};
pub use worker_id::WorkerId;
