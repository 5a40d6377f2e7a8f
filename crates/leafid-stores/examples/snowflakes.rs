//! Snowflake ids, with a worker id that is leased from a SQLite file.
#![expect(clippy::print_stdout, reason = "an example shows its ids")]

use std::time::Duration;

use leafid::{Layout, WorkerRegistry};
use leafid_stores::{FileJournal, LeaseOptions, StoreOptions, open_leases};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = "sqlite:ids.db".parse()?;
    let pool = LeaseOptions::new("default");
    let leases = open_leases(&url, &pool, &StoreOptions::default()).await?;
    let (registry, driver) = WorkerRegistry::builder()
        .store(leases)
        .journal(FileJournal::open("worker.journal")?) // a restart goes on with its worker id
        .build();
    tokio::spawn(driver);

    let snowflake = registry.snowflake();
    let trace = snowflake.next().await?;
    println!(
        "trace {trace}, made by worker {}",
        Layout::LEAF.decompose(trace.get()).worker
    );
    let batch: Vec<_> = snowflake.next_many(1000).await?.collect();
    println!("{} more, the last is {:?}", batch.len(), batch.last());

    println!("{}", registry.close(Duration::from_secs(5)).await);
    Ok(())
}

#[cfg(test)]
mod support;

#[cfg(test)]
mod tests {
    use super::support::{Example, check_shown};

    /// Guards that ids are made, and that the worker id is given back.
    #[test]
    fn it_runs() {
        let Some(mut example) = Example::start("tests::it_runs", super::main, &[]) else {
            return;
        };
        assert_eq!(example.read("made by worker "), "0");
        assert_eq!(example.read("worker id 0 "), "was given back");
        example.finish();
    }

    /// Guards that what the docs show is what runs.
    #[test]
    fn it_is_shown() {
        check_shown(include_str!("snowflakes.rs"), "docs/library.md");
    }
}
