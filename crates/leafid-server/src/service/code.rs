//! `Code`: the kinds of error, by stable names that are the same over HTTP, gRPC and RESP.

use std::fmt;

macro_rules! codes {
    ($($name:ident $text:literal $title:literal)*) => {
        /// A kind of error. Its name never changes, and is the same on every front end.
        ///
        /// # Example
        ///
        /// ```
        /// use leafid_server::{Code, ServiceError};
        ///
        /// assert_eq!(ServiceError::SegmentOff.code(), Code::ModeOff);
        /// assert_eq!(Code::ModeOff.name(), "mode_off");
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $title] $name,)*
        }

        impl Code {
            /// Every code.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// The name, in lower case with underscores.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// The title of the error.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$name => $title,)*
                }
            }
        }
    };
}

codes! {
    BadCount "bad_count" "the requested number is out of bounds"
    BadTag "bad_tag" "invalid tag name"
    BadField "bad_field" "a field has an invalid value"
    NoToken "no_token" "the call needs a token"
    BadToken "bad_token" "unknown token"
    NotAdmin "not_admin" "the call needs an admin's token"
    NotAllowed "not_allowed" "the token does not allow this call"
    UnknownTag "unknown_tag" "the tag does not exist"
    UnknownToken "unknown_token" "no token has that name"
    UnknownWorker "unknown_worker" "this worker id has never been held"
    TagExists "tag_exists" "the tag exists already"
    LimitReached "limit_reached" "the tag has reached its limit"
    NextBehind "next_behind" "the tag is already past that number"
    SnowflakeTag "snowflake_tag" "the tag issues snowflake ids, which have no segments"
    WorkerAlive "worker_alive" "the holder of the worker id is alive"
    WorkerHeld "worker_held" "the worker id is leased, and nothing proves that its holder is dead"
    WorkerChanged "worker_changed" "the worker id's row has just changed"
    ClockAhead "clock_ahead" "the only worker id this server may use has issued ids ahead of the clock"
    TooManyQuotas "too_many_quotas" "the maximum number of tags with quotas is reached"
    OverQuota "over_quota" "the quota is exhausted"
    TooManyNewTags "too_many_new_tags" "too many tags are being created on first use"
    BadRow "bad_row" "the tag's row in the store cannot be used"
    LayoutEnded "layout_ended" "the layout's time has run out"
    Unsupported "unsupported" "the store does not support this as configured"
    ModeOff "mode_off" "this kind of id is switched off here"
    NotYet "not_yet" "no id available yet"
    NoWorker "no_worker" "this server holds no worker id for snowflake ids"
    ClockBehind "clock_behind" "the clock is behind the last id"
    StoreUnavailable "store_unavailable" "the store cannot be used now"
    ShuttingDown "shutting_down" "this server is shutting down"
    Overloaded "overloaded" "this server is overloaded"
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
