//! `Code`: the meanings of errors by names that never change, alike in HTTP, gRPC and RESP.

use std::fmt;

macro_rules! codes {
    ($($name:ident $text:literal $title:literal)*) => {
        /// What kind of error it is. Its name never changes, and is the same through every front end.
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

            /// The meaning in words.
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
    BadCount "bad_count" "a number asked for is out of bounds"
    BadTag "bad_tag" "the name is no tag"
    BadField "bad_field" "a field has a value that it cannot have"
    NoToken "no_token" "the call needs a token"
    BadToken "bad_token" "the token is not known here"
    NotAdmin "not_admin" "the token may take ids and nothing else"
    NotAllowed "not_allowed" "the token is not good for this call"
    UnknownTag "unknown_tag" "the tag does not exist"
    UnknownToken "unknown_token" "there is no token of that name"
    UnknownWorker "unknown_worker" "nobody ever held this worker id"
    TagExists "tag_exists" "the tag exists already"
    LimitReached "limit_reached" "the tag has no numbers left below its limit"
    NextBehind "next_behind" "the tag has come that far already"
    SnowflakeTag "snowflake_tag" "the tag issues snowflake ids, which have no segments"
    WorkerAlive "worker_alive" "the holder of the worker id lives"
    WorkerHeld "worker_held" "the worker id is reserved, and nobody can tell that its holder is dead"
    WorkerChanged "worker_changed" "the worker id's row has just changed"
    ClockAhead "clock_ahead" "ids of the only worker id that this server may have are ahead of the clock"
    TooManyQuotas "too_many_quotas" "as many tags have quotas as this server takes on"
    OverQuota "over_quota" "more ids a second were taken than the quota allows"
    TooManyNewTags "too_many_new_tags" "more tags were to be created on first use than may be"
    BadRow "bad_row" "the tag's row in the store cannot be used"
    LayoutEnded "layout_ended" "the layout has no bits for the time it is now"
    Unsupported "unsupported" "the store cannot do this as it is set up"
    ModeOff "mode_off" "this kind of id is switched off here"
    NotYet "not_yet" "no id at hand yet"
    NoWorker "no_worker" "this server holds no worker id to make snowflake ids with"
    ClockBehind "clock_behind" "the clock is behind the last id"
    StoreUnavailable "store_unavailable" "the store cannot be used now"
    ShuttingDown "shutting_down" "this server is shutting down"
    Overloaded "overloaded" "this server has as much to do as it takes on"
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
