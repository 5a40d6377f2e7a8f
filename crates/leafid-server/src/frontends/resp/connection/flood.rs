//! A peer that never stops sending.

use tokio::io::{DuplexStream, duplex};

use super::*;
use crate::config::TokenSpec;
use crate::frontends::resp::{RespCounts, RespFrontEnd};
use crate::net::shutdown::Shutdown;
use crate::service::Service;

/// A stream that always has more to read, and whose peer reads at once what is written.
struct Flood {
    near: DuplexStream,
    far: DuplexStream,
}

impl Flood {
    fn new() -> Self {
        let (near, far) = duplex(1024);
        Self { near, far }
    }
}

impl AsyncRead for Flood {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let _sent = Pin::new(&mut self.far).poll_write(context, b"PING\r\n");
        Pin::new(&mut self.near).poll_read(context, buffer)
    }
}

impl AsyncWrite for Flood {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn front_end(tokens: Vec<TokenSpec>) -> Arc<RespFrontEnd> {
    let limits = Limits {
        first_head_max: Duration::from_millis(100),
        ..Limits::default()
    };
    let (service, _driver) = Service::in_memory(tokens, limits);
    let counts = Arc::new(RespCounts::default());
    Arc::new(RespFrontEnd::new(Arc::new(service), counts))
}

/// Time enough for all that is measured here.
const PATIENCE: Duration = Duration::from_secs(10);

/// Guards that a peer that sends all the time cannot keep its connection from noticing the
/// shutdown.
#[tokio::test]
async fn the_shutdown_is_noticed_in_a_flood() {
    let shutdown = Shutdown::new();
    let serving = tokio::spawn(serve(
        front_end(Vec::new()).session(),
        Flood::new(),
        ConnectionInfo::for_tests(shutdown.clone()),
    ));
    tokio::task::yield_now().await;
    shutdown.ask();
    let ended = tokio::time::timeout(PATIENCE, serving).await;
    ended.expect("the connection stays open").unwrap();
}

/// Guards that a peer which sends all the time, but never a valid token, is disconnected.
#[tokio::test]
async fn a_flood_without_a_token_ends() {
    let front_end = front_end(vec![TokenSpec::new("app", "secret")]);
    let serving = tokio::spawn(serve(
        front_end.session(),
        Flood::new(),
        ConnectionInfo::for_tests(Shutdown::new()),
    ));
    let ended = tokio::time::timeout(PATIENCE, serving).await;
    ended.expect("the connection stays open").unwrap();
}
