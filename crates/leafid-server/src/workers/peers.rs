//! `Peers`: asks other servers over HTTP what their clocks show, and which worker id they hold.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::Request;
use hyper::client::conn::http1;
use hyper::header::HOST;
use hyper_util::rt::TokioIo;
use leafid::store::{BoxFuture, LeaseRecord};
use leafid::{PeerClocks, WorkerId};
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::listen::Io;
use crate::tls::Tls;

/// How long a peer may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(1);
/// Bytes of an answer.
const ANSWER_LEN_MAX: usize = 4096;
/// How many peers are asked. The mean of so many is as good as that of all.
const PEERS_MAX: usize = 32;

/// Other servers, asked over HTTP.
#[derive(Debug, Clone, Default)]
pub(crate) struct Peers {
    /// Of this server: where it is on, it is on at most of the others.
    tls: Option<Arc<Tls>>,
}

/// What a peer answers at `/v1/clock`; the same fields that `http/clock.rs` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeerAnswer {
    /// The time that its ids carry, in milliseconds since 1970-01-01T00:00:00Z.
    pub(crate) unix_ms: u64,
    /// The worker id it holds.
    pub(crate) worker: Option<WorkerId>,
}

#[derive(Deserialize)]
struct Clock {
    unix_ms: String,
    worker: Option<u32>,
}

impl Peers {
    pub(crate) fn new(tls: Option<Arc<Tls>>) -> Self {
        Self { tls }
    }

    /// Asks the server at an address; `None` when no answer comes in time, or not one of ours.
    pub(crate) async fn ask(&self, address: &str) -> Option<PeerAnswer> {
        let getting = self.get(address);
        let answer = tokio::time::timeout(ANSWER_MAX, getting).await.ok()??;
        let clock: Clock = serde_json::from_slice(&answer).ok()?;
        Some(PeerAnswer {
            unix_ms: clock.unix_ms.parse().ok()?,
            worker: clock.worker.map(WorkerId::new),
        })
    }

    /// With TLS first where it is on here, and without: while servers move to TLS, some have it
    /// and some have not.
    async fn get(&self, address: &str) -> Option<Bytes> {
        if let Some(tls) = &self.tls {
            let stream = TcpStream::connect(address).await.ok()?;
            if let Some(stream) = tls.connect(address, stream).await {
                return get_over(stream, address).await;
            }
        }
        let stream = TcpStream::connect(address).await.ok()?;
        get_over(stream, address).await
    }
}

impl PeerClocks for Peers {
    fn mean_ms<'a>(&'a self, peers: &'a [LeaseRecord]) -> BoxFuture<'a, Option<u64>> {
        Box::pin(async move {
            let mut asked = JoinSet::new();
            for peer in peers.iter().take(PEERS_MAX) {
                let address = peer.address.clone();
                let this = self.clone();
                asked.spawn(async move { this.ask(&address).await });
            }
            let answers = asked.join_all().await;
            let shown: Vec<u64> = answers
                .into_iter()
                .flatten()
                .map(|answer| answer.unix_ms)
                .collect();
            mean(&shown)
        })
    }
}

fn mean(shown: &[u64]) -> Option<u64> {
    let sum: u128 = shown.iter().copied().map(u128::from).sum();
    let mean = sum.checked_div(shown.len() as u128)?;
    u64::try_from(mean).ok()
}

