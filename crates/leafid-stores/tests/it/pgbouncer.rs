//! PostgreSQL behind PgBouncer, which assigns a connection for one transaction at a time.

use leafid_stores::{StoreOptions, init};
use leafid_testbed::{PgBouncer, Postgres};

use crate::{check_conforms, check_disjoint, create, leases, open_at, take, url_of};

/// A server whose own default loses commits in a crash, and a pooler before it.
fn pooled() -> (Postgres, PgBouncer) {
    let server = Postgres::start_with(&["max_connections=300", "synchronous_commit=off"]);
    let pooler = PgBouncer::before(&server);
    (server, pooler)
}

fn fresh(server: &Postgres, pooler: &PgBouncer) -> String {
    server.url_at(pooler.port(), &server.create_database().name)
}

/// Guards the contract: no start-up parameter is refused, and no statement is confused with another
/// program's on the pooler's few connections.
#[test]
fn segments_conform_behind_pgbouncer() {
    let (server, pooler) = pooled();
    check_conforms(|| {
        let url = fresh(&server, &pooler);
        async move {
            init(&url_of(&url), &StoreOptions::default()).await.unwrap();
            url
        }
    });
}

/// Guards the same for worker ids.
#[test]
fn leases_conform_behind_pgbouncer() {
    let (server, pooler) = pooled();
    leases::check_conforms(|| fresh(&server, &pooler));
}

/// Guards that an answer means that the commit is on disk, although session settings do not pass
/// the pooler; and that nothing of ours stays on connections that others use.
#[tokio::test(flavor = "multi_thread")]
async fn durability_is_asked_for_in_each_transaction() {
    let (server, pooler) = pooled();
    let url = fresh(&server, &pooler);
    init(&url_of(&url), &StoreOptions::default()).await.unwrap();
    let stores = [open_at(&url).await, open_at(&url).await];
    create(&*stores[0], "order").await;
    let callers: Vec<_> = (0..16)
        .map(|caller: usize| {
            let store = stores[caller % 2].clone();
            tokio::spawn(async move {
                let mut segments = Vec::new();
                for _ in 0..20 {
                    segments.push(take(&*store, "order", 3).await);
                    assert!(store.probe().await.is_ok());
                    let report = store.inspect().await.unwrap();
                    assert_eq!(report.weaknesses, []);
                }
                segments
            })
        })
        .collect();
    let mut all = Vec::new();
    for caller in callers {
        all.extend(caller.await.unwrap());
    }
    check_disjoint(all);
    let mut other = <sqlx::PgConnection as sqlx::Connection>::connect_with(
        &url.parse::<sqlx::postgres::PgConnectOptions>()
            .unwrap()
            .extra_float_digits(None),
    )
    .await
    .unwrap();
    let row = sqlx::raw_sql("SHOW synchronous_commit").fetch_one(&mut other);
    let value: String = sqlx::Row::try_get(&row.await.unwrap(), 0).unwrap();
    assert_eq!(value, "off", "the server's own default");
}
