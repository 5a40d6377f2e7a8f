//! How a database on the network is reached, and what its URL should say.

use std::net::IpAddr;

use leafid::store::{Security, Transport};

/// How one server is reached.
pub(crate) struct Wire<'a> {
    pub(crate) host: &'a str,
    pub(crate) is_socket: bool,
    /// Whether the URL asks that the certificate is checked.
    pub(crate) is_verified: bool,
    pub(crate) is_encrypted: bool,
    /// What the URL should say, such as `sslmode=verify-full`, with the option for the authority.
    pub(crate) wanted: [&'a str; 2],
}

impl Wire<'_> {
    pub(crate) fn transport(&self) -> Transport {
        let security = match (self.is_encrypted, self.is_verified) {
            (false, _) => Security::Plain,
            (true, false) => Security::Unverified,
            (true, true) => Security::Verified,
        };
        let is_exposed = security != Security::Verified && !self.is_here();
        let [mode, authority] = self.wanted;
        let advice = is_exposed.then(|| {
            format!(
                "whoever is on the way to {} can read and change what is said, also the answers \
                that ids are made of: add {mode} to its URL, and {authority}=FILE if its \
                certificate is of an authority of your own",
                self.host
            )
        });
        Transport { security, advice }
    }

    fn is_here(&self) -> bool {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let is_loopback = |ip: IpAddr| ip.is_loopback();
        self.is_socket || host == "localhost" || host.parse().is_ok_and(is_loopback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(host: &str, is_encrypted: bool, is_verified: bool, advised: bool) {
        let wire = Wire {
            host,
            is_socket: host.starts_with('/'),
            is_verified,
            is_encrypted,
            wanted: ["sslmode=verify-full", "sslrootcert"],
        };
        let advice = wire.transport().advice;
        assert_eq!(advice.is_some(), advised, "{host}: {advice:?}");
        let wanted = "add sslmode=verify-full to its URL, and sslrootcert=FILE";
        assert!(advice.is_none_or(|advice| advice.contains(wanted)));
    }

    /// Guards that only a connection that leaves the machine, and that others can come between, is
    /// warned of.
    #[test]
    fn what_others_can_come_between_is_told() {
        for (is_encrypted, is_verified, advised) in [
            (false, false, true),
            (true, false, true),
            (true, true, false),
        ] {
            check("db1", is_encrypted, is_verified, advised);
            check("10.0.0.7", is_encrypted, is_verified, advised);
            check("[2001:db8::1]", is_encrypted, is_verified, advised);
            for here in ["127.0.0.1", "[::1]", "localhost", "/run/postgresql"] {
                check(here, is_encrypted, is_verified, false);
            }
        }
    }
}
