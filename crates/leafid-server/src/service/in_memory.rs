//! A service without a server, for tests of the front ends.

use std::sync::Arc;

use leafid::format::FormatCompiler;
use leafid::store::{MemoryStore, TagSettings};
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
        let settings = TagSettings {
            step: 1_000_000,
            ..TagSettings::default()
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let formats = Formats::new().with_families(Families::new(Arc::clone(&clock)));
        let options = Options::default()
            .with_create_missing(Some(settings))
            .with_formats(Some(FormatCompiler::new(formats.clone())));
        let store = Arc::new(MemoryStore::new());
        let (generators, driver) =
            Generators::open_with(store, Arc::clone(&clock), Arc::new(()), options);
        let kinds = Kinds {
            segment: true,
            registry: None,
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
            &config,
        );
        (service, driver)
    }
}
