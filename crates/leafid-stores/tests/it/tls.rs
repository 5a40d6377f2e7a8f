//! TLS with certificates of our own making.

use std::path::Path;
use std::process::Command;

use leafid_stores::{StoreOptions, init};
use leafid_testbed::{MariaDb, Redis, free_port};

use crate::registries::{check_error, claim, leases_at, new_pool};
use crate::{chain, open_at, url_of};

/// A certificate authority and a certificate for 127.0.0.1, in that folder.
fn make_certificates(folder: &Path) {
    std::fs::write(folder.join("names"), "subjectAltName=IP:127.0.0.1\n").unwrap();
    let commands = [
        "req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=test-ca -keyout ca.key -out ca.pem",
        "req -newkey rsa:2048 -nodes -subj /CN=db -keyout server.key -out server.csr",
        "x509 -req -days 30 -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial \
         -extfile names -out server.pem",
        "req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=other-ca -keyout o.key -out other.pem",
    ];
    for command in commands {
        let mut openssl = Command::new("openssl");
        let output = openssl
            .args(command.split_whitespace())
            .current_dir(folder)
            .output();
        let output = output.expect("install openssl with `apt-get install openssl`");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

/// Guards that TLS is used when the URL asks for it, and that a certificate which does not fit
/// is refused.
#[tokio::test]
async fn mariadb_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    make_certificates(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let server = MariaDb::start_with(&[
        &format!("--ssl-cert={}", file("server.pem")),
        &format!("--ssl-key={}", file("server.key")),
        "--require-secure-transport=ON",
    ]);
    let plain = server.create_database().url;
    let with = |options: &str| format!("{plain}?{options}");
    let verify = format!("ssl-mode=verify_identity&ssl-ca={}", file("ca.pem"));
    for options in ["ssl-mode=required", verify.as_str()] {
        init(&url_of(&with(options)), &StoreOptions::default())
            .await
            .unwrap();
        open_at(&with(options)).await.inspect().await.unwrap();
    }
    let wrong = format!("ssl-mode=verify_identity&ssl-ca={}", file("other.pem"));
    let error = open_at(&with(&wrong)).await.inspect().await.unwrap_err();
    assert!(chain(&error).contains("ertificate"), "{}", chain(&error));
    let error = open_at(&with("ssl-mode=disabled"))
        .await
        .inspect()
        .await
        .unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
}

/// Guards that both sides show their certificates, and that one which does not fit is refused.
#[tokio::test]
async fn redis_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    make_certificates(folder.path());
    let file = |name: &str| folder.path().join(name).display().to_string();
    let port = free_port();
    let (certificate, key, ca) = (file("server.pem"), file("server.key"), file("ca.pem"));
    let port_text = port.to_string();
    let arguments = [
        ["--tls-port", &port_text],
        ["--tls-cert-file", &certificate],
        ["--tls-key-file", &key],
        ["--tls-ca-cert-file", &ca],
    ];
    let server = Redis::start_with(arguments.as_flattened());
    let plain = server.url_at(port).replace("redis://", "rediss://");
    let with = |ca: &str| {
        format!(
            "{plain}?ssl-ca={}&ssl-cert={certificate}&ssl-key={key}",
            file(ca)
        )
    };
    let leases = leases_at(&with("ca.pem"), &new_pool()).await;
    assert!(leases.swap(&claim(0)).await.unwrap());
    check_error(&with("other.pem"), "certificate").await;
    check_error(&plain, "certificate").await;
    check_error(&with("none.pem"), "cannot read ssl-ca").await;
    // The server wants a certificate too.
    check_error(&format!("{plain}?ssl-ca={ca}"), "connection").await;
}
