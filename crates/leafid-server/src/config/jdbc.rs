//! JDBC URLs of MySQL, as store URLs: one for each host of a fail-over list.

use url::Url;

use super::password::without_password;
use super::percent::percent_encoded;

/// The store URLs that a JDBC URL and its credentials stand for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoreUrls {
    /// Store URLs, in the order of the hosts.
    pub(super) urls: Vec<String>,
    /// Parameters of the JDBC driver that have no effect here.
    pub(super) ignored: Vec<String>,
}

/// User and password, from the file's own keys.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Credentials<'a> {
    pub(super) user: Option<&'a str>,
    pub(super) password: Option<&'a str>,
}

const PREFIXES: [&str; 2] = ["jdbc:mysql://", "jdbc:mariadb://"];

/// Turns `jdbc:mysql://host:port/database?useSSL=false` into `mysql://...`.
pub(super) fn store_urls(jdbc: &str, credentials: Credentials<'_>) -> Result<StoreUrls, String> {
    let shown = without_password(jdbc);
    let rest = PREFIXES.iter().find_map(|prefix| jdbc.strip_prefix(prefix));
    let rest = rest
        .ok_or_else(|| format!("\"{shown}\" is not of the form jdbc:mysql://host:port/database"))?;
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (hosts, database) = place.split_once('/').unwrap_or((place, ""));
    if database.is_empty() {
        return Err(format!("\"{shown}\" names no database"));
    }
    let parameters = parameters(query);
    let credentials = Credentials {
        user: credentials.user.or(find(&parameters, "user")),
        password: credentials.password.or(find(&parameters, "password")),
    };
    let tls = tls(&parameters);
    let urls: Option<Vec<_>> = hosts
        .split(',')
        .map(|host| store_url(host, database, credentials, tls))
        .collect();
    Ok(StoreUrls {
        urls: urls.ok_or_else(|| format!("\"{shown}\" has no valid host and port"))?,
        ignored: ignored(&parameters),
    })
}

/// Names and values, percent-decoded.
fn parameters(query: &str) -> Vec<(String, String)> {
    // The JDBC driver reads `+` as a plus sign, this parser as a space.
    let query = query.replace('+', "%2B");
    url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

fn find<'a>(parameters: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let mut all = parameters.iter();
    let (_, value) = all.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(value)
}

/// The `ssl-mode` that the parameters about TLS stand for. Source: MySQL Connector/J, "Connecting Securely Using
/// SSL"; `sslMode` wins over the older three.
fn tls(parameters: &[(String, String)]) -> Option<&'static str> {
    let is = |name: &str| find(parameters, name).map(|value| value.eq_ignore_ascii_case("true"));
    if let Some(mode) = find(parameters, "sslMode") {
        return match mode.to_uppercase().as_str() {
            "DISABLED" | "DISABLE" => Some("DISABLED"),
            "PREFERRED" => Some("PREFERRED"),
            "REQUIRED" | "TRUST" => Some("REQUIRED"),
            "VERIFY_CA" | "VERIFY-CA" => Some("VERIFY_CA"),
            _ => Some("VERIFY_IDENTITY"),
        };
    }
    match (
        is("useSSL"),
        is("verifyServerCertificate"),
        is("requireSSL"),
    ) {
        (Some(false), _, _) => Some("DISABLED"),
        (_, Some(true), _) => Some("VERIFY_CA"),
        (_, _, Some(true)) => Some("REQUIRED"),
        (Some(true), _, _) => Some("PREFERRED"),
        _ => None,
    }
}

fn store_url(
    host: &str,
    database: &str,
    credentials: Credentials<'_>,
    tls: Option<&str>,
) -> Option<String> {
    let is_plain = !host.is_empty() && !host.contains(['@', '(', ')', '/', '=']);
    let mut url = Url::parse(&format!("mysql://{host}/"))
        .ok()
        .filter(|_| is_plain)?;
    url.set_path(database);
    let user = credentials.user.map(percent_encoded).unwrap_or_default();
    let password = credentials.password.filter(|text| !text.is_empty());
    url.set_username(&user).ok()?;
    url.set_password(password.map(percent_encoded).as_deref())
        .ok()?;
    if let Some(mode) = tls {
        url.query_pairs_mut().append_pair("ssl-mode", mode);
    }
    Some(url.into())
}

/// Parameters with an effect here, in lower case.
const USED: [&str; 6] = [
    "user",
    "password",
    "sslmode",
    "usessl",
    "requiressl",
    "verifyservercertificate",
];

fn ignored(parameters: &[(String, String)]) -> Vec<String> {
    let names = parameters.iter().map(|(name, _)| name);
    names
        .filter(|name| !USED.contains(&name.to_lowercase().as_str()))
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Credentials<'_> = Credentials {
        user: Some("root"),
        password: Some("p@ss:w/rd%#?"),
    };

    fn check(jdbc: &str, expected: &[&str]) {
        assert_eq!(store_urls(jdbc, ROOT).unwrap().urls, expected, "{jdbc}");
    }

    #[test]
    fn hosts_credentials_and_tls_are_kept() {
        let secret = "root:p%40ss%3Aw%2Frd%25%23%3F";
        let plain = format!("mysql://{secret}@db:3306/leaf");
        check("jdbc:mysql://db:3306/leaf", &[&plain]);
        check("jdbc:mariadb://db:3306/leaf", &[&plain]);
        check("jdbc:mysql://db:3306/leaf?useUnicode=true", &[&plain]);
        let tls = |mode: &str| format!("{plain}?ssl-mode={mode}");
        check(
            "jdbc:mysql://db:3306/leaf?useSSL=false",
            &[&tls("DISABLED")],
        );
        check(
            "jdbc:mysql://db:3306/leaf?useSSL=true",
            &[&tls("PREFERRED")],
        );
        check(
            "jdbc:mysql://db:3306/leaf?useSSL=true&requireSSL=true",
            &[&tls("REQUIRED")],
        );
        check(
            "jdbc:mysql://db:3306/leaf?useSSL=true&verifyServerCertificate=true",
            &[&tls("VERIFY_CA")],
        );
        check(
            "jdbc:mysql://db:3306/leaf?sslMode=VERIFY_IDENTITY&useSSL=false",
            &[&tls("VERIFY_IDENTITY")],
        );
        check(
            "jdbc:mysql://a,b:3307/leaf",
            &[
                &format!("mysql://{secret}@a/leaf"),
                &format!("mysql://{secret}@b:3307/leaf"),
            ],
        );
    }

    #[test]
    fn credentials_may_stand_in_the_url() {
        let jdbc = "jdbc:mysql://db/leaf?user=u&password=p%2Bq+r&serverTimezone=UTC";
        let found = store_urls(jdbc, Credentials::default()).unwrap();
        assert_eq!(found.urls, ["mysql://u:p%2Bq%2Br@db/leaf"]);
        assert_eq!(found.ignored, ["serverTimezone"]);
    }

    #[test]
    fn what_cannot_be_mapped_is_refused_without_showing_a_password() {
        for jdbc in [
            "jdbc:oracle:thin:@db:1521/leaf",
            "jdbc:mysql://db:3306",
            "jdbc:mysql://db:3306/?password=hunter2",
            "jdbc:mysql:loadbalance://a,b/leaf",
            "jdbc:mysql://address=(host=a)(port=1)/leaf",
            "jdbc:mysql://u:hunter2@db/leaf",
            "",
        ] {
            let problem = store_urls(jdbc, ROOT).unwrap_err();
            assert!(!problem.contains("hunter2"), "{problem}");
        }
    }
}