async fn get_over<S: Io>(stream: S, address: &str) -> Option<Bytes> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    let request = Request::get("/v1/clock")
        .header(HOST, address)
        .body(Empty::<Bytes>::new())
        .ok()?;
    let asking = async {
        let answer = sender.send_request(request).await.ok()?;
        let is_good = answer.status().is_success();
        let body = Limited::new(answer.into_body(), ANSWER_LEN_MAX);
        let body = body.collect().await.ok()?.to_bytes();
        is_good.then_some(body)
    };
    let mut connection = std::pin::pin!(connection);
    let mut asking = std::pin::pin!(asking);
    tokio::select! {
        answer = &mut asking => answer,
        // The peer may close as soon as its answer is out.
        _ = &mut connection => asking.await,
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// A server that reads a request and answers with this text.
    async fn peer(text: &'static str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            answer(stream, text).await;
        });
        address
    }

    async fn answer<S: Io>(mut stream: S, text: &str) {
        let mut request = [0; 1024];
        let len = stream.read(&mut request).await.unwrap();
        assert!(request[..len].starts_with(b"GET /v1/clock HTTP/1.1\r\n"));
        stream.write_all(text.as_bytes()).await.unwrap();
        // As the end of an answer that does not tell its length.
        stream.shutdown().await.unwrap();
    }

    fn row(address: String) -> LeaseRecord {
        LeaseRecord {
            worker: WorkerId::new(0),
            epoch: 1,
            holder: "6f1c".into(),
            address,
            until_ms: 1,
        }
    }

    /// Guards that a peer which is something else, or nothing, does not spoil the mean.
    #[tokio::test]
    async fn the_mean_is_of_those_that_answer() {
        const OLD: &str =
            "HTTP/1.1 200 OK\r\ncontent-length: 32\r\n\r\n{\"unix_ms\":\"1000\",\"worker\":null}";
        const NEW: &str = "HTTP/1.1 200 OK\r\n\r\n{\"unix_ms\":\"2000\",\"worker\":7}";
        const OTHER: &str = "HTTP/1.1 200 OK\r\n\r\n<html>";
        const OFF: &str = "HTTP/1.1 501 Not Implemented\r\n\r\n{\"unix_ms\":\"9\",\"worker\":1}";
        let mut peers = Vec::new();
        for answer in [OLD, NEW, OTHER, OFF, ""] {
            peers.push(row(peer(answer).await));
        }
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
        peers.push(row(gone.local_addr().unwrap().to_string()));
        drop(gone);
        peers.push(row("no address".into()));
        assert_eq!(Peers::default().mean_ms(&peers).await, Some(1500));
        assert_eq!(Peers::default().mean_ms(&peers[2..]).await, None);
        let answer = Peers::default().ask(&peer(NEW).await).await.unwrap();
        assert_eq!(
            (answer.unix_ms, answer.worker),
            (2000, Some(WorkerId::new(7)))
        );
    }

    /// Guards that a server with TLS finds those that have it, whoever signed their certificates,
    /// and those that have not.
    #[tokio::test]
    async fn tls_is_tried_first() {
        const OLD: &str = "HTTP/1.1 200 OK\r\n\r\n{\"unix_ms\":\"1000\",\"worker\":null}";
        const NEW: &str = "HTTP/1.1 200 OK\r\n\r\n{\"unix_ms\":\"2000\",\"worker\":7}";
        let folder = tempfile::tempdir().unwrap();
        let with_tls = |name: &str| {
            let certificate = leafid_testbed::Authority::new().issue([name]);
            let (cert, key) = certificate.write(folder.path(), name);
            let mut config = crate::Config::default();
            (config.tls.cert, config.tls.key) = (Some(cert), Some(key));
            let tls = Tls::read(&config, crate::Limits::default()).unwrap();
            Arc::new(tls.unwrap())
        };
        let encrypted = {
            let tls = with_tls("other");
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap().to_string();
            tokio::spawn(async move {
                let (stream, _) = listener.accept().await.unwrap();
                let acceptor = tokio_rustls::TlsAcceptor::from(tls.offer(crate::tls::Alpn::Http));
                answer(acceptor.accept(stream).await.unwrap(), NEW).await;
            });
            address
        };
        let plain = {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap().to_string();
            tokio::spawn(async move {
                let (mut first, _) = listener.accept().await.unwrap();
                let mut hello = [0; 1];
                first.read_exact(&mut hello).await.unwrap();
                assert_eq!(hello, [0x16]);
                drop(first);
                answer(listener.accept().await.unwrap().0, OLD).await;
            });
            address
        };
        let peers = Peers::new(Some(with_tls("this")));
        let asked = [row(encrypted), row(plain)];
        assert_eq!(peers.mean_ms(&asked).await, Some(1500));
    }

    #[test]
    fn the_mean_does_not_overflow() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[10, 20, 31]), Some(20));
        assert_eq!(mean(&[u64::MAX, u64::MAX]), Some(u64::MAX));
    }
}
