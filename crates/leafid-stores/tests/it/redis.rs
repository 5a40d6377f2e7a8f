//! Redis as a registry of worker ids.

use leafid::ErrorKind;
use leafid::store::StoreError;
use leafid_stores::{LeaseOptions, StoreOptions, init, open, open_leases};
use leafid_testbed::{Redis, shared_redis};

use crate::registries::{
    check_error, check_hanging, check_large_numbers, check_leases_conform, check_misconfigured,
    check_moved_address, check_pools_are_apart, check_restart, check_slow_reads,
    check_unknown_outcome, claim, leases_at, new_pool,
};
use crate::{chain, url_of};

#[test]
fn redis_leases_conform() {
    check_leases_conform(&shared_redis().url());
}

#[tokio::test]
async fn redis_keeps_pools_apart() {
    check_pools_are_apart(&shared_redis().create_database().url).await;
}

#[tokio::test]
async fn redis_numbers_are_exact() {
    check_large_numbers(&shared_redis().url()).await;
}

#[tokio::test]
async fn redis_outcome_unknown() {
    let server = shared_redis();
    // One reply to the login, then that to the script.
    check_unknown_outcome(|port| server.url_at(port), server.port(), 1).await;
}

#[tokio::test]
async fn redis_hanging() {
    let server = Redis::start();
    check_hanging(&server.url(), || server.pause(), || server.resume()).await;
}

#[tokio::test]
async fn redis_answers_late() {
    let server = shared_redis();
    check_slow_reads(|port| server.url_at(port), server.port(), 1).await;
}

#[tokio::test]
async fn an_address_of_redis_that_moved_is_noticed() {
    let (server, other) = (Redis::start(), Redis::start());
    check_moved_address(|port| server.url_at(port), server.port(), other.port()).await;
}

#[tokio::test]
async fn redis_restarted() {
    let server = Redis::start();
    check_restart(&server.url(), || server.kill(), || server.start_again()).await;
}

#[tokio::test]
async fn redis_errors_are_readable() {
    let server = shared_redis();
    let port = server.port();
    let hidden = leafid_testbed::free_port();
    let cases = [
        (
            format!("redis://:s3cret@127.0.0.1:{port}"),
            "user or password is wrong",
        ),
        (
            format!("redis://u:s3cret@127.0.0.1:{port}"),
            "user or password is wrong",
        ),
        (format!("redis://127.0.0.1:{port}"), "wants a password"),
        (format!("redis://127.0.0.1:{hidden}"), "no connection"),
        (
            format!("rediss://:s3cret@127.0.0.1:{port}"),
            "no connection",
        ),
        (
            server.url_at(port).replace("/0", "/4000000"),
            "out of range",
        ),
    ];
    for (url, expected) in cases {
        let kind = check_error(&url, expected).await;
        let is_wrong = expected != "no connection";
        assert_eq!(kind == ErrorKind::Misconfigured, is_wrong, "{expected}");
    }
}

/// Guards that a user needs only the permissions in the docs, and that a missing one is named.
#[tokio::test]
async fn redis_user_with_few_rights() {
    let server = Redis::start();
    let rights = [
        "+eval", "+info", "+get", "+set", "+hget", "+hset", "+hgetall", "+time", "+select",
    ];
    let mut set = vec!["ACL", "SETUSER", "few", "on", ">s3cret", "~leafid:*"];
    set.extend(rights);
    server.command(&set);
    let url = format!("redis://few:s3cret@127.0.0.1:{}/1", server.port());
    let leases = leases_at(&url, &new_pool()).await;
    assert!(leases.swap(&claim(0)).await.unwrap());
    assert_eq!(leases.leases().await.unwrap(), [claim(0).record]);
    assert_eq!(leases.bind("leaf").await.unwrap(), "leaf");
    assert!(leases.clock_ms().await.unwrap().is_some());
    // It may not read the settings, which is reported.
    let report = leases.inspect().await.unwrap();
    let unknown: Vec<_> = report
        .weaknesses
        .iter()
        .map(|weakness| weakness.setting.as_str())
        .collect();
    assert_eq!(unknown, ["appendfsync", "no-appendfsync-on-rewrite"]);
    assert!(report.weaknesses[0].value.contains("unknown"), "{report:?}");

    server.command(&["ACL", "SETUSER", "few", "-hset"]);
    check_misconfigured(&url, "lacks a permission").await;
}

