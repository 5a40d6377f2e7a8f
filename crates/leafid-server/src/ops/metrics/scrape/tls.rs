//! TLS in `/metrics`. Where it is off there are no series.

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use super::encode::{Encoded, count_of, family, gauge};
use crate::net::tls::{Outcome, Tls};

pub(super) fn encode(tls: Option<&Tls>, encoder: &mut DescriptorEncoder<'_>) -> Encoded {
    let Some(tls) = tls else {
        return Ok(());
    };
    if let Some(expires) = tls.expires() {
        let help = "when the certificate ends, or the first of those that lead up to its \
                    authority, in seconds since 1970";
        let expires = expires.as_duration().as_secs_f64();
        gauge(
            encoder,
            "tls_certificate_expiry_timestamp_seconds",
            help,
            expires,
        )?;
    }
    let help = "connections by how they began";
    let mut handshakes = family(encoder, "tls_handshakes", help, MetricType::Counter)?;
    for outcome in Outcome::ALL {
        let count = tls.counts.read(outcome);
        count_of(&mut handshakes, &[("outcome", outcome.name())], count)?;
    }
    Ok(())
}
