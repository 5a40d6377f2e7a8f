//! Which front ends other machines can reach without authentication. A server with one does not
//! start unless `insecure` allows it.

use std::net::SocketAddr;

use super::error::ConfigError;
use super::loaded::Loaded;
use super::origin::Origin;
use super::values::Config;

impl Config {
    /// The front ends that other machines can reach without authentication: their settings, and
    /// where they listen. Tokens authenticate clients, and so do certificates of clients.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid_server::{Config, TokenSpec};
    ///
    /// let mut config = Config { http: "0.0.0.0:8080".parse()?, ..Config::default() };
    /// assert_eq!(config.exposed(), [("http", config.http)]);
    /// config.tokens = vec![TokenSpec::new("billing", "9f2c6f0b8d1e4a7c")];
    /// assert!(config.exposed().is_empty());
    /// # Ok::<(), std::net::AddrParseError>(())
    /// ```
    #[must_use]
    pub fn exposed(&self) -> Vec<(&'static str, SocketAddr)> {
        let tls = &self.tls;
        let shows_certificate = tls.is_on() && tls.client_ca.is_some() && !tls.plain;
        if !self.tokens.is_empty() || shows_certificate {
            return Vec::new();
        }
        let all = [
            ("http", Some(self.http)),
            ("resp", self.resp),
            ("grpc", self.grpc),
        ];
        let all = all.into_iter().filter_map(|(key, at)| Some((key, at?)));
        all.filter(|(_, at)| !at.ip().to_canonical().is_loopback())
            .collect()
    }
}

impl Loaded {
    /// Refuses settings under which other machines can reach a front end without authentication,
    /// unless `insecure` allows it. Call it once the tokens are in `config`. An address that Leaf's
    /// own file implies is served, as Leaf does, with a note.
    ///
    /// # Errors
    ///
    /// [`ConfigError`] names each such front end, and what to set.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid_server::Sources;
    ///
    /// let flags = vec![("http", vec!["0.0.0.0:8080".into()])];
    /// let mut loaded = Sources { flags, ..Sources::default() }.load()?;
    /// let error = loaded.check_exposure().unwrap_err();
    /// assert!(error.to_string().contains("set access-file"));
    /// # Ok::<(), leafid_server::ConfigError>(())
    /// ```
    pub fn check_exposure(&mut self) -> Result<(), ConfigError> {
        let mut mistakes = Vec::new();
        for (key, at) in self.config.exposed() {
            let origin = self.origin_of(key);
            let found = format!(
                "{key} listens on {at} (from {origin}), which other machines can reach, without \
                 authentication: anyone who reaches it can take ids and change tags"
            );
            if self.config.insecure {
                self.notes.push(found);
            } else if matches!(origin, Origin::File { line: None, .. }) {
                // Without a line, it is what Leaf's own file implies.
                self.notes.push(format!(
                    "{found}, as with Leaf; set access-file, listen on 127.0.0.1, or set insecure \
                     = true if this is intended"
                ));
            } else {
                mistakes.push(format!(
                    "{found}; set access-file (docs/access.md) or tls-client-ca, listen on \
                     127.0.0.1, or set insecure = true (--insecure) if this is intended"
                ));
            }
        }
        match mistakes.is_empty() {
            true => Ok(()),
            false => Err(ConfigError { mistakes }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::access::TokenSpec;

    #[test]
    fn only_what_others_reach_unknown_is_exposed() {
        let check = |change: fn(&mut Config), expected: &[&str]| {
            let mut config = Config::default();
            change(&mut config);
            let found: Vec<&str> = config.exposed().iter().map(|(key, _)| *key).collect();
            assert_eq!(found, expected);
        };
        fn open(config: &mut Config) {
            config.http = "[::]:1".parse().unwrap();
            config.resp = Some("10.1.2.3:1".parse().unwrap());
            config.grpc = Some("0.0.0.0:0".parse().unwrap());
        }
        fn with_certificates(config: &mut Config) {
            open(config);
            config.tls.cert = Some("cert".into());
            config.tls.key = Some("key".into());
        }
        check(|_| {}, &[]);
        check(open, &["http", "resp", "grpc"]);
        check(with_certificates, &["http", "resp", "grpc"]);
        check(
            |config| {
                with_certificates(config);
                config.tls.client_ca = Some("ca".into());
            },
            &[],
        );
        check(
            |config| {
                with_certificates(config);
                config.tls.client_ca = Some("ca".into());
                config.tls.plain = true;
            },
            &["http", "resp", "grpc"],
        );
        check(
            |config| {
                open(config);
                config.tokens = vec![TokenSpec::new("a", "s3cret")];
            },
            &[],
        );
        check(
            |config| {
                config.grpc = None;
                config.resp = Some("[::ffff:127.0.0.1]:1".parse().unwrap());
                config.http = "[::1]:1".parse().unwrap();
            },
            &[],
        );
    }
}
