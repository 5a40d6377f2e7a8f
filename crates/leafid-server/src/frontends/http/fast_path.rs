//! The fast path: answers a request for one id that memory holds. It waits for nothing, and
//! allocates nothing beyond what hyper does: the answer reuses the header map of the request, and
//! its body is stored inline.
//!
//! Anything unusual is left to the slower path, which can report errors.

use http_body_util::Full;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, COOKIE, HOST, HeaderValue};
use hyper::{HeaderMap, Method, Request, Response};
use leafid::Id;

use super::body::{AnswerBody, Short};
use super::handler::Handler;
use super::ids::push_json;
use super::problem::Problem;
use super::route::Route;
use crate::frontends::bearer;
use crate::service::{Caller, IssuedId, Service};

impl Handler {
    /// Answers at once; `None` when that cannot be done.
    pub(super) fn answer_from_memory<B>(
        &self,
        request: &mut Request<B>,
    ) -> Option<Response<AnswerBody>> {
        let (route, taken) = self.take_at_once(request)?;
        let answer = match taken {
            Ok(id) => with_id(route, &id, std::mem::take(request.headers_mut())),
            Err(problem) => {
                let host = request.headers().get(HOST);
                let answer = self.context.explain(route, request.uri(), host, &problem);
                answer.map(AnswerBody::from)
            }
        };
        self.context.counts.count(route, answer.status());
        Some(answer)
    }

    /// Takes the id, or is refused it. What was refused once is not asked for again: it counts.
    fn take_at_once<B>(&self, request: &Request<B>) -> Option<(Route, Result<IssuedId, Problem>)> {
        let uri = request.uri();
        let service = &*self.context.service;
        let path = uri.path();
        let is_plain = uri.query().is_none() && !path.contains('%');
        if !is_plain || path.len() > service.limits().target_len_max {
            return None;
        }
        let (route, name) = Route::issuing(path).filter(|(_, name)| !name.is_empty())?;
        match route {
            Route::Ids if request.method() != Method::GET => return None,
            Route::Ranges => return None,
            _ => {}
        }
        // Whether a tag may be created for a caller is no matter here: what is in memory is there.
        let sender = self
            .context
            .check_sender(route, request.method(), uri, request.headers());
        if sender.is_err() {
            return None;
        }
        let caller = match bearer::caller(service, request.headers()) {
            // It may have a session of the console.
            Ok(caller) if may_have_session(service, &caller, request.headers()) => return None,
            Ok(caller) => caller,
            Err(error) => return Some((route, Err(error.into()))),
        };
        let taken = match route {
            Route::SegmentGet => service.try_segment_next(&caller, name),
            Route::SnowflakeGet => {
                let id = service.try_snowflake_next(&caller, Some(name));
                id.map(IssuedId::Number)
            }
            _ => service.try_next(&caller, name),
        };
        match taken {
            // The usual way waits, or has words of its own for Leaf's callers.
            Err(error) if error.is_worth_waiting() || error.has_no_segments() => None,
            taken => Some((route, taken.map_err(Problem::from))),
        }
    }
}

fn may_have_session(service: &Service, caller: &Caller, headers: &HeaderMap) -> bool {
    caller.token().is_none() && service.needs_token() && headers.contains_key(COOKIE)
}

/// The answer with an id, in the header map of the request.
fn with_id(route: Route, id: &IssuedId, mut headers: HeaderMap) -> Response<AnswerBody> {
    let is_json = route == Route::Ids;
    let content_type = match is_json {
        true => const { HeaderValue::from_static("application/json") },
        false => const { HeaderValue::from_static("text/plain;charset=UTF-8") },
    };
    let body = match id {
        IssuedId::Number(id) => number_body(is_json, *id),
        IssuedId::Text(text) => text_body(is_json, text),
    };
    headers.clear();
    headers.insert(CONTENT_TYPE, content_type);
    headers.insert(
        CACHE_CONTROL,
        const { HeaderValue::from_static("no-store") },
    );
    let mut answer = Response::new(body);
    *answer.headers_mut() = headers;
    answer
}

fn number_body(is_json: bool, id: Id) -> AnswerBody {
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(id.get()).as_bytes();
    let body = match is_json {
        true => Short::new(&[b"{\"ids\":[\"", digits, b"\"]}"]),
        false => Short::new(&[digits]),
    };
    AnswerBody::from(body.unwrap_or_default())
}

