//! Guards TLS on all three front ends, with independent clients: curl, redis-cli, tonic and bare
//! rustls.

mod certificate_files;
mod tls_server;

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use leafid_server::Limits;
use leafid_testbed::Authority;
use tonic::transport::{Channel, ClientTlsConfig, Identity};

use crate::grpc::v1::NextRequest;
use crate::grpc::v1::ids_client::IdsClient;
use crate::test_server::{TestServer, eventually, read_to_end};
use tls_server::{TlsServer, connect};

/// Sends bytes without TLS, and reads until the server closes.
fn plain(address: SocketAddr, bytes: &str) -> String {
    let mut stream = connect(address);
    stream.write_all(bytes.as_bytes()).unwrap();
    read_to_end(&mut stream)
}

const GET: &str = "GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";

#[test]
fn curl_agrees_on_both_versions_of_http() {
    let setup = TlsServer::new();
    let server = setup.server();
    let path = "/api/segment/get/order";
    assert_eq!(setup.curl(&server, &["--http1.1"], path).unwrap(), "1 1.1");
    assert_eq!(setup.curl(&server, &["--http2"], path).unwrap(), "2 2");
    assert_eq!(setup.curl(&server, &["--no-alpn"], path).unwrap(), "3 1.1");
    for version in ["1.2", "1.3"] {
        let only = ["--tls-max", version, &format!("--tlsv{version}")];
        setup.curl(&server, &only, path).unwrap();
    }
    let declared = "content-type: application/json";
    let unknown = ["--http1.1", "-X", "DELETE", "-H", declared];
    let problem = setup.curl(&server, &unknown, "/v1/tags/nothing").unwrap();
    let next = format!("curl -X POST https://{}/v1/tags", server.address);
    assert!(!problem.contains("http://"), "{problem}");
    assert!(problem.contains(&next), "{problem}");
    let stranger = Authority::new().write(setup.folder.path(), "stranger");
    let trusting = ["--cacert", stranger.to_str().unwrap()];
    setup.curl(&server, &trusting, path).unwrap_err();
}

#[test]
fn redis_cli_takes_ids() {
    let setup = TlsServer::new();
    let server = setup.server();
    assert_eq!(setup.redis_cli(&server, &["INCR", "order"]).unwrap(), "1\n");
    let incr = ["-3", "-r", "3", "INCR", "order"];
    assert_eq!(setup.redis_cli(&server, &incr).unwrap(), "2\n3\n4\n");
}

fn grpc(
    setup: &TlsServer,
    server: &TestServer,
    identity: Option<Identity>,
) -> Result<Vec<u64>, tonic::Status> {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let ca = tonic::transport::Certificate::from_pem(setup.authority.pem());
    let mut tls = ClientTlsConfig::new().ca_certificate(ca);
    if let Some(identity) = identity {
        tls = tls.identity(identity);
    }
    let url = format!("https://{}", server.addresses.grpc.unwrap());
    runtime.block_on(async {
        let endpoint = Channel::from_shared(url).unwrap().tls_config(tls).unwrap();
        let endpoint = endpoint.timeout(Duration::from_secs(20));
        let mut ids = IdsClient::new(endpoint.connect_lazy());
        let mut taken = Vec::new();
        for _ in 0..2 {
            let tag = "order".to_owned();
            taken.push(
                ids.next(NextRequest {
                    tag,
                    ..NextRequest::default()
                })
                .await?
                .into_inner()
                .id,
            );
        }
        Ok(taken)
    })
}

#[test]
fn tonic_takes_ids() {
    let setup = TlsServer::new();
    assert_eq!(grpc(&setup, &setup.server(), None).unwrap(), [1, 2]);
}

/// Guards that an answer which did not fit into the socket is sent once there is room, although
/// nothing else happens on the connection.
#[test]
fn long_answers_leave_when_they_are_read() {
    let setup = TlsServer::new();
    let server = setup.server();
    // Some 20 MB on each front end, far more than sockets and buffers take.
    const CALLS: usize = 100;
    let mut stream = setup.connect(server.addresses.resp.unwrap());
    let call = "*3\r\n$7\r\nID.NEXT\r\n$5\r\norder\r\n$5\r\n10000\r\n";
    let calls = format!("{}QUIT\r\n", call.repeat(CALLS));
    stream.write_all(calls.as_bytes()).unwrap();
    let issued = || server.last("order");
    eventually("answers", || issued() > 0);
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    assert_eq!(answers.matches("*10000\r\n").count(), CALLS);
    assert!(answers.ends_with("+OK\r\n"));

    let mut stream = setup.connect(server.address);
    let call = "GET /v1/tags/other/ids?count=10000 HTTP/1.1\r\nhost: localhost\r\n";
    let calls = format!("{call}\r\n").repeat(CALLS);
    let calls = format!("{calls}{call}connection: close\r\n\r\n");
    stream.write_all(calls.as_bytes()).unwrap();
    let issued = || server.last("other");
    eventually("answers", || issued() > 0);
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), CALLS + 1);
}

