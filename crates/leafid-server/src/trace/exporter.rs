//! `Exporter`: sends the spans of a tracer to a collector, over gRPC, in batches. A collector that
//! is away costs its spans, and two lines in the log: one when it is missed, one when it is back.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry_otlp::tonic_types::transport::ClientTlsConfig;
use opentelemetry_otlp::{
    ExporterBuildError, SpanExporter, WithExportConfig as _, WithTonicConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::sync::Notify;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;

use super::TracedServer;
use super::queue::Counts;

/// Spans in one call.
const BATCH_LEN: usize = 512;
/// How long the first span of a batch waits for others.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// How long a call may take, with its retries.
const EXPORT_MAX: Duration = Duration::from_secs(10);

pub(crate) struct Exporter {
    endpoint: String,
    service: String,
    spans: Receiver<SpanData>,
    counts: Arc<Counts>,
    is_failing: bool,
}

impl Exporter {
    pub(super) fn new(
        server: &TracedServer,
        spans: Receiver<SpanData>,
        counts: Arc<Counts>,
    ) -> Self {
        Self {
            endpoint: server.endpoint.clone(),
            service: server.service.clone(),
            spans,
            counts,
            is_failing: false,
        }
    }

    /// Sends spans until `last` is notified, and then those that are left.
    pub(crate) async fn run(mut self, last: Arc<Notify>) {
        let exporter = match self.open() {
            Ok(exporter) => exporter,
            Err(error) => {
                let endpoint = &self.endpoint;
                tracing::error!(%error, endpoint, "no traces: otlp-endpoint cannot be used");
                return;
            }
        };
        loop {
            let mut batch = Vec::new();
            let is_over = tokio::select! {
                biased;
                () = last.notified() => true,
                count = self.spans.recv_many(&mut batch, BATCH_LEN) => count == 0,
            };
            if is_over {
                self.spans.close();
                while self.spans.recv_many(&mut batch, BATCH_LEN).await > 0 {
                    self.export(&exporter, std::mem::take(&mut batch)).await;
                }
                return;
            }
            let filling = async {
                while batch.len() < BATCH_LEN {
                    let room = BATCH_LEN - batch.len();
                    if self.spans.recv_many(&mut batch, room).await == 0 {
                        break;
                    }
                }
            };
            tokio::select! {
                _ = timeout(BATCH_DELAY, filling) => {}
                // Told again to the turn that follows.
                () = last.notified() => last.notify_one(),
            }
            self.export(&exporter, batch).await;
        }
    }

    fn open(&self) -> Result<SpanExporter, ExporterBuildError> {
        let builder = SpanExporter::builder().with_tonic();
        let builder = builder
            .with_endpoint(&self.endpoint)
            .with_timeout(EXPORT_MAX);
        let builder = match self.endpoint.starts_with("https:") {
            true => builder.with_tls_config(ClientTlsConfig::new().with_enabled_roots()),
            false => builder,
        };
        let mut exporter = builder.build()?;
        // With OTEL_RESOURCE_ATTRIBUTES.
        let resource = Resource::builder()
            .with_service_name(self.service.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
        exporter.set_resource(&resource.build());
        Ok(exporter)
    }

    async fn export(&mut self, exporter: &SpanExporter, batch: Vec<SpanData>) {
        let count = batch.len() as u64;
        let exported = timeout(EXPORT_MAX, exporter.export(batch)).await;
        let error = match exported {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some(format!("no answer within {EXPORT_MAX:?}")),
        };
        let counter = match error {
            None => &self.counts.exported,
            Some(_) => &self.counts.dropped,
        };
        counter.fetch_add(count, Ordering::Relaxed);
        self.log(error);
    }

    fn log(&mut self, error: Option<String>) {
        let endpoint = &self.endpoint;
        match error {
            Some(error) if !self.is_failing => {
                self.is_failing = true;
                let what = "cannot send traces: spans are dropped until that works again";
                tracing::warn!(%error, endpoint, "{what}");
            }
            None if self.is_failing => {
                self.is_failing = false;
                tracing::info!(endpoint, "traces are sent again");
            }
            _ => {}
        }
    }
}
