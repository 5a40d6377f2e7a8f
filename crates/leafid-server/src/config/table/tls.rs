//! The rows about TLS.

use crate::config::setting::{Field, Setting};

pub(super) const CERT: Setting = Setting {
    key: "tls-cert",
    doc: "The certificate that all front ends show, in PEM, those that lead up to its authority behind \
          it. With it and `tls-key` every front end speaks TLS on the port it has (docs/tls.md). It \
          costs each new connection some computing, so keep connections open. Read at start and \
          again at each SIGHUP, without dropping a connection; a file that cannot be used then \
          changes nothing.",
    field: Field::File(|config| &mut config.tls.cert),
};

pub(super) const KEY: Setting = Setting {
    key: "tls-key",
    doc: "The private key of `tls-cert`, in PEM: PKCS#8, PKCS#1 or SEC1, not encrypted. A key on \
          an elliptic curve makes new connections many times cheaper than RSA does.",
    field: Field::File(|config| &mut config.tls.key),
};

pub(super) const CLIENT_CA: Setting = Setting {
    key: "tls-client-ca",
    doc: "The authorities, in PEM, whose certificates let a client in. Who shows none is refused \
          in the handshake, also probes and scrapers of metrics. Other servers show their own \
          `tls-cert` when they compare clocks, so it has to be good for clients too.",
    field: Field::File(|config| &mut config.tls.client_ca),
};

pub(super) const PLAIN: Setting = Setting {
    key: "tls-plain",
    doc: "Let connections without TLS in as well, on the same ports. It is for the time while \
          clients move to TLS, one after the other: as long as it is on, whoever listens on the \
          network reads what those send, tokens included.",
    field: Field::Switch(|config| &mut config.tls.plain),
};
