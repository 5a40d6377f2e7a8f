//! The end of a connection: how it is closed so that its peer still reads the last answer.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// How long to read on, and how much, after the last answer: closing at once would make the
/// system throw that answer away if the peer still sends.
pub(crate) const LINGER_MAX: Duration = Duration::from_millis(500);
const LINGER_LEN_MAX: u64 = 256 * 1024;

/// Says that nothing follows; unless there is a hurry, gives the peer time to read the answers.
pub(crate) async fn end<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, is_hurried: bool) {
    let ending = async {
        stream.shutdown().await?;
        if !is_hurried {
            let mut rest = stream.take(LINGER_LEN_MAX);
            tokio::io::copy(&mut rest, &mut tokio::io::sink()).await?;
        }
        Ok::<(), io::Error>(())
    };
    // Whether the peer read it or not: the connection ends here.
    let _ended = tokio::time::timeout(LINGER_MAX, ending).await;
}
