//! URLs of database servers: lists of them, their options, and how they are shown.

#[cfg(feature = "_sqlx")]
use std::str::FromStr;

use ::url::Url;

#[cfg(feature = "mysql")]
use super::Place;
use super::{UrlError, is_scheme};

#[cfg(feature = "mysql")]
const MYSQL_OPTIONS: &[&str] = &[
    "ssl-mode", "sslmode", "ssl-ca", "sslca", "ssl-cert", "sslcert", "ssl-key", "sslkey", "socket",
    "table", "zone",
];

#[cfg(feature = "postgres")]
const POSTGRES_OPTIONS: &[&str] = &[
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "host",
    "application_name",
    "options",
];

#[cfg(feature = "_dial")]
const TLS_OPTIONS: &[&str] = &["ssl-ca", "ssl-cert", "ssl-key"];

#[cfg(feature = "mysql")]
pub(super) fn mysql(text: &str, scheme: &str) -> Result<Place, UrlError> {
    let mut servers = servers(text, scheme, &["mysql", "mariadb"], MYSQL_OPTIONS)?;
    check_each::<sqlx::mysql::MySqlConnectOptions>(&servers, scheme)?;
    let bad = |reason: String| UrlError::BadOption {
        scheme: scheme.to_owned(),
        reason,
    };
    let named: Vec<_> = servers.iter_mut().map(take_table).collect();
    let is_mixed = named.windows(2).any(|two| two[0] != two[1]);
    match named.into_iter().next().unwrap_or_default() {
        _ if is_mixed => Err(bad("table and zone must be alike for all servers".into())),
        (None, None) => Ok(Place::Mysql(servers)),
        (None, Some(_)) => Err(bad("zone needs table=gear_key".into())),
        (Some(table), _) if table != "gear_key" => {
            let known = "the one table besides Leaf's is gear_key";
            Err(bad(format!("table is {table:?}: {known}")))
        }
        (_, Some(zone)) if !crate::gear_key::is_zone(&zone) => {
            let wanted = "name a time zone such as Asia/Shanghai or +08:00";
            Err(bad(format!("zone is {zone:?}: {wanted}")))
        }
        (Some(_), zone) => Ok(Place::GearKey { servers, zone }),
    }
}

/// Takes the options `table` and `zone` out of a URL, which the driver does not know.
#[cfg(feature = "mysql")]
fn take_table(server: &mut Url) -> (Option<String>, Option<String>) {
    let (mut table, mut zone) = (None, None);
    let mut left = Vec::new();
    for (name, value) in server.query_pairs() {
        match &*name {
            "table" => table = Some(value.into_owned()),
            // A plus means a space in a URL.
            "zone" => zone = Some(value.replace(' ', "+")),
            _ => left.push((name.into_owned(), value.into_owned())),
        }
    }
    if table.is_some() || zone.is_some() {
        server.set_query(None);
        if !left.is_empty() {
            server.query_pairs_mut().extend_pairs(left);
        }
    }
    (table, zone)
}

#[cfg(feature = "postgres")]
pub(super) fn postgres(text: &str, scheme: &str) -> Result<Vec<Url>, UrlError> {
    let servers = servers(text, scheme, &["postgres", "postgresql"], POSTGRES_OPTIONS)?;
    check_each::<sqlx::postgres::PgConnectOptions>(&servers, scheme)?;
    Ok(servers)
}

/// Why neither several servers nor Sentinels can be named.
#[cfg(feature = "redis")]
const ONE_PRIMARY: &str = "name one server, the primary: lists and Sentinel are refused, because \
    a promoted replica may lack acknowledged leases; if one server is not enough, keep worker ids \
    in etcd, ZooKeeper or a database";

/// For a URL that names Sentinels.
#[cfg(feature = "redis")]
pub(super) fn no_sentinel() -> UrlError {
    not_a_url("redis", ONE_PRIMARY)
}

/// One server: replicas of Redis lag, so none may stand in for another.
#[cfg(feature = "redis")]
pub(super) fn redis(text: &str, scheme: &str) -> Result<Url, UrlError> {
    let mut servers = with_tls_options(text, scheme, "rediss")?;
    let bad = |reason: &str| Err(not_a_url(scheme, reason));
    let (Some(server), true) = (servers.pop(), servers.is_empty()) else {
        return bad(ONE_PRIMARY);
    };
    let number = server.path().trim_matches('/');
    if !number.is_empty() && number.parse::<u32>().is_err() {
        return bad("the database is a number, such as 0");
    }
    Ok(server)
}

#[cfg(feature = "etcd")]
pub(super) fn etcd(text: &str, scheme: &str) -> Result<Vec<Url>, UrlError> {
    let servers = with_tls_options(text, scheme, "etcd+https")?;
    let has_path = |server: &Url| !server.path().trim_matches('/').is_empty();
    if servers.iter().any(has_path) {
        return Err(not_a_url(scheme, "nothing after the port has a meaning"));
    }
    Ok(servers)
}

/// Parses a list of servers with TLS options; the scheme says whether TLS is used.
#[cfg(feature = "_dial")]
fn with_tls_options(text: &str, scheme: &str, over_tls: &str) -> Result<Vec<Url>, UrlError> {
    let servers = servers(text, scheme, &[scheme], TLS_OPTIONS)?;
    for server in &servers {
        let has = |option| server.query_pairs().any(|(name, _)| name == option);
        let reason = if server.host_str().is_none_or(str::is_empty) {
            "it names no host".to_owned()
        } else if scheme != over_tls && server.query().is_some() {
            format!("certificates are for {over_tls}://")
        } else if has("ssl-cert") != has("ssl-key") {
            "ssl-cert and ssl-key need each other".to_owned()
        } else {
            continue;
        };
        return Err(not_a_url(scheme, reason));
    }
    Ok(servers)
}

