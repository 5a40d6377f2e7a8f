//! The transport security of a store on the network, and what to do if it can be intercepted.

use std::net::IpAddr;

use leafid::store::{Security, Transport};

/// The transport of one server.
pub(crate) struct Encryption<'a> {
    pub(crate) host: &'a str,
    pub(crate) is_socket: bool,
    /// Whether the URL requires a verified certificate.
    pub(crate) is_verified: bool,
    pub(crate) is_encrypted: bool,
    /// What to do if it is not verified.
    pub(crate) remedy: &'a str,
}

/// The transport of all of these servers: the weakest one.
#[cfg(feature = "_registry")]
pub(crate) fn transport_of<'a>(
    hosts: impl IntoIterator<Item = &'a str>,
    is_verified: bool,
    remedy: &str,
) -> Option<Transport> {
    let all = hosts.into_iter().map(|host| Encryption {
        host,
        is_socket: false,
        is_verified,
        is_encrypted: is_verified,
        remedy,
    });
    let transports = all.map(|encryption| encryption.transport());
    transports.max_by_key(|transport| transport.advice.is_some())
}

impl Encryption<'_> {
    pub(crate) fn transport(&self) -> Transport {
        let security = match (self.is_encrypted, self.is_verified) {
            (false, _) => Security::Plain,
            (true, false) => Security::Unverified,
            (true, true) => Security::Verified,
        };
        let is_exposed = security != Security::Verified && !self.is_here();
        let advice = is_exposed.then(|| {
            format!(
                "an attacker on the network to {} can read and change the traffic, including the \
                answers that ids are made from: {}",
                self.host, self.remedy
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
        let encryption = Encryption {
            host,
            is_socket: host.starts_with('/'),
            is_verified,
            is_encrypted,
            remedy: "add sslmode=verify-full to its URL",
        };
        let advice = encryption.transport().advice;
        assert_eq!(advice.is_some(), advised, "{host}: {advice:?}");
        let is_whole = |advice: String| advice.contains(host) && advice.contains(encryption.remedy);
        assert!(advice.is_none_or(is_whole));
    }

    /// Guards that a warning is only shown for a connection that leaves the machine and can be
    /// intercepted.
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

    /// Guards that of several servers the weakest transport counts.
    #[cfg(feature = "_registry")]
    #[test]
    fn one_server_elsewhere_is_enough() {
        let of = |hosts: &[&str], is_verified| {
            transport_of(hosts.iter().copied(), is_verified, "write rediss://").unwrap()
        };
        assert_eq!(of(&["127.0.0.1", "[::1]"], false).advice, None);
        let mixed = of(&["127.0.0.1", "10.0.0.7", "localhost"], false);
        assert_eq!(mixed.security, Security::Plain);
        assert!(mixed.advice.unwrap().contains("10.0.0.7"));
        let verified = of(&["10.0.0.7"], true);
        assert_eq!(
            (verified.security, verified.advice),
            (Security::Verified, None)
        );
    }
}
