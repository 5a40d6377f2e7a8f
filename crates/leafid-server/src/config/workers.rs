//! `WorkerConfig`: the settings about snowflake ids and the worker id that they carry.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use leafid::{ClockPolicy, Layout, RegistryOptions, WorkerChoice, WorkerId};

/// The settings about snowflake ids and the worker id that they carry.
///
/// # Example
///
/// ```
/// let workers = leafid_server::Config::default().workers;
/// assert_eq!((workers.pool.as_str(), workers.layout.to_string()), ("default", "leaf".into()));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerConfig {
    /// URLs of the registry with their passwords, tried in order; if empty, where the store is;
    /// `none` alone means that there is none.
    pub registry: Vec<String>,
    /// The name of the group of servers that share worker ids.
    pub pool: String,
    /// Where the worker id comes from.
    pub id: WorkerIdSource,
    /// Where people and other servers reach this one; if empty, derived from `http`.
    pub address: String,
    /// Leaf's `leaf.snowflake.port`, which only its `leaf.properties` sets.
    pub leaf_port: Option<u16>,
    /// How an id divides its bits.
    pub layout: Layout,
    /// The shard of snowflake ids whose caller names none.
    pub shard: u32,
    /// What happens when the clock is behind.
    pub clock_policy: ClockPolicy,
    /// How far ids may run ahead of the clock.
    pub ahead_max: Duration,
    /// How long a worker id is leased ahead.
    pub lease: Duration,
    /// How recently the server must have read its own row in the registry.
    pub check_interval: Duration,
    /// How far the clock may differ from others when a worker id is claimed.
    pub clock_offset_max: Duration,
    /// How often the clocks are compared and the journal is written.
    pub step_interval: Duration,
    /// How far ahead of the clock the journal allows ids.
    pub journal_ahead: Duration,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        let options = RegistryOptions::default();
        Self {
            registry: Vec::new(),
            pool: "default".to_owned(),
            id: WorkerIdSource::Registry,
            address: String::new(),
            leaf_port: None,
            layout: options.snowflake.layout,
            shard: options.snowflake.shard,
            clock_policy: options.snowflake.policy,
            ahead_max: options.snowflake.ahead_max,
            lease: options.lease,
            check_interval: options.check_interval,
            clock_offset_max: options.clock_offset_max,
            step_interval: options.step_interval,
            journal_ahead: options.journal_ahead,
        }
    }
}

/// Where the worker id comes from.
///
/// # Example
///
/// ```
/// use leafid_server::WorkerIdSource;
///
/// assert_eq!("7".parse(), Ok(WorkerIdSource::Fixed(7)));
/// assert_eq!(WorkerIdSource::Ordinal.to_string(), "ordinal");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerIdSource {
    /// Any one that is free in the registry.
    Registry,
    /// This number.
    Fixed(u32),
    /// The number after the last hyphen of `HOSTNAME`, which Kubernetes gives to the pods of a
    /// StatefulSet.
    Ordinal,
    /// A new one at each start from the table `WORKER_NODE` of Baidu's uid-generator.
    WorkerNode,
}

impl FromStr for WorkerIdSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Registry),
            "ordinal" => Ok(Self::Ordinal),
            "worker-node" => Ok(Self::WorkerNode),
            number => number
                .parse()
                .map(Self::Fixed)
                .map_err(|_| "neither a worker id nor the name of a source".to_owned()),
        }
    }
}

impl fmt::Display for WorkerIdSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry => f.write_str("auto"),
            Self::Fixed(number) => number.fmt(f),
            Self::Ordinal => f.write_str("ordinal"),
            Self::WorkerNode => f.write_str("worker-node"),
        }
    }
}

impl WorkerIdSource {
    /// Which worker id to claim on a machine of this name. One from a table is not known yet.
    ///
    /// # Errors
    ///
    /// A message that says what is missing, if the name does not end in a number.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{WorkerChoice, WorkerId};
    /// use leafid_server::WorkerIdSource;
    ///
    /// let choice = WorkerIdSource::Ordinal.choice(Some("leafid-3"));
    /// assert_eq!(choice, Ok(WorkerChoice::Exactly(WorkerId::new(3))));
    /// assert!(WorkerIdSource::Ordinal.choice(Some("laptop")).is_err());
    /// ```
    pub fn choice(self, hostname: Option<&str>) -> Result<WorkerChoice, String> {
        let number = match self {
            Self::Registry | Self::WorkerNode => return Ok(WorkerChoice::Any),
            Self::Fixed(number) => number,
            Self::Ordinal => ordinal(hostname)?,
        };
        Ok(WorkerChoice::Exactly(WorkerId::new(number)))
    }
}

fn ordinal(hostname: Option<&str>) -> Result<u32, String> {
    const NEXT: &str = "run as a StatefulSet, or set worker-id to a number or to auto";
    let Some(hostname) = hostname.filter(|name| !name.is_empty()) else {
        return Err(format!(
            "worker-id is ordinal, but the variable HOSTNAME is not set: {NEXT}"
        ));
    };
    let digits = hostname.rsplit_once('-').map(|(_, digits)| digits);
    let ordinal = digits
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|digits| digits.parse().ok());
    ordinal.ok_or_else(|| {
        format!(
            "worker-id is ordinal, but HOSTNAME is \"{hostname}\", which does not end in a hyphen \
             and a number: {NEXT}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(hostname: Option<&str>, expected: Result<u32, &str>) {
        let choice = WorkerIdSource::Ordinal.choice(hostname);
        match (choice, expected) {
            (Ok(choice), Ok(number)) => {
                let wanted = WorkerChoice::Exactly(WorkerId::new(number));
                assert_eq!(choice, wanted, "{hostname:?}");
            }
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (choice, _) => panic!("{hostname:?}: {choice:?}"),
        }
    }

    #[test]
    fn the_ordinal_is_behind_the_last_hyphen() {
        check(Some("leafid-0"), Ok(0));
        check(Some("my-leafid-17"), Ok(17));
        check(Some("leafid"), Err("\"leafid\", which does not end"));
        check(Some("leafid-"), Err("does not end"));
        check(Some("leafid-+1"), Err("does not end"));
        check(Some("leafid-1a"), Err("does not end"));
        check(Some("leafid-99999999999"), Err("does not end"));
        check(Some(""), Err("HOSTNAME is not set"));
        check(None, Err("HOSTNAME is not set"));
    }
}
