//! `Client`: calls to a running server over HTTP.

use std::fmt;
use std::fmt::Write as _;
use std::time::Duration;

use leafid::Escaped;
use leafid_server::api::{
    COUNT_MAX, ChangeList, DecodedOfTag, Ids, OwnWorker, Problem, Quota, QuotaList, QuotaRequest,
    ReleaseRequest, Tag, TagChange, TagList, TagRequest, Worker, WorkerList,
};
use leafid_server::{percent_encoded, with_causes};
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::header::AUTHORIZATION;
use ureq::http::{HeaderValue, Method, Request, StatusCode};
use ureq::tls::TlsConfig;

use crate::failure::{Failure, Outcome};
use crate::shard::ShardFlags;

/// The server, unless another one is named.
pub(crate) const DEFAULT_SERVER: &str = "http://127.0.0.1:8080";
/// What to do if no server answers.
const START_OR_NAME: &str = "start one with `leafid serve`, name another with --server URL, or go \
    straight to a store with --store URL or --data-dir DIR";
/// Longer than the server works on any request.
const CALL_MAX: Duration = Duration::from_secs(60);

/// A client of one server.
pub(crate) struct Client {
    agent: ureq::Agent,
    base: String,
    /// `Bearer` and the secret of a token.
    authorization: Option<HeaderValue>,
}

/// The scope of a quota.
#[derive(Clone, Copy)]
pub(crate) enum QuotaOn<'a> {
    Server,
    Tag(&'a str),
    Token(&'a str),
}

impl QuotaOn<'_> {
    fn path(self) -> String {
        match self {
            Self::Server => "/v1/quotas/server".to_owned(),
            Self::Tag(tag) => format!("/v1/quotas/tags/{}", percent_encoded(tag)),
            Self::Token(name) => format!("/v1/quotas/tokens/{}", percent_encoded(name)),
        }
    }
}

impl fmt::Display for QuotaOn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server => f.write_str("the server"),
            Self::Tag(tag) => write!(f, "tag {}", quoted(tag)),
            Self::Token(name) => write!(f, "token {}", quoted(name)),
        }
    }
}

impl Client {
    /// A client of the server at `url`, with the secret of a token and, for https, certificates. It
    /// does not connect yet.
    pub(crate) fn new(url: &str, secret: Option<&str>, tls: TlsConfig) -> Outcome<Self> {
        Ok(Self {
            authorization: secret.map(authorization).transpose()?,
            ..Self::without_token(url, tls, CALL_MAX)?
        })
    }

