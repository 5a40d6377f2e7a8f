//! A peer that does not read, behind a layer that buffers what was written, as TLS does.

use super::*;
use crate::frontends::resp::{RespCounts, RespFrontEnd};
use crate::net::shutdown::Shutdown;
use crate::service::Service;

/// A stream with one command, which takes all that is written and never sends it.
struct Unread {
    command: &'static [u8],
    is_written: bool,
}

impl AsyncRead for Unread {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.command.is_empty() {
            return Poll::Pending;
        }
        buffer.put_slice(std::mem::take(&mut self.command));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Unread {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.is_written = true;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_written {
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

/// Guards that an answer which was written but not sent counts as unread. Such a connection was
/// once mistaken for an idle one, which may stay for an hour.
#[tokio::test(start_paused = true)]
async fn an_answer_that_never_leaves_ends_the_connection() {
    let (service, _driver) = Service::in_memory(Vec::new(), Limits::default());
    let (service, counts) = (Arc::new(service), Arc::new(RespCounts::default()));
    let limits = *service.limits();
    let front_end = Arc::new(RespFrontEnd::new(service, counts));
    let stream = Unread {
        command: b"PING\r\n",
        is_written: false,
    };
    let serving = serve(
        front_end.session(),
        stream,
        ConnectionInfo::for_tests(Shutdown::new()),
    );
    let patience = limits.first_head_max + 3 * limits.idle_max;
    assert!(patience < limits.resp.idle_max);
    let ended = tokio::time::timeout(patience, serving).await;
    ended.expect("the connection stays open");
}
