//! How URLs of stores are read, shown and refused.

use super::*;

fn check(text: &str, shown: &str) {
    let url: StoreUrl = text.parse().expect(text);
    assert_eq!(url.to_string(), shown, "{text}");
    assert!(!format!("{url:?}").contains("s3cret"), "{text}");
}

fn check_error(text: &str, part: &str) {
    let error = text.parse::<StoreUrl>().expect_err(text);
    let shown = format!("{error} {error:?}");
    assert!(shown.contains(part), "{text}: {shown}");
    assert!(!shown.contains("s3cret"), "{text}: {shown}");
}

#[test]
fn urls_are_read_and_shown_without_passwords() {
    check("sqlite:a/b.db", "sqlite:a/b.db");
    check("sqlite://a/b.db", "sqlite:a/b.db");
    check("sqlite:////a/b.db", "sqlite:////a/b.db");
    check("sqlite:///a/b%20c.db", "sqlite:/a/b%20c.db");
    check(
        "mysql://leaf:s3cret@db:3307/leaf",
        "mysql://leaf@db:3307/leaf",
    );
    check(
        "mariadb://leaf:pa%2Fs3cret@db/leaf?ssl-mode=required",
        "mariadb://leaf@db/leaf",
    );
    check(
        "mysql://u:s3cret@a/x,mariadb://v:s3cret@b/x",
        "mysql://u@a/x,mariadb://v@b/x",
    );
    check(
        "mysql://u:pa,s3cret@a:1,b:2/x",
        "mysql://u@a:1/x,mysql://u@b:2/x",
    );
    check(
        "postgresql://u:s3cret@[::1]:5/x?sslmode=require",
        "postgresql://u@[::1]:5/x",
    );
    check(
        "mysql://u:s3cret@a,b/x?ssl-mode=required&table=gear_key&zone=+08:00",
        "mysql://u@a/x?table=gear_key,mysql://u@b/x?table=gear_key",
    );
    check("redis://:s3cret@h:6380/3", "redis://h:6380/3");
    check("rediss://u:s3cret@[::1]?ssl-ca=ca.pem", "rediss://u@[::1]");
    check("etcd://a", "etcd://a");
    check("etcd://u:s3cret@a:1,b", "etcd://u@a:1,etcd://u@b");
    check(
        "etcd+https://a?ssl-ca=ca.pem,etcd+https://b/",
        "etcd+https://a,etcd+https://b/",
    );
    check("zookeeper://a", "zookeeper://a:2181");
    check(
        "zookeeper://a:1, b,[::1]:3/",
        "zookeeper://a:1,b:2181,[::1]:3",
    );
    check("zookeeper://[::1]/x/y/", "zookeeper://[::1]:2181/x/y");
    check(
        "zookeeper://u:%2F%40s3cret@a:1,b:2/x",
        "zookeeper://u@a:1,b:2/x",
    );
}

#[test]
fn wrong_urls_say_what_is_wrong() {
    check_error("leafid.db", "starts with a scheme");
    check_error(
        "oracle://u:s3cret@h",
        "unknown store scheme \"oracle\": known are sqlite, mysql, mariadb, postgres, postgresql, \
         redis, rediss, etcd, etcd+https, zookeeper",
    );
    check_error("redis://u:s3cret@h/x", "the database is a number");
    check_error("redis://u:s3cret@a,b", "lists and Sentinel are refused");
    check_error(
        "redis+sentinel://u:s3cret@a:26379,b:26379/mymaster",
        "name one server, the primary",
    );
    check_error("redis://u:s3cret@h?ssl-ca=x", "rediss://");
    check_error("redis://u:s3cret@h?db=3", "unknown option \"db\"");
    check_error("rediss://", "write rediss://USER");
    check_error("etcd://u:s3cret@h/x", "nothing after the port");
    check_error("etcd://u:s3cret@h,etcd+https://h", "of one kind");
    check_error("etcd+https://h?ssl-cert=x", "ssl-cert and ssl-key");
    check_error("mysql://u:s3cret@h", "names no database");
    check_error("mysql://u:s3cret@h:99999/x", "invalid port");
    check_error("mysql://u:s3cret@h/x?sslmod=x", "unknown option \"sslmod\"");
    check_error("mysql://u:s3cret@h/x?ssl-mode=sometimes", "ssl_mode");
    check_error("mysql://u:s3cret@h/x?table=orders", "table is \"orders\"");
    check_error("mysql://u:s3cret@h/x?zone=UTC", "zone needs table=gear_key");
    check_error(
        "mysql://u:s3cret@h/x?table=gear_key&zone=a}b",
        "zone is \"a}b\"",
    );
    check_error(
        "mysql://u:s3cret@a/x?table=gear_key,mysql://u:s3cret@b/x",
        "alike for all servers",
    );
    check_error(
        "mysql://u:s3cret@h/x,postgres://u:s3cret@h/x",
        "of one kind",
    );
    check_error(
        "postgres://u@h/x?password=s3cret",
        "unknown option \"password\"",
    );
    check_error("mysql://u:pa#s3cret@h/x", "%23");
    check_error("zookeeper:a", "//");
    check_error("zookeeper://", "each server is HOST:PORT");
    check_error("zookeeper://u:s3cret@a:0", "each server is HOST:PORT");
    check_error("zookeeper://u:s3cret@a,,b", "each server is HOST:PORT");
    check_error("zookeeper://u:s3cret@a//x//y", "an empty part");
    check_error("zookeeper://u:s3cret@a/x?y", "no ? has a meaning");
    check_error("zookeeper://s3cret@a", "a name and a password");
    check_error("sqlite:", "names a file");
    check_error("sqlite::memory:", "names a file");
}
