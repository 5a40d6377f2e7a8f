//! Socket activation: the listening sockets that systemd passes to `leafid serve`, by the names
//! `http`, `resp` and `grpc`. Each replaces the address of its protocol.
//!
//! Nothing is guessed: a socket with another name, or of another kind, ends the start.

use std::env;
use std::net::TcpListener;

use leafid_server::PassedSockets;
use listenfd::ListenFd;
use rustix::net::sockopt::socket_acceptconn;

use crate::failure::{Failure, Outcome};

/// What to do about a socket with a wrong name.
const NAME_IT: &str = "write FileDescriptorName=http, resp or grpc into its .socket unit";
/// What to do about a socket of a wrong kind.
const LISTEN: &str = "write ListenStream=ADDRESS:PORT and Accept=no into its .socket unit";

/// Takes the sockets that were passed to this process. Call it while it has a single thread: the
/// variables that count them are removed from the environment.
pub(super) fn passed_sockets() -> Outcome<PassedSockets> {
    let mut passed = PassedSockets::default();
    let names = names()?;
    if names.is_empty() {
        return Ok(passed);
    }
    let mut sockets = ListenFd::from_env();
    for (index, name) in names.iter().enumerate() {
        let place = match name.as_str() {
            "http" => &mut passed.http,
            "resp" => &mut passed.resp,
            "grpc" => &mut passed.grpc,
            _ => return Err(unknown(name)),
        };
        if place.is_some() {
            let message = format!("systemd passes two sockets named {name}");
            let next =
                "pass one for each protocol; ListenStream=[::]:PORT listens on all addresses";
            return Err(Failure::new(message, next));
        }
        *place = Some(listener(&mut sockets, index, name)?);
    }
    Ok(passed)
}

/// The name of each socket that is passed to this process; none if they are for another one.
fn names() -> Outcome<Vec<String>> {
    let variable = |name| env::var(name).unwrap_or_default();
    let count = variable("LISTEN_FDS");
    if count.is_empty() || variable("LISTEN_PID") != std::process::id().to_string() {
        return Ok(Vec::new());
    }
    let names = variable("LISTEN_FDNAMES");
    let names: Vec<_> = match names.as_str() {
        "" => Vec::new(),
        names => names.split(':').map(str::to_owned).collect(),
    };
    // A number too many would be taken for a file that is open already.
    if count.parse() == Ok(names.len()) {
        return Ok(names);
    }
    let message = format!(
        "LISTEN_FDS is {count}, but LISTEN_FDNAMES has {} names",
        names.len()
    );
    Err(Failure::new(message, NAME_IT))
}

fn unknown(name: &str) -> Failure {
    let message = format!("systemd passes a socket named \"{name}\", which is no protocol");
    Failure::new(message, NAME_IT)
}

fn listener(sockets: &mut ListenFd, index: usize, name: &str) -> Outcome<TcpListener> {
    let wrong = |why: &str| {
        let message = format!("the socket {name} that systemd passes cannot be used: {why}");
        Failure::new(message, LISTEN)
    };
    let taken = sockets.take_tcp_listener(index);
    let taken = taken.map_err(|error| wrong(&error.to_string()))?;
    let socket = taken.ok_or_else(|| wrong("it is missing"))?;
    match socket_acceptconn(&socket) {
        Ok(true) => Ok(socket),
        Ok(false) => Err(wrong("it does not listen")),
        Err(error) => Err(wrong(&error.to_string())),
    }
}
