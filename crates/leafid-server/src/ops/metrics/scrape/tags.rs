//! The metrics of tags, each with its own series up to a limit.

mod own;

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use leafid::{Status, Tag};
use prometheus_client::encoding::MetricEncoder;
use prometheus_client::metrics::MetricType;

use crate::ops::metrics::families::{Encoded, Families, count_of, to_float};
use crate::service::Service;

use own::OTHER;

pub(super) fn encode(
    service: &Service,
    own: &Mutex<BTreeSet<Tag>>,
    families: &mut Families<'_>,
) -> Encoded {
    let loaded = service.loaded_len() as u64;
    families.amount("tags_loaded", "tags in use", loaded)?;
    let (created, refused) = service.created_on_first_use();
    families.counter("tags_created", "tags created on first use", created)?;
    let help = "tags not created on first use, because there were too many";
    families.counter("tag_creations_refused", help, refused)?;
    let tags = seen_tags(service, own);
    for series in TAG_SERIES {
        let mut metric = families.family(series.name, series.help, series.kind())?;
        for seen in &tags {
            series.encode(seen, &mut metric)?;
        }
    }
    Ok(())
}

/// The tags with series of their own, and the sum of the others.
fn seen_tags(service: &Service, own: &Mutex<BTreeSet<Tag>>) -> Vec<SeenTag> {
    let mut own = own.lock().unwrap_or_else(PoisonError::into_inner);
    own::choose(&mut own, service.limits().metrics_tags_max, |visit| {
        service.for_each_status(visit);
    });
    let mut other = SeenTag::other();
    let mut tags = Vec::new();
    service.for_each_status(|status| {
        if own.contains(&status.tag) {
            tags.push(SeenTag::of(&status));
        } else {
            other.add(&status);
        }
    });
    tags.sort_by(|a, b| a.tag.cmp(&b.tag));
    if other.is_used {
        tags.push(other);
    }
    tags
}

/// The metrics of a tag, or of several together.
#[derive(Default)]
struct SeenTag {
    tag: String,
    is_used: bool,
    issued: u64,
    skipped: u64,
    remaining: u64,
    rate: f64,
    failures: u64,
    regressions: u64,
    /// The other metrics have no sensible sum: they are those of one tag.
    step: Option<u64>,
    cover: Option<Duration>,
    limit: Option<u64>,
    headroom: Option<u64>,
    headroom_days: Option<f64>,
}

/// How long a tag has to be in use before its cover is shown: its first segments are short, and
/// grow with what is measured.
const WARM_UP: Duration = Duration::from_secs(60);

const SECONDS_A_DAY: f64 = 86_400.0;

impl SeenTag {
    fn other() -> Self {
        Self {
            tag: OTHER.into(),
            ..Self::default()
        }
    }

    fn of(status: &Status) -> Self {
        let max_id = status.max_id.unwrap_or(1);
        let mut seen = Self {
            // The name itself, as in the API: labels have escaping rules of their own.
            tag: status.tag.as_str().to_owned(),
            step: Some(status.step),
            // Its segments are still short.
            cover: status.cover.filter(|_| status.in_use_for >= WARM_UP),
            limit: Some(status.limit.largest()),
            headroom: Some(status.limit.headroom(max_id)),
            headroom_days: status.headroom_days(max_id),
            ..Self::default()
        };
        seen.add(status);
        seen
    }

    fn add(&mut self, status: &Status) {
        self.is_used = true;
        self.issued += status.issued;
        self.skipped += status.skipped;
        self.remaining += status.remaining;
        self.rate += status.rate;
        self.failures += status.failures;
        self.regressions += status.regressions;
    }
}

/// A metric of each tag.
struct TagSeries {
    name: &'static str,
    help: &'static str,
    value: Value,
}

/// How a metric is read from a tag; a gauge that a tag does not have is left out.
enum Value {
    Counter(fn(&SeenTag) -> u64),
    Gauge(fn(&SeenTag) -> Option<f64>),
}

const TAG_SERIES: &[TagSeries] = &[
    TagSeries {
        name: "ids_issued",
        help: "ids issued by this process",
        value: Value::Counter(|tag| tag.issued),
    },
    TagSeries {
        name: "ids_skipped",
        help: "ids reserved that will never be issued",
        value: Value::Counter(|tag| tag.skipped),
    },
    TagSeries {
        name: "segment_remaining",
        help: "ids in memory",
        value: Value::Gauge(|tag| Some(to_float(tag.remaining))),
    },
    TagSeries {
        name: "segment_step",
        help: "length of the last segment",
        value: Value::Gauge(|tag| tag.step.map(to_float)),
    },
    TagSeries {
        name: "tag_rate",
        help: "measured rate, in ids per second",
        value: Value::Gauge(|tag| Some(tag.rate)),
    },
    TagSeries {
        name: "tag_cover_seconds",
        help: "how long the ids in memory last at the measured rate; absent in the first minute of use",
        value: Value::Gauge(|tag| tag.cover.map(|cover| cover.as_secs_f64())),
    },
    TagSeries {
        name: "tag_limit",
        help: "the largest number that the tag may issue",
        value: Value::Gauge(|tag| tag.limit.map(to_float)),
    },
    TagSeries {
        name: "tag_headroom",
        help: "numbers below the limit that are not in any segment yet",
        value: Value::Gauge(|tag| tag.headroom.map(to_float)),
    },
    TagSeries {
        name: "tag_headroom_seconds",
        help: "how long these numbers last at the measured rate of this process",
        value: Value::Gauge(|tag| tag.headroom_days.map(|days| days * SECONDS_A_DAY)),
    },
    TagSeries {
        name: "tag_store_failures",
        help: "calls to the store for the tag that failed",
        value: Value::Counter(|tag| tag.failures),
    },
    TagSeries {
        name: "tag_regressions",
        help: "how often the store was found to have gone back in time for the tag",
        value: Value::Counter(|tag| tag.regressions),
    },
];

impl TagSeries {
    const fn kind(&self) -> MetricType {
        match self.value {
            Value::Counter(_) => MetricType::Counter,
            Value::Gauge(_) => MetricType::Gauge,
        }
    }

    fn encode(&self, seen: &SeenTag, metric: &mut MetricEncoder<'_>) -> Encoded {
        let labels = [("tag", seen.tag.as_str())];
        match self.value {
            Value::Counter(read) => count_of(metric, &labels, read(seen)),
            Value::Gauge(read) => match read(seen) {
                Some(value) => metric.encode_family(&labels)?.encode_gauge(&value),
                None => Ok(()),
            },
        }
    }
}
