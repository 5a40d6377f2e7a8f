//! Guards traces: spans over OTLP, as a collector receives them, in the trace of the caller.
#![cfg(feature = "otel")]

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use leafid::{Clock as _, SystemClock};
use leafid_testbed::{Proxy, install_python, run, shared_mariadb};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use tempfile::tempdir;
use tonic::{Request, Response, Status};

use crate::clients::clients;
use crate::server_process::{self, Server, until};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

fn traceparent(flags: &str) -> String {
    format!("00-{TRACE}-{CALLER}-{flags}")
}

/// A span as it was received.
#[derive(Debug, Clone)]
struct Received {
    span: Span,
    attributes: BTreeMap<String, String>,
    service: String,
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let attributes = attributes.iter().map(|attribute| {
        let value = attribute
            .value
            .as_ref()
            .and_then(|value| value.value.as_ref());
        (attribute.key.clone(), value.map(text).unwrap_or_default())
    });
    attributes.collect()
}

impl Received {
    fn trace(&self) -> String {
        hex(&self.span.trace_id)
    }

    fn is(&self, key: &str, value: &str) -> bool {
        self.attributes.get(key).is_some_and(|found| found == value)
    }

    fn check(&self, expected: &[(&str, &str)]) {
        for (key, value) in expected {
            assert!(self.is(key, value), "{key} is not {value}: {self:?}");
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<Received>>>);

#[tonic::async_trait]
impl TraceService for Spans {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        for resource in request.into_inner().resource_spans {
            let attributes = texts(&resource.resource.unwrap().attributes);
            let spans = resource
                .scope_spans
                .into_iter()
                .flat_map(|scope| scope.spans);
            self.0.lock().unwrap().extend(spans.map(|span| Received {
                attributes: texts(&span.attributes),
                span,
                service: attributes["service.name"].clone(),
            }));
        }
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// A receiver of OTLP over gRPC, up to the end of the process.
struct Collector {
    spans: Spans,
    address: SocketAddr,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let spans = Spans::default();
        let service = TraceServiceServer::new(spans.clone());
        thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let incoming = tonic::transport::server::TcpIncoming::from(listener);
                let server = tonic::transport::Server::builder().add_service(service);
                server.serve_with_incoming(incoming).await.unwrap();
            });
        });
        Self { spans, address }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn all(&self) -> Vec<Received> {
        self.spans.0.lock().unwrap().clone()
    }

    /// Waits for a span with this attribute.
    fn span(&self, key: &str, value: &str) -> Received {
        until(&format!("span with {key} {value}"), || {
            self.all().into_iter().find(|span| span.is(key, value))
        })
    }
}

/// Status of a GET with these headers.
fn get(server: &Server, path: &str, headers: &[(&str, &str)]) -> u16 {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let mut request = agent.get(format!("{}{path}", server.url));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.call().unwrap().status().as_u16()
}

