//! A service without a server, for tests of the front ends.

use std::sync::Arc;

use leafid::format::FormatCompiler;
use leafid::store::{MemoryStore, SegmentStore, TagSettings};
use leafid::{Clock, Driver, Generators, Options, SystemClock};
use leafid_formats::{Families, Formats};

use super::{Audit, Service};
use crate::config::{Config, Limits, TokenSpec};
use crate::service::health::{Health, Kinds, Phase};
use crate::service::regressions::Regressions;

impl Service {
    /// On a store in memory, with segments of a million ids; tags are created on first use. Its
    /// driver has to be spawned.
    pub(crate) fn in_memory(tokens: Vec<TokenSpec>, limits: Limits) -> (Self, Driver) {
        let config = Config {
            tokens,
            ..Config::default()
        };
        let clock = Arc::new(SystemClock::new());
        Self::in_memory_on(clock, Arc::new(MemoryStore::new()), &config, limits)
    }

    /// The same, on a clock and a store of the test's own.
    pub(crate) fn in_memory_on(
        clock: Arc<dyn Clock>,
        store: Arc<dyn SegmentStore>,
        config: &Config,
        limits: Limits,
    ) -> (Self, Driver) {
        let settings = TagSettings {
            step: 1_000_000,
            ..TagSettings::default()
        };
        let formats = Formats::new().with_families(Families::new(Arc::clone(&clock)));
        let options = Options::default()
            .with_create_missing(config.create_tags.unwrap_or(true).then_some(settings))
            .with_tags_max(config.tags_max)
            .with_formats(Some(FormatCompiler::new(formats.clone())));
        let (generators, driver) =
            Generators::open_with(store, Arc::clone(&clock), Arc::new(()), options);
        let kinds = Kinds {
            segment: true,
            registry: None,
            row_looks: None,
        };
        let regressions = Arc::new(Regressions::new(Arc::clone(&clock)));
        let health = Health::new(kinds, generators.clone(), Arc::clone(&clock), regressions);
        health.enter(Phase::Serving);
        let (audit, _scribe) = Audit::new(String::new(), Arc::clone(&clock), None);
        let service = Self::new(
            (generators, formats),
            None,
            health,
            clock,
            audit,
            limits,
            config,
        );
        (service, driver)
    }
}
