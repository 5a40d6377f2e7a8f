//! Passwords in store URLs: added where one is missing, and removed from everything shown.

use super::percent::percent_encoded;

/// A store URL as it is shown to people: with `***` in place of a password.
///
/// # Example
///
/// ```
/// let shown = leafid_server::without_password("mysql://leaf:hunter2@db:3306/leaf");
/// assert_eq!(shown, "mysql://leaf:***@db:3306/leaf");
/// ```
#[must_use]
pub fn without_password(url: &str) -> String {
    let shown = without_user_password(url);
    let Some((url, query)) = shown.split_once('?') else {
        return shown;
    };
    let pairs: Vec<String> = query.split('&').map(without_value).collect();
    format!("{url}?{}", pairs.join("&"))
}

/// Works on text, so that nothing leaks from a malformed URL. The password is taken to be
/// everything between the first `:` after `//` and the last `@`; without an `@`, everything after a
/// `:` that is not followed by a port; and everything in parentheses, where Connector/J accepts one.
fn without_user_password(url: &str) -> String {
    let start = url.find("://").map_or(0, |at| at + 3);
    if url.starts_with("sqlite:") {
        return url.to_owned();
    }
    if let Some(open) = url.find('(') {
        return format!("{}(***)", without_user_password(&url[..open]));
    }
    let Some(end) = url.rfind('@').filter(|end| *end >= start) else {
        return without_odd_colon(url);
    };
    let rest = without_odd_colon(&url[end..]);
    match url[start..end].find(':') {
        Some(colon) => format!("{}:***{rest}", &url[..start + colon]),
        None => format!("{}{rest}", &url[..end]),
    }
}

/// Cuts a list of URLs without an `@` at the first colon that is not followed by a port.
fn without_odd_colon(urls: &str) -> String {
    let starts = urls.match_indices("://").map(|(at, _)| at + 3);
    let mut colons = starts.filter_map(|start| Some(start + odd_colon(&urls[start..])?));
    match colons.next() {
        Some(colon) => format!("{}:***", &urls[..colon]),
        None => urls.to_owned(),
    }
}

/// The first colon in a list of hosts that is not followed by a port.
fn odd_colon(hosts: &str) -> Option<usize> {
    let hosts = &hosts[..hosts.find(['/', '?']).unwrap_or(hosts.len())];
    let starts = hosts.match_indices(',').map(|(at, _)| at + 1);
    let colons = std::iter::once(0).chain(starts).filter_map(|start| {
        let host = &hosts[start..];
        // Colons in an IPv6 address belong to it.
        let named = host
            .find(']')
            .filter(|_| host.starts_with('['))
            .unwrap_or(0);
        let colon = named + host[named..].find([':', ','])?;
        let rest = host[colon..].strip_prefix(':')?;
        let port = &rest[..rest.find(',').unwrap_or(rest.len())];
        let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
        (!is_port).then_some(start + colon)
    });
    colons.min()
}

/// Drivers accept a password as a parameter, too.
fn without_value(pair: &str) -> String {
    match pair.split_once('=') {
        Some((key, _)) if key.to_lowercase().contains("pass") => format!("{key}=***"),
        _ => pair.to_owned(),
    }
}

/// Adds the password to the URL of a database server that has none. Works on text, because URL
/// parsers do not accept a list of hosts.
pub(super) fn put_password(url: &mut String, password: &str) {
    let Some((scheme, rest)) = url.split_once("://") else {
        return;
    };
    let place = rest.find(['/', '?']).unwrap_or(rest.len());
    let (user, hosts) = match rest[..place].rfind('@') {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => ("", rest),
    };
    if scheme != "sqlite" && !user.contains(':') {
        *url = format!("{scheme}://{user}:{}@{hosts}", percent_encoded(password));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_shown(url: &str, expected: &str) {
        assert_eq!(without_password(url), expected);
    }

    #[test]
    fn no_password_is_shown() {
        check_shown("mysql://u:p@h/d", "mysql://u:***@h/d");
        check_shown("mysql://u:p@q@h/d", "mysql://u:***@h/d");
        check_shown("mysql://u:p:q/r@h/d", "mysql://u:***@h/d");
        check_shown("mysql://u:p?q@h/d", "mysql://u:***@h/d");
        check_shown("mysql://u@h/d", "mysql://u@h/d");
        check_shown("mysql://:p@h/d", "mysql://:***@h/d");
        check_shown("mysql:u:p@h/d", "mysql:***@h/d");
        check_shown("mysql://u:p h/d", "mysql://u:***");
        check_shown("mysql://h:1,u:p/d", "mysql://h:1,u:***");
        check_shown("mysql://h:1,[::1]:2/d", "mysql://h:1,[::1]:2/d");
        check_shown("mysql://[::1]/d?a=b:c", "mysql://[::1]/d?a=b:c");
        check_shown("mysql://[::1]:p/d", "mysql://[::1]:***");
        check_shown(
            "jdbc:mysql://address=(host=h)(password=p)/d",
            "jdbc:mysql://address=(***)",
        );
        check_shown("mysql://u:p@(host=h,password=q)/d", "mysql://u:***@(***)");
        check_shown(
            "mysql://u@h/d,mysql://u:p h/d",
            "mysql://u@h/d,mysql://u:***",
        );
        check_shown(
            "mysql://h:1/d,mysql://u:p h/d",
            "mysql://h:1/d,mysql://u:***",
        );
        check_shown(
            "mysql://u:p@h:1/d,mysql://h:2/d",
            "mysql://u:***@h:1/d,mysql://h:2/d",
        );
        check_shown("sqlite:C:/ids (new).db", "sqlite:C:/ids (new).db");
        check_shown("sqlite:ids.db", "sqlite:ids.db");
        check_shown(
            "postgres://h/d?user=u&password=p&sslmode=require",
            "postgres://h/d?user=u&password=***&sslmode=require",
        );
    }

    #[test]
    fn a_password_goes_into_urls_without_one() {
        let put = |url: &str| {
            let mut url = url.to_owned();
            put_password(&mut url, "s3cret/with@odd:chars%#?");
            url
        };
        assert_eq!(
            put("mysql://leaf@db:3306/leaf"),
            "mysql://leaf:s3cret%2Fwith%40odd%3Achars%25%23%3F@db:3306/leaf"
        );
        assert_eq!(put("mysql://leaf:own@db/leaf"), "mysql://leaf:own@db/leaf");
        let put_short = |url: &str| {
            let mut url = url.to_owned();
            put_password(&mut url, "p");
            url
        };
        assert_eq!(put_short("sqlite:ids.db"), "sqlite:ids.db");
        assert_eq!(put_short("sqlite:///ids.db"), "sqlite:///ids.db");
        assert_eq!(put_short("mysql://u@a:1,b:2/x"), "mysql://u:p@a:1,b:2/x");
        assert_eq!(put_short("mysql://a/x?y=@"), "mysql://:p@a/x?y=@");
    }
}
