//! `Client`: a session with one server of ZooKeeper, over one connection for all callers at once.
//! What is asked is left to `session.rs`.
//!
//! There are no watches, no ephemeral nodes and no pings: nothing of ours ends with a session, and
//! a server that ends an idle one closes the connection, which `is_usable` sees. A task writes and
//! reads, so that a caller who gives up leaves no half of a request or reply behind.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::record::{Fields, Record};

/// Far above what the names and rows of all worker ids need.
const REPLY_LEN_MAX: usize = 16 * 1024 * 1024;

/// How many requests are on their way at once. A server takes 1,000 before it stops reading.
const REQUESTS_MAX: usize = 64;

/// How long a server keeps a session without requests. A longer one is opened anew less often.
const SESSION_TIMEOUT_MS: i32 = 30_000;

/// The numbers with which a server refuses, as its protocol names them.
pub(super) mod code {
    pub(crate) const NO_NODE: i32 = -101;
    pub(crate) const NO_AUTH: i32 = -102;
    pub(crate) const BAD_VERSION: i32 = -103;
    pub(crate) const NODE_EXISTS: i32 = -110;
    pub(crate) const SESSION_EXPIRED: i32 = -112;
    pub(crate) const AUTH_FAILED: i32 = -115;
    pub(crate) const SESSION_MOVED: i32 = -118;
    pub(crate) const NOT_READ_ONLY: i32 = -119;
    pub(crate) const QUOTA_EXCEEDED: i32 = -125;
    pub(crate) const THROTTLED: i32 = -127;
}

/// What can be asked, by the number in the request.
#[derive(Clone, Copy)]
pub(super) enum Operation {
    Create = 1,
    Exists = 3,
    GetData = 4,
    SetData = 5,
    Sync = 9,
    /// The children and the state of their parent.
    GetChildren2 = 12,
    Auth = 100,
}

/// The number of a request for a user, which has one of its own.
const AUTH_XID: i32 = -4;
const FIRST_XID: i32 = 1;

/// Why there is no reply, or no good one.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    /// The server has carried nothing out.
    #[error("ZooKeeper refuses with error {0}")]
    Refused(i32),
    /// The request may have been carried out.
    #[error("the connection failed")]
    Lost(#[source] io::Error),
    /// Nothing was sent.
    #[error("the session is closed")]
    Closed,
}

impl From<io::Error> for ClientError {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

/// A reply that is no reply to the request.
pub(super) fn garbled() -> ClientError {
    let text = "what came back is no reply of ZooKeeper";
    ClientError::Lost(io::Error::new(io::ErrorKind::InvalidData, text))
}

pub(super) struct Client {
    requests: mpsc::Sender<Request>,
    /// The task that writes and reads for as long as this lives.
    _driver: JoinSet<()>,
}

type Reply = Result<Vec<u8>, ClientError>;

struct Request {
    operation: Operation,
    body: Record,
    reply: oneshot::Sender<Reply>,
}

/// Who waits for the reply to the request of this number.
type Waiting = (i32, oneshot::Sender<Reply>);

impl Client {
    /// Opens a session with the server at `HOST:PORT`, as this user: `USER:PASSWORD`.
    pub(super) async fn connect(server: &str, digest: Option<&str>) -> Result<Self, ClientError> {
        let mut stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        begin_session(&mut stream).await?;
        if let Some(digest) = digest {
            log_in(&mut stream, digest).await?;
        }
        let (requests, asked) = mpsc::channel(REQUESTS_MAX);
        let mut driver = JoinSet::new();
        driver.spawn(drive(stream, asked));
        Ok(Self {
            requests,
            _driver: driver,
        })
    }

    /// Whether the connection is open, as far as is known.
    pub(super) fn is_usable(&self) -> bool {
        !self.requests.is_closed()
    }