/// The servers without passwords and options.
#[cfg(any(feature = "_sqlx", feature = "etcd"))]
pub(super) fn public_list(servers: &[Url]) -> String {
    servers.iter().map(public).collect::<Vec<_>>().join(",")
}

fn servers(
    text: &str,
    scheme: &str,
    schemes: &[&str],
    options: &[&str],
) -> Result<Vec<Url>, UrlError> {
    let mut servers = Vec::new();
    for part in split_list(text) {
        if !schemes
            .iter()
            .any(|known| part.split("://").next() == Some(known))
        {
            return Err(UrlError::Mixed {
                first: scheme.to_owned(),
            });
        }
        for one in split_hosts(part) {
            servers.push(server(&one, scheme, options)?);
        }
    }
    Ok(servers)
}

/// Cuts at each comma after which another URL begins; a password may have commas too.
fn split_list(text: &str) -> Vec<&str> {
    let is_start = |at: &usize| {
        text[at + 1..]
            .split_once("://")
            .is_some_and(|(scheme, _)| is_scheme(scheme.trim_start()))
    };
    let mut parts = Vec::new();
    let mut start = 0;
    for at in text.match_indices(',').map(|(at, _)| at).filter(is_start) {
        parts.push(text[start..at].trim());
        start = at + 1;
    }
    parts.push(text[start..].trim());
    parts
}

/// `scheme://user@a:1,b:2/x` into one URL for each host.
fn split_hosts(text: &str) -> Vec<String> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return vec![text.to_owned()];
    };
    let (authority, tail) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (user, hosts) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
    hosts
        .split(',')
        .map(|host| format!("{scheme}://{user}{}{tail}", host.trim()))
        .collect()
}

fn server(text: &str, scheme: &str, options: &[&str]) -> Result<Url, UrlError> {
    let url = Url::parse(text).map_err(|error| not_a_url(scheme, error.to_string()))?;
    if url.fragment().is_some() {
        return Err(not_a_url(scheme, "a # must be written %23"));
    }
    let unknown = url
        .query_pairs()
        .find(|(name, _)| !options.contains(&&**name));
    if let Some((option, _)) = unknown {
        let option = option.into_owned();
        return Err(UrlError::UnknownOption {
            scheme: scheme.to_owned(),
            option,
            known: options.join(", "),
        });
    }
    Ok(url)
}

fn not_a_url(scheme: &str, reason: impl Into<String>) -> UrlError {
    UrlError::NotAUrl {
        scheme: scheme.to_owned(),
        reason: reason.into(),
    }
}

#[cfg(feature = "_sqlx")]
fn check_each<T: FromStr<Err = sqlx::Error>>(
    servers: &[Url],
    scheme: &str,
) -> Result<(), UrlError> {
    for server in servers {
        if server.path().trim_matches('/').is_empty() {
            return Err(UrlError::NoDatabase {
                scheme: scheme.to_owned(),
            });
        }
        server
            .as_str()
            .parse::<T>()
            .map(drop)
            .map_err(|error| UrlError::BadOption {
                scheme: scheme.to_owned(),
                reason: error.to_string(),
            })?;
    }
    Ok(())
}

/// The sockets that lead to the servers.
#[cfg(feature = "mysql")]
pub(super) fn mysql_session(servers: &[Url]) -> Vec<String> {
    let options = servers.iter().filter_map(|server| {
        server
            .as_str()
            .parse::<sqlx::mysql::MySqlConnectOptions>()
            .ok()
    });
    let sockets = options.filter_map(|options| options.get_socket().cloned());
    sockets
        .map(|path| format!("socket {}", path.display()))
        .collect()
}

/// The sockets that lead to the servers, and the schemas that are chosen there.
#[cfg(feature = "postgres")]
pub(super) fn postgres_session(servers: &[Url]) -> Vec<String> {
    const PORT: u16 = 5432;
    let mut session = Vec::new();
    for server in servers {
        let Ok(options) = server.as_str().parse::<sqlx::postgres::PgConnectOptions>() else {
            continue;
        };
        let socket = options.get_socket();
        session.extend(socket.map(|path| format!("socket {}", path.display())));
        // An option overrides what comes before the path, and the last one the others. The
        // environment supplies what the URL leaves open.
        let shown = server.host_str().unwrap_or_default();
        if socket.is_none() && options.get_host() != shown.trim_matches(['[', ']']) {
            session.push(format!("host {}", options.get_host()));
        }
        if server.port().is_none() && options.get_port() != PORT {
            session.push(format!("port {}", options.get_port()));
        }
        if server.username().is_empty() {
            session.push(format!("user {}", options.get_username()));
        }
        session.extend(options.get_options().map(|text| format!("options {text}")));
    }
    session
}

/// The option that chooses the table `gear_key`.
#[cfg(feature = "mysql")]
pub(crate) const GEAR_KEY_OPTION: &str = "?table=gear_key";

/// A server without password and options.
pub(crate) fn public(server: &Url) -> String {
    let mut shown = server.clone();
    // Both only fail for URLs without a host, which have no password either.
    let _ = shown.set_password(None);
    shown.set_query(None);
    shown.to_string()
}