fn text_body(is_json: bool, text: &str) -> AnswerBody {
    if !is_json && let Some(short) = Short::new(&[text.as_bytes()]) {
        return AnswerBody::from(short);
    }
    let mut body = Vec::with_capacity(text.len() + 12);
    match is_json {
        true => {
            body.extend_from_slice(b"{\"ids\":[");
            push_json(&mut body, text);
            body.extend_from_slice(b"]}");
        }
        false => body.extend_from_slice(text.as_bytes()),
    }
    AnswerBody::from(Full::new(body.into()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use allocation_counter::measure;
    use http_body_util::Empty;
    use hyper::body::Bytes;
    use leafid::store::{TagKind, TagSpec};
    use leafid::{Family, Tag};
    use tokio::runtime::Runtime;

    use super::*;
    use crate::config::Limits;
    use crate::frontends::http::{Console, Hosts, RequestContext};
    use crate::ops::metrics::Metrics;

    struct TestServer {
        handler: Handler,
        /// Runs the driver.
        runtime: Runtime,
    }

    impl TestServer {
        /// With ids of the tag `order` in memory.
        fn new() -> Self {
            let (service, driver) = Service::in_memory(Vec::new(), Limits::default());
            let runtime = Runtime::new().unwrap();
            runtime.spawn(driver);
            let caller = Caller::anonymous();
            let first = runtime.block_on(service.next(&caller, "order"));
            assert_eq!(first.unwrap().to_string(), "1");
            let handler = Handler::new(RequestContext {
                service: Arc::new(service),
                metrics: Arc::new(Metrics::for_tests()),
                console: Arc::new(Console::for_tests()),
                counts: Arc::default(),
                hosts: Arc::new(Hosts::default()),
                scheme: "http",
                tracer: None,
            });
            Self { handler, runtime }
        }
    }

    /// As hyper hands it over: with a header map that has room.
    fn request(target: &str) -> Request<Empty<Bytes>> {
        let request = Request::get(target).header("host", "ids.example");
        request.body(Empty::new()).unwrap()
    }

    /// Guards: an id that memory holds costs no allocation between hyper's.
    #[test]
    fn an_id_costs_no_allocation() {
        let server = TestServer::new();
        for target in ["/api/segment/get/order", "/v1/tags/order/ids"] {
            // This thread gets its counters.
            assert!(
                server
                    .handler
                    .answer_from_memory(&mut request(target))
                    .is_some()
            );
            let mut requests: Vec<_> = (0..100).map(|_| request(target)).collect();
            let counted = measure(|| {
                for request in &mut requests {
                    let answer = server
                        .handler
                        .answer_from_memory(request)
                        .expect("an id in memory");
                    assert_eq!(answer.headers()[CACHE_CONTROL], "no-store");
                }
            });
            assert_eq!(counted.count_total, 0, "{target}");
        }
    }

    /// Guards: an id that is a text costs no more than its text, whatever its source.
    #[test]
    fn a_text_costs_one_allocation() {
        let server = TestServer::new();
        let service = &server.handler.context.service;
        let tags = [
            (
                "coded",
                TagKind::Segment,
                Some("SO-{number width=8 radix=62}"),
            ),
            (
                "daily",
                TagKind::Segment,
                Some("{date %Y%m%d}{number width=9 restart=day}"),
            ),
            ("ksuid", TagKind::Family(Family::Ksuid), None),
        ];
        for (name, kind, format) in tags {
            let mut spec = TagSpec::new(Tag::new(name).unwrap());
            spec.settings.kind = kind;
            if kind == TagKind::Segment {
                // No segment is fetched meanwhile.
                spec.settings.step = 1_000_000;
            }
            spec.format = format.map(Arc::from);
            let target = format!("/api/segment/get/{name}");
            let mut requests: Vec<_> = (0..100).map(|_| request(&target)).collect();
            server.runtime.block_on(async {
                let caller = Caller::anonymous();
                service.create_tag(&caller, &spec).await.unwrap();
                service.next(&caller, name).await.unwrap();
            });
            let mut warm = request(&target);
            assert!(server.handler.answer_from_memory(&mut warm).is_some());
            let counted = measure(|| {
                for request in &mut requests {
                    assert!(server.handler.answer_from_memory(request).is_some());
                }
            });
            assert_eq!(counted.count_total, 100, "{name}");
        }
    }

    /// Guards that what has to be explained, or waited for, takes the usual way.
    #[test]
    fn the_rest_takes_the_usual_way() {
        let server = TestServer::new();
        for target in [
            "/api/segment/get/new",
            "/api/segment/get/order?count=2",
            "/api/segment/get/",
            "/api/segment/get/%6frder",
            "/v1/tags/order/ids?count=2",
            "/v1/tags/order/ranges",
            "/v1/tags/order",
            "/livez",
        ] {
            assert!(
                server
                    .handler
                    .answer_from_memory(&mut request(target))
                    .is_none(),
                "{target}"
            );
        }
    }
}