    /// Asks the server once.
    pub(super) async fn call(&self, operation: Operation, body: Record) -> Reply {
        let (reply, answer) = oneshot::channel();
        let request = Request {
            operation,
            body,
            reply,
        };
        let sent = self.requests.send(request).await;
        sent.map_err(|_| ClientError::Closed)?;
        let ended = || ClientError::Lost(io::ErrorKind::UnexpectedEof.into());
        answer.await.unwrap_or_else(|_| Err(ended()))
    }
}

async fn begin_session(stream: &mut TcpStream) -> Result<(), ClientError> {
    const NO_SESSION: i64 = 0;
    let request = Record::default()
        .int(0) // The version of the protocol.
        .long(0) // The newest transaction seen.
        .int(SESSION_TIMEOUT_MS)
        .long(NO_SESSION)
        .bytes(&[0; 16]) // The password of that session.
        .flag(false); // Not with a server that only allows reading.
    let request = request.into_bytes();
    let framed = Record::default().bytes(&request).into_bytes();
    stream.write_all(&framed).await?;
    let reply = read_frame(stream).await?;
    let mut fields = Fields(&reply);
    let timeout_ms = fields.int().and_then(|_version| fields.int());
    match timeout_ms {
        Some(1..) => Ok(()),
        _ => Err(ClientError::Refused(code::SESSION_EXPIRED)),
    }
}

async fn log_in(stream: &mut TcpStream, digest: &str) -> Result<(), ClientError> {
    let body = Record::default().int(0).bytes(b"digest");
    let body = body.bytes(digest.as_bytes());
    let request = framed(AUTH_XID, Operation::Auth, body);
    stream.write_all(&request).await?;
    parse(AUTH_XID, &read_frame(stream).await?).map(|_| ())
}

/// Carries requests and replies until either side ends.
async fn drive(stream: TcpStream, requests: mpsc::Receiver<Request>) {
    let (reader, writer) = stream.into_split();
    let (waiting, due) = mpsc::channel(REQUESTS_MAX);
    // Callers without a reply are told by the end of their channel.
    tokio::select! {
        _ended = write(writer, requests, waiting) => {}
        _ended = read(reader, due) => {}
    }
}

async fn write(
    mut writer: OwnedWriteHalf,
    mut requests: mpsc::Receiver<Request>,
    waiting: mpsc::Sender<Waiting>,
) -> Result<(), ClientError> {
    let mut xid = FIRST_XID;
    while let Some(request) = requests.recv().await {
        if request.reply.is_closed() {
            // The caller gave up before it was sent.
            continue;
        }
        // Before it is sent, because the reply must find who waits.
        let known = waiting.send((xid, request.reply)).await;
        known.map_err(|_| ClientError::Closed)?;
        let request = framed(xid, request.operation, request.body);
        writer.write_all(&request).await?;
        xid = xid.checked_add(1).unwrap_or(FIRST_XID);
    }
    Ok(())
}

/// Replies come in the order of the requests.
async fn read(
    mut reader: OwnedReadHalf,
    mut due: mpsc::Receiver<Waiting>,
) -> Result<(), ClientError> {
    loop {
        let frame = read_frame(&mut reader).await?;
        let (xid, caller) = due.try_recv().map_err(|_| garbled())?;
        let reply = parse(xid, &frame);
        let is_lost = matches!(reply, Err(ClientError::Lost(_)));
        // The caller may have given up.
        let _gone = caller.send(reply);
        if is_lost {
            return Err(garbled());
        }
    }
}

/// What follows the header of the reply to the request of this number.
fn parse(xid: i32, reply: &[u8]) -> Reply {
    let mut fields = Fields(reply);
    let mut header = || {
        let (of, _zxid) = (fields.int()?, fields.long()?);
        Some((of, fields.int()?))
    };
    match header() {
        Some((of, 0)) if of == xid => Ok(fields.0.to_vec()),
        Some((of, code)) if of == xid => Err(ClientError::Refused(code)),
        _ => Err(garbled()),
    }
}

async fn read_frame(reader: &mut (impl AsyncRead + Unpin)) -> Result<Vec<u8>, ClientError> {
    let len = usize::try_from(reader.read_i32().await?).map_err(|_| garbled())?;
    if len > REPLY_LEN_MAX {
        return Err(garbled());
    }
    let mut frame = vec![0; len];
    reader.read_exact(&mut frame).await?;
    Ok(frame)
}

fn framed(xid: i32, operation: Operation, body: Record) -> Vec<u8> {
    let header = Record::default().int(xid).int(operation as i32);
    let request = header.record(body).into_bytes();
    Record::default().bytes(&request).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_to_another_request_is_no_answer() {
        let reply = |xid, refusal| Record::default().int(xid).long(9).int(refusal).into_bytes();
        assert!(parse(7, &reply(7, 0)).unwrap().is_empty());
        let refused = parse(7, &reply(7, code::NO_NODE));
        assert!(matches!(refused, Err(ClientError::Refused(code::NO_NODE))));
        for reply in [
            reply(8, 0),
            reply(8, code::NO_NODE),
            vec![0; 15],
            reply(7, 0)[..11].to_vec(),
        ] {
            assert!(matches!(parse(7, &reply), Err(ClientError::Lost(_))));
        }
    }

    /// Guards that no reply panics, and that one is taken only as the answer to its request.
    #[test]
    fn any_reply_is_read_or_refused() {
        leafid_fuzz::fuzz("zookeeper-replies", |data| {
            let Ok(body) = parse(7, data) else {
                return false;
            };
            let written = Record::default().int(7).long(0).int(0).into_bytes();
            assert_eq!(data[..4], written[..4]);
            assert_eq!(&data[16..], body);
            assert!(matches!(parse(8, data), Err(ClientError::Lost(_))));
            true
        });
    }
}
