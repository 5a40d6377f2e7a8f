//! `Limits`: every numeric bound of the server. There are no others.

use std::time::Duration;

use crate::api::{COUNT_MAX, IDS_PER_SECOND_MAX, RANGE_LEN_MAX};

/// Every numeric bound of the server, with what it protects from.
///
/// # Example
///
/// ```
/// use leafid_server::Limits;
///
/// let limits = Limits { count_max: 100, ..Limits::default() };
/// assert_eq!(limits.body_len_max, 16 * 1024);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Open connections, over all front ends; on one more only health checks and administration are
    /// answered. Default: 50,000.
    pub connections_max: u32,
    /// Connections of one peer address (IPv6: of one /64 network); one more counts as one beyond
    /// `connections_max`. 0 means three quarters of `connections_max`. Default: 0.
    pub connections_per_address: u32,
    /// Connections beyond `connections_max`, reserved for operators; one more is refused until later
    /// and closed. Once half of them are open, each new one makes the oldest finish and close, so
    /// that idle ones never take them all. Default: 64.
    pub operator_connections_max: u32,
    /// Calls that wait for ids at once, over all front ends; one more is refused as `overloaded`.
    /// Calls answered from memory do not count. Default: 20,000.
    pub requests_max: u64,
    /// Calls of admins, about tags, that go to the store at once, if half of `store_connections` are
    /// not fewer; more of them queue. Default: 32.
    pub admin_requests_max: usize,
    /// Calls of operators, about worker ids, that go to the registry at once; more of them queue.
    /// Default: 4.
    pub registry_requests_max: usize,
    /// Calls to the store at once that requests for ids cause outside the driver: creating tags on
    /// first use, and reading tags that are not in use. More of them queue. Default: 2.
    pub caller_calls_max: usize,
    /// Tags with a quota of their own. Default: 10,000.
    pub quotas_max: usize,
    /// Ids per second of a quota; a higher one would limit nothing. Default: 1,000,000,000.
    pub ids_per_second_max: u64,
    /// Tokens in an access file, at about 6 KB each. Default: 1000.
    pub tokens_max: usize,
    /// Tag patterns of a token. Default: 1000.
    pub token_tags_max: usize,
    /// Characters in the name of a token. Default: 64.
    pub token_name_len_max: usize,
    /// The minimum number of characters in a token's secret, against guessing. Default: 16.
    pub secret_len_min: usize,
    /// The maximum number of characters in a token's secret, so that it fits in a header.
    /// Default: 512.
    pub secret_len_max: usize,
    /// Bytes of an access file. Default: 4 MiB.
    pub access_file_len_max: u64,
    /// Bytes of a file of certificates, or of a key. Default: 1 MiB.
    pub pem_file_len_max: u64,
    /// How long the TLS handshake of a new connection may take. Default: 10 s.
    pub handshake_max: Duration,
    /// HTTP/2 streams open at once on a connection. Default: 100.
    pub streams_max: u32,
    /// The flow-control window in bytes of one HTTP/2 stream, and of a connection with all its
    /// streams. A gRPC message is about 10 bytes. Default: 64 KiB, 256 KiB.
    pub stream_window_len: u32,
    /// See `stream_window_len`.
    pub connection_window_len: u32,
    /// The keep-alive ping interval of a gRPC connection on which nothing comes in, which also keeps
    /// load balancers from cutting it. Default: 30 s.
    pub ping_interval: Duration,
    /// How long the answer to that ping may take before the connection is closed. Default: 10 s.
    pub ping_max: Duration,
    /// Bytes of answers that clients have not read yet, and of buffers that their HTTP/2 header
    /// tables refer to, over all connections; beyond it the connections that hold the most are
    /// cut. Default: 256 MiB.
    pub unread_max: usize,
    /// The same for one connection: at the bound it gets no more answers until its client has read
    /// some. A single answer may be longer. Default: 1 MiB.
    pub connection_unread_max: usize,
    /// Bytes that a client with unread answers must read within `idle_max`; a slower one is cut.
    /// Default: 64 KiB.
    pub read_len_min: u64,
    /// Bytes of a request line with its headers; more is answered 431. At least 8192.
    /// Default: 16 KiB.
    pub head_len_max: usize,
    /// Header lines of a request; more is answered 431. Default: 64.
    pub headers_max: usize,
    /// Bytes of a path with its query; more is answered 414. The longest tag, with all of its 128
    /// characters escaped, takes 1536. Default: 4096.
    pub target_len_max: usize,
    /// Bytes of a request body, or of a gRPC message; more is answered 413, OUT_OF_RANGE.
    /// Default: 16 KiB.
    pub body_len_max: usize,
    /// How long a new connection may take to send the headers of its first request; over gRPC, the
    /// HTTP/2 preface. Default: 10 s.
    pub first_head_max: Duration,
    /// A connection on which no request began and none ended for this long is closed, at the latest
    /// after twice this time: idle ones, slow headers, and clients that do not read their answers.
    /// Over gRPC an idle one is told to close first (GOAWAY), and has as long again; an open stream
    /// without pending messages keeps its connection open. Default: 60 s.
    pub idle_max: Duration,
    /// How long a connection that was told to close, because it is idle, may take before it is cut.
    /// Default: 1 s.
    pub leave_max: Duration,
    /// How long a request body, or the message of a gRPC call, may take to arrive; a slower one is
    /// answered 408, DEADLINE_EXCEEDED. Default: 10 s.
    pub body_max: Duration,
    /// How long reloading the access file or the certificate may take. Default: 10 s.
    pub reload_max: Duration,
    /// How long handling a request may take, whatever it waits for. Default: 30 s.
    pub answer_max: Duration,
    /// Ids in one batch. Each is about 20 bytes of the answer. Default: 10,000.
    pub count_max: u64,
    /// Ids in one range for the caller to issue. A typo wastes up to this many. Default:
    /// 10,000,000.
    pub range_len_max: u64,
    /// Tags on one page of a list. Default: 1000.
    pub page_len_max: u32,
    /// Tags on a page by default. Default: 100.
    pub page_len: u32,
    /// Rows of the tables at `/cache` and `/db`. Default: 1000.
    pub table_rows_max: u32,
    /// Tags with metric series of their own, nine each: those that issue the most ids. The others
    /// are summed up. The metrics show as many quotas. Default: 500.
    pub metrics_tags_max: usize,
    /// The bounds of the Redis protocol.
    pub resp: RespLimits,
}

