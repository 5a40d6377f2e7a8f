//! `Ensemble`: the URL of ZooKeeper: its servers, a chroot, and a user.

use std::fmt;

use percent_encoding::percent_decode_str;

use super::UrlError;

const PORT: &str = "2181";

/// The servers of one ZooKeeper, in the form its own clients use.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Ensemble {
    /// `HOST:PORT` of each.
    pub(crate) servers: Vec<String>,
    /// The path that stands for `/`: empty, or a path with `/` at its front only.
    pub(crate) chroot: String,
    pub(crate) user: Option<User>,
}

/// Our user, in ZooKeeper's `digest` scheme.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) password: String,
}

impl Ensemble {
    /// Parses `zookeeper://USER:PASSWORD@HOST:PORT,HOST:PORT/CHROOT`.
    pub(super) fn parse(text: &str) -> Result<Self, UrlError> {
        let rest = text.strip_prefix("zookeeper://");
        let rest = rest.ok_or_else(|| bad("// must follow the scheme"))?;
        if let Some(odd) = rest.find(['?', '#']) {
            let odd = &rest[odd..=odd];
            return Err(bad(&format!("no {odd} has a meaning in it")));
        }
        // A comma or slash in a password is percent-encoded.
        let (authority, chroot) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user, hosts) = match authority.rsplit_once('@') {
            Some((user, hosts)) => (Some(parse_user(user)?), hosts),
            None => (None, authority),
        };
        let servers: Result<_, _> = hosts.split(',').map(parse_server).collect();
        Ok(Self {
            servers: servers?,
            chroot: parse_chroot(chroot)?,
            user,
        })
    }
}

fn bad(reason: &str) -> UrlError {
    UrlError::NotAnEnsemble {
        reason: reason.to_owned(),
    }
}

fn parse_user(text: &str) -> Result<User, UrlError> {
    let decode = |text: &str| match percent_decode_str(text).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err(bad("the user is not UTF-8")),
    };
    match text.split_once(':') {
        Some((name, password)) if !name.is_empty() => Ok(User {
            name: decode(name)?,
            password: decode(password)?,
        }),
        _ => Err(bad("a user comes with a name and a password")),
    }
}

/// With the default port if there is none. An IPv6 address is in square brackets.
fn parse_server(text: &str) -> Result<String, UrlError> {
    let text = text.trim();
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port),
        _ => (text, PORT),
    };
    if port.parse::<u16>().is_ok_and(|port| port > 0) && is_host(host) {
        return Ok(format!("{host}:{port}"));
    }
    Err(bad("each server is HOST:PORT"))
}

fn is_host(text: &str) -> bool {
    let inner = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    let is_known = |c: char| c.is_ascii_alphanumeric() || "-._%".contains(c);
    match inner {
        Some(inner) => !inner.is_empty() && inner.chars().all(|c| is_known(c) || c == ':'),
        None => !text.is_empty() && text.chars().all(is_known),
    }
}

fn parse_chroot(text: &str) -> Result<String, UrlError> {
    let parts = text.trim_matches('/');
    if parts.is_empty() {
        return Ok(String::new());
    }
    if parts.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(bad("the path has an empty part, . or .."));
    }
    Ok(format!("/{parts}"))
}

impl fmt::Display for Ensemble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("zookeeper://")?;
        if let Some(user) = &self.user {
            write!(f, "{}@", user.name)?;
        }
        write!(f, "{}{}", self.servers.join(","), self.chroot)
    }
}
