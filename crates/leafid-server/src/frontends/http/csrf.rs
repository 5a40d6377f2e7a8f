//! Protection against cross-site requests (CSRF) and DNS rebinding: browsers let every page send
//! requests to every server, even one that only the user's machine can reach, and merely keep the
//! answer from the page.
//!
//! A request from a foreign page is recognised by `Sec-Fetch-Site` or `Origin`; one from a page
//! whose name was pointed at this machine (DNS rebinding) by its `Host`. Programs send neither of
//! the first two, and may call a server by any name that leads to it.

use std::net::{IpAddr, SocketAddr};

use hyper::header::{HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::{HeaderMap, Uri};

use super::problem::{Kind, Problem};

/// The browser's statement about the origin of a request.
pub(super) static SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The names under which a server may be called.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hosts {
    /// Names besides those of this machine; `None`: every name.
    allowed: Option<Vec<String>>,
}

impl Hosts {
    /// The names of a server that listens at an address. One that other machines can reach is
    /// called by names that it cannot know, unless the settings list them.
    pub(crate) fn new(listens: SocketAddr, allowed: &[String]) -> Self {
        let is_open = allowed.is_empty() && !listens.ip().to_canonical().is_loopback();
        let allowed = (!is_open).then(|| allowed.to_vec());
        Self { allowed }
    }

    /// Whether a request calls this server by a foreign name.
    pub(super) fn are_foreign(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        self.check(uri, headers).is_err()
    }

    /// Refuses a request that calls this server by a foreign name.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(allowed) = &self.allowed else {
            return Ok(());
        };
        let in_target = uri
            .authority()
            .map(|authority| authority.as_str().as_bytes());
        let in_header = headers.get_all(HOST).iter().map(HeaderValue::as_bytes);
        for host in in_target.into_iter().chain(in_header) {
            let is_own = str::from_utf8(host).is_ok_and(|host| is_own(host, allowed));
            if !is_own {
                return Err(foreign_host(host));
            }
        }
        Ok(())
    }
}

/// Whether a name, with or without a port, belongs to this machine or is allowed. Old programs send
/// no name; no browser does that.
fn is_own(host: &str, allowed: &[String]) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'));
    match bare.unwrap_or(name).parse::<IpAddr>() {
        Ok(ip) if ip.to_canonical().is_loopback() => return true,
        _ => {}
    }
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    let (_, last) = name.rsplit_once('.').unwrap_or(("", name));
    name.is_empty()
        || last.eq_ignore_ascii_case("localhost")
        || allowed.iter().any(|other| is(other))
}

/// Refuses a request that a foreign page made its reader's browser send.
pub(super) fn check_csrf(uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    if let Some(site) = headers.get(&SEC_FETCH_SITE) {
        return match site.as_bytes() {
            b"same-origin" | b"none" => Ok(()),
            _ => Err(foreign_page()),
        };
    }
    let Some(origin) = headers.get(ORIGIN) else {
        return Ok(());
    };
    let origin = origin.as_bytes();
    let start = origin.windows(3).position(|part| part == b"://");
    let origin = start.and_then(|start| origin.get(start + 3..));
    let header = headers.get(HOST).map(HeaderValue::as_bytes);
    let own = header.or_else(|| uri.authority().map(|own| own.as_str().as_bytes()));
    match (origin, own) {
        (Some(origin), Some(own)) if origin.eq_ignore_ascii_case(own) => Ok(()),
        _ => Err(foreign_page()),
    }
}

pub(super) fn foreign_page() -> Problem {
    let detail = "a web page of another origin sent this request";
    let next = "call this server from a program, which sends neither Origin nor Sec-Fetch-Site";
    Problem::new(Kind::FOREIGN_PAGE, detail, next)
}

