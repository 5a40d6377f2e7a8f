//! Percent-encoding, for paths, queries and the passwords in URLs.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters that RFC 3986 reserves for no purpose stand for themselves.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Percent-encodes everything except ASCII letters, digits and `-._~`, so that a text is one
/// segment of a path, one value of a query, or one password in a URL.
///
/// # Example
///
/// ```
/// assert_eq!(leafid_server::percent_encoded("a b/%"), "a%20b%2F%25");
/// ```
#[must_use]
pub fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}
