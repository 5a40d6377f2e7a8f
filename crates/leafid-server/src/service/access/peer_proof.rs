//! `PeerProof`: how a server shows another one, which has the same tokens, that it asks in the name
//! of a caller: an HMAC (RFC 2104) with the hash of the caller's secret as its key. The secret
//! itself stays where it is, and the proof is good for one address and a short time.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::config::SecretHash;
use crate::wall_clock;

/// How long a proof is good, in milliseconds; clocks may differ by as much.
const LIFE_MS: i64 = 30_000;

/// What is signed.
pub(super) struct PeerProof {
    name: String,
    unix_ms: i64,
    address: String,
}

impl PeerProof {
    /// In the name of a token, for the server at an address.
    pub(super) fn new(name: &str, address: &str) -> Self {
        Self {
            name: name.to_owned(),
            unix_ms: wall_clock::now().as_millisecond(),
            address: address.to_owned(),
        }
    }

    /// A proof that came to this address, with its signature; `None` if it is malformed or old.
    pub(super) fn parse<'t>(text: &'t str, address: &str) -> Option<(Self, &'t str)> {
        let mut parts = text.splitn(3, ' ');
        let (unix_ms, signature, name) = (parts.next()?, parts.next()?, parts.next()?);
        let unix_ms: i64 = unix_ms.parse().ok()?;
        let age = wall_clock::now().as_millisecond().checked_sub(unix_ms)?;
        let proof = Self {
            name: percent_encoding::percent_decode_str(name)
                .decode_utf8()
                .ok()?
                .into_owned(),
            unix_ms,
            address: address.to_owned(),
        };
        (age.abs() <= LIFE_MS).then_some((proof, signature))
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The text that proves it.
    pub(super) fn sign(&self, secret: &SecretHash) -> String {
        let mut text = format!("{} ", self.unix_ms);
        if let Some(mac) = self.mac(secret) {
            for byte in mac.finalize().into_bytes() {
                // Writing to a string does not fail.
                let _written = write!(text, "{byte:02x}");
            }
        }
        format!("{text} {}", crate::config::percent_encoded(&self.name))
    }

    /// Whether it was signed with this secret; compared in a time that tells nothing.
    pub(super) fn is_signed(&self, secret: &SecretHash, signature: &str) -> bool {
        let Some(signature) = SecretHash::from_hex(signature) else {
            return false;
        };
        let mac = self.mac(secret);
        mac.is_some_and(|mac| mac.verify_slice(signature.bytes()).is_ok())
    }

    fn mac(&self, secret: &SecretHash) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.bytes()).ok()?;
        let text = format!(
            "leafid console overview\n{}\n{}\n{}",
            self.unix_ms, self.address, self.name
        );
        mac.update(text.as_bytes());
        Some(mac)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guards that a proof is good for one address, one token and a short time.
    #[test]
    fn a_proof_is_good_where_it_was_meant() {
        let secret = SecretHash::of("the secret of the shop");
        let is_good = |text: &str, address: &str, secret: &SecretHash| {
            let parsed = PeerProof::parse(text, address);
            parsed.is_some_and(|(proof, signature)| proof.is_signed(secret, signature))
        };
        let text = PeerProof::new("the shop", "10.0.0.5:8080").sign(&secret);
        assert!(is_good(&text, "10.0.0.5:8080", &secret));
        assert!(!is_good(&text, "10.0.0.6:8080", &secret));
        assert!(!is_good(&text, "10.0.0.5:8080", &SecretHash::of("other")));
        assert!(!is_good(&format!("{text}x"), "10.0.0.5:8080", &secret));
        for malformed in ["", "1", "1 2", "x y z", &text.replace(' ', "  ")] {
            assert!(!is_good(malformed, "10.0.0.5:8080", &secret), "{malformed}");
        }
        let mut old = PeerProof::new("the shop", "10.0.0.5:8080");
        old.unix_ms -= 2 * LIFE_MS;
        assert!(!is_good(&old.sign(&secret), "10.0.0.5:8080", &secret));
    }

    /// Guards that no header panics, and that none is a proof without the secret.
    #[test]
    fn any_proof_is_read_or_refused() {
        let secret = SecretHash::of("the secret of the shop");
        leafid_fuzz::fuzz("peer-proofs", |data| {
            let Ok(text) = str::from_utf8(data) else {
                return false;
            };
            let parsed = PeerProof::parse(text, "10.0.0.5:8080");
            let is_read = parsed.is_some();
            assert!(!parsed.is_some_and(|(proof, signature)| proof.is_signed(&secret, signature)));
            is_read || text.split(' ').count() >= 3
        });
    }
}