/// A call with metadata, by Python's client.
fn call_grpc(server: &Server, tag: &str) {
    let python = clients().installed("grpcurl", &[], install_python);
    let program = clients().source("grpcurl").join("grpcurl.py");
    let mut command = Command::new(python.join("bin/python"));
    command.arg(program).args(["-plaintext", "-H"]);
    command.arg(format!("traceparent: {}", traceparent("01")));
    command.args(["-d", &format!(r#"{{"tag":"{tag}"}}"#)]);
    command.arg(format!("localhost:{}", server.port("grpc")));
    run(command.arg("leafid.v1.Ids/Next"));
}

/// Guards that a request has a span in its caller's trace, with the names of the conventions, and
/// so have the store calls that it waits for.
#[test]
fn a_request_has_a_span_in_the_trace_of_its_caller() {
    let (folder, collector) = (tempdir().unwrap(), Collector::start());
    let settings = ["--otlp-endpoint", &collector.url(), "--otlp-service", "ids"];
    let server = Server::start(folder.path(), &settings);
    let header = [
        ("traceparent", &*traceparent("01")),
        ("tracestate", "rojo=00f067aa0ba902b7"),
    ];
    let path = "/v1/tags/order/ids";
    assert_eq!(get(&server, path, &header), 200);
    let span = collector.span("http.route", "/v1/tags/{tag}/ids");
    span.check(&[
        ("http.request.method", "GET"),
        ("http.response.status_code", "200"),
        ("url.path", path),
        ("leafid.tag", "order"),
    ]);
    assert_eq!(span.span.name, "GET /v1/tags/{tag}/ids");
    assert_eq!(span.span.kind(), SpanKind::Server);
    assert_eq!(
        (span.trace(), hex(&span.span.parent_span_id)),
        (TRACE.into(), CALLER.into())
    );
    assert_eq!(span.span.trace_state, "rojo=00f067aa0ba902b7");
    assert_eq!(span.service, "ids");
    assert!(span.span.end_time_unix_nano > span.span.start_time_unix_nano);
    for operation in ["create", "reserve"] {
        let call = collector.span("db.operation.name", operation);
        call.check(&[("db.system.name", "sqlite"), ("leafid.tag", "order")]);
        assert_eq!(call.span.parent_span_id, span.span.span_id, "{operation}");
        assert_eq!(
            (call.trace(), call.span.kind()),
            (TRACE.into(), SpanKind::Client)
        );
    }

    // From memory now: a span without store calls.
    let before = collector.all().len();
    assert_eq!(get(&server, "/api/segment/get/order", &header), 200);
    collector.span("http.route", "/api/segment/get/{key}");
    assert_eq!(collector.all().len(), before + 1);
    // A span of a route of axum's, and one of an error.
    assert_eq!(get(&server, "/v1/tags/unknown", &header), 404);
    let span = collector.span("http.route", "/v1/tags/{tag}");
    span.check(&[
        ("http.response.status_code", "404"),
        ("leafid.tag", "unknown"),
    ]);
    call_grpc(&server, "invoice");
    let span = collector.span("rpc.method", "Next");
    span.check(&[
        ("rpc.system", "grpc"),
        ("rpc.service", "leafid.v1.Ids"),
        ("rpc.grpc.status_code", "0"),
        ("leafid.tag", "invoice"),
    ]);
    assert_eq!(span.span.name, "leafid.v1.Ids/Next");
    assert_eq!(
        (span.trace(), hex(&span.span.parent_span_id)),
        (TRACE.into(), CALLER.into())
    );
    let reserve = collector.all();
    let reserve = reserve
        .iter()
        .find(|call| call.is("db.operation.name", "reserve") && call.is("leafid.tag", "invoice"));
    assert_eq!(reserve.unwrap().span.parent_span_id, span.span.span_id);
    until("count of spans", || {
        let count = server.metric("leafid_spans_exported_total");
        (count >= collector.all().len() as f64).then_some(())
    });
    server.stop();
}

/// Guards that only callers that record their trace are traced, and that malformed headers count
/// as missing: with `otlp-sample` such a request begins a trace.
#[test]
fn other_requests_are_traced_as_the_settings_say() {
    let (folder, collector) = (tempdir().unwrap(), Collector::start());
    let url = collector.url();
    let server = Server::start(folder.path(), &["--otlp-endpoint", &url]);
    let malformed = traceparent("01").to_uppercase();
    for header in [
        vec![],
        vec![("traceparent", traceparent("00"))],
        vec![("traceparent", malformed.clone())],
        vec![
            ("traceparent", traceparent("01")),
            ("traceparent", traceparent("01")),
        ],
    ] {
        let header: Vec<_> = header
            .iter()
            .map(|(name, value)| (*name, &**value))
            .collect();
        assert_eq!(get(&server, "/v1/tags/order/ids", &header), 200);
    }
    // The last one is sent before the server ends.
    let header = [("traceparent", &*traceparent("01"))];
    assert_eq!(get(&server, "/livez", &header), 200);
    server.stop();
    let found = collector.all();
    assert!(
        found.len() == 1 && found[0].is("http.route", "/livez"),
        "{found:?}"
    );

    let sampled = ["--otlp-endpoint", &url, "--otlp-sample", "1"];
    let server = Server::start(folder.path(), &sampled);
    let headers = [("traceparent", &*malformed)];
    assert_eq!(get(&server, "/v1/tags/order/ids", &headers), 200);
    assert_eq!(
        get(
            &server,
            "/v1/tags/order",
            &[("traceparent", &traceparent("00"))]
        ),
        200
    );
    server.stop();
    let found = collector.all();
    let ids = found
        .iter()
        .find(|span| span.is("http.route", "/v1/tags/{tag}/ids"));
    let ids = ids.unwrap();
    assert_ne!(ids.trace(), TRACE);
    assert!(ids.span.parent_span_id.is_empty(), "{ids:?}");
    assert!(
        !found
            .iter()
            .any(|span| span.is("http.route", "/v1/tags/{tag}")),
        "{found:?}"
    );
}

/// Guards that a collector that is away or hangs delays no request, costs one line in the log, and
/// that dropped spans are counted.
#[test]
fn a_collector_that_is_away_delays_nothing() {
    let (folder, collector) = (tempdir().unwrap(), Collector::start());
    let proxy = Proxy::new(collector.address.port());
    proxy.refuse();
    let url = format!("http://127.0.0.1:{}", proxy.port());
    let settings = ["--otlp-endpoint", &url, "--otlp-sample", "1"];
    let server = Server::start(folder.path(), &settings);
    let clock = SystemClock::new();
    let take = |count: usize| {
        let began = clock.now();
        for _ in 0..count {
            assert_eq!(server.get("/api/segment/get/order").0, 200);
        }
        clock.now().saturating_sub(began)
    };
    let took = take(5000);
    assert!(took < Duration::from_secs(20), "{took:?}");
    // More than the queue holds.
    until("dropped spans", || {
        (server.metric("leafid_spans_dropped_total") > 2048.0).then_some(())
    });
    assert_eq!(server.metric("leafid_spans_exported_total"), 0.0);
    until("line in the log", || {
        server.log().contains("cannot send traces").then_some(())
    });
    proxy.pass();
    until("spans after the outage", || {
        take(1);
        (server.metric("leafid_spans_exported_total") > 0.0).then_some(())
    });
    assert!(!collector.all().is_empty());
    let log = server.log();
    assert_eq!(log.matches("cannot send traces").count(), 1, "{log}");
    assert_eq!(log.matches("traces are sent again").count(), 1, "{log}");
    // One that hangs does not delay the end either.
    proxy.delay(Duration::from_secs(60));
    take(10);
    let began = clock.now();
    server.stop();
    let took = clock.now().saturating_sub(began);
    assert!(took < Duration::from_secs(5), "{took:?}");
}

/// Guards the store calls of a driver: one that a traced request waits for is in its trace, with
/// the name of the database.
#[test]
fn a_slow_store_call_is_in_the_trace_of_who_waits() {
    let (folder, collector) = (tempdir().unwrap(), Collector::start());
    let url = shared_mariadb().create_database().url;
    server_process::run(folder.path(), &["store", "init", "--store", &url]).ok();
    let endpoint = collector.url();
    let settings = [
        "--store",
        &url,
        "--otlp-endpoint",
        &endpoint,
        "--create-tags",
    ];
    let server = Server::start(folder.path(), &settings);
    let header = [("traceparent", &*traceparent("01"))];
    assert_eq!(get(&server, "/api/segment/get/order", &header), 200);
    let request = collector.span("http.route", "/api/segment/get/{key}");
    let call = collector.span("db.operation.name", "reserve");
    call.check(&[("db.system.name", "mysql"), ("leafid.tag", "order")]);
    assert_eq!(call.span.parent_span_id, request.span.span_id);
    server.stop();
}

/// Guards that nothing is traced unless that is asked for, and that the variables of OpenTelemetry
/// ask for it.
#[test]
fn traces_are_off_by_default() {
    let (folder, collector) = (tempdir().unwrap(), Collector::start());
    let server = Server::start(folder.path(), &[]);
    let header = [("traceparent", &*traceparent("01"))];
    assert_eq!(get(&server, "/v1/tags/order/ids", &header), 200);
    assert!(!server.get("/metrics").1.contains("leafid_spans"));
    server.stop();
    assert!(collector.all().is_empty());

    let url = collector.url();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*url),
        ("OTEL_SERVICE_NAME", "shop"),
    ];
    let server = Server::start_with(folder.path(), &[], &variables);
    assert_eq!(get(&server, "/v1/tags/order/ids", &header), 200);
    assert_eq!(collector.span("leafid.tag", "order").service, "shop");
    server.stop();
}