    /// A client without a token, each of whose calls takes at most `timeout`.
    pub(crate) fn without_token(url: &str, tls: TlsConfig, timeout: Duration) -> Outcome<Self> {
        let base = url.trim_end_matches('/');
        let base = match base.split_once("://") {
            Some(("http" | "https", _)) => base.to_owned(),
            None => format!("http://{base}"),
            Some((scheme, _)) => {
                let message =
                    format!("cannot reach a server by {scheme}: only http and https are known");
                return Err(Failure::usage(
                    message,
                    "name it as --server http://HOST:PORT",
                ));
            }
        };
        let settings = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(timeout))
            .proxy(None)
            .tls_config(tls)
            .build();
        Ok(Self {
            agent: settings.into(),
            base,
            authorization: None,
        })
    }

    /// Takes up to `count` ids; the server issues at most `COUNT_MAX` at once.
    pub(crate) fn take(&self, tag: &str, count: u64) -> Outcome<Vec<String>> {
        self.take_in(tag, count, &ShardFlags::default())
    }

    /// As [`take`](Self::take), in a shard.
    pub(crate) fn take_in(
        &self,
        tag: &str,
        count: u64,
        shard: &ShardFlags,
    ) -> Outcome<Vec<String>> {
        let path = format!("/v1/tags/{}/ids", percent_encoded(tag));
        let request = shard.request(count.min(COUNT_MAX));
        let answer: Ids = self.call(Method::POST, &path, &request, tag)?;
        Ok(answer.ids)
    }

    pub(crate) fn create(&self, tag: &str, request: &TagRequest) -> Outcome<Tag> {
        self.call(Method::POST, "/v1/tags", request, tag)
    }

    pub(crate) fn list(&self, after: Option<&str>, count: u32) -> Outcome<TagList> {
        let mut path = format!("/v1/tags?limit={count}");
        if let Some(after) = after {
            let _ = write!(path, "&after={}", percent_encoded(after));
        }
        self.get(&path, "")
    }

    pub(crate) fn show(&self, tag: &str) -> Outcome<Tag> {
        self.get(&path_of(tag), tag)
    }

    pub(crate) fn decode(&self, id: &str, tag: &str) -> Outcome<DecodedOfTag> {
        let (id, of) = (percent_encoded(id), percent_encoded(tag));
        self.get(&format!("/v1/decode/{id}?tag={of}"), tag)
    }

    pub(crate) fn set(&self, tag: &str, change: &TagChange) -> Outcome<Tag> {
        self.call(Method::PATCH, &path_of(tag), change, tag)
    }

    pub(crate) fn delete(&self, tag: &str) -> Outcome {
        self.send(Method::DELETE, &path_of(tag), String::new(), tag)
            .map(drop)
    }

    pub(crate) fn worker(&self) -> Outcome<OwnWorker> {
        self.get("/v1/worker", "")
    }

    pub(crate) fn workers(&self) -> Outcome<WorkerList> {
        self.get("/v1/workers", "")
    }

    /// Frees a worker id; the caller states that its holder is dead.
    pub(crate) fn force_release_worker(&self, worker: u32) -> Outcome<Worker> {
        let path = format!("/v1/workers/{worker}/release");
        self.call(Method::POST, &path, &ReleaseRequest { dead: true }, "")
    }

    pub(crate) fn changes(&self, count: u32) -> Outcome<ChangeList> {
        self.get(&format!("/v1/audit?limit={count}"), "")
    }

    pub(crate) fn quotas(&self) -> Outcome<QuotaList> {
        self.get("/v1/quotas", "")
    }

    pub(crate) fn set_quota(&self, on: QuotaOn<'_>, ids_per_second: u64) -> Outcome<Quota> {
        let ids_per_second = ids_per_second.into();
        self.call(
            Method::PUT,
            &on.path(),
            &QuotaRequest { ids_per_second },
            "",
        )
    }

    pub(crate) fn remove_quota(&self, on: QuotaOn<'_>) -> Outcome {
        self.send(Method::DELETE, &on.path(), String::new(), "")
            .map(drop)
    }

    fn get<T: DeserializeOwned>(&self, path: &str, tag: &str) -> Outcome<T> {
        self.read(&self.send(Method::GET, path, String::new(), tag)?)
    }

    fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
        tag: &str,
    ) -> Outcome<T> {
        let body = serde_json::to_string(body).map_err(std::io::Error::from)?;
        self.read(&self.send(method, path, body, tag)?)
    }

    fn read<T: DeserializeOwned>(&self, text: &str) -> Outcome<T> {
        serde_json::from_str(text).map_err(|_| self.not_leafid(text))
    }

    /// The status and the body of whatever answers a GET.
    ///
    /// # Errors
    ///
    /// If nothing answers in time; `next` says what to do then.
    pub(crate) fn probe(&self, path: &str, next: &str) -> Outcome<(StatusCode, String)> {
        let request = self.request(Method::GET, path, String::new())?;
        let answered = self.exchange(request);
        answered.map_err(|error| self.unreachable(&error, next))
    }

    /// Sends a request, and returns the body of a successful answer.
    fn send(&self, method: Method, path: &str, body: String, tag: &str) -> Outcome<String> {
        let request = self.request(method, path, body)?;
        let answered = self.exchange(request);
        let (status, text) = answered.map_err(|error| self.unreachable(&error, START_OR_NAME))?;
        if status.is_success() {
            return Ok(text);
        }
        match serde_json::from_str::<Problem>(&text) {
            Ok(problem) => Err(failure(problem, tag)),
            Err(_) => Err(self.not_leafid(&format!("status {status}, {text}"))),
        }
    }

    fn request(&self, method: Method, path: &str, body: String) -> Outcome<Request<String>> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("content-type", "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        request.body(body).map_err(|error| {
            let message = format!("{} is not a server address: {error}", self.base);
            Failure::usage(message, "name it as --server http://HOST:PORT")
        })
    }

    fn exchange(&self, request: Request<String>) -> Result<(StatusCode, String), ureq::Error> {
        let mut answer = self.agent.run(request)?;
        let text = answer.body_mut().read_to_string()?;
        Ok((answer.status(), text))
    }

    fn unreachable(&self, error: &ureq::Error, next: &str) -> Failure {
        let causes = with_causes(error);
        let message = format!("no answer from the server at {}: {causes}", self.base);
        Failure::new(message, tls_advice(&causes).unwrap_or(next))
    }

    pub(crate) fn not_leafid(&self, text: &str) -> Failure {
        let start: String = text.chars().take(80).collect();
        Failure::new(
            format!("{} does not answer as a leafid server: {start}", self.base),
            "name a leafid server with --server URL",
        )
    }
}

