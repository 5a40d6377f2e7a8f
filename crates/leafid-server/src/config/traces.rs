//! `TraceConfig`: the settings of traces over OTLP.

/// Where traces are sent, and which requests are traced.
///
/// # Example
///
/// ```
/// let traces = leafid_server::TraceConfig::default();
/// assert_eq!((traces.endpoint, traces.sample), (None, 0.0));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct TraceConfig {
    /// The collector's URL; `None`: nothing is traced.
    pub endpoint: Option<String>,
    /// The part of requests without a trace of their caller that are traced, 0 to 1.
    pub sample: f64,
    /// The name of the service in traces.
    pub service: String,
}

impl Default for TraceConfig {
    fn default() -> Self {
        Self {
            endpoint: None,
            sample: 0.0,
            service: "leafid".into(),
        }
    }
}
