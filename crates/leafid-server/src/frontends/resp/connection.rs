//! One connection: reads bytes, passes them to the session, and sends the answers. All commands of
//! a read are answered before one write goes back.
//!
//! An idle connection holds no buffers: input and answers pass through buffers of the thread. Only
//! the beginning of a command, and answers that the peer does not read, are kept; while there are
//! any of those, nothing more is read.

#[cfg(test)]
mod flood;
#[cfg(test)]
mod unread;

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::session::{Pending, Session, Then};
use crate::config::Limits;
use crate::net::front_end::{ConnectionInfo, Io};
use crate::net::graceful_close::{LINGER_MAX, end};
use crate::net::poll_on_wake::PollOnWake;
use crate::net::unread::{Backlog, Charge, FREE_LEN, Progress};

/// The most bytes of one read.
const READ_LEN_MAX: usize = 64 * 1024;
/// A thread's buffer that has grown beyond this is freed.
const SCRATCH_LEN_MAX: usize = 1024 * 1024;

/// The buffers of a thread.
#[derive(Default)]
struct Scratch {
    input: Vec<u8>,
    output: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Serves a connection until its peer, silence or the shutdown ends it.
pub(super) async fn serve<S: Io>(session: Session, stream: S, connection: ConnectionInfo) {
    let ConnectionInfo {
        shutdown, backlog, ..
    } = connection;
    let limits = *session.limits();
    let pulse = Pulse::default();
    let mut connection = Connection {
        session,
        stream,
        kept: Vec::new(),
        needed: 1,
        is_fed: true,
        output: Vec::new(),
        is_flushed: true,
        is_closing: false,
        pulse: &pulse,
        backlog: Arc::clone(&backlog),
        charge: None,
    };
    let mut around = Around {
        silent: PollOnWake::new(async {
            tokio::select! {
                () = silent(&pulse, &backlog, &limits) => {}
                () = backlog.cut_off() => {}
            }
        }),
        asked: PollOnWake::new(shutdown.asked()),
    };
    let ended = loop {
        match poll_fn(|context| connection.poll(&mut around, context)).await {
            Ok(Pause::Wait(pending)) => connection.resume(pending).await,
            Ok(Pause::End) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    if ended.is_ok() {
        let is_hurried = around.is_asked();
        connection.close(is_hurried).await;
    }
}

/// A connection with its incomplete input and its unsent answers.
struct Connection<'a, S> {
    session: Session,
    stream: S,
    /// Input that is not consumed yet.
    kept: Vec<u8>,
    /// How many bytes the session needs to continue.
    needed: usize,
    /// Whether the session has seen what is kept, and needs more.
    is_fed: bool,
    /// Answers that could not be sent yet.
    output: Vec<u8>,
    /// Whether everything written has been sent. Under TLS some of it may not have been.
    is_flushed: bool,
    /// Whether the connection ends once the answers are sent.
    is_closing: bool,
    pulse: &'a Pulse,
    backlog: Arc<Backlog>,
    /// Counts the unread answers of the connection, if they are many.
    charge: Option<Charge>,
}

/// Why a connection pauses.
enum Pause {
    Wait(Pending),
    End,
}

/// The events that end a connection.
struct Around<Silent, Asked> {
    /// Is ready when the peer was silent for too long.
    silent: PollOnWake<Silent>,
    /// Is ready when the server shuts down.
    asked: PollOnWake<Asked>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<'_, S> {
    fn poll(
        &mut self,
        around: &mut Around<impl Future<Output = ()>, impl Future<Output = ()>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Pause>> {
        self.pulse
            .rest(self.owes(), self.session.is_authenticated());
        // Polled first: a peer that never stops sending uses up tokio's budget for one turn of a
        // task, and timers polled after it would never fire.
        if around.poll(context).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        while let Poll::Ready(turned) = self.turn(context) {
            if let Some(pause) = turned? {
                return Poll::Ready(Ok(pause));
            }
        }
        // At the shutdown, all input has been answered by now.
        if around.is_asked() && self.output.is_empty() {
            return Poll::Ready(Ok(Pause::End));
        }
        self.count();
        Poll::Pending
    }

    /// Counts the unread answers while the connection waits for its peer.
    fn count(&mut self) {
        let held = self.kept.capacity() + self.output.capacity() + self.session.held_len();
        if held <= FREE_LEN {
            self.charge = None;
            return;
        }
        let backlog = &self.backlog;
        let charge = self.charge.get_or_insert_with(|| backlog.charge(0));
        charge.set(held);
    }

    /// Whether a command or an answer is incomplete.
    fn owes(&self) -> bool {
        !self.kept.is_empty() || !self.output.is_empty() || !self.is_flushed
    }

    /// Sends, then answers the input, then reads. `None` if there may be more to do.
    fn turn(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Option<Pause>>> {
        ready!(self.poll_send(context))?;
        if self.is_closing {
            return Poll::Ready(Ok(Some(Pause::End)));
        }
        SCRATCH.with_borrow_mut(|scratch| self.exchange(scratch, context))
    }

    fn exchange(
        &mut self,
        scratch: &mut Scratch,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Option<Pause>>> {
        let Scratch { input, output } = scratch;
        let kept_len = self.kept.len();
        let mut len = kept_len;
        if self.is_fed {
            if input.len() < kept_len + READ_LEN_MAX {
                input.resize(kept_len + READ_LEN_MAX, 0);
            }
            let mut buffer = ReadBuf::new(&mut input[kept_len..][..READ_LEN_MAX]);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
            let read_len = buffer.filled().len();
            if read_len == 0 {
                return Poll::Ready(Ok(Some(Pause::End)));
            }
            self.pulse.beat();
            len += read_len;
            if len < self.needed {
                self.kept.extend_from_slice(&input[kept_len..len]);
                return Poll::Ready(Ok(None));
            }
        } else if input.len() < kept_len {
            input.resize(kept_len, 0);
        }
        input[..kept_len].copy_from_slice(&self.kept);
        let pause = self.answer(&input[..len], output);
        let sent = self.send_first(output, context);
        if input.len() > SCRATCH_LEN_MAX || output.capacity() > SCRATCH_LEN_MAX {
            *scratch = Scratch::default();
        }
        sent?;
        Poll::Ready(Ok(pause))
    }

    /// Lets the session answer, and keeps the input that it did not consume.
    fn answer(&mut self, stream: &[u8], output: &mut Vec<u8>) -> Option<Pause> {
        let begun = Instant::now();
        let fed = self.session.feed(stream, output);
        self.session.record(begun.elapsed());
        self.kept.clear();
        self.kept.extend_from_slice(&stream[fed.consumed..]);
        if self.kept.is_empty() {
            self.kept = Vec::new();
        }
        self.is_fed = false;
        match fed.then {
            Then::Read(needed) => {
                self.needed = needed;
                self.is_fed = true;
                None
            }
            Then::Flush => None,
            Then::Wait(pending) => Some(Pause::Wait(pending)),
            Then::Close => {
                self.is_closing = true;
                None
            }
        }
    }

    /// Sends answers directly from the thread's buffer; keeps what the socket does not take.
    fn send_first(&mut self, output: &mut Vec<u8>, context: &mut Context<'_>) -> io::Result<()> {
        let mut sent = 0;
        let sending = poll_write_all(&mut self.stream, output, &mut sent, context);
        if sent < output.len() {
            self.output.extend_from_slice(&output[sent..]);
        }
        self.backlog.sent(sent);
        self.backlog.stuck(!self.output.is_empty());
        output.clear();
        match sending {
            Poll::Ready(done) => done,
            Poll::Pending => Ok(()),
        }
    }

    /// Sends the answers that were kept.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.output.is_empty() {
            let flushed = Pin::new(&mut self.stream).poll_flush(context);
            self.is_flushed = flushed.is_ready();
            self.backlog.stuck(flushed.is_pending());
            return flushed;
        }
        let mut sent = 0;
        let sending = poll_write_all(&mut self.stream, &self.output, &mut sent, context);
        if sent > 0 {
            self.pulse.beat();
            self.backlog.sent(sent);
            self.output.drain(..sent);
        }
        self.backlog.stuck(sending.is_pending());
        if self.output.is_empty() {
            self.output = Vec::new();
        }
        sending
    }

    /// Waits for what a command needs. The answers before it are sent meanwhile.
    async fn resume(&mut self, pending: Pending) {
        let mut output = Vec::new();
        let begun = Instant::now();
        self.session.resume(pending, &mut output).await;
        self.session.record(begun.elapsed());
        self.output.append(&mut output);
    }

    /// Sends the rest and ends the connection.
    async fn close(mut self, is_hurried: bool) {
        let sending = poll_fn(|context| self.poll_send(context));
        if let Ok(Ok(())) = tokio::time::timeout(LINGER_MAX, sending).await {
            end(self.stream, b"", is_hurried).await;
        }
    }
}

/// Writes what the socket takes, and counts it.
fn poll_write_all<S: AsyncWrite + Unpin>(
    stream: &mut S,
    bytes: &[u8],
    sent: &mut usize,
    context: &mut Context<'_>,
) -> Poll<io::Result<()>> {
    if bytes.is_empty() {
        return Poll::Ready(Ok(()));
    }
    while *sent < bytes.len() {
        let len = ready!(Pin::new(&mut *stream).poll_write(context, &bytes[*sent..]))?;
        if len == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        *sent += len;
    }
    Pin::new(stream).poll_flush(context)
}

impl<Silent: Future<Output = ()>, Asked: Future<Output = ()>> Around<Silent, Asked> {
    /// Is ready when the connection must end because of the peer's silence.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let _asked = self.asked.poll(context);
        self.silent.poll(context)
    }

    /// Whether the server shuts down.
    fn is_asked(&self) -> bool {
        self.asked.is_over()
    }
}

/// The state of a connection for the idle time-out. Both run in one task.
#[derive(Debug, Default)]
struct Pulse {
    /// Incremented by each read, and by each write that had to wait.
    beats: AtomicU64,
    owes: AtomicBool,
    is_admitted: AtomicBool,
}

impl Pulse {
    fn beat(&self) {
        // Relaxed, and no addition: one task writes and reads it.
        let beats = self.beats.load(Ordering::Relaxed);
        self.beats.store(beats + 1, Ordering::Relaxed);
    }

    fn rest(&self, owes: bool, is_admitted: bool) {
        self.owes.store(owes, Ordering::Relaxed);
        self.is_admitted.store(is_admitted, Ordering::Relaxed);
    }
}

/// Is ready once the peer has been silent for too long: before authentication, in the middle of a
/// command or of an answer, or idle; or has read next to nothing of the answers that wait for it.
async fn silent(pulse: &Pulse, backlog: &Backlog, limits: &Limits) {
    tokio::time::sleep(limits.first_head_max).await;
    if !pulse.is_admitted.load(Ordering::Relaxed) {
        return;
    }
    let pause = limits.idle_max.min(limits.resp.idle_max);
    let mut before = pulse.beats.load(Ordering::Relaxed);
    let mut quiet = Duration::ZERO;
    let mut progress = backlog.socket_progress();
    loop {
        tokio::time::sleep(pause).await;
        if has_stalled(&mut progress, backlog, limits) {
            return;
        }
        let now = pulse.beats.load(Ordering::Relaxed);
        if now != before {
            (before, quiet) = (now, Duration::ZERO);
            continue;
        }
        quiet += pause;
        if pulse.owes.load(Ordering::Relaxed) || quiet >= limits.resp.idle_max {
            return;
        }
    }
}

/// Whether the peer has read next to nothing of the waiting answers since the last check.
fn has_stalled(before: &mut Progress, backlog: &Backlog, limits: &Limits) -> bool {
    let now = backlog.socket_progress();
    let before = std::mem::replace(before, now);
    now.is_too_slow(&before, limits.read_len_min)
}
