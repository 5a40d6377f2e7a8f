//! The greeting of `leafid serve`: the addresses, and some commands to try.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use leafid_server::{Addresses, Config};

use crate::client::quoted;
use crate::source;

/// The addresses, the console, and some commands to try.
pub(super) fn greeting(addresses: &Addresses, config: &Config) -> String {
    // With TLS all schemes end in s: https, rediss, grpcs.
    let s = if config.tls.is_on() { "s" } else { "" };
    let base = format!("http{s}://{}", reachable(addresses.http));
    let (curl, redis_cli) = clients(config);
    let others = [("redis", addresses.resp), ("grpc", addresses.grpc)];
    let others = others.into_iter().filter_map(|(scheme, address)| {
        let address = address?;
        Some(format!(", {scheme}{s}://{address}"))
    });
    let others: String = others.collect();
    let redis = addresses.resp.map(reachable).map(|address| {
        let tag = match config.creates_tags() {
            true => "order",
            false => "TAG",
        };
        let (ip, port) = (address.ip(), address.port());
        format!("  {redis_cli} -h {ip} -p {port} INCR {tag}\n")
    });
    let redis = redis.unwrap_or_default();
    let store = source::place(config);
    let ids = if config.creates_tags() {
        format!("{curl} {base}/api/segment/get/order\n  {curl} '{base}/v1/tags/order/ids?count=3'")
    } else {
        format!("{curl} {base}/v1/tags\n  {curl} '{base}/v1/tags/TAG/ids?count=3'")
    };
    let snowflake = match config.snowflake {
        true => format!("  {curl} {base}/api/snowflake/get/order\n"),
        false => String::new(),
    };
    format!(
        "leafid {} listens on http{s}://{}{others}, ids from {store}\n\
         console: {base}/\ntry:\n  {ids}\n{snowflake}{redis}  {curl} '{base}/readyz?verbose'\n",
        env!("CARGO_PKG_VERSION"),
        addresses.http,
    )
}

/// The commands of curl and redis-cli. With tokens they expect a secret in LEAFID_TOKEN; with TLS,
/// a self-signed certificate for the address of this machine.
fn clients(config: &Config) -> (String, String) {
    let mut curl = "curl".to_owned();
    let mut redis_cli = "redis-cli".to_owned();
    if !config.tokens.is_empty() {
        curl.push_str(" -H \"authorization: Bearer $LEAFID_TOKEN\"");
        redis_cli.insert_str(0, "REDISCLI_AUTH=\"$LEAFID_TOKEN\" ");
    }
    if let Some(cert) = config.tls.cert.as_ref().filter(|_| config.tls.is_on()) {
        let cert = quoted(&cert.display().to_string());
        let shown = match config.tls.client_ca {
            Some(_) => " --cert client.pem --key client.key",
            None => "",
        };
        curl.push_str(&format!(" --cacert {cert}{shown}"));
        redis_cli.push_str(&format!(" --tls --cacert {cert}{shown}"));
    }
    (curl, redis_cli)
}

/// The address for a client on this machine.
pub(crate) fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_to_try_work_on_this_machine() {
        let config = Config::default();
        let http = |address: &str| Addresses::from(address.parse::<SocketAddr>().unwrap());
        let text = greeting(&http("0.0.0.0:8080"), &config);
        assert!(text.contains("listens on http://0.0.0.0:8080"), "{text}");
        assert!(text.contains("curl http://127.0.0.1:8080/api"), "{text}");
        assert!(text.contains("console: http://127.0.0.1:8080/\n"), "{text}");
        let guarded = Config {
            tokens: vec![leafid_server::TokenSpec::new("a", "hunter2")],
            ..config.clone()
        };
        let shown = greeting(&http("0.0.0.0:8080"), &guarded);
        let line = "curl -H \"authorization: Bearer $LEAFID_TOKEN\" http://127.0.0.1:8080/api/";
        assert!(
            shown.contains(line) && !shown.contains("hunter2"),
            "{shown}"
        );
        let shared = Config {
            store: vec!["mysql://u:hunter2@db/leaf".to_owned()],
            ..config
        };
        let text = greeting(&http("[::]:1"), &shared);
        assert!(text.contains("curl http://[::1]:1/v1/tags\n"), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
    }

    #[test]
    fn with_tls_the_lines_say_so() {
        let mut config = Config::default();
        config.tls.cert = Some("a b.pem".into());
        config.tls.key = Some("key".into());
        let text = greeting(&config.addresses(), &config);
        let first = "listens on https://127.0.0.1:8080, rediss://127.0.0.1:6380, \
                     grpcs://127.0.0.1:50051, ids";
        assert!(text.contains(first), "{text}");
        assert!(
            text.contains("curl --cacert 'a b.pem' https://127.0.0.1:8080/api"),
            "{text}"
        );
        let redis = "redis-cli --tls --cacert 'a b.pem' -h 127.0.0.1 -p 6380 INCR order";
        assert!(text.contains(redis), "{text}");
        config.tls.client_ca = Some("ca.pem".into());
        let text = greeting(&config.addresses(), &config);
        assert!(
            text.contains("--cert client.pem --key client.key https:"),
            "{text}"
        );
    }
}
