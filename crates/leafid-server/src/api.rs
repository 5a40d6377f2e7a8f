//! The bodies of the HTTP API, each described once: the server reads and writes these types, makes
//! `/openapi.json` from them, and the command line sends and reads them.
//!
//! Numbers that may pass 2^53 are strings in answers. Requests may have them as numbers, too.
//!
//! # Example
//!
//! ```
//! use leafid_server::api::{Ids, IdsRequest};
//!
//! let request = IdsRequest { count: Some(3.into()), ..IdsRequest::default() };
//! assert_eq!(serde_json::to_string(&request)?, r#"{"count":3}"#);
//! let answer: Ids = serde_json::from_str(r#"{"ids":["1","2","3"]}"#)?;
//! assert_eq!(answer.ids.len(), 3);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod audit;
mod bounds;
mod clock;
pub(crate) mod console;
mod decode;
mod ids;
mod number;
mod problem;
mod quota;
#[cfg(test)]
pub(crate) mod schema;
mod tag;
mod worker;

pub use audit::{AuditRequest, Change, ChangeList};
pub use bounds::{COUNT_MAX, IDS_PER_SECOND_MAX, PAGE_LEN_MAX, RANGE_LEN_MAX, SHARD_MAX};
pub use clock::Clock;
pub use decode::{
    DecodeAnswer, DecodedId, DecodedNumber, DecodedOfTag, DecodedText, LayoutRequest, Reading,
};
pub use ids::{Ids, IdsRequest, Range, RangeRequest};
pub use number::{Index, Rate, Text, Wanted, Whole};
pub use problem::Problem;
pub use quota::{Quota, QuotaList, QuotaRequest};
pub use tag::{
    Live, Nothing, OtherTagRequest, PageRequest, Policy, SegmentTagRequest, Tag, TagChange,
    TagList, TagRequest,
};
pub(crate) use worker::leased_until;
pub use worker::{OwnWorker, ReleaseRequest, Worker, WorkerList};
