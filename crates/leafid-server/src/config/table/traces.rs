//! The settings about traces.

use url::Url;

use crate::config::setting::{Field, Setting};

pub(super) const OTLP_ENDPOINT: Setting = Setting {
    key: "otlp-endpoint",
    doc: "The collector that traces are sent to, over OTLP with gRPC, such as \
          http://collector:4317. A request whose header `traceparent` says that its caller \
          records the trace gets a span in it, and so do the store calls that it waits for \
          (docs/operating.md). Empty: nothing is traced, which costs nothing. If it is not set, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and \
          OTEL_EXPORTER_OTLP_ENDPOINT are read.",
    field: Field::Text {
        value: "URL",
        allowed: "http://HOST:PORT or https://HOST:PORT",
        get: |config| config.traces.endpoint.clone().unwrap_or_default(),
        set: |config, text| {
            if !cfg!(feature = "otel") {
                return Err("this program is built without the feature otel".to_owned());
            }
            let url = Url::parse(text).map_err(|error| error.to_string())?;
            let is_endpoint = matches!(url.scheme(), "http" | "https") && url.has_host();
            if !is_endpoint || !url.username().is_empty() {
                return Err("not the URL of a collector".to_owned());
            }
            config.traces.endpoint = Some(text.to_owned());
            Ok(())
        },
    },
};

pub(super) const OTLP_SAMPLE: Setting = Setting {
    key: "otlp-sample",
    doc: "The part of the requests without a valid `traceparent` that begin a trace of their own. \
          0.001 traces one of a thousand; a span costs some microseconds, and issuing an id \
          from memory less than that. Requests with a `traceparent` are traced as it says. \
          If it is not set, OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG are read.",
    field: Field::Text {
        value: "FRACTION",
        allowed: "0 to 1",
        get: |config| config.traces.sample.to_string(),
        set: |config, text| {
            let sample = text.parse().ok().filter(|part| (0.0..=1.0).contains(part));
            config.traces.sample = sample.ok_or("not a number from 0 to 1")?;
            Ok(())
        },
    },
};

pub(super) const OTLP_SERVICE: Setting = Setting {
    key: "otlp-service",
    doc: "The name of this service in traces (`service.name`). Servers of one cluster have the \
          same. If it is not set, OTEL_SERVICE_NAME is read.",
    field: Field::Text {
        value: "NAME",
        allowed: "a name of 1 to 255 characters",
        get: |config| config.traces.service.clone(),
        set: |config, text| {
            if text.is_empty() || text.len() > 255 || text.contains(char::is_control) {
                return Err("not a name".to_owned());
            }
            config.traces.service = text.to_owned();
            Ok(())
        },
    },
};
