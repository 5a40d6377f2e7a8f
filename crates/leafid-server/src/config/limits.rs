//! `Limits`: every numeric bound of the server. A bound that is not here does not exist.

use std::time::Duration;

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
    /// Connections open at once, through all front ends; on one more only health and administration
    /// are answered. Default: 50,000.
    pub connections_max: u32,
    /// Connections of one peer address (IPv6: of one /64 network); one more counts as one beyond
    /// `connections_max`. 0: three quarters of `connections_max`. Default: 0.
    pub connections_per_address: u32,
    /// Connections beyond `connections_max`, for operators; one more is told to come back later
    /// and closed. Once half of them are there, each that comes makes the oldest finish and go, so
    /// that idle ones never take them all. Default: 64.
    pub operator_connections_max: u32,
    /// Calls that wait for ids at once, through all front ends; one more is refused as `overloaded`.
    /// Calls that memory answers do not count. Default: 20,000.
    pub requests_max: u64,
    /// Calls of operators, about tags and workers, that go to the store at once; more of them
    /// queue. Default: 32.
    pub admin_requests_max: usize,
    /// Calls to the store at once that callers who take ids cause past the driver: tags created on
    /// first use, and looks at tags that are not in use. More of them queue. Default: 2.
    pub caller_calls_max: usize,
    /// Tags with a quota of their own. Default: 10,000.
    pub quotas_max: usize,
    /// Ids a second in a quota; more is as good as none. Default: 1,000,000,000.
    pub ids_per_second_max: u64,
    /// Tokens in an access file, at some 6 KB each. Default: 1000.
    pub tokens_max: usize,
    /// Patterns of tags that a token is good for. Default: 1000.
    pub token_tags_max: usize,
    /// Characters in the name of a token. Default: 64.
    pub token_name_len_max: usize,
    /// Characters that a token's secret has at least: with fewer it could be found by trying.
    /// Default: 16.
    pub secret_len_min: usize,
    /// Characters that a token's secret has at most, so that it fits into a header. Default: 512.
    pub secret_len_max: usize,
    /// Bytes of an access file. Default: 4 MiB.
    pub access_file_len_max: u64,
    /// Bytes of a file of certificates, or of a key. Default: 1 MiB.
    pub pem_file_len_max: u64,
    /// How long a new connection may take until TLS is agreed upon. Default: 10 s.
    pub handshake_max: Duration,
    /// HTTP/2 streams open at once on a connection. Default: 100.
    pub streams_max: u32,
    /// Bytes that a peer may send ahead on one HTTP/2 stream, and on a connection with all of its
    /// streams. A message of gRPC is some 10 bytes. Default: 64 KiB, 256 KiB.
    pub stream_window_len: u32,
    /// See `stream_window_len`.
    pub connection_window_len: u32,
    /// How often a connection of gRPC on which nothing comes in is asked for a sign of life, which
    /// also keeps load balancers from cutting it. Default: 30 s.
    pub ping_interval: Duration,
    /// How long that sign may take before the connection is closed. Default: 10 s.
    pub ping_max: Duration,
    /// Bytes of answers that were made and not read yet, over all connections; beyond it those
    /// connections are cut that hold the most. Default: 256 MiB.
    pub unread_max: usize,
    /// The same of one connection: at the bound it makes no more answers until its peer has read.
    /// Its only answer may be longer. Default: 1 MiB.
    pub connection_unread_max: usize,
    /// Bytes that a peer for whom answers wait has to read within `idle_max`; who reads less is
    /// cut. Default: 64 KiB.
    pub read_len_min: u64,
    /// Bytes of a request line with its headers; more is answered 431. At least 8192.
    /// Default: 16 KiB.
    pub head_len_max: usize,
    /// Header lines of a request; more is answered 431. Default: 64.
    pub headers_max: usize,
    /// Bytes of a path with its query; more is answered 414. The longest tag, all of its 128
    /// characters escaped, takes 1536. Default: 4096.
    pub target_len_max: usize,
    /// Bytes of a request body, or of a gRPC message; more is answered 413, OUT_OF_RANGE.
    /// Default: 16 KiB.
    pub body_len_max: usize,
    /// How long a new connection may take to send its first request's headers; over gRPC, to say
    /// that it speaks HTTP/2. Default: 10 s.
    pub first_head_max: Duration,
    /// A connection on which no request began and none ended for this long is closed, at the
    /// latest when twice as long has passed: idle ones, slow headers, and peers that do not read
    /// their answers. Over gRPC an idle one is told to go first, and has as long for that; a stream
    /// that owes nothing keeps its connection open. Default: 60 s.
    pub idle_max: Duration,
    /// How long a connection that was told to go, because it is idle, may still take before it is
    /// cut. Default: 1 s.
    pub leave_max: Duration,
    /// How long a request body, or the message of a gRPC call, may take to come in; what takes
    /// longer is answered 408, DEADLINE_EXCEEDED. Default: 10 s.
    pub body_max: Duration,
    /// How long reading the access file or the certificate again may take.
    pub reload_max: Duration,
    /// How long an answer may take to be made, whatever it waits for. Default: 30 s.
    pub answer_max: Duration,
    /// Ids in one call for several. Each is some 20 bytes of the answer. Default: 10,000.
    pub count_max: u64,
    /// Ids in one run for issuing by the caller. A typing error burns as many. Default:
    /// 10,000,000.
    pub range_len_max: u64,
    /// Tags on one page of a list. Default: 1000.
    pub page_len_max: u32,
    /// Tags on a page when the caller does not say. Default: 100.
    pub page_len: u32,
    /// Rows of the tables at `/cache` and `/db`. Default: 1000.
    pub table_rows_max: u32,
    /// Tags with series of their own in the metrics, those that give the most ids; the others are
    /// summed up. Nine series each.
    /// Also how many quotas the metrics show.
    /// Default: 500.
    pub metrics_tags_max: usize,
    /// Those of the Redis protocol.
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
    /// Words of a command; more is told `invalid multibulk length`, and the connection closed.
    /// Default: 1024.
    pub args_max: u32,
    /// Bytes of an argument; more is told `invalid bulk length`, and the connection closed.
    /// Default: 16 KiB.
    pub bulk_len_max: usize,
    /// Bytes of a command; more is told `invalid bulk length`, and the connection closed. A
    /// connection keeps as many while a command comes in. Default: 64 KiB.
    pub command_len_max: usize,
    /// Commands in a row that are one reservation. At most `count_max`. Default: 4096.
    pub repeats_max: u64,
    /// Bytes of answers that wait to be sent before no more commands are answered. The last of
    /// them may be longer: it is a batch of `count_max` ids. Default: 256 KiB.
    pub out_len_max: usize,
    /// Commands between MULTI and EXEC. Default: 1,000,000.
    pub queued_max: u64,
    /// Bytes that those take; the same INCR several times in a row takes no more than once.
    /// Default: 1 MiB.
    pub queue_len_max: usize,
    /// A connection at rest is closed after this. Clients keep connections in pools, so it is
    /// long. One that has sent half a command, or does not read its answers, is closed after
    /// `idle_max`; one that has not shown the token that is asked for, after `first_head_max`.
    /// Default: 1 h.
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
            caller_calls_max: 2,
            quotas_max: 10_000,
            ids_per_second_max: 1_000_000_000,
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
            count_max: 10_000,
            range_len_max: 10_000_000,
            page_len_max: 1000,
            page_len: 100,
            table_rows_max: 1000,
            metrics_tags_max: 500,
            resp: RespLimits::default(),
        }
    }
}
