//! `Code`: the kinds of error, by stable names that are the same over HTTP, gRPC and RESP. A row of
//! the table is all that there is to know of a code; each protocol has a status for each [`Class`].

use std::fmt;

macro_rules! codes {
    ($($name:ident $class:ident $text:literal $title:literal $remediation:literal)*) => {
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
                self.row().1
            }

            /// The title of the error.
            #[must_use]
            pub const fn title(self) -> &'static str {
                self.row().2
            }

            pub(crate) const fn class(self) -> Class {
                self.row().0
            }

            /// What to do about it, with terms of the protocol in angle brackets.
            pub(super) const fn remediation_text(self) -> &'static str {
                self.row().3
            }

            const fn row(self) -> (Class, &'static str, &'static str, &'static str) {
                match self {
                    $(Self::$name => (Class::$class, $text, $title, $remediation),)*
                }
            }
        }
    };
}

/// What an error means to a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// The request has an invalid value.
    Invalid,
    /// The call has no valid token.
    Unauthenticated,
    /// The token does not allow the call.
    Forbidden,
    /// What the call names does not exist.
    NotFound,
    /// What the call creates exists already.
    Exists,
    /// The present state does not allow the call, however often it is repeated.
    Conflict,
    /// Another call changed the state meanwhile.
    Changed,
    /// A rate limit is exhausted.
    TooMany,
    /// The server is overloaded.
    Overloaded,
    /// An operator has to repair something.
    Broken,
    /// This server does not offer the call.
    Unsupported,
    /// The call may succeed soon.
    Unavailable,
}

// The columns: variant, class, name, title; then what a caller can do about it.
codes! {
    BadCount Invalid "bad_count" "the requested number is out of bounds"
        "ask for fewer ids, at least 1"
    BadTag Invalid "bad_tag" "invalid tag name"
        "name <tag>"
    BadField Invalid "bad_field" "a field has an invalid value"
        "send another value"
    NoToken Unauthenticated "no_token" "the call needs a token"
        "send <token>"
    BadToken Unauthenticated "bad_token" "unknown token"
        "send the secret of one of the tokens in the access file"
    NotAdmin Forbidden "not_admin" "the call needs an admin's token"
        "use a token with admin = true"
    NotAllowed Forbidden "not_allowed" "the token does not allow this call"
        "use a token whose scope and tags in the access file allow it"
    UnknownTag NotFound "unknown_tag" "the tag does not exist"
        "create it with <create-tag>"
    UnknownToken NotFound "unknown_token" "no token has that name"
        "see the access file for the names of tokens"
    UnknownWorker NotFound "unknown_worker" "this worker id has never been held"
        "see GET /v1/workers for the worker ids that were held"
    TagExists Exists "tag_exists" "the tag exists already"
        "change it with <update-tag>, or choose another name"
    LimitReached Conflict "limit_reached" "the tag has reached its limit"
        "raise the tag's limit with <update-tag>, or use another tag"
    NextBehind Conflict "next_behind" "the tag is already past that number"
        "choose a larger number"
    SnowflakeTag Conflict "snowflake_tag" "the tag issues snowflake ids, which have no segments"
        "take its ids with <take-ids>, or create another tag of kind segment"
    TextTag Conflict "text_tag" "the tag issues texts, which have no segments"
        "take its ids with <take-ids>, or create another tag of kind segment without a format"
    NoShards Conflict "no_shards" "the ids have no shards"
        "leave the shard out, or take ids of a snowflake tag from a server whose layout has shards"
    FormerFormat Conflict "former_format" "a deleted tag of this name wrote its ids in another format"
        "choose another name, or create the tag with the format that it had"
    WorkerAlive Conflict "worker_alive" "the holder of the worker id is alive"
        "stop that server, and it gives the worker id back"
    WorkerHeld Conflict "worker_held" "the worker id is leased, and nothing proves that its holder is dead"
        "wait until its lease ends: then any server can claim it"
    WorkerChanged Changed "worker_changed" "the worker id's row has just changed"
        "see GET /v1/workers for its present holder"
    ClockAhead Conflict "clock_ahead" "the only worker id this server may use has issued ids ahead of the clock"
        "wait until the clock has reached that time, or set worker-id to one that no server had, and start again"
    TooManyQuotas Conflict "too_many_quotas" "the maximum number of tags with quotas is reached"
        "remove another tag's quota with DELETE /v1/quotas/tags/{tag}"
    OverQuota TooMany "over_quota" "the quota is exhausted"
        "try again when <retry-after> has passed, or raise the quota"
    TooManyNewTags TooMany "too_many_new_tags" "too many tags are being created on first use"
        "try again when <retry-after> has passed, create the tag with <create-tag>, or raise create-tags-per-minute"
    BadRow Broken "bad_row" "the tag's row in the store cannot be used"
        "repair the tag's row in the store"
    MissingKey Broken "missing_key" "this server lacks the key of the tag's format"
        "put the key into the file that format-keys names, and send SIGHUP to the server"
    LayoutEnded Broken "layout_ended" "the layout's time has run out"
        "set layout to one with more bits of time, or with a later epoch"
    Unsupported Unsupported "unsupported" "the store does not support this as configured"
        "set the store up as the error says"
    ModeOff Unsupported "mode_off" "this kind of id is switched off here"
        "ask another server"
    NotYet Unavailable "not_yet" "no id available yet"
        "try again when <retry-after> has passed"
    NoWorker Unavailable "no_worker" "this server holds no worker id for snowflake ids"
        "try again when <retry-after> has passed; if it persists, see /readyz?verbose and the server's log"
    ClockBehind Unavailable "clock_behind" "the clock is behind the last id"
        "try again when <retry-after> has passed, or set clock-policy = borrow"
    StoreUnavailable Unavailable "store_unavailable" "the store cannot be used now"
        "try again when <retry-after> has passed; if it persists, see /readyz?verbose and the server's log"
    ShuttingDown Unavailable "shutting_down" "this server is shutting down"
        "ask another server, or this one again once it is restarted"
    Overloaded Overloaded "overloaded" "this server is overloaded"
        "try again when <retry-after> has passed, or ask another server"
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
