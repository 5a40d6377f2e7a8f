//! The way in where TLS is on: looks at the first byte of a connection, agrees on TLS within a
//! bounded time, and hands the connection to its front end. Runs on the connection's runtime, so
//! that neither a slow peer nor the computing of a handshake holds up the acceptor.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsAcceptor;

use super::{Outcome, Tls};
use crate::net::front_end::{ConnectionInfo, FrontEnd};
use crate::net::graceful_close::end;

/// How a ClientHello begins; no request of any of our protocols begins so.
const HANDSHAKE: u8 = 0x16;

/// How a connection begins.
enum Beginning {
    Tls,
    Plain,
    /// Its peer went, or said nothing in time.
    Nothing,
}

impl Tls {
    /// Serves a connection that was just accepted.
    pub(crate) async fn serve<F: FrontEnd>(
        &self,
        front_end: Arc<F>,
        stream: TcpStream,
        connection: ConnectionInfo,
    ) {
        let deadline = Instant::now() + self.limits.handshake_max;
        let beginning = tokio::select! {
            beginning = timeout_at(deadline, beginning(&stream)) => beginning,
            () = connection.shutdown.asked() => return,
        };
        match beginning {
            Ok(Ok(Beginning::Tls)) => self.encrypt(front_end, stream, connection, deadline).await,
            Ok(Ok(Beginning::Plain)) if self.lets_plain_in() => {
                self.counts.count(Outcome::Plain);
                Box::pin(front_end.serve(stream, connection)).await;
            }
            // Those who speak TLS begin at once; the others may rest for as long as their front end
            // allows, such as a client that keeps connections ready.
            Err(_late) if self.lets_plain_in() => {
                Box::pin(front_end.serve(stream, connection)).await;
            }
            Ok(Ok(Beginning::Plain)) => {
                self.counts.count(Outcome::Refused);
                refuse::<F>(stream).await;
            }
            Err(_late) => self.counts.count(Outcome::Late),
            Ok(Ok(Beginning::Nothing) | Err(_)) => {}
        }
    }

    async fn encrypt<F: FrontEnd>(
        &self,
        front_end: Arc<F>,
        stream: TcpStream,
        connection: ConnectionInfo,
        deadline: Instant,
    ) {
        let acceptor = TlsAcceptor::from(self.offer(F::ALPN));
        // Most of what a handshake needs to wait in is given back before the requests come.
        let agreeing = Box::pin(timeout_at(
            deadline,
            acceptor.accept(stream).into_fallible(),
        ));
        let agreed = tokio::select! {
            agreed = agreeing => agreed,
            () = connection.shutdown.asked() => return,
        };
        match agreed {
            Ok(Ok(stream)) => {
                self.counts.count(Outcome::Agreed);
                Box::pin(front_end.serve(stream, connection)).await;
            }
            Ok(Err((error, stream))) => {
                self.counts.count(Outcome::Failed);
                tracing::debug!(%error, front_end = F::PROTOCOL.name(), "no TLS was agreed upon");
                // The peer was sent an alert that says why, and may still be sending.
                end(stream, b"", false).await;
            }
            Err(_late) => self.counts.count(Outcome::Late),
        }
    }
}

/// Looks at the first byte, and leaves it where it is.
async fn beginning(stream: &TcpStream) -> io::Result<Beginning> {
    let mut first = [0];
    Ok(match stream.peek(&mut first).await? {
        0 => Beginning::Nothing,
        _ if first == [HANDSHAKE] => Beginning::Tls,
        _ => Beginning::Plain,
    })
}

/// Tells a peer without TLS that it needs it, in the words of its protocol.
async fn refuse<F: FrontEnd>(mut stream: TcpStream) {
    use tokio::io::AsyncWriteExt as _;
    if !F::TLS_REQUIRED.is_empty() && stream.write_all(F::TLS_REQUIRED).await.is_err() {
        return;
    }
    end(stream, b"", false).await;
}
