//! Startup: waits for the store, checks its durability, then lets the driver fetch segments.
//!
//! The driver does not run before the store's settings were checked, so that no id is issued from a
//! store that could lose it.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use leafid::store::{StoreReport, StoreState};
use leafid::{Clock, Driver};

use crate::error::ServeError;
use crate::error::with_causes;
use crate::service::Service;
use crate::service::health::Phase;
use crate::worker_ids::unencrypted;

/// The pause before a store that was not reached is tried again; it doubles each time (back-off).
const CONTACT_RETRY_MIN: Duration = Duration::from_millis(100);
const CONTACT_RETRY_MAX: Duration = Duration::from_secs(5);
/// How often to check whether another server of the list is in use.
const OTHERS_INTERVAL: Duration = Duration::from_secs(2);

/// What the startup needs.
pub(crate) struct Startup {
    pub(crate) service: Arc<Service>,
    pub(crate) driver: Driver,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) allow_weak_store: bool,
}

impl Startup {
    /// Runs until the generators are stopped.
    ///
    /// # Errors
    ///
    /// [`ServeError::WeakStore`], [`ServeError::UnfitStore`].
    pub(crate) async fn run(self) -> Result<(), ServeError> {
        let (service, clock) = (&self.service, &*self.clock);
        let report = contact(service, clock).await?;
        let location = report.location.clone();
        check_durability(report, self.allow_weak_store)?;
        service.health().enter(Phase::Serving);
        tokio::select! {
            () = self.driver => Ok(()),
            never = name_others(service, clock, location), if self.allow_weak_store => match never {},
        }
    }
}

/// Waits until the store reports on itself; a store that was reached and cannot be used is not
/// waited for.
async fn contact(service: &Service, clock: &dyn Clock) -> Result<StoreReport, ServeError> {
    let mut retry = CONTACT_RETRY_MIN;
    let mut failures: u32 = 0;
    loop {
        match service.generators().inspect_store().await {
            Ok(report) => return Ok(report),
            Err(error) if !error.may_recover() => {
                return Err(ServeError::UnfitStore(Box::new(error)));
            }
            Err(error) => {
                if let Some(report) = error.weak_store().cloned() {
                    let report = Box::new(report);
                    return Err(ServeError::WeakStore { report });
                }
                failures = failures.saturating_add(1);
                service.health().store_not_reached(error.to_string());
                if failures.is_power_of_two() {
                    tracing::warn!(
                        error = with_causes(&error),
                        failures,
                        "the store cannot be reached; no id is issued until it is"
                    );
                }
            }
        }
        clock.sleep(retry).await;
        retry = (retry * 2).min(CONTACT_RETRY_MAX);
    }
}

/// Logs the allowed weaknesses of each server of the list that comes into use after the first.
async fn name_others(service: &Service, clock: &dyn Clock, first: String) -> Infallible {
    let mut known = BTreeSet::from([first]);
    loop {
        clock.sleep(OTHERS_INTERVAL).await;
        let location = match service.generators().store_state() {
            StoreState::Up {
                location: Some(location),
            } if !known.contains(&location) => location,
            _ => continue,
        };
        if let Ok(report) = service.generators().inspect_store().await {
            for weakness in &report.weaknesses {
                tracing::warn!(location = report.location, "weak store allowed: {weakness}");
            }
            known.insert(location);
            known.insert(report.location);
        }
    }
}

/// Refuses a weak store, unless it is allowed; then its weaknesses are logged.
fn check_durability(report: StoreReport, allow_weak_store: bool) -> Result<(), ServeError> {
    tracing::info!(
        product = report.product,
        location = report.location,
        connection = report.transport.as_ref().map(tracing::field::display),
        "store reached"
    );
    if let Some((transport, advice)) = unencrypted(&report) {
        tracing::warn!("the connection to the store is {transport}: {advice}");
    }
    if !report.missing.is_empty() {
        tracing::warn!(
            "the store was made by an older version, and has no {}: run `leafid store init --store \
            {}`",
            report.missing.join(", "),
            report.location
        );
    }
    if !report.weaknesses.is_empty() && !allow_weak_store {
        let report = Box::new(report);
        return Err(ServeError::WeakStore { report });
    }
    for weakness in &report.weaknesses {
        tracing::warn!("weak store allowed: {weakness}");
    }
    Ok(())
}
