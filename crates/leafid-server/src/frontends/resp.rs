//! The front end for the Redis protocol, RESP2 and RESP3: any Redis client takes ids with INCR.
//!
//! [`Session`](session::Session) parses and answers commands, without any I/O; `connection.rs`
//! moves the bytes. [`COMMANDS`](command::COMMANDS) is the table of commands.

mod args;
mod command;
mod connection;
mod context;
mod counts;
mod error;
mod parser;
mod reply;
mod session;
mod state;
mod transaction;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::net::connection_counts::Protocol;
use crate::net::front_end::{ConnectionInfo, FrontEnd, Io};
use crate::service::Service;

use context::Context;
pub(crate) use counts::RespCounts;

/// Serves the connections of Redis clients.
#[derive(Debug)]
pub(crate) struct RespFrontEnd {
    context: Arc<Context>,
    /// The number of connections so far.
    connections: AtomicU64,
}

impl RespFrontEnd {
    pub(crate) fn new(service: Arc<Service>, counts: Arc<RespCounts>) -> Self {
        Self {
            context: Arc::new(Context {
                limits: service.limits().resp,
                service,
                counts,
                commands: command::COMMANDS,
            }),
            connections: AtomicU64::new(0),
        }
    }

    /// A session with a number of its own.
    fn session(&self) -> session::Session {
        // Relaxed: the numbers only have to differ.
        let id = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        session::Session::new(Arc::clone(&self.context), id)
    }
}

impl FrontEnd for RespFrontEnd {
    const PROTOCOL: Protocol = Protocol::Resp;
    const TLS_REQUIRED: &'static [u8] =
        b"-ERR this server requires TLS: connect with rediss://, or redis-cli --tls\r\n";
    // Redis's words: go-redis retries on them.
    const TOO_MANY_CONNECTIONS: &'static [u8] = b"-ERR max number of clients reached\r\n";
    const SERVES_ADMINS: bool = false;

    async fn serve<S: Io>(self: Arc<Self>, stream: S, connection: ConnectionInfo) {
        connection::serve(self.session(), stream, connection).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufStream, duplex};

    use super::*;
    use crate::config::Limits;
    use crate::net::shutdown::Shutdown;

    /// Guards that an answer which the stream takes and cannot send at once, as TLS does, leaves
    /// when there is room again, although the peer sends nothing more.
    #[tokio::test(start_paused = true)]
    async fn what_the_stream_keeps_leaves_later() {
        let (service, _driver) = Service::in_memory(Vec::new(), Limits::default());
        let counts = Arc::new(RespCounts::default());
        let front_end = Arc::new(RespFrontEnd::new(Arc::new(service), counts));
        let (ours, mut theirs) = duplex(16);
        let stream = BufStream::with_capacity(4096, 4096, ours);
        let connection = ConnectionInfo::for_tests(Shutdown::new());
        let backlog = Arc::clone(&connection.backlog);
        tokio::spawn(front_end.serve(stream, connection));
        // More than the stream takes at once.
        let text = "x".repeat(10_000);
        let command = format!("ECHO {text}\r\n");
        theirs.write_all(command.as_bytes()).await.unwrap();
        let expected = format!("$10000\r\n{text}\r\n");
        let mut answers = vec![0; expected.len()];
        let reading = theirs.read_exact(&mut answers);
        // Virtual time stands still while anything moves, so this fires only if nothing does.
        let read = tokio::time::timeout(Limits::default().ping_max / 2, reading).await;
        assert!(matches!(read, Ok(Ok(_))), "the rest stays behind");
        assert_eq!(String::from_utf8(answers).unwrap(), expected);
        tokio::task::yield_now().await;
        assert!(
            backlog.is_open(),
            "its peer counts as one that does not read"
        );
    }
}