#[test]
fn clients_show_a_certificate_where_one_is_asked_for() {
    let setup = TlsServer::new().with_clients();
    let server = setup.server();
    let (certificate, key) = (setup.file("caller.pem"), setup.file("caller.key"));
    let shown = ["--cert", &certificate, "--key", &key];
    // Of the authority that signed the server's certificate, which is not the clients'.
    let (other, other_key) = (setup.file("server.pem"), setup.file("server.key"));
    let wrong = ["--cert", &other, "--key", &other_key];
    assert_eq!(setup.curl(&server, &shown, "/livez").unwrap(), "ok\n 2");
    for refused in [&[][..], &wrong] {
        let error = setup.curl(&server, refused, "/livez").unwrap_err();
        assert!(error.starts_with("curl: ("), "{error}");
        let incr = [refused, &["INCR", "order"]].concat();
        setup.redis_cli(&server, &incr).unwrap_err();
    }
    let incr = [&shown[..], &["INCR", "order"]].concat();
    assert_eq!(setup.redis_cli(&server, &incr).unwrap(), "1\n");
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let identity = |cert: &str, key: &str| Some(Identity::from_pem(read(cert), read(key)));
    grpc(&setup, &server, None).unwrap_err();
    grpc(&setup, &server, identity(&other, &other_key)).unwrap_err();
    let ids = grpc(&setup, &server, identity(&certificate, &key)).unwrap();
    assert_eq!(ids, [2, 3]);
}

#[test]
fn a_plain_connection_is_refused_in_its_own_words() {
    let setup = TlsServer::new();
    let server = setup.server();
    let answer = plain(server.address, GET);
    assert!(
        answer.starts_with("HTTP/1.1 400 Bad Request\r\n"),
        "{answer}"
    );
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let problem: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(problem["code"], "tls_needed");
    assert_eq!(problem["status"], 400);
    let resp = server.addresses.resp.unwrap();
    let answer = plain(resp, "INCR order\r\n");
    assert!(
        answer.starts_with("-ERR this server requires TLS"),
        "{answer}"
    );
    // A client that sends a lot can still read the reason, and gets no reset.
    let answer = plain(resp, &"INCR order\r\n".repeat(5000));
    assert!(
        answer.starts_with("-ERR this server requires TLS"),
        "{answer}"
    );
    let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    assert_eq!(plain(server.addresses.grpc.unwrap(), preface), "");
    assert_eq!(server.service.last("order"), None);
    let metrics = setup.curl(&server, &[], "/metrics").unwrap();
    let refused = "leafid_tls_handshakes_total{outcome=\"plain_refused\"} 4\n";
    assert!(metrics.contains(refused), "{metrics}");
}

