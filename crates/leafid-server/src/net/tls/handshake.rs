//! The TLS handshake: checks the first byte of a connection, does the handshake within a time
//! limit, and passes the connection to its front end. Runs on the connection's runtime, so that
//! neither a slow peer nor the computation blocks the acceptor.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsAcceptor;

use super::{Outcome, Tls};
use crate::net::front_end::{ConnectionInfo, FrontEnd};
use crate::net::graceful_close::end;

/// The first byte of a ClientHello; no request of our protocols begins with it.
const HANDSHAKE: u8 = 0x16;

/// How a connection begins.
enum Beginning {
    Tls,
    Plain,
    /// Its peer closed it, or sent nothing in time.
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
            // TLS clients send at once; others may stay idle for as long as their front end allows,
            // such as a client with a connection pool.
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
        let acceptor = TlsAcceptor::from(self.offer(F::PROTOCOL));
        // Most of the memory that a waiting handshake needs is freed before the requests come.
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
                tracing::debug!(%error, front_end = F::PROTOCOL.name(), "the TLS handshake failed");
                // The peer was sent an alert that says why, and may still be sending.
                end(stream, b"", false).await;
            }
            Err(_late) => self.counts.count(Outcome::Late),
        }
    }
}

/// Peeks at the first byte.
async fn beginning(stream: &TcpStream) -> io::Result<Beginning> {
    let mut first = [0];
    Ok(match stream.peek(&mut first).await? {
        0 => Beginning::Nothing,
        _ if first == [HANDSHAKE] => Beginning::Tls,
        _ => Beginning::Plain,
    })
}

/// Tells a plain peer that TLS is required, in its protocol.
async fn refuse<F: FrontEnd>(mut stream: TcpStream) {
    use tokio::io::AsyncWriteExt as _;
    if !F::TLS_REQUIRED.is_empty() && stream.write_all(F::TLS_REQUIRED).await.is_err() {
        return;
    }
    end(stream, b"", false).await;
}
