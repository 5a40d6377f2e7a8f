//! Unique ids across servers: segments reserved from a store by the thousand and issued from
//! memory, each id by one atomic operation.

pub mod blocking;
mod clock;
mod id;
mod limit;
mod segment;
mod step;
pub mod store;
mod sync;
mod tag;

pub use clock::{Clock, ManualClock, SystemClock};
pub use id::{Id, ParseIdError};
pub use limit::{Limit, ParseLimitError};
pub use segment::{BufferFull, Segment, SegmentBuffer, Taken, TakenMany};
pub use step::{History, StepPolicy};
pub use tag::{Tag, TagError};
