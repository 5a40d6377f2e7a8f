//! `Etcd`: an etcd server of its own.

use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Value, json};
use ureq::Agent;

use crate::child::{RunAs, ServerProcess, find_program, free_port, new_folder, usual_places};
use crate::server::{PASSWORD, PASSWORD_IN_URL, password_methods, server_methods};

const PACKAGE: &str = "etcd-server";
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// An etcd server on a free port of 127.0.0.1, the only member of its cluster, with its files in
/// a temporary folder.
///
/// Every write is flushed before it is answered, as is etcd's default.
///
/// ```no_run
/// let server = leafid_testbed::Etcd::start();
/// // Keys and values are base64.
/// server.call("kv/put", &serde_json::json!({ "key": "b3JkZXI=", "value": "Nw==" }));
/// ```
#[derive(Debug)]
pub struct Etcd {
    process: ServerProcess,
    has_password: bool,
}

server_methods!(Etcd, stopped by "TERM");
password_methods!(Etcd);

/// The server that all tests of this process share, without a password; each takes its own keys.
#[must_use]
pub fn shared_etcd() -> &'static Etcd {
    static SHARED: OnceLock<Etcd> = OnceLock::new();
    SHARED.get_or_init(Etcd::start)
}

impl Etcd {
    /// Starts a server that asks for no password.
    ///
    /// # Panics
    ///
    /// When it does not come up; the message has the end of its log, or the package to install.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with more arguments, such as `--max-txn-ops=1`.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_with(arguments: &[&str]) -> Self {
        let folder = new_folder("leafid-etcd-");
        let program = find_program(&usual_places("etcd"), PACKAGE);
        let mut process = ServerProcess::new(folder, free_port(), RunAs::Caller, program);
        process.set_arguments(server_arguments(&process, arguments));
        let server = Self {
            process,
            has_password: false,
        };
        server.start_again();
        server
    }

    /// Starts a server that asks for a password. The user of [`url`](Self::url) may read and
    /// write all keys and is no administrator.
    ///
    /// # Panics
    ///
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_with_password() -> Self {
        // The cheapest hash: a test logs in often, and its password is no secret.
        let mut server = Self::start_with(&["--bcrypt-cost=4"]);
        let all_keys = json!({ "permType": "READWRITE", "key": "AA==", "range_end": "AA==" });
        for user in ["root", "leafid"] {
            server.call(
                "auth/user/add",
                &json!({ "name": user, "password": PASSWORD }),
            );
            server.call("auth/role/add", &json!({ "name": user }));
            server.call("auth/user/grant", &json!({ "user": user, "role": user }));
        }
        server.call(
            "auth/role/grant",
            &json!({ "name": "leafid", "perm": all_keys }),
        );
        server.call("auth/enable", &json!({}));
        server.has_password = true;
        server
    }

    /// The URL of this server.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// The same behind another port, such as that of a [`Proxy`](crate::Proxy).
    #[must_use]
    pub fn url_at(&self, port: u16) -> String {
        if self.has_password {
            format!("etcd://leafid:{PASSWORD_IN_URL}@127.0.0.1:{port}")
        } else {
            format!("etcd://127.0.0.1:{port}")
        }
    }

    /// Calls a method as the administrator, such as `kv/put`, and returns the answer.
    ///
    /// # Panics
    ///
    /// When the call fails.
    pub fn call(&self, method: &str, request: &Value) -> Value {
        let token = self.has_password.then(|| {
            let login = json!({ "name": "root", "password": PASSWORD });
            let answer = self.post("auth/authenticate", &login, None);
            answer["token"].as_str().unwrap_or_default().to_owned()
        });
        self.post(method, request, token.as_deref())
    }

    fn post(&self, method: &str, request: &Value, token: Option<&str>) -> Value {
        let mut call = agent().post(format!("http://127.0.0.1:{}/v3/{method}", self.port()));
        if let Some(token) = token {
            call = call.header("authorization", token);
        }
        call.send_json(request)
            .and_then(|mut answer| answer.body_mut().read_json())
            .unwrap_or_else(|error| panic!("{method} of {self:?} failed: {error}"))
    }

    fn is_ready(&self) -> bool {
        let answer = agent()
            .get(format!("http://127.0.0.1:{}/health", self.port()))
            .call();
        answer
            .and_then(|mut answer| answer.body_mut().read_json::<Value>())
            .is_ok_and(|answer| answer["health"] == "true")
    }
}

/// A connection for one call, so that none outlives a restart of the server.
fn agent() -> Agent {
    let settings = Agent::config_builder().timeout_global(Some(ANSWER_TIMEOUT));
    settings.build().new_agent()
}

fn server_arguments(process: &ServerProcess, more: &[&str]) -> Vec<String> {
    let clients = format!("http://127.0.0.1:{}", process.port);
    // A lone member has no peers: nobody calls the port that the kernel picks for them, and
    // what is advertised must only be the same twice.
    let peers = "http://127.0.0.1:0";
    let mut arguments = vec![
        format!("--data-dir={}/data", process.folder.display()),
        format!("--listen-client-urls={clients}"),
        format!("--advertise-client-urls={clients}"),
        format!("--listen-peer-urls={peers}"),
        format!("--initial-advertise-peer-urls={peers}"),
        format!("--initial-cluster=default={peers}"),
    ];
    arguments.extend(more.iter().map(|&argument| argument.to_owned()));
    arguments
}
