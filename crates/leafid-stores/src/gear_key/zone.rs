//! The time zone of this machine, for dates of rows that have none.

use std::path::Path;

/// The name in `TZ`, or of the zone that `/etc/localtime` leads to; `UTC` if neither tells.
pub(super) fn of_machine() -> String {
    let variable = std::env::var("TZ").ok();
    let target = std::fs::canonicalize("/etc/localtime").ok();
    of(variable.as_deref(), target.as_deref())
}

fn of(variable: Option<&str>, target: Option<&Path>) -> String {
    let variable = variable.map(|name| name.trim_start_matches(':'));
    let linked = target.and_then(|path| Some(path.to_str()?.split_once("/zoneinfo/")?.1));
    let mut names = [variable, linked].into_iter().flatten();
    let named = names.find(|name| is_name(name));
    named.unwrap_or("UTC").to_owned()
}

/// Whether it may be the name of a zone, or an offset such as `+08:00`.
pub(crate) fn is_name(text: &str) -> bool {
    let is_known = |c: char| c.is_ascii_alphanumeric() || "/_-+:".contains(c);
    (1..=50).contains(&text.len()) && text.chars().all(is_known) && !text.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_comes_first_then_the_link() {
        let link = Some(Path::new("/usr/share/zoneinfo/Asia/Shanghai"));
        assert_eq!(of(Some(":America/New_York"), link), "America/New_York");
        assert_eq!(of(Some(""), link), "Asia/Shanghai");
        assert_eq!(of(Some("/etc/zone"), link), "Asia/Shanghai");
        assert_eq!(of(None, Some(Path::new("/etc/localtime"))), "UTC");
        assert_eq!(of(None, None), "UTC");
    }
}
