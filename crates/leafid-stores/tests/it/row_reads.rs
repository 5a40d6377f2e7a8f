//! Reads of one row of a registry in a database: slow, beside many other calls, and from an address
//! that moved. `redis.rs`, `etcd.rs` and `zookeeper/faults.rs` have the same for theirs.

use leafid_testbed::{MariaDb, Postgres, shared_mariadb, shared_postgres};

use crate::leases::initialised;
use crate::registries::{check_moved_address, check_reads_beside_others, check_slow_reads};

#[tokio::test]
async fn databases_answer_late() {
    let (mariadb, postgres) = (shared_mariadb(), shared_postgres());
    let (left, right) = (mariadb.create_database(), postgres.create_database());
    initialised(left.clone()).await;
    initialised(right.clone()).await;
    tokio::join!(
        check_slow_reads(|port| mariadb.url_at(port, &left.name), mariadb.port(), 1),
        check_slow_reads(
            |port| postgres.url_at(port, &right.name),
            postgres.port(),
            3
        ),
    );
}

#[tokio::test]
async fn an_address_of_a_database_that_moved_is_noticed() {
    let (mariadb, postgres) = (shared_mariadb(), shared_postgres());
    let (other_mariadb, other_postgres) = (MariaDb::start(), Postgres::start());
    let (left, right) = (mariadb.create_database(), postgres.create_database());
    for database in [
        other_mariadb.create_database_named(&left.name),
        other_postgres.create_database_named(&right.name),
        left.clone(),
        right.clone(),
    ] {
        initialised(database).await;
    }
    tokio::join!(
        check_moved_address(
            |port| mariadb.url_at(port, &left.name),
            mariadb.port(),
            other_mariadb.port(),
        ),
        check_moved_address(
            |port| postgres.url_at(port, &right.name),
            postgres.port(),
            other_postgres.port(),
        ),
    );
}

#[tokio::test]
async fn the_row_is_read_beside_many_other_calls() {
    let (mariadb, postgres) = (shared_mariadb(), shared_postgres());
    let (left, right) = (mariadb.create_database(), postgres.create_database());
    initialised(left.clone()).await;
    initialised(right.clone()).await;
    tokio::join!(
        check_reads_beside_others(|port| mariadb.url_at(port, &left.name), mariadb.port()),
        check_reads_beside_others(|port| postgres.url_at(port, &right.name), postgres.port()),
    );
}
