//! The rows about TLS.

use crate::config::setting::{Field, Setting};

pub(super) const CERT: Setting = Setting {
    key: "tls-cert",
    doc: "The certificate that all front ends present, in PEM, followed by its intermediate \
          certificates. With it and `tls-key` every front end speaks TLS on its usual port \
          (docs/tls.md). Each new connection costs a handshake, so keep connections open. \
          Read at start and again at each SIGHUP, without dropping a connection; if a file \
          cannot be used then, nothing changes.",
    field: Field::File(|config| &mut config.tls.cert),
};

pub(super) const KEY: Setting = Setting {
    key: "tls-key",
    doc: "The private key of `tls-cert`, in PEM: PKCS#8, PKCS#1 or SEC1, unencrypted. With a \
          key on an elliptic curve, handshakes are many times cheaper than with RSA.",
    field: Field::File(|config| &mut config.tls.key),
};

pub(super) const CLIENT_CA: Setting = Setting {
    key: "tls-client-ca",
    doc: "The certificate authorities, in PEM, whose certificates let a client in. Clients \
          without one are refused in the handshake, probes and scrapers of metrics included. \
          Servers present their own `tls-cert` to each other to compare clocks, so it must \
          be valid for clients too.",
    field: Field::File(|config| &mut config.tls.client_ca),
};

pub(super) const PLAIN: Setting = Setting {
    key: "tls-plain",
    doc: "Let connections without TLS in as well, on the same ports. Meant for the time \
          while clients move to TLS one by one: as long as it is on, anyone who can read the \
          network traffic sees what the other clients send, tokens included.",
    field: Field::Switch(|config| &mut config.tls.plain),
};
