//! TLS in `/metrics`. If TLS is off there are no series.

use crate::net::tls::{Outcome, Tls};
use crate::ops::metrics::families::{Encoded, Families};

pub(super) fn encode(tls: Option<&Tls>, families: &mut Families<'_>) -> Encoded {
    let Some(tls) = tls else {
        return Ok(());
    };
    if let Some(expires) = tls.expires() {
        let help = "when the certificate expires, or the earliest in its chain, in seconds since \
                    1970";
        let expires = expires.as_duration().as_secs_f64();
        families.gauge("tls_certificate_expiry_timestamp_seconds", help, expires)?;
    }
    let help = "connections by the outcome of the TLS handshake";
    let handshakes = Outcome::ALL.map(|outcome| (outcome.name(), tls.counts.read(outcome)));
    families.counters("tls_handshakes", help, "outcome", handshakes)
}
