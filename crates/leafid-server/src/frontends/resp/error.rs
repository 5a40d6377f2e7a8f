//! Which error line each meaning of the service is: the one place that maps errors to RESP.
//!
//! A line is a word in capitals that clients look at, then the stable code, then what happened.
//! The words were chosen by what clients do with them:
//!
//! - `TRYAGAIN` for "not yet": go-redis tries again by itself, the others hand it on as an error
//!   of the command. (`LOADING` would say the same, but redis-py drops the connection on it.)
//! - `BUSY` for "not so fast": nobody tries again by himself, which is what an overloaded server
//!   needs.
//! - `NOAUTH`, `WRONGPASS`, `NOPERM`: as in Redis.
//! - `ERR` for all that stays so until somebody changes something.
//!
//! A line has no place for advice apart from what happened, so it is only in what the text says.

use super::reply::Reply;
use crate::service::{Code, ServiceError};

/// What Redis says to commands before AUTH.
pub(super) const NO_AUTH: &str = "NOAUTH Authentication required.";
/// What Redis says to a wrong password.
pub(super) const WRONG_PASS: &str = "WRONGPASS invalid username-password pair or user is disabled.";

/// Writes the line.
pub(super) fn write(reply: &mut Reply<'_>, error: &ServiceError) {
    match error.code() {
        Code::NoToken => reply.error(&[NO_AUTH.as_bytes()]),
        Code::BadToken => reply.error(&[WRONG_PASS.as_bytes()]),
        code => reply.error_text(format_args!("{} {code} {error}", word(code))),
    }
}

const fn word(code: Code) -> &'static str {
    match code {
        Code::NotYet
        | Code::StoreUnavailable
        | Code::NoWorker
        | Code::ClockBehind
        | Code::ShuttingDown => "TRYAGAIN",
        Code::Overloaded | Code::OverQuota | Code::TooManyNewTags => "BUSY",
        Code::NotAdmin | Code::NotAllowed => "NOPERM",
        _ => "ERR",
    }
}
