//! The stores against real databases.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "everything here serves a test"
)]

#[cfg(all(feature = "sqlite", feature = "mysql", feature = "postgres"))]
mod audit;
#[cfg(all(feature = "mysql", feature = "postgres"))]
mod availability;
#[cfg(all(feature = "sqlite", feature = "mysql"))]
mod baidu;
#[cfg(all(feature = "sqlite", feature = "mysql", feature = "postgres"))]
mod connect;
#[cfg(all(feature = "mysql", feature = "postgres"))]
mod durability;
#[cfg(feature = "etcd")]
mod etcd;
#[cfg(all(feature = "mysql", feature = "postgres"))]
mod faults;
mod fuzz;
#[cfg(feature = "mysql")]
mod galera;
#[cfg(feature = "mysql")]
mod gear_key;
mod journal;
#[cfg(all(feature = "sqlite", feature = "mysql", feature = "postgres"))]
mod leases;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(all(feature = "sqlite", feature = "mysql", feature = "postgres"))]
mod pgbouncer;
#[cfg(all(feature = "mysql", feature = "postgres"))]
mod pool;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(any(feature = "redis", feature = "etcd"))]
mod registries;
#[cfg(all(feature = "sqlite", feature = "mysql", feature = "postgres"))]
mod row_reads;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(all(feature = "sqlite", feature = "mysql", feature = "postgres"))]
mod tag_kinds;
#[cfg(all(feature = "mysql", feature = "postgres", feature = "redis"))]
mod tls;
#[cfg(all(feature = "sqlite", feature = "mysql", feature = "postgres"))]
mod unfit_schema;
#[cfg(all(feature = "sqlite", feature = "mysql", feature = "postgres"))]
mod upgrade;
#[cfg(all(feature = "mysql", feature = "postgres"))]
mod values;
#[cfg(feature = "redis")]
mod worker_id_reuse;
#[cfg(feature = "zookeeper")]
mod zookeeper;

use std::future::Future;
use std::sync::Arc;

use leafid::store::conformance::{ByHand, Handles, run_all};
use leafid::store::lease_conformance::{self, LeaseHandles};
use leafid::store::{Reserve, SegmentStore, TagSpec};
use leafid::{Limit, Segment, Tag};
use leafid_stores::{StoreOptions, StoreUrl, open};
use sqlx::Connection as _;
use tokio::runtime::Runtime;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

/// Runs the conformance suite; `fresh` returns the URL of a store that is ready and empty.
fn check_conforms<F>(fresh: impl Fn() -> F)
where
    F: Future<Output = String> + Send,
{
    let runtime = runtime();
    let passed = run_all(
        |future| runtime.block_on(future),
        || {
            let url = fresh();
            async {
                let url = url.await;
                Handles {
                    first: open_at(&url).await,
                    second: open_at(&url).await,
                    by_hand: Some(rows_by_hand(url)),
                }
            }
        },
    );
    passed.unwrap();
}

/// Creates rows past the store.
fn rows_by_hand(url: String) -> ByHand {
    Arc::new(move |tag, max_id| {
        let url = url.clone();
        Box::pin(async move {
            let values = format!("VALUES ('{tag}', {max_id}, 1000)");
            sql_at(
                &url,
                format!("INSERT INTO leaf_alloc (biz_tag, max_id, step) {values}"),
            )
            .await;
        })
    })
}

/// Runs SQL past the store, whichever database it is.
async fn sql_at(url: &str, statements: String) {
    let raw = |statements| sqlx::raw_sql(sqlx::AssertSqlSafe(statements));
    match url.split_once(':') {
        #[cfg(feature = "sqlite")]
        Some(("sqlite", path)) => {
            let file = rusqlite::Connection::open(path).unwrap();
            file.execute_batch(&statements).unwrap();
        }
        #[cfg(feature = "mysql")]
        Some(("mysql", _)) => {
            let mut server = sqlx::MySqlConnection::connect(url).await.unwrap();
            raw(statements).execute(&mut server).await.unwrap();
        }
        #[cfg(feature = "postgres")]
        Some(("postgres", _)) => {
            let options: sqlx::postgres::PgConnectOptions = url.parse().unwrap();
            // PgBouncer refuses it.
            let options = options.extra_float_digits(None);
            let mut server = sqlx::PgConnection::connect_with(&options).await.unwrap();
            raw(statements).execute(&mut server).await.unwrap();
        }
        _ => panic!("no database"),
    }
}

/// Runs the suite of registries, and then servers on one, fifty at once among them; `fresh` returns
/// a registry that is ready and empty.
fn check_leases_conform<F>(fresh: impl Fn() -> F)
where
    F: Future<Output = LeaseHandles> + Send,
{
    let runtime = runtime();
    let passed = lease_conformance::run_all(|future| runtime.block_on(future), &fresh);
    passed.unwrap();
    let passed = lease_conformance::run_claims(|future| runtime.block_on(future), &fresh);
    passed.unwrap();
}

fn url_of(text: &str) -> StoreUrl {
    text.parse().unwrap()
}

async fn open_at(text: &str) -> Arc<dyn SegmentStore> {
    open_with(text, StoreOptions::default()).await
}

async fn open_with(text: &str, options: StoreOptions) -> Arc<dyn SegmentStore> {
    open(&url_of(text), &options).await.unwrap()
}

/// For a database that is weak, or one of a list whose servers do not replicate.
fn allowing_weak() -> StoreOptions {
    StoreOptions::default().with_allow_weak(true)
}

fn tag(name: &str) -> Tag {
    Tag::new(name).unwrap()
}

fn wish(name: &str, count: u64) -> Reserve {
    Reserve {
        tag: tag(name),
        count,
        floor: None,
        margin: 0,
        limit: Limit::INT64,
        is_longest: false,
    }
}

async fn create(store: &dyn SegmentStore, name: &str) {
    store.create(&TagSpec::new(tag(name))).await.unwrap();
}

async fn take(store: &dyn SegmentStore, name: &str, count: u64) -> Segment {
    store.reserve(&wish(name, count)).await.unwrap().segment
}

/// The text of an error with its sources.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

/// Fails if two segments overlap.
fn check_disjoint(mut segments: Vec<Segment>) {
    segments.sort_by_key(Segment::start);
    for pair in segments.windows(2) {
        assert!(
            pair[0].end() <= pair[1].start(),
            "{} and {} overlap",
            pair[0],
            pair[1]
        );
    }
}
