//! How long one durable reservation takes in each store, one after the other on one connection.
//!
//! `cargo run --release -p leafid-stores --example reserve_latency`
#![allow(clippy::print_stdout, reason = "the figures are the purpose")]

use std::error::Error;
use std::time::Duration;

use leafid::store::{Reserve, TagSpec};
use leafid::{Clock, Limit, SystemClock, Tag};
use leafid_stores::{StoreOptions, init, open};
use leafid_testbed::{shared_mariadb, shared_postgres};

const ROUNDS: usize = 1000;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir_in(".")?;
    println!(
        "{:<10} {:>9} {:>9} {:>9} {:>9}",
        "store", "open us", "p50 us", "p99 us", "max us"
    );
    measure(
        "sqlite",
        &format!("sqlite:{}/leafid.db", folder.path().display()),
    )
    .await?;
    measure("mariadb", &shared_mariadb().create_database().url).await?;
    measure("postgres", &shared_postgres().create_database().url).await
}

async fn measure(name: &str, url: &str) -> Result<(), Box<dyn Error>> {
    let (url, options) = (url.parse()?, StoreOptions::default());
    init(&url, &options).await?;
    let tag = Tag::new("order")?;
    let clock = SystemClock::new();
    let started = clock.now();
    let store = open(&url, &options).await?;
    store.create(&TagSpec::new(tag.clone())).await?;
    let opened = clock.now().saturating_sub(started);
    let mut reserve = Reserve {
        tag,
        count: 1000,
        floor: None,
        margin: 0,
        limit: Limit::INT64,
        is_longest: false,
    };
    let mut times: Vec<Duration> = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let started = clock.now();
        reserve.floor = Some(store.reserve(&reserve).await?.segment.end());
        times.push(clock.now().saturating_sub(started));
    }
    times.sort();
    let [p50, p99, max] =
        [ROUNDS / 2, ROUNDS * 99 / 100, ROUNDS - 1].map(|rank| times[rank].as_micros());
    println!(
        "{name:<10} {:>9} {p50:>9} {p99:>9} {max:>9}",
        opened.as_micros()
    );
    Ok(())
}
