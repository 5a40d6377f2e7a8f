//! `Io`: a byte stream of a connection, plain or TLS.

use tokio::io::{AsyncRead, AsyncWrite};

/// A byte stream of a connection, plain or TLS.
pub(crate) trait Io: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Io for T {}