fn foreign_host(host: &[u8]) -> Problem {
    const SHOWN_LEN_MAX: usize = 100;
    let shown: String = host
        .escape_ascii()
        .take(SHOWN_LEN_MAX)
        .map(char::from)
        .collect();
    let detail = format!("the Host of this request, \"{shown}\", is not a name of this server");
    let next = "use localhost or 127.0.0.1, or list the name in allowed-hosts";
    Problem::new(Kind::FOREIGN_HOST, detail, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn a_server_on_loopback_is_called_by_its_own_names() {
        let check = |listens: &str, allowed: &[String], host: &'static str, is_let_in: bool| {
            let hosts = Hosts::new(listens.parse().unwrap(), allowed);
            let checked = hosts.check(&Uri::from_static("/"), &headers(&[("host", host)]));
            assert_eq!(checked.is_ok(), is_let_in, "{listens} {host}");
        };
        let allowed = ["ids.example".to_owned()];
        for loopback in ["127.0.0.1:80", "[::1]:80", "127.0.0.9:80"] {
            for own in [
                "127.0.0.1:8080",
                "localhost:1",
                "LocalHost",
                "a.localhost",
                "localhost.",
                "[::1]:1",
                "[::1]",
                "127.9.9.9",
                "",
                "[::ffff:127.0.0.1]:1",
            ] {
                check(loopback, &[], own, true);
                check(loopback, &allowed, own, true);
            }
            for other in [
                "evil.example",
                "evil.example:8080",
                "127.0.0.1.evil.example",
                "10.1.2.3",
                "x",
                "localhost.evil.example",
                "[2001:db8::1]:80",
                "localhost:80@evil",
                "0.0.0.0",
            ] {
                check(loopback, &[], other, false);
                check(loopback, &allowed, other, false);
            }
            check(loopback, &[], "ids.example:8080", false);
            check(loopback, &allowed, "IDS.example:8080", true);
        }
        check("0.0.0.0:80", &[], "any.name", true);
        check("10.1.2.3:80", &[], "any.name", true);
        check("0.0.0.0:80", &allowed, "any.name", false);
        let hosts = Hosts::new("127.0.0.1:80".parse().unwrap(), &[]);
        let target = Uri::from_static("http://evil.example/");
        assert!(
            hosts
                .check(&target, &headers(&[("host", "localhost")]))
                .is_err()
        );
        assert!(hosts.check(&Uri::from_static("/"), &headers(&[])).is_ok());
    }

    #[test]
    fn foreign_pages_are_refused_and_programs_are_not() {
        let check = |pairs: &[(&'static str, &'static str)], is_let_in: bool| {
            let checked = check_csrf(&Uri::from_static("/"), &headers(pairs));
            assert_eq!(checked.is_ok(), is_let_in, "{pairs:?}");
        };
        let host = ("host", "ids.example:8080");
        check(&[host], true);
        check(&[host, ("sec-fetch-site", "none")], true);
        check(
            &[
                host,
                ("sec-fetch-site", "same-origin"),
                ("origin", "http://other"),
            ],
            true,
        );
        check(&[host, ("sec-fetch-site", "same-site")], false);
        check(&[host, ("sec-fetch-site", "cross-site")], false);
        check(&[host, ("sec-fetch-site", "")], false);
        check(&[host, ("origin", "http://ids.example:8080")], true);
        check(&[host, ("origin", "https://IDS.example:8080")], true);
        check(&[host, ("origin", "http://ids.example")], false);
        check(&[host, ("origin", "http://evil.example:8080")], false);
        check(&[host, ("origin", "null")], false);
        check(&[host, ("origin", "")], false);
        check(&[("origin", "http://ids.example")], false);
    }

    /// Guards the names of the headers in the advice, which are those that browsers send.
    #[test]
    fn the_advice_to_a_foreign_page_names_its_headers() {
        let pairs = [("sec-fetch-site", "cross-site")];
        let refused = check_csrf(&Uri::from_static("/"), &headers(&pairs)).unwrap_err();
        let next = "call this server from a program, which sends neither Origin nor Sec-Fetch-Site";
        assert!(format!("{refused:?}").contains(next), "{refused:?}");
    }
}