#[test]
fn a_plain_connection_is_accepted_where_that_is_set() {
    let setup = TlsServer::new().with_plain();
    // So short that it expires while a connection is idle.
    let limits = Limits {
        handshake_max: Duration::from_millis(50),
        ..Limits::default()
    };
    let server = setup.server_with(limits);
    assert!(plain(server.address, GET).ends_with("\r\n\r\nok\n"));
    let resp = server.addresses.resp.unwrap();
    assert_eq!(plain(resp, "INCR order\r\nQUIT\r\n"), ":1\r\n+OK\r\n");
    let incr = ["INCR", "order"];
    let mut patient = TlsServer::new().with_plain();
    patient.config.tls = setup.config.tls.clone();
    // TLS clients use the same ports.
    let metrics = TestServer::with(&patient.config, Limits::default());
    assert_eq!(setup.redis_cli(&metrics, &incr).unwrap(), "1\n");
    assert_eq!(
        plain(metrics.addresses.resp.unwrap(), "INCR order\r\nQUIT\r\n"),
        ":2\r\n+OK\r\n"
    );
    let counted = setup.curl(&metrics, &[], "/metrics").unwrap();
    let plain_ones = "leafid_tls_handshakes_total{outcome=\"plain\"} 1\n";
    assert!(counted.contains(plain_ones), "{counted}");
    // A client with a connection pool is not cut for not sending a ClientHello.
    let mut resting = connect(resp);
    let pause = limits.handshake_max * 4;
    resting.set_read_timeout(Some(pause)).unwrap();
    let error = resting.read(&mut [0]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
    resting
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    resting.write_all(b"INCR order\r\nQUIT\r\n").unwrap();
    assert_eq!(read_to_end(&mut resting), ":2\r\n+OK\r\n");
}

#[test]
fn a_handshake_that_never_ends_is_cut() {
    let setup = TlsServer::new();
    let limits = Limits {
        handshake_max: Duration::from_millis(300),
        // The others would cut much later.
        first_head_max: Duration::from_secs(600),
        ..Limits::default()
    };
    let server = setup.server_with(limits);
    let protocols = [server.addresses.resp, server.addresses.grpc];
    for protocol in protocols.into_iter().flatten().chain([server.address]) {
        for beginning in ["", "\u{16}", "\u{16}\u{3}\u{1}\u{1}"] {
            assert_eq!(plain(protocol, beginning), "", "{beginning:?}");
        }
    }
    assert_eq!(late(&setup, &server), 9);
}

fn late(setup: &TlsServer, server: &TestServer) -> u64 {
    let metrics = setup.curl(server, &["--http1.1"], "/metrics").unwrap();
    let series = "leafid_tls_handshakes_total{outcome=\"late\"} ";
    let value = metrics.lines().find_map(|line| line.strip_prefix(series));
    value
        .unwrap_or_else(|| panic!("{metrics}"))
        .parse()
        .unwrap()
}

/// Guards that a handshake under way counts as a connection, and ends at the shutdown.
#[test]
fn a_handshake_is_a_connection() {
    let setup = TlsServer::new();
    let mut server = setup.server();
    let mut begun = connect(server.address);
    begun.write_all(b"\x16\x03\x01").unwrap();
    let open = || {
        let metrics = setup.curl(&server, &[], "/metrics").unwrap();
        // Including the one that asks.
        metrics.contains("leafid_connections{protocol=\"http\"} 2\n")
    };
    eventually("two connections", open);
    server.stop();
    assert_eq!(read_to_end(&mut begun), "");
    server.ended().unwrap();
}

#[test]
fn a_certificate_is_changed_while_connections_stay_open() {
    let setup = TlsServer::new();
    let server = setup.server();
    let tls = server.tls.clone().unwrap();
    let resp = server.addresses.resp.unwrap();
    let mut open = setup.connect(resp);
    let mut incr = |expected: &str| {
        open.write_all(b"INCR order\r\n").unwrap();
        let mut answer = vec![0; expected.len()];
        open.read_exact(&mut answer).unwrap();
        assert_eq!(answer, expected.as_bytes());
    };
    incr(":1\r\n");
    let shown = || setup.connect(resp).conn.peer_certificates().unwrap()[0].to_vec();
    let first = shown();
    let later = setup.authority.issue_for(["127.0.0.1"], 0, 32_503_680_001);
    // A certificate without its key changes nothing.
    let whole = std::fs::read(setup.file("server.pem")).unwrap();
    std::fs::write(setup.file("server.pem"), &later.pem).unwrap();
    let error = tls.read_again().unwrap_err().to_string();
    assert!(
        error.contains("server.key: the key does not match"),
        "{error}"
    );
    assert_eq!(shown(), first);
    assert_eq!(
        std::fs::write(setup.file("server.pem"), whole).ok(),
        Some(())
    );
    tls.read_again().unwrap();
    assert_eq!(shown(), first);
    later.write(setup.folder.path(), "server");
    tls.read_again().unwrap();
    assert_eq!(shown(), later.der);
    assert_eq!(tls.expires_unix_seconds(), Some(32_503_680_001));
    let metrics = setup.curl(&server, &[], "/metrics").unwrap();
    let expires = "leafid_tls_certificate_expiry_timestamp_seconds 32503680001.0\n";
    assert!(metrics.contains(expires), "{metrics}");
    incr(":2\r\n");
}
