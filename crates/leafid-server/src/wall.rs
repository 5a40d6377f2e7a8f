//! The time of day, for people to read. Nothing is decided by it: what takes time takes a
//! [`leafid::Clock`].

/// Now, as the machine believes.
pub(crate) fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}
