//! etcd as a registry of worker ids.

use std::time::Duration;

use leafid::ErrorKind;
use leafid_stores::StoreOptions;
use leafid_testbed::{Etcd, shared_etcd};
use serde_json::json;

use crate::registries::{
    check_error, check_hanging, check_large_numbers, check_leases_conform, check_misconfigured,
    check_moved_address, check_pools_are_apart, check_restart, check_slow_reads,
    check_unknown_outcome, claim, extend, leases_at, leases_with, new_pool,
};

#[test]
fn etcd_leases_conform() {
    check_leases_conform(&shared_etcd().url());
}

#[tokio::test]
async fn etcd_keeps_pools_apart() {
    check_pools_are_apart(&shared_etcd().url()).await;
}

#[tokio::test]
async fn etcd_numbers_are_exact() {
    check_large_numbers(&shared_etcd().url()).await;
}

#[tokio::test]
async fn etcd_outcome_unknown() {
    let server = shared_etcd();
    // One reply to the read, then that to the transaction.
    check_unknown_outcome(|port| server.url_at(port), server.port(), 1).await;
}

#[tokio::test]
async fn etcd_hanging() {
    let server = Etcd::start();
    check_hanging(&server.url(), || server.pause(), || server.resume()).await;
}

#[tokio::test]
async fn etcd_answers_late() {
    let server = shared_etcd();
    check_slow_reads(|port| server.url_at(port), server.port(), 1).await;
}

#[tokio::test]
async fn an_address_of_etcd_that_moved_is_noticed() {
    let (server, other) = (Etcd::start(), Etcd::start());
    check_moved_address(|port| server.url_at(port), server.port(), other.port()).await;
}

#[tokio::test]
async fn etcd_restarted() {
    let server = Etcd::start();
    check_restart(&server.url(), || server.kill(), || server.start_again()).await;
}

/// Guards authentication, and the error for a user without it.
#[tokio::test]
async fn etcd_with_password() {
    let server = Etcd::start_with_password();
    let leases = leases_at(&server.url(), &new_pool()).await;
    assert!(leases.swap(&claim(0)).await.unwrap());
    assert_eq!(leases.leases().await.unwrap(), [claim(0).record]);
    assert_eq!(leases.bind("leaf").await.unwrap(), "leaf");
    leases.inspect().await.unwrap();
    let port = server.port();
    let wrong = format!("etcd://leafid:s3cret@127.0.0.1:{port}");
    check_misconfigured(&wrong, "user or password is wrong").await;
    check_misconfigured(&format!("etcd://127.0.0.1:{port}"), "wants a user").await;
    let all_keys = json!({ "role": "leafid", "key": "AA==", "range_end": "AA==" });
    server.call("auth/role/revoke", &all_keys);
    check_misconfigured(&server.url(), "may not read and write the keys").await;
}

#[tokio::test]
async fn etcd_errors_are_readable() {
    let port = shared_etcd().port();
    let hidden = leafid_testbed::free_port();
    let user = format!("etcd://u:s3cret@127.0.0.1:{port}");
    check_misconfigured(&user, "leave user and password out").await;
    let kind = check_error(&format!("etcd://127.0.0.1:{hidden}"), "no connection").await;
    assert_eq!(kind, ErrorKind::StoreDown);
    let over_tls = format!("etcd+https://u:s3cret@127.0.0.1:{port}");
    check_error(&over_tls, "no connection").await;
    let closed = Etcd::start_with(&["--enable-grpc-gateway=false"]);
    check_misconfigured(&closed.url(), "no JSON gateway").await;
}

/// Guards that servers which are down or hang are skipped, each within its share of time.
#[tokio::test]
async fn etcd_fails_over() {
    let (hanging, server) = (Etcd::start(), shared_etcd());
    hanging.pause();
    let hidden = leafid_testbed::free_port();
    let list = format!(
        "etcd://127.0.0.1:{hidden},127.0.0.1:{},127.0.0.1:{}",
        hanging.port(),
        server.port()
    );
    let options = StoreOptions::default().with_statement_timeout(Duration::from_millis(1500));
    let leases = leases_with(&list, &new_pool(), &options).await;
    assert!(leases.swap(&claim(0)).await.unwrap());
    assert!(leases.swap(&extend(&claim(0))).await.unwrap());
    assert!(!leases.swap(&claim(0)).await.unwrap());
    let report = leases.inspect().await.unwrap();
    assert!(report.product.starts_with("etcd 3."), "{report:?}");
    assert!(report.weaknesses.is_empty(), "{report:?}");
    hanging.resume();
}
