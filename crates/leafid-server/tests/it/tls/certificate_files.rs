//! Which files are accepted, and the errors for the others.

use std::path::Path;
use std::process::Command;

use leafid_server::{Config, Limits, Tls};
use leafid_testbed::Authority;

use super::tls_server::TlsServer;

/// The errors for these files.
fn mistakes(config: &Config) -> Vec<String> {
    Tls::read(config, Limits::default()).unwrap_err().mistakes
}

/// Writes a text to the file, and compares the errors.
#[track_caller]
fn check(setup: &TlsServer, name: &str, text: impl AsRef<[u8]>, expected: &str) {
    let path = setup.file(name);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, text).unwrap();
    let said = mistakes(&setup.config);
    std::fs::write(&path, whole).unwrap();
    let [mistake] = said.as_slice() else {
        panic!("{said:?}");
    };
    let folder = format!("{}/", setup.folder.path().display());
    assert_eq!(mistake.replace(&folder, ""), expected);
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let setup = TlsServer::new().with_clients();
    let read = |name: &str| std::fs::read_to_string(setup.file(name)).unwrap();
    let (certificate, key) = (read("server.pem"), read("server.key"));
    check(
        &setup,
        "server.pem",
        "hello",
        "tls-cert server.pem: it contains no certificate: one begins with \
         -----BEGIN CERTIFICATE-----",
    );
    let der = setup.authority.issue(["ids"]).der;
    check(
        &setup,
        "server.pem",
        der,
        "tls-cert server.pem: it is DER, not PEM: convert it with openssl x509 -inform der",
    );
    check(
        &setup,
        "server.pem",
        &certificate[..certificate.len() - 20],
        "tls-cert server.pem: it is incomplete: a line -----END is missing",
    );
    check(
        &setup,
        "server.key",
        &certificate,
        "tls-key server.key: it contains no private key: one begins with \
         -----BEGIN PRIVATE KEY-----",
    );
    let damaged = key.replacen("\nM", "\n!", 1);
    check(
        &setup,
        "server.key",
        damaged,
        "tls-key server.key: it is damaged: the text between BEGIN and END is not base64",
    );
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    check(
        &setup,
        "server.key",
        encrypted,
        "tls-key server.key: the key is encrypted, and a server cannot ask for its password: \
         decrypt it with openssl pkey, and make the file readable only by the server",
    );
    check(
        &setup,
        "server.key",
        setup.authority.issue(["ids"]).key_pem,
        "tls-key server.key: the key does not match the first certificate in server.pem, \
         which must be the server's own",
    );
    // The authority's certificate before the server's own.
    check(
        &setup,
        "server.pem",
        setup.authority.pem().to_owned() + &certificate,
        "tls-key server.key: the key does not match the first certificate in server.pem, \
         which must be the server's own",
    );
    check(
        &setup,
        "server.pem",
        vec![b' '; 1024 * 1024 + 1],
        "tls-cert server.pem: cannot read it: it has more than 1048576 bytes",
    );
    check(
        &setup,
        "clients.pem",
        "",
        "tls-client-ca clients.pem: it contains no certificate: one begins with \
         -----BEGIN CERTIFICATE-----",
    );
    // Both at once.
    let mut config = Config::default();
    config.tls.cert = Some("nowhere.pem".into());
    config.tls.key = Some("nowhere.key".into());
    assert_eq!(
        mistakes(&config),
        [
            "tls-cert nowhere.pem: cannot read it: No such file or directory (os error 2)",
            "tls-key nowhere.key: cannot read it: No such file or directory (os error 2)",
        ]
    );
}

fn openssl(folder: &Path, command: &str) {
    let mut openssl = Command::new("openssl");
    let words = command.split_whitespace();
    let output = openssl.args(words).current_dir(folder).output();
    let output = output.expect("install openssl with `apt-get install openssl`");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {errors}");
}

/// Guards the forms of keys that openssl writes.
#[test]
fn keys_of_all_forms_are_taken() {
    let forms = [
        (
            "genrsa -traditional -out server.key 2048",
            "BEGIN RSA PRIVATE KEY",
        ),
        ("genrsa -out server.key 2048", "BEGIN PRIVATE KEY"),
        (
            "ecparam -genkey -noout -name prime256v1 -out server.key",
            "BEGIN EC PRIVATE KEY",
        ),
        (
            // With a block of parameters before the key.
            "ecparam -genkey -name secp384r1 -out server.key",
            "BEGIN EC PARAMETERS",
        ),
        (
            "genpkey -algorithm ed25519 -out server.key",
            "BEGIN PRIVATE KEY",
        ),
    ];
    let mut setup = TlsServer::new();
    setup.config.tls.plain = true;
    for (command, begins) in forms {
        let folder = setup.folder.path();
        openssl(folder, command);
        let key = std::fs::read_to_string(setup.file("server.key")).unwrap();
        assert!(key.contains(begins), "{command}: {key}");
        openssl(
            folder,
            "req -x509 -key server.key -days 30 -subj /CN=ids -addext subjectAltName=IP:127.0.0.1 \
             -out server.pem",
        );
        let server = setup.server();
        let own = setup.file("server.pem");
        let answer = setup.curl(&server, &["--cacert", &own], "/livez");
        assert_eq!(answer.as_deref(), Ok("ok\n 2"), "{command}");
        server.tls.as_ref().unwrap().read_again().unwrap();
    }
}

#[test]
fn the_operator_is_warned_of_dates_and_of_open_keys() {
    let setup = TlsServer::new();
    let notes = || {
        let tls = Tls::read(&setup.config, Limits::default())
            .unwrap()
            .unwrap();
        let folder = format!("{}/", setup.folder.path().display());
        let notes = tls.notes().into_iter();
        notes
            .map(|note| note.replace(&folder, ""))
            .collect::<Vec<_>>()
    };
    assert!(notes().is_empty());
    let ended = setup.authority.issue_for(["ids"], 0, 86_400);
    ended.write(setup.folder.path(), "server");
    assert_eq!(
        notes(),
        [
            "the certificate in server.pem expired at 1970-01-02T00:00:00Z: clients that verify it \
             cannot connect; renew it, and send SIGHUP"
        ]
    );
    let early = setup
        .authority
        .issue_for(["ids"], 32_472_144_000, 32_503_680_000);
    early.write(setup.folder.path(), "server");
    let said = notes();
    assert!(
        said[0].contains("is not valid before 2999-01-01T00:00:00Z"),
        "{said:?}"
    );
    // A certificate in the chain up to the authority counts as well.
    let good = setup.authority.issue(["ids"]);
    good.write(setup.folder.path(), "server");
    let ended = Authority::new().issue_for(["between"], 0, 1);
    std::fs::write(setup.file("server.pem"), good.pem + &ended.pem).unwrap();
    assert!(notes()[0].contains("expired at 1970-01-01T00:00:01Z"));
    good_again(&setup);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(setup.file("server.key"), mode).unwrap();
    let said = notes();
    assert_eq!(
        said,
        [
            "every user of this machine can read or change the key in server.key: chmod 640 \
             server.key"
        ]
    );
}

fn good_again(setup: &TlsServer) {
    let good = setup.authority.issue(["ids"]);
    good.write(setup.folder.path(), "server");
}
