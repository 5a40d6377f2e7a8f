//! `Peers`: asks other servers over HTTP for their clocks, and for the worker ids that they hold.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
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
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::net::front_end::Io;
use crate::net::tls::Tls;

/// How long a peer may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(1);
/// The time limit of checking a server that may be dead: connecting, and an answer.
const LOOK_MAX: Duration = Duration::from_secs(3);
/// The maximum length of an answer.
const ANSWER_LEN_MAX: usize = 4096;
/// The same of an overview, with its events.
const OVERVIEW_LEN_MAX: usize = 256 * 1024;
/// The header in which a server proves in whose name it asks.
pub(crate) const PEER_PROOF: &str = "leafid-peer-proof";
/// How many peers are asked. The mean of that many is as good as that of all.
const PEERS_MAX: usize = 32;

/// Other servers, asked over HTTP.
#[derive(Debug, Clone, Default)]
pub(crate) struct Peers {
    /// The TLS of this server: if it is on here, it is on at most of the others.
    tls: Option<Arc<Tls>>,
}

/// The result of checking a server that may be dead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The server answers.
    Answers(PeerAnswer),
    /// The machine answers that nothing listens at that port.
    NothingListens,
    /// Unknown, and why.
    Unknown(String),
}

/// A peer's answer at `/v1/clock`; the same fields that `http/clock.rs` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PeerAnswer {
    /// The time in its ids, in milliseconds since 1970-01-01T00:00:00Z.
    pub(crate) unix_ms: u64,
    /// The worker id it holds.
    pub(crate) worker: Option<WorkerId>,
}

/// What a peer is asked.
struct Asked {
    path: &'static str,
    proof: Option<String>,
    len_max: usize,
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

    /// Asks the server at an address; `None` if no answer comes in time, or not one of ours.
    pub(crate) async fn ask(&self, address: &str) -> Option<PeerAnswer> {
        let asked = Asked {
            path: "/v1/clock",
            proof: None,
            len_max: ANSWER_LEN_MAX,
        };
        let clock: Clock = self.read(address, &asked).await?;
        Some(PeerAnswer {
            unix_ms: clock.unix_ms.parse().ok()?,
            worker: clock.worker.map(WorkerId::new),
        })
    }

    /// Asks the server at an address for what its console shows of it, in the name of a caller;
    /// `None` if no such answer comes in time.
    pub(crate) async fn overview<T: DeserializeOwned>(
        &self,
        address: &str,
        proof: Option<String>,
    ) -> Option<T> {
        let asked = Asked {
            path: "/console/overview",
            proof,
            len_max: OVERVIEW_LEN_MAX,
        };
        self.read(address, &asked).await
    }

    async fn read<T: DeserializeOwned>(&self, address: &str, asked: &Asked) -> Option<T> {
        let getting = self.get(address, asked);
        let answer = tokio::time::timeout(ANSWER_MAX, getting).await.ok()??;
        serde_json::from_slice(&answer).ok()
    }

    /// Checks whether a server is at an address. Only a refused connection counts as a no: silence
    /// can be a paused process or a broken network.
    pub(crate) async fn look(&self, address: &str) -> Presence {
        if address.is_empty() {
            return Presence::Unknown("its holder registered no address".into());
        }
        let looking = async {
            let found = tokio::net::lookup_host(address).await;
            let found: Vec<SocketAddr> = found.map(Iterator::collect).unwrap_or_default();
            match found.iter().find_map(|found| beyond_asking(found.ip())) {
                // It may be a server on this machine. If it does not answer, that proves nothing.
                Some(why) => self.ask(address).await.map_or_else(
                    || Presence::Unknown(format!("the address {address} of its holder {why}")),
                    Presence::Answers,
                ),
                None => self.look_at(address, &found).await,
            }
        };
        let looked = tokio::time::timeout(LOOK_MAX, looking).await;
        looked.unwrap_or_else(|_| no_answer(address))
    }

    async fn look_at(&self, address: &str, found: &[SocketAddr]) -> Presence {
        if found.is_empty() {
            return Presence::Unknown(format!(
                "the address {address} of its holder does not resolve"
            ));
        }
        for place in found {
            match TcpStream::connect(place).await {
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(_) => return no_answer(address),
                Ok(_) => {
                    let answer = self.ask(address).await;
                    return answer.map_or_else(|| no_answer(address), Presence::Answers);
                }
            }
        }
        Presence::NothingListens
    }

