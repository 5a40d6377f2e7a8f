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
//! let request = IdsRequest { count: Some(3.into()) };
//! assert_eq!(serde_json::to_string(&request)?, r#"{"count":3}"#);
//! let answer: Ids = serde_json::from_str(r#"{"ids":["1","2","3"]}"#)?;
//! assert_eq!(answer.ids.len(), 3);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod audit;
mod clock;
mod decode;
mod ids;
mod number;
mod problem;
mod quota;
pub(crate) mod schema;
mod tag;
mod worker;

pub use audit::{Change, ChangeList};
pub use clock::Clock;
pub use decode::DecodedId;
pub use ids::{COUNT_MAX, Ids, IdsRequest, RANGE_LEN_MAX, Range, RangeRequest};
pub use number::{LimitText, Rate, Whole};
pub use problem::Problem;
pub use quota::{IDS_PER_SECOND_MAX, Quota, QuotaList, QuotaRequest};
pub use tag::{
    Kind, Live, Nothing, Policy, SegmentTagRequest, SnowflakeTagRequest, Tag, TagChange, TagList,
    TagRequest,
};
pub use worker::{OwnWorker, ReleaseRequest, Worker, WorkerList};
