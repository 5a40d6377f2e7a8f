//! `Route`: which door a path leads to, for metrics and for the two issuing routes that do not
//! take the way through the router.

/// A kind of path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    SegmentGet,
    SnowflakeGet,
    Cache,
    Db,
    Decode,
    Ids,
    Ranges,
    Tags,
    Tag,
    Livez,
    Readyz,
    Metrics,
    OpenApi,
    Other,
}

const SEGMENT: &str = "/api/segment/get";
const SNOWFLAKE: &str = "/api/snowflake/get";
const TAGS: &str = "/v1/tags";

impl Route {
    pub(crate) const ALL: [Self; 14] = [
        Self::SegmentGet,
        Self::SnowflakeGet,
        Self::Cache,
        Self::Db,
        Self::Decode,
        Self::Ids,
        Self::Ranges,
        Self::Tags,
        Self::Tag,
        Self::Livez,
        Self::Readyz,
        Self::Metrics,
        Self::OpenApi,
        Self::Other,
    ];

    /// The path as the router and the metrics write it.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::SegmentGet => "/api/segment/get/{key}",
            Self::SnowflakeGet => "/api/snowflake/get/{key}",
            Self::Cache => "/cache",
            Self::Db => "/db",
            Self::Decode => "/decodeSnowflakeId",
            Self::Ids => "/v1/tags/{tag}/ids",
            Self::Ranges => "/v1/tags/{tag}/ranges",
            Self::Tags => "/v1/tags",
            Self::Tag => "/v1/tags/{tag}",
            Self::Livez => "/livez",
            Self::Readyz => "/readyz",
            Self::Metrics => "/metrics",
            Self::OpenApi => "/openapi.json",
            Self::Other => "other",
        }
    }

    /// The route of a path, with the name in it, still encoded.
    pub(crate) fn of(path: &str) -> (Self, &str) {
        if let Some(name) = path.strip_prefix(SEGMENT) {
            return named(Self::SegmentGet, name);
        }
        if let Some(name) = path.strip_prefix(SNOWFLAKE) {
            return named(Self::SnowflakeGet, name);
        }
        if let Some(rest) = path.strip_prefix(TAGS) {
            return Self::of_tags(rest);
        }
        let plain = match path {
            "/cache" => Self::Cache,
            "/db" => Self::Db,
            "/decodeSnowflakeId" => Self::Decode,
            "/livez" => Self::Livez,
            "/readyz" => Self::Readyz,
            "/metrics" => Self::Metrics,
            "/openapi.json" => Self::OpenApi,
            _ => Self::Other,
        };
        (plain, "")
    }

    fn of_tags(rest: &str) -> (Self, &str) {
        let Some(rest) = rest.strip_prefix('/') else {
            let route = if rest.is_empty() {
                Self::Tags
            } else {
                Self::Other
            };
            return (route, "");
        };
        let (name, below) = rest.split_once('/').unwrap_or((rest, ""));
        let route = match below {
            _ if name.is_empty() => Self::Other,
            "" if rest.len() == name.len() => Self::Tag,
            "ids" => Self::Ids,
            "ranges" => Self::Ranges,
            _ => Self::Other,
        };
        (route, name)
    }
}

/// `/{key}`, also with a slash behind it or with an empty key, as Spring takes them.
fn named(route: Route, rest: &str) -> (Route, &str) {
    match rest.strip_prefix('/') {
        Some(name) => {
            let name = name.strip_suffix('/').unwrap_or(name);
            let is_one = !name.contains('/');
            if is_one {
                (route, name)
            } else {
                (Route::Other, "")
            }
        }
        None if rest.is_empty() => (route, ""),
        None => (Route::Other, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: Route, name: &str) {
        assert_eq!(Route::of(path), (expected, name), "{path}");
    }

    #[test]
    fn paths_lead_to_routes() {
        check("/api/segment/get/order", Route::SegmentGet, "order");
        check("/api/segment/get/order/", Route::SegmentGet, "order");
        check("/api/segment/get/", Route::SegmentGet, "");
        check("/api/segment/get", Route::SegmentGet, "");
        check("/api/segment/get/a/b", Route::Other, "");
        check("/api/segment/gettest", Route::Other, "");
        check("/api/snowflake/get/x", Route::SnowflakeGet, "x");
        check("/v1/tags", Route::Tags, "");
        check("/v1/tags/", Route::Other, "");
        check("/v1/tagsx", Route::Other, "");
        check("/v1/tags/a%2Fb", Route::Tag, "a%2Fb");
        check("/v1/tags/a/", Route::Other, "a");
        check("/v1/tags/a/ids", Route::Ids, "a");
        check("/v1/tags/a/ranges", Route::Ranges, "a");
        check("/v1/tags/a/ids/b", Route::Other, "a");
        check("/v1/tags//ids", Route::Other, "");
        check("/", Route::Other, "");
    }

    #[test]
    fn all_is_in_order() {
        for (index, route) in Route::ALL.into_iter().enumerate() {
            assert_eq!(route as usize, index);
        }
    }
}
