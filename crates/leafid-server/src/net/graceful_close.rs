//! Graceful close: ends a connection so that its peer can still read the last answer.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};

/// How long to read on, and how much, after the last answer: closing at once would make the system
/// discard that answer if the peer still sends.
pub(crate) const LINGER_MAX: Duration = Duration::from_millis(500);
const LINGER_LEN_MAX: usize = 256 * 1024;

/// Sends the rest of the answers, closes the sending side, and gives the peer time to read them. If
/// `is_hurried`, as at the shutdown, only reads what the peer has already sent.
pub(crate) async fn end<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    rest: &[u8],
    is_hurried: bool,
) {
    let ending = async {
        stream.write_all(rest).await?;
        stream.shutdown().await?;
        read_on(&mut stream, is_hurried).await
    };
    // Whether the peer read it or not, the connection ends here.
    let _ended = tokio::time::timeout(LINGER_MAX, ending).await;
}

/// Reads until the peer closes, or has sent too much.
async fn read_on<S: AsyncRead + Unpin>(stream: &mut S, is_hurried: bool) -> io::Result<()> {
    let mut len_left = LINGER_LEN_MAX;
    poll_fn(|context| {
        while len_left > 0 {
            let mut bytes = [0; 4096];
            let mut buf = ReadBuf::new(&mut bytes);
            let read = Pin::new(&mut *stream).poll_read(context, &mut buf);
            if is_hurried && read.is_pending() {
                break;
            }
            ready!(read)?;
            if buf.filled().is_empty() {
                break;
            }
            len_left = len_left.saturating_sub(buf.filled().len());
        }
        Poll::Ready(Ok(()))
    })
    .await
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, duplex};
    use tokio::time::Instant;

    use super::*;

    /// Guards that the peer gets time to read, but not more than that.
    #[tokio::test(start_paused = true)]
    async fn a_peer_gets_time_to_read() {
        let (near, _far) = duplex(16);
        let begun = Instant::now();
        end(near, b"", false).await;
        assert_eq!(begun.elapsed(), LINGER_MAX);
    }

    /// Guards that even at the shutdown, what the peer has already sent is read before its
    /// connection is closed, because the system would discard the last answers otherwise; and that
    /// nothing more is waited for.
    #[tokio::test(start_paused = true)]
    async fn in_a_hurry_what_came_in_is_read() {
        let (mut near, mut far) = duplex(16 * 1024);
        far.write_all(&[b'7'; 10_000]).await.unwrap();
        let begun = Instant::now();
        end(&mut near, b"", true).await;
        assert_eq!(begun.elapsed(), Duration::ZERO);
        drop(far);
        let mut rest = Vec::new();
        near.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"");
    }
}
