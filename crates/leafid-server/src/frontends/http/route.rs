//! `Route`: the kinds of path, for the router, for the metrics, and for the fast path of the routes
//! that issue ids.

use crate::named::named;

named! {
    /// A kind of path, as the router and the metrics write it.
    pub(crate) enum Route, by path {
        SegmentGet "/api/segment/get/{key}"
        SnowflakeGet "/api/snowflake/get/{key}"
        Cache "/cache"
        Db "/db"
        Decode "/decodeSnowflakeId"
        Ids "/v1/tags/{tag}/ids"
        Ranges "/v1/tags/{tag}/ranges"
        Tags "/v1/tags"
        Tag "/v1/tags/{tag}"
        DecodeId "/v1/decode/{id}"
        GearGetId "/getId"
        Worker "/v1/worker"
        Workers "/v1/workers"
        WorkerRelease "/v1/workers/{id}/release"
        Clock "/v1/clock"
        ClockAccept "/v1/clock/accept"
        Quotas "/v1/quotas"
        ServerQuota "/v1/quotas/server"
        TagQuota "/v1/quotas/tags/{tag}"
        TokenQuota "/v1/quotas/tokens/{name}"
        Audit "/v1/audit"
        Livez "/livez"
        Readyz "/readyz"
        Metrics "/metrics"
        OpenApi "/openapi.json"
        Console "/console"
        Other "other"
    }
}

impl Route {
    /// The route that the router matched.
    pub(crate) fn of_matched(path: &str) -> Self {
        if path == "/" || path.starts_with(Self::Console.path()) {
            return Self::Console;
        }
        let found = Self::ALL.into_iter().find(|route| route.path() == path);
        found.unwrap_or(Self::Other)
    }

    /// The route of any path, with the tag in it, still encoded.
    pub(super) fn of_path(path: &str) -> Option<(Self, Option<&str>)> {
        if let Some((route, tag)) = Self::issuing(path) {
            return Some((route, Some(tag)));
        }
        let len = path.split('/').count();
        Self::ALL.into_iter().find_map(|route| {
            let mut tag = None;
            let is_alike = |(pattern, part)| {
                if matches!(pattern, "{tag}" | "{key}") {
                    tag = Some(part);
                }
                pattern == part || pattern.starts_with('{')
            };
            let parts = route.path().split('/');
            let is_found = parts.clone().count() == len && parts.zip(path.split('/')).all(is_alike);
            is_found.then_some((route, tag))
        })
    }

    /// Whether its answer may be long, and is made for each caller.
    pub(crate) const fn is_list(self) -> bool {
        matches!(
            self,
            Self::Tags
                | Self::Cache
                | Self::Db
                | Self::Workers
                | Self::Quotas
                | Self::Audit
                | Self::Console
        )
    }

    /// Whether it is one of Leaf's, so that errors are answered as Leaf does.
    pub(crate) const fn is_leafs(self) -> bool {
        matches!(
            self,
            Self::SegmentGet | Self::SnowflakeGet | Self::Cache | Self::Db | Self::Decode
        )
    }

    /// Whether its query has no parameters. Others check theirs themselves, or pass any over.
    pub(super) fn takes_no_parameters(self) -> bool {
        let has_some = matches!(self, Self::Tags | Self::DecodeId | Self::Audit);
        self.path().starts_with("/v1/") && !has_some
    }

    /// Whether it issues ids, whatever the method.
    pub(crate) const fn issues(self) -> bool {
        matches!(
            self,
            Self::SegmentGet | Self::SnowflakeGet | Self::Ids | Self::Ranges | Self::GearGetId
        )
    }

    /// The route of a path that issues ids, with the tag in it, still encoded. Leaf's routes may
    /// have a trailing slash or an empty tag, as Spring accepts them.
    pub(crate) fn issuing(path: &str) -> Option<(Self, &str)> {
        let (route, name) = if let Some(rest) = path.strip_prefix("/v1/tags/") {
            let (route, name) = match rest.strip_suffix("/ids") {
                Some(name) => (Self::Ids, name),
                None => (Self::Ranges, rest.strip_suffix("/ranges")?),
            };
            (route, (!name.is_empty()).then_some(name)?)
        } else if let Some(rest) = path.strip_prefix("/api/segment/get") {
            (Self::SegmentGet, key(rest)?)
        } else {
            let rest = path.strip_prefix("/api/snowflake/get")?;
            (Self::SnowflakeGet, key(rest)?)
        };
        (!name.contains('/')).then_some((route, name))
    }
}

fn key(rest: &str) -> Option<&str> {
    match rest.strip_prefix('/') {
        Some(key) => Some(key.strip_suffix('/').unwrap_or(key)),
        None => rest.is_empty().then_some(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_routes() {
        let check = |path: &str, expected| assert_eq!(Route::of_path(path), expected, "{path}");
        check("/v1/tags/a/ids", Some((Route::Ids, Some("a"))));
        check("/v1/tags/a", Some((Route::Tag, Some("a"))));
        check("/v1/tags", Some((Route::Tags, None)));
        check("/v1/quotas/tags/a", Some((Route::TagQuota, Some("a"))));
        check("/v1/workers/7/release", Some((Route::WorkerRelease, None)));
        check("/metrics", Some((Route::Metrics, None)));
        check("/v1/tags/a/b/c", None);
        check("other", Some((Route::Other, None)));
        check("/", None);
    }

    #[test]
    fn issuing_paths_are_told_from_others() {
        let check = |path: &str, expected| assert_eq!(Route::issuing(path), expected, "{path}");
        check("/api/segment/get/order", Some((Route::SegmentGet, "order")));
        check(
            "/api/segment/get/order/",
            Some((Route::SegmentGet, "order")),
        );
        check("/api/segment/get/", Some((Route::SegmentGet, "")));
        check("/api/segment/get", Some((Route::SegmentGet, "")));
        check("/api/segment/get/a/b", None);
        check("/api/segment/gettest", None);
        check("/api/snowflake/get/x", Some((Route::SnowflakeGet, "x")));
        check("/v1/tags/a%2Fb/ids", Some((Route::Ids, "a%2Fb")));
        check("/v1/tags/a/ranges", Some((Route::Ranges, "a")));
        check("/v1/tags/ids", None);
        check("/v1/tags/ranges", None);
        check("/v1/tags//ranges", None);
        check("/v1/tags//ids", None);
        check("/v1/tags/a/b/ids", None);
        check("/v1/tags/a/ids/", None);
        check("/", None);
    }

    #[test]
    fn matched_paths_lead_back_to_their_routes() {
        for route in Route::ALL {
            assert_eq!(Route::of_matched(route.path()), route);
        }
    }
}