async fn weaknesses(server: &Redis) -> Vec<String> {
    let report = leases_at(&server.url(), &new_pool())
        .await
        .inspect()
        .await
        .unwrap();
    assert!(report.product.starts_with("Redis "), "{report:?}");
    assert!(!report.identity.is_empty(), "{report:?}");
    report
        .weaknesses
        .into_iter()
        .map(|weakness| weakness.setting)
        .collect()
}

/// Guards that settings which lose acknowledged leases are named, and safe ones are not.
#[tokio::test]
async fn redis_weak_settings_are_named() {
    let server = Redis::start();
    assert!(weaknesses(&server).await.is_empty());
    for (setting, value) in [
        ("appendonly", "no"),
        ("maxmemory-policy", "allkeys-lru"),
        ("appendfsync", "everysec"),
        ("no-appendfsync-on-rewrite", "yes"),
    ] {
        server.command(&["CONFIG", "SET", setting, value]);
    }
    let wanted = [
        "appendonly",
        "maxmemory-policy",
        "appendfsync",
        "no-appendfsync-on-rewrite",
    ];
    assert_eq!(weaknesses(&server).await, wanted);
}

/// Guards that a replica is refused for reads and writes, even one that takes writes.
#[tokio::test]
async fn redis_replica_is_refused() {
    let server = Redis::start();
    let leases = leases_at(&server.url(), &new_pool()).await;
    assert!(leases.swap(&claim(0)).await.unwrap());
    let nobody = leafid_testbed::free_port().to_string();
    server.command(&["REPLICAOF", "127.0.0.1", &nobody]);
    for read_only in ["yes", "no"] {
        server.command(&["CONFIG", "SET", "replica-read-only", read_only]);
        check_error(&server.url(), "name the primary").await;
        let error = leases.leases().await.unwrap_err();
        assert!(
            error.to_string().contains("name the primary"),
            "{}",
            chain(&error)
        );
    }
    assert_eq!(weaknesses(&server).await, ["role"]);
    server.command(&["REPLICAOF", "NO", "ONE"]);
    assert!(leases.swap(&claim(1)).await.unwrap());
}

/// Guards that a replica which could be promoted is named with what to do, and that a Sentinel,
/// which knows none of our commands, is distinguished from a failing server.
#[tokio::test]
async fn redis_replicas_and_sentinels_are_named() {
    let (server, replica) = (Redis::start(), Redis::start());
    replica.command(&["CONFIG", "SET", "masterauth", server.passwords()[0]]);
    let port = server.port().to_string();
    replica.command(&["REPLICAOF", "127.0.0.1", &port]);
    for _ in 0..3000 {
        if server
            .command(&["INFO", "replication"])
            .contains("connected_slaves:1")
        {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let report = leases_at(&server.url(), &new_pool()).await.inspect().await;
    let weaknesses = report.unwrap().weaknesses;
    let text = weaknesses.first().map(ToString::to_string).unwrap();
    assert!(text.contains("REPLICAOF NO ONE on each replica"), "{text}");

    let sentinel = Redis::start_with(&["--rename-command", "EVAL", ""]);
    check_misconfigured(&sentinel.url(), "as a Sentinel does").await;
}

/// Guards that a damaged row is named and not overwritten by a caller that did not see it.
#[tokio::test]
async fn redis_damaged_row() {
    let server = Redis::start();
    server.command(&["HSET", "leafid:{p}:workers", "4", "{}"]);
    let leases = leases_at(&server.url(), "p").await;
    let error = leases.leases().await.unwrap_err();
    assert!(matches!(error, StoreError::BadRow { .. }), "{error:?}");
    assert!(error.to_string().contains("\"4\" is damaged"), "{error}");
    assert!(!matches!(leases.swap(&claim(4)).await, Ok(true)));
}

/// Guards that Redis is refused as a store of segments, and that a pool's name is checked.
#[tokio::test]
async fn redis_keeps_no_segments() {
    let url = url_of("redis://:s3cret@h");
    let options = StoreOptions::default();
    for error in [
        open(&url, &options).await.err(),
        init(&url, &options).await.err(),
    ] {
        let text = error.unwrap().to_string();
        assert!(
            text.starts_with("redis is known as a registry of worker ids only"),
            "{text}"
        );
    }
    for pool in ["", "a b", "a}", "a/b", &"a".repeat(65)] {
        let error = open_leases(&url, &LeaseOptions::new(pool), &options)
            .await
            .err()
            .unwrap();
        assert!(error.to_string().contains("cannot be named"), "{error}");
    }
}