fn failure(problem: Problem, tag: &str) -> Failure {
    let next = match problem.code.as_str() {
        "unknown_tag" => format!("create it with `leafid tag create {}`", quoted(tag)),
        "no_token" | "bad_token" => {
            "put the secret of a token into LEAFID_TOKEN, or name a file with it: --token-file \
             FILE"
                .to_owned()
        }
        "not_admin" => {
            "use a token with admin = true in the server's access file: LEAFID_TOKEN, or \
             --token-file FILE"
                .to_owned()
        }
        "tag_exists" => format!("look at it with `leafid tag show {}`", quoted(tag)),
        _ => problem.next,
    };
    Failure::new(problem.detail, next)
}

/// The header with the token; it is marked as sensitive, so that no log prints it.
fn authorization(secret: &str) -> Outcome<HeaderValue> {
    let header = HeaderValue::from_str(&format!("Bearer {secret}"));
    let mut header = header.map_err(|_| {
        let message = "the secret of the token has characters that an HTTP header cannot carry";
        Failure::new(message, "copy it exactly from the server's access file")
    })?;
    header.set_sensitive(true);
    Ok(header)
}

/// What to do about a TLS error, chosen by rustls' message.
fn tls_advice(error: &str) -> Option<&'static str> {
    if error.contains("UnknownIssuer") || error.contains("BadSignature") {
        Some("name the authority that signed the server's certificate: --ca-file FILE")
    } else if error.contains("CertificateRequired")
        || ["UnknownCA", "DecryptError"]
            .iter()
            .any(|alert| error.contains(alert))
    {
        Some("show a certificate that the server accepts: --cert-file FILE --key-file FILE")
    } else if error.contains("NotValidForName") {
        Some("use a host name that is in its certificate")
    } else if error.contains("InvalidMessage") || error.contains("InvalidContentType") {
        Some("the server does not speak TLS: begin the URL with http://")
    } else {
        None
    }
}

/// A tag, quoted for a shell command.
pub(crate) fn quoted(tag: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:".contains(c);
    if tag.chars().all(is_plain) && !tag.starts_with('-') {
        return tag.to_owned();
    }
    if tag.contains(Escaped::is_invisible) {
        return escaped(tag);
    }
    format!("'{}'", tag.replace('\'', r"'\''"))
}

/// The same in the form of bash and zsh, in which every character can be escaped.
fn escaped(tag: &str) -> String {
    let mut text = "$'".to_owned();
    for c in tag.chars() {
        match c {
            '\'' | '\\' => text.extend(['\\', c]),
            _ if Escaped::is_invisible(c) => {
                let _ = write!(text, "\\U{:08x}", u32::from(c));
            }
            _ => text.push(c),
        }
    }
    text.push('\'');
    text
}

fn path_of(tag: &str) -> String {
    format!("/v1/tags/{}", percent_encoded(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_can_stand_in_paths_and_commands() {
        assert_eq!(
            percent_encoded("订单 a/b?"),
            "%E8%AE%A2%E5%8D%95%20a%2Fb%3F"
        );
        assert_eq!(quoted("order-1"), "order-1");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("-x"), "'-x'");
        assert_eq!(quoted("a'\u{202e}b"), r"$'a\'\U0000202eb'");
    }

    #[test]
    fn servers_are_named_with_or_without_a_scheme() {
        let base = |url| Client::new(url, None, TlsConfig::default()).unwrap().base;
        assert_eq!(base("127.0.0.1:8080"), "http://127.0.0.1:8080");
        assert_eq!(base("http://ids:1/"), "http://ids:1");
        assert_eq!(base("https://ids:1/"), "https://ids:1");
        assert!(Client::new("ftp://ids", None, TlsConfig::default()).is_err());
    }
}
