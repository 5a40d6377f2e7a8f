//! TLS with test certificates.

use std::path::Path;
use std::process::Command;

use leafid::store::Security;
use leafid_stores::{StoreOptions, init};
use leafid_testbed::{
    MariaDb, Postgres, Redis, free_port, shared_etcd, shared_mariadb, shared_postgres,
    shared_redis, shared_zookeeper,
};

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

/// Guards that TLS is used when the URL requires it, and that a wrong certificate is refused.
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
        let report = open_at(&with(options)).await.inspect().await.unwrap();
        let transport = report.transport.unwrap();
        let wanted = match options.contains("verify") {
            true => Security::Verified,
            false => Security::Unverified,
        };
        // On this machine the connection cannot be intercepted.
        assert_eq!((transport.security, transport.advice), (wanted, None));
    }
    let report = open_at(&plain).await.inspect().await.unwrap();
    assert_eq!(report.transport.unwrap().security, Security::Unverified);
    let wrong = format!("ssl-mode=verify_identity&ssl-ca={}", file("other.pem"));
    let error = open_at(&with(&wrong)).await.inspect().await.unwrap_err();
    assert!(chain(&error).contains("ertificate"), "{}", chain(&error));
    let error = open_at(&with("ssl-mode=disabled"))
        .await
        .inspect()
        .await
        .unwrap_err();
    assert!(error.may_recover(), "{error:?}");
}

/// Guards that a plain connection is distinguished from an encrypted one.
#[tokio::test]
async fn plain_connections_are_reported() {
    let mariadb = shared_mariadb().create_database().url + "?ssl-mode=disabled";
    let postgres = shared_postgres().create_database().url;
    for url in [mariadb, postgres] {
        init(&url_of(&url), &StoreOptions::default()).await.unwrap();
        let report = open_at(&url).await.inspect().await.unwrap();
        let transport = report.transport.unwrap();
        assert_eq!(
            (transport.security, transport.advice),
            (Security::Plain, None)
        );
    }
}

/// Guards the same for PostgreSQL, where TLS is used automatically if the server has it.
#[tokio::test]
async fn postgres_over_tls() {
    let folder = tempfile::tempdir().unwrap();
    make_certificates(folder.path());
    let server = Postgres::start();
    let data = server.sql("postgres", "SHOW data_directory");
    // The server reads them as its own user, and no others may.
    for name in ["server.pem", "server.key"] {
        let content = std::fs::read_to_string(folder.path().join(name)).unwrap();
        let put = format!("COPY (SELECT '{content}') TO PROGRAM 'umask 077; cat > {data}/{name}'");
        server.sql(
            "postgres",
            &put.replace("SELECT '", "SELECT line FROM regexp_split_to_table('")
                .replace("')", "', '\n') AS line)"),
        );
    }
    for set in [
        "ssl_cert_file = 'server.pem'",
        "ssl_key_file = 'server.key'",
        "ssl = on",
    ] {
        server.sql("postgres", &format!("ALTER SYSTEM SET {set}"));
    }
    server.sql("postgres", "SELECT pg_reload_conf()");
    let plain = server.create_database().url;
    let verified = format!(
        "{plain}?sslmode=verify-full&sslrootcert={}",
        folder.path().join("ca.pem").display()
    );
    let cases = [
        (plain, Security::Unverified),
        (verified, Security::Verified),
    ];
    for (url, wanted) in cases {
        let report = open_at(&url).await.inspect().await.unwrap();
        assert_eq!(report.transport.unwrap().security, wanted);
    }
}

/// Guards that both sides present their certificates, and that a wrong one is refused.
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
    let transport = leases.inspect().await.unwrap().transport.unwrap();
    assert_eq!(transport.security, Security::Verified);
    check_error(&with("other.pem"), "certificate").await;
    check_error(&plain, "certificate").await;
    check_error(&with("none.pem"), "cannot read ssl-ca").await;
    // The server requires a client certificate too.
    check_error(&format!("{plain}?ssl-ca={ca}"), "connection").await;
}

/// Guards that registries without TLS are reported as such.
#[tokio::test]
async fn registries_without_tls_are_reported() {
    let ensemble = shared_zookeeper().url();
    for url in [shared_redis().url(), shared_etcd().url(), ensemble] {
        let leases = leases_at(&url, &new_pool()).await;
        let transport = leases.inspect().await.unwrap().transport.unwrap();
        // On this machine the connection cannot be intercepted.
        let found = (transport.security, transport.advice);
        assert_eq!(found, (Security::Plain, None), "{url}");
    }
}