    /// Tries TLS first if it is on here, then plain: while servers move to TLS, only some have it.
    async fn get(&self, address: &str, asked: &Asked) -> Option<Bytes> {
        if let Some(tls) = &self.tls {
            let stream = TcpStream::connect(address).await.ok()?;
            if let Some(stream) = tls.connect(address, stream).await {
                return get_over(stream, address, asked).await;
            }
        }
        let stream = TcpStream::connect(address).await.ok()?;
        get_over(stream, address, asked).await
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

fn no_answer(address: &str) -> Presence {
    Presence::Unknown(format!(
        "its holder at {address} does not answer as a leafid server"
    ))
}

/// Why an address does not identify the machine of a holder.
fn beyond_asking(ip: IpAddr) -> Option<&'static str> {
    match ip.to_canonical() {
        ip if ip.is_loopback() => Some("is a loopback address"),
        ip if ip.is_unspecified() => Some("is an unspecified address"),
        _ => None,
    }
}

fn mean(shown: &[u64]) -> Option<u64> {
    let sum: u128 = shown.iter().copied().map(u128::from).sum();
    let mean = sum.checked_div(shown.len() as u128)?;
    u64::try_from(mean).ok()
}

async fn get_over<S: Io>(stream: S, address: &str, asked: &Asked) -> Option<Bytes> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    let mut request = Request::get(asked.path).header(HOST, address);
    if let Some(proof) = &asked.proof {
        request = request.header(PEER_PROOF, proof);
    }
    let request = request.body(Empty::<Bytes>::new()).ok()?;
    let asking = async {
        let answer = sender.send_request(request).await.ok()?;
        let is_good = answer.status().is_success();
        let body = Limited::new(answer.into_body(), asked.len_max);
        let body = body.collect().await.ok()?.to_bytes();
        is_good.then_some(body)
    };
    let mut connection = std::pin::pin!(connection);
    let mut asking = std::pin::pin!(asking);
    tokio::select! {
        answer = &mut asking => answer,
        // The peer may close as soon as its answer is sent.
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
        // The end of an answer without a length.
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

    /// Guards that a peer which is another program, or absent, does not distort the mean.
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

    /// Guards that a server with TLS can ask servers with it, whoever signed their certificates,
    /// and servers without it.
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
                let acceptor = tokio_rustls::TlsAcceptor::from(
                    tls.offer(crate::net::connection_counts::Protocol::Http),
                );
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

    /// Guards that a holder that merely cannot be asked is not considered dead.
    #[tokio::test]
    async fn a_loopback_address_says_nothing_about_another_machine() {
        let peers = Peers::default();
        let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (gone, listener) = (gone.local_addr().unwrap(), gone);
        drop(listener);
        let port = gone.port();
        for address in [
            String::new(),
            gone.to_string(),
            format!("localhost:{port}"),
            format!("[::1]:{port}"),
            format!("[::ffff:127.0.0.1]:{port}"),
            format!("0.0.0.0:{port}"),
            "nowhere".into(),
        ] {
            let looked = peers.look(&address).await;
            assert!(
                matches!(looked, Presence::Unknown(_)),
                "{address}: {looked:?}"
            );
        }
        // Three ports: one where nothing listens, one with another program, and one with a server.
        const OURS: &str = "HTTP/1.1 200 OK\r\n\r\n{\"unix_ms\":\"2000\",\"worker\":7}";
        assert_eq!(
            peers.look_at(&gone.to_string(), &[gone]).await,
            Presence::NothingListens
        );
        for (text, is_ours) in [(OURS, true), ("HTTP/1.1 200 OK\r\n\r\n<html>", false)] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            tokio::spawn(async move {
                drop(listener.accept().await.unwrap());
                answer(listener.accept().await.unwrap().0, text).await;
            });
            let looked = peers.look_at(&address.to_string(), &[address]).await;
            let answers = matches!(looked, Presence::Answers(answer) if answer.unix_ms == 2000);
            assert_eq!(answers, is_ours, "{looked:?}");
        }
    }

    #[test]
    fn the_mean_does_not_overflow() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[10, 20, 31]), Some(20));
        assert_eq!(mean(&[u64::MAX, u64::MAX]), Some(u64::MAX));
    }
}
