//! The door for the Redis protocol, RESP2 and RESP3: any Redis client takes ids with INCR.
//!
//! [`Session`](session::Session) is the conversation, without any I/O; `connection.rs` moves the
//! bytes. [`COMMANDS`](command::COMMANDS) is the table of what there is to say.

mod args;
mod command;
mod connection;
mod error;
mod parser;
mod reply;
mod session;
mod transaction;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::AsyncWriteExt as _;

use crate::limits::RespLimits;
use crate::linger::end;
use crate::listen::{self, Io, Place};
use crate::metrics::RespCounts;
use crate::service::Service;
use crate::shutdown::Shutdown;
use crate::tls::Alpn;

pub(crate) use command::{COMMANDS_LEN, command_name};

/// Through which all connections come.
#[derive(Debug)]
pub(crate) struct RespDoor {
    service: Arc<Service>,
    counts: Arc<RespCounts>,
    limits: RespLimits,
    /// How many connections there were.
    connections: AtomicU64,
}

impl RespDoor {
    pub(crate) fn new(service: Arc<Service>, counts: Arc<RespCounts>) -> Self {
        Self {
            limits: service.limits().resp,
            service,
            counts,
            connections: AtomicU64::new(0),
        }
    }

    /// A conversation with a number of its own.
    fn session(self: &Arc<Self>) -> session::Session {
        // Relaxed: only has to differ.
        let id = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
        session::Session::new(Arc::clone(self), id)
    }
}

impl listen::Door for RespDoor {
    const NAME: &'static str = "resp";
    const ALPN: Alpn = Alpn::Resp;
    const PLAIN_REFUSAL: &'static [u8] =
        b"-ERR this server asks for TLS: connect with rediss://, or redis-cli --tls\r\n";
    // Redis's words: go-redis tries again on them.
    const REFUSAL: &'static [u8] = b"-ERR max number of clients reached\r\n";

    async fn serve<S: Io>(self: Arc<Self>, mut stream: S, place: Place, shutdown: Shutdown) {
        match place {
            Place::Full => connection::serve(self, stream, shutdown).await,
            // There is nothing here for operators to do.
            Place::Operators => {
                if stream.write_all(Self::REFUSAL).await.is_ok() {
                    end(stream, false).await;
                }
            }
        }
    }
}
