//! Maps each error of the service to a RESP error line: the only place that does.
//!
//! A line is a word in capitals that clients check, then the stable code, then the message. The
//! words were chosen by how clients react:
//!
//! - `TRYAGAIN` for a temporary failure: go-redis retries it automatically, other clients report it
//!   as an error of the command. (`LOADING` would mean the same, but redis-py drops the connection on
//!   it.)
//! - `BUSY` for overload: no client retries it automatically, which is what an overloaded server
//!   needs.
//! - `NOAUTH`, `WRONGPASS`, `NOPERM`: as in Redis.
//! - `ERR` for errors that persist until an operator or the caller changes something.
//!
//! A line has no field for the remediation, so the message must contain it.

use super::reply::Reply;
use crate::service::{Class, Code, ServiceError};

/// Redis's answer to commands before AUTH.
pub(super) const NO_AUTH: &str = "NOAUTH Authentication required.";
/// Redis's answer to a wrong password.
pub(super) const WRONG_PASS: &str = "WRONGPASS invalid username-password pair or user is disabled.";

/// Writes the error line.
pub(super) fn write(reply: &mut Reply<'_>, error: &ServiceError) {
    match error.code() {
        Code::NoToken => reply.error(&[NO_AUTH.as_bytes()]),
        Code::BadToken => reply.error(&[WRONG_PASS.as_bytes()]),
        code => reply.error_text(format_args!("{} {code} {error}", word(code.class()))),
    }
}

const fn word(class: Class) -> &'static str {
    match class {
        Class::Unavailable => "TRYAGAIN",
        Class::Overloaded | Class::TooMany => "BUSY",
        Class::Forbidden => "NOPERM",
        _ => "ERR",
    }
}
