//! `Session`: one connection to one etcd server, authenticated if needed, over etcd's JSON gateway.
//! It is used for one call to the registry: those are minutes apart, and tokens expire meanwhile.
//! Only the one that reads our row, every few seconds, is kept for the next read.

use std::error::Error;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use leafid::store::StoreError;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::dial::Server;

/// Far more than the rows of all worker ids need.
const ANSWER_LEN_MAX: usize = 64 * 1024 * 1024;

type Cause = Box<dyn Error + Send + Sync>;

pub(super) struct Session {
    sender: SendRequest<Full<Bytes>>,
    /// The server's name, for messages.
    name: String,
    authority: String,
    token: Option<String>,
    /// The task that drives the connection while this exists.
    _driver: JoinSet<()>,
}

#[derive(Deserialize)]
struct Login {
    token: String,
}

/// The gateway's form of an error.
#[derive(Deserialize)]
struct Refusal {
    message: String,
}

impl Session {
    pub(super) async fn open(server: &Server) -> Result<Self, StoreError> {
        let fault = |error: Cause| {
            StoreError::unavailable(format!("{}: no connection", server.name), error)
        };
        let stream = server.dial().await.map_err(|error| fault(error.into()))?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| fault(error.into()))?;
        let mut driver = JoinSet::new();
        driver.spawn(async {
            // The caller that waits for an answer gets the error as well.
            let _ = connection.await;
        });
        let mut session = Self {
            sender,
            name: server.name.clone(),
            authority: server.authority(),
            token: None,
            _driver: driver,
        };
        if !server.user.is_empty() {
            let password = server.password.as_deref().unwrap_or_default();
            session.log_in(&server.user, password).await?;
        }
        Ok(session)
    }

    async fn log_in(&mut self, user: &str, password: &str) -> Result<(), StoreError> {
        let question = json!({ "name": user, "password": password });
        let answer = self.call("auth/authenticate", &question).await?;
        let login: Login = serde_json::from_value(answer)
            .map_err(|error| self.fault("no token came back", error))?;
        self.token = Some(login.token);
        Ok(())
    }

    /// Sends one request to the server.
    pub(super) async fn call(
        &mut self,
        method: &str,
        question: &Value,
    ) -> Result<Value, StoreError> {
        let mut request = Request::post(format!("/v3/{method}"))
            .header(HOST, &self.authority)
            .header(CONTENT_TYPE, "application/json");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, token);
        }
        let body = Full::new(Bytes::from(question.to_string()));
        let request = request
            .body(body)
            .map_err(|error| self.fault("the request cannot be written", error))?;
        let failed = "the connection failed";
        let answer = async {
            self.sender.ready().await?;
            self.sender.send_request(request).await
        };
        let answer = answer.await.map_err(|error| self.fault(failed, error))?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_LEN_MAX)
            .collect()
            .await;
        let body = body.map_err(|error| self.fault(failed, error))?.to_bytes();
        if status != StatusCode::OK {
            return Err(self.refused(status, &body));
        }
        serde_json::from_slice(&body).map_err(|error| self.fault("the answer is not JSON", error))
    }

    fn refused(&self, status: StatusCode, body: &[u8]) -> StoreError {
        let text = match serde_json::from_slice::<Refusal>(body) {
            Ok(refusal) => refusal.message,
            Err(_) => format!("status {status}"),
        };
        let (reason, lasts) = reason(status, &text);
        let message = format!("{}: {reason}", self.name);
        match lasts {
            true => StoreError::misconfigured(message, text),
            false => StoreError::unavailable(message, text),
        }
    }

    fn fault(&self, reason: &str, source: impl Into<Cause>) -> StoreError {
        StoreError::unavailable(format!("{}: {reason}", self.name), source)
    }
}

/// What a refusal means and what to do, and whether it lasts until someone changes a user, a
/// password or a right, or names another server.
fn reason(status: StatusCode, text: &str) -> (&'static str, bool) {
    let says = |part| text.contains(part);
    if says("authentication failed") {
        ("the user or password is wrong", true)
    } else if says("user name is empty") {
        ("the server wants a user and a password", true)
    } else if says("authentication is not enabled") {
        let reason = "the server has no authentication: leave user and password out";
        (reason, true)
    } else if says("permission denied") {
        let reason = "the user may not read and write the keys below /leafid/";
        (reason, true)
    } else if says("database space exceeded") {
        let reason = "the server's quota is full: compact, defragment and disarm the alarm";
        (reason, false)
    } else if status == StatusCode::NOT_FOUND {
        let reason = "it has no JSON gateway: wanted is etcd 3.4 or newer, started without \
            enable-grpc-gateway=false";
        (reason, true)
    } else {
        ("the server refused", false)
    }
}
