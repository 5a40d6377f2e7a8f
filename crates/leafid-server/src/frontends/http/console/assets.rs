//! The files of the pages, built from `console/` and kept in this program.

use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, ETAG, HeaderName, HeaderValue, IF_NONE_MATCH,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{HeaderMap, StatusCode};
use sha2::{Digest as _, Sha256};

use crate::frontends::http::answer::{self, Answer};

/// Scripts and styles come from this server alone, and no other page may frame these.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

pub(super) async fn index(headers: HeaderMap) -> Answer {
    let text = include_str!("generated/index.html");
    file(&headers, "text/html;charset=UTF-8", text)
}

pub(super) async fn script(headers: HeaderMap) -> Answer {
    let text = include_str!("generated/app.js");
    file(&headers, "text/javascript;charset=UTF-8", text)
}

pub(super) async fn style(headers: HeaderMap) -> Answer {
    let text = include_str!("generated/app.css");
    file(&headers, "text/css;charset=UTF-8", text)
}

pub(super) async fn icon(headers: HeaderMap) -> Answer {
    let text = include_str!("generated/favicon.svg");
    file(&headers, "image/svg+xml", text)
}

/// A file, or the word that the browser has it already.
fn file(headers: &HeaderMap, content_type: &'static str, text: &'static str) -> Answer {
    let tag = etag(text);
    let is_known = headers
        .get_all(IF_NONE_MATCH)
        .iter()
        .any(|known| known.as_bytes() == tag.as_bytes());
    let mut answer = match is_known {
        true => answer::empty(StatusCode::NOT_MODIFIED),
        false => answer::of(
            StatusCode::OK,
            content_type,
            Bytes::from_static(text.as_bytes()),
        ),
    };
    let fixed: [(HeaderName, &str); 5] = [
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    let sent = answer.headers_mut();
    for (name, value) in fixed {
        sent.insert(name, HeaderValue::from_static(value));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        sent.insert(ETAG, tag);
    }
    answer
}

fn etag(text: &str) -> String {
    let hash = Sha256::digest(text);
    let hex: String = hash
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("\"{hex}\"")
}
