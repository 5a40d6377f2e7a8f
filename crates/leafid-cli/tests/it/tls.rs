//! Guards TLS in use: the greeting, SIGHUP, and commands that call by https.

use std::path::Path;

use leafid_testbed::{Authority, Certificate};
use tempfile::tempdir;

use crate::server_process::{Server, command, finish, run, until};

/// An authority, and a server's certificate and key in the folder.
fn certificates(folder: &Path) -> Authority {
    let authority = Authority::new();
    authority.write(folder, "ca");
    server_certificate(&authority).write(folder, "server");
    authority
}

fn server_certificate(authority: &Authority) -> Certificate {
    authority.issue(["127.0.0.1"])
}

const TLS: [&str; 4] = ["--tls-cert", "server.pem", "--tls-key", "server.key"];

/// Sends SIGHUP, and waits until this was logged once more.
fn reload(server: &Server, told: &str) {
    let before = server.log().matches(told).count();
    server.signal("HUP");
    until(told, || {
        (server.log().matches(told).count() > before).then_some(())
    });
}

#[test]
fn commands_call_by_https() {
    let folder = tempdir().unwrap();
    certificates(folder.path());
    let server = Server::start(folder.path(), &TLS);
    assert!(server.url.starts_with("https://"), "{}", server.greeting);
    for scheme in [", rediss://", ", grpcs://"] {
        assert!(server.greeting.contains(scheme), "{}", server.greeting);
    }
    let ask = |words: &[&str]| run(folder.path(), &[words, &["--server", &server.url]].concat());
    let trusting = ["--ca-file", "ca.pem"];
    assert_eq!(
        ask(&[&["next", "order"][..], &trusting].concat()).ok(),
        "1\n"
    );
    let variable = ["next", "order", "--server", &server.url];
    let variable = finish(command(folder.path(), &variable).env("LEAFID_CA_FILE", "ca.pem"));
    assert_eq!(variable.ok(), "2\n");
    let listed = ask(&[&["tag", "list"][..], &trusting].concat()).ok();
    assert!(listed.contains("order"), "{listed}");
    let bench = ["bench", "--seconds", "1", "--json"];
    assert_eq!(ask(&[&bench[..], &trusting].concat()).json()["failures"], 0);
    ask(&["next", "order"]).check_failed(1, "UnknownIssuer", "--ca-file FILE");
    ask(&["next", "order", "--ca-file", "server.key"]).check_failed(
        1,
        "there is no certificate in server.key",
        "PEM",
    );
    ask(&["next", "order", "--ca-file", "none.pem"]).check_failed(1, "cannot read none.pem", "PEM");
    ask(&["next", "order", "--key-file", "server.key"]).check_failed(2, "needs its key", "both");
    let plain = server.url.replace("https://", "http://");
    run(folder.path(), &["next", "order", "--server", &plain]).check_failed(
        1,
        "a plain HTTP request came to an HTTPS port",
        "https://",
    );
    server.stop();
    let server = Server::start(folder.path(), &[]);
    let encrypted = server.url.replace("http://", "https://");
    let next = ["next", "order", "--server", &encrypted];
    run(folder.path(), &next).check_failed(1, "no answer", "does not speak TLS");
    server.stop();
}

#[test]
fn commands_show_their_certificate() {
    let folder = tempdir().unwrap();
    let authority = certificates(folder.path());
    authority.issue(["ops"]).write(folder.path(), "ops");
    let set = [&TLS[..], &["--tls-client-ca", "ca.pem"]].concat();
    let server = Server::start_unready(folder.path(), &set);
    let ask = |words: &[&str]| {
        let words = [&["next", "order", "--ca-file", "ca.pem"][..], words].concat();
        run(
            folder.path(),
            &[&words[..], &["--server", &server.url]].concat(),
        )
    };
    let shown = ["--cert-file", "ops.pem", "--key-file", "ops.key"];
    // Waits for the store.
    let first = until("an id", || {
        let run = ask(&shown);
        (run.code == 0).then_some(run.out)
    });
    assert_eq!(first, "1\n");
    ask(&[]).check_failed(1, "CertificateRequired", "--cert-file FILE");
    Authority::new()
        .issue(["ops"])
        .write(folder.path(), "stranger");
    let stranger = ["--cert-file", "stranger.pem", "--key-file", "stranger.key"];
    ask(&stranger).check_failed(1, "no answer", "--cert-file FILE");
    server.stop();
}

#[test]
fn sighup_changes_the_certificate() {
    let folder = tempdir().unwrap();
    let authority = certificates(folder.path());
    let server = Server::start(folder.path(), &TLS);
    let ask = |ca: &str| {
        let words = ["next", "order", "--ca-file", ca, "--server", &server.url];
        run(folder.path(), &words)
    };
    assert_eq!(ask("ca.pem").ok(), "1\n");
    // A key that belongs to another certificate changes nothing.
    let other = server_certificate(&authority);
    std::fs::write(folder.path().join("server.key"), &other.key_pem).unwrap();
    reload(&server, "keeping the previous certificate");
    let log = server.log();
    let mistake = "tls-key server.key: the key does not match the first certificate";
    assert!(log.contains(mistake) && !log.contains("PRIVATE"), "{log}");
    assert_eq!(ask("ca.pem").ok(), "2\n");
    let read = |metric| {
        server.metric(&format!(
            "leafid_config_last_reload_{metric}{{file=\"tls-cert\"}}"
        ))
    };
    let first_read = read("success_timestamp_seconds");
    assert!(
        read("successful") == 0.0 && first_read > 1e9,
        "{first_read}"
    );
    let successor = Authority::new();
    successor.write(folder.path(), "successor");
    let renewed = successor.issue_for(["127.0.0.1"], 0, 32_000_000_000);
    renewed.write(folder.path(), "server");
    reload(&server, "reloaded the certificate");
    assert_eq!(ask("successor.pem").ok(), "3\n");
    ask("ca.pem").check_failed(1, "invalid peer certificate", "--ca-file FILE");
    let expires = server.metric("leafid_tls_certificate_expiry_timestamp_seconds");
    assert!((expires - 32e9).abs() < 0.5, "{expires}");
    let last_read = read("success_timestamp_seconds");
    assert!(
        read("successful") == 1.0 && last_read > first_read,
        "{last_read}"
    );
    server.stop();
}

#[test]
fn what_cannot_be_used_stops_the_start() {
    let folder = tempdir().unwrap();
    let authority = certificates(folder.path());
    let other = server_certificate(&authority);
    std::fs::write(folder.path().join("other.key"), &other.key_pem).unwrap();
    for words in [&["serve"][..], &["config", "check"]] {
        let failed = |set: &[&str], mistake: &str| {
            run(folder.path(), &[words, set].concat()).check_failed(1, mistake, "docs/");
        };
        failed(
            &["--tls-cert", "server.pem", "--tls-key", "other.key"],
            "tls-key other.key: the key does not match the first certificate in \
             server.pem",
        );
        failed(
            &["--tls-cert", "server.pem"],
            "tls-cert is \"server.pem\" (from --tls-cert): it has no effect without tls-key",
        );
        failed(&["--tls-plain"], "it has no effect without tls-cert");
    }
    let ended = authority.issue_for(["127.0.0.1"], 0, 86_400);
    ended.write(folder.path(), "server");
    let check = run(folder.path(), &[&["config", "check"][..], &TLS].concat()).ok();
    let note = "note: the certificate in server.pem expired at 1970-01-02T00:00:00Z";
    assert!(check.contains(note), "{check}");
}