/// The bounds of the front end for the Redis protocol.
///
/// # Example
///
/// ```
/// use leafid_server::RespLimits;
///
/// assert_eq!(RespLimits::default().args_max, 1024);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RespLimits {
    /// Words of a command; more is answered `invalid multibulk length`, and the connection closed.
    /// Default: 1024.
    pub args_max: u32,
    /// Bytes of an argument; more is answered `invalid bulk length`, and the connection closed.
    /// Default: 16 KiB.
    pub bulk_len_max: usize,
    /// Bytes of a command; more is answered `invalid bulk length`, and the connection closed. A
    /// connection buffers up to this many while a command arrives. Default: 64 KiB.
    pub command_len_max: usize,
    /// Pipelined commands that are combined into one call for ids. At most `count_max`.
    /// Default: 4096.
    pub repeats_max: u64,
    /// Bytes of answers waiting to be sent at which no more commands are answered. The last answer
    /// may go beyond it: it can be a batch of `count_max` ids. Default: 256 KiB.
    pub out_len_max: usize,
    /// Commands between MULTI and EXEC. Default: 1,000,000.
    pub queued_max: u64,
    /// Bytes that those take; the same INCR repeated in a row counts once. Default: 1 MiB.
    pub queue_len_max: usize,
    /// An idle connection is closed after this. Clients keep connections in pools, so it is long.
    /// One that has sent part of a command, or does not read its answers, is closed after
    /// `Limits::idle_max`; one that has not authenticated although it must, after
    /// `Limits::first_head_max`. Default: 1 h.
    pub idle_max: Duration,
}

impl Default for RespLimits {
    fn default() -> Self {
        Self {
            args_max: 1024,
            bulk_len_max: 16 * 1024,
            command_len_max: 64 * 1024,
            repeats_max: 4096,
            out_len_max: 256 * 1024,
            queued_max: 1_000_000,
            queue_len_max: 1024 * 1024,
            idle_max: Duration::from_secs(3600),
        }
    }
}

impl Limits {
    /// The most connections of one peer address.
    pub(crate) fn address_connections_max(&self) -> u32 {
        match self.connections_per_address {
            0 => self.connections_max - self.connections_max / 4,
            max => max,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 50_000,
            connections_per_address: 0,
            operator_connections_max: 64,
            requests_max: 20_000,
            admin_requests_max: 32,
            registry_requests_max: 4,
            caller_calls_max: 2,
            quotas_max: 10_000,
            ids_per_second_max: IDS_PER_SECOND_MAX,
            tokens_max: 1000,
            token_tags_max: 1000,
            token_name_len_max: 64,
            secret_len_min: 16,
            secret_len_max: 512,
            access_file_len_max: 4 * 1024 * 1024,
            pem_file_len_max: 1024 * 1024,
            handshake_max: Duration::from_secs(10),
            streams_max: 100,
            stream_window_len: 64 * 1024,
            connection_window_len: 256 * 1024,
            ping_interval: Duration::from_secs(30),
            ping_max: Duration::from_secs(10),
            unread_max: 256 * 1024 * 1024,
            connection_unread_max: 1024 * 1024,
            read_len_min: 64 * 1024,
            head_len_max: 16 * 1024,
            headers_max: 64,
            target_len_max: 4096,
            body_len_max: 16 * 1024,
            first_head_max: Duration::from_secs(10),
            idle_max: Duration::from_secs(60),
            leave_max: Duration::from_secs(1),
            body_max: Duration::from_secs(10),
            reload_max: Duration::from_secs(10),
            answer_max: Duration::from_secs(30),
            count_max: COUNT_MAX,
            range_len_max: RANGE_LEN_MAX,
            page_len_max: 1000,
            page_len: 100,
            table_rows_max: 1000,
            metrics_tags_max: 500,
            resp: RespLimits::default(),
        }
    }
}
