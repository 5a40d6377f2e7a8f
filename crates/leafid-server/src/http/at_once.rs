//! The shortest way through the server: a request for one id, which memory holds. It waits for
//! nothing, and allocates nothing beyond what hyper does: the answer takes over the header map of
//! the request, and its body is carried in place.
//!
//! Whatever is out of the ordinary is left to the usual way, which knows what to say about it.

use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use leafid::Id;

use super::body::{AnswerBody, Short};
use super::front::Front;
use super::route::Route;
use super::{Door, who};
use crate::service::{Code, ServiceError};

impl Door {
    /// Answers at once; `None` when that cannot be done.
    pub(super) fn at_once(&self, request: &mut Request<Incoming>) -> Option<Response<AnswerBody>> {
        let (route, taken) = self.id_at_once(request)?;
        let id = match taken {
            Ok(id) => id,
            // It is counted where it is refused, so it must not be tried again.
            Err(error) if is_refusal(&error) => {
                let host = request.headers().get(HOST);
                let answer = Front::explain(route, request.uri(), host, &error.into());
                self.front.metrics.http.count(route, answer.status());
                return Some(answer.map(AnswerBody::Whole));
            }
            Err(_) => return None,
        };
        let mut digits = itoa::Buffer::new();
        let digits = digits.format(id.get()).as_bytes();
        let (content_type, body) = match route {
            Route::Ids => {
                let parts: [&[u8]; 3] = [b"{\"ids\":[\"", digits, b"\"]}"];
                (
                    const { HeaderValue::from_static("application/json") },
                    Short::new(&parts),
                )
            }
            _ => (
                const { HeaderValue::from_static("text/plain;charset=UTF-8") },
                Short::new(&[digits]),
            ),
        };
        let mut headers = std::mem::take(request.headers_mut());
        headers.clear();
        headers.insert(CONTENT_TYPE, content_type);
        headers.insert(
            CACHE_CONTROL,
            const { HeaderValue::from_static("no-store") },
        );
        let mut answer = Response::new(AnswerBody::Short(body));
        *answer.headers_mut() = headers;
        self.front.metrics.http.count(route, StatusCode::OK);
        Some(answer)
    }

    fn id_at_once(&self, request: &Request<Incoming>) -> Option<(Route, Result<Id, ServiceError>)> {
        let uri = request.uri();
        let service = &*self.front.service;
        let path = uri.path();
        if path.len() > service.limits().target_len_max || path.contains('%') {
            return None;
        }
        let (route, name) = Route::issuing(path).filter(|(_, name)| !name.is_empty())?;
        // Leaf takes every method and passes over queries, whose length counts all the same.
        let is_plain = uri.query().is_none();
        let is_get = || request.method() == Method::GET;
        if !is_plain || (route == Route::Ids && !is_get()) {
            return None;
        }
        let caller = who::caller(service, request.headers());
        let taken = caller.and_then(|caller| match route {
            Route::SegmentGet => service.try_segment_next(&caller, name),
            Route::SnowflakeGet => service.try_snowflake_next(&caller, Some(name)),
            _ => service.try_next(&caller, name),
        });
        Some((route, taken))
    }
}

/// Whether a call was refused because of who made it, or how much they took.
fn is_refusal(error: &ServiceError) -> bool {
    matches!(
        error.code(),
        Code::NoToken | Code::BadToken | Code::OverQuota
    )
}
