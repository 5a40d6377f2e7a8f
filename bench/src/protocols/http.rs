//! `GET /api/segment/get/t` beside nginx that answers a number.

use std::time::Duration;

use crate::contest::{self, Case, Goal, Outcome};
use crate::load::{Expected, HttpSpeech, Load, Speech as _};
use crate::peers::{NGINX_NUMBER, Peer, nginx};
use crate::serve::Serve;
use crate::wrk;

use super::Settings;

pub(super) const PATH: &str = "/api/segment/get/t";
pub(super) const CONNECTIONS: usize = 64;
const PIPELINED: usize = 16;
/// So long that no segment ends during a measurement.
pub(super) const STEP: &str = "1000000000";

pub(super) fn run(settings: &Settings) {
    let (nginx, leafid) = (nginx(), Leafid::start(&[]));
    let length = settings.length(15, Duration::from_secs(1));
    Outcome::print_head();
    let goal = Some(Goal::both(1.0, 1.0));
    let by_wrk = [("nginx", nginx.address, nginx.process()), leafid.as_case()];
    let by_wrk = by_wrk.map(|(name, address, process)| {
        let load = move |time| wrk::run(address, PATH, CONNECTIONS, time);
        Case::new(name, process, load)
    });
    let outcome = contest::run(by_wrk.into(), length);
    outcome.print("GET, wrk -t1 -c64", goal);
    let outcome = by_own_load(&nginx, &leafid, 1, settings);
    outcome.print("GET, own load, 64 connections", goal);
}

pub(super) fn run_pipelined(settings: &Settings) {
    let (nginx, leafid) = (nginx(), Leafid::start(&[]));
    Outcome::print_head();
    let outcome = by_own_load(&nginx, &leafid, PIPELINED, settings);
    let work = format!("GET, {PIPELINED} pipelined, own load, 64 connections");
    outcome.print(&work, Some(Goal::rate(4.0)));
}

fn by_own_load(nginx: &Peer, leafid: &Leafid, pipelined: usize, settings: &Settings) -> Outcome {
    let length = settings.length(15, Duration::from_secs(1));
    let mut to_nginx = Load::connect(nginx.address, CONNECTIONS, constant());
    let mut to_leafid = Load::connect(leafid.serve.address, CONNECTIONS, ids());
    let cases = vec![
        Case::new("nginx", nginx.process(), |time| {
            to_nginx.closed(pipelined, time)
        }),
        Case::new("leafid", leafid.serve.process(), |time| {
            to_leafid.closed(pipelined, time)
        }),
    ];
    let outcome = contest::run(cases, length);
    assert_eq!(to_nginx.speech().expected().failures(), 0, "nginx failed");
    assert_eq!(to_leafid.speech().expected().failures(), 0, "leafid failed");
    outcome
}

/// What nginx must answer.
pub(super) fn constant() -> HttpSpeech {
    HttpSpeech::new(PATH, Expected::constant(NGINX_NUMBER))
}

/// What Leafid must answer.
pub(super) fn ids() -> HttpSpeech {
    HttpSpeech::new(PATH, Expected::ids())
}

/// The real server on the embedded store, with a segment that does not end.
pub(super) struct Leafid {
    pub(super) serve: Serve,
    _folder: tempfile::TempDir,
}

impl Leafid {
    pub(super) fn start(more: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data_dir = folder.path().to_str().expect("a plain path");
        let mut arguments = vec!["--data-dir", data_dir, "--policy", "fixed", "--step", STEP];
        arguments.extend(more);
        let serve = Serve::start_pinned(&arguments);
        serve.first_answer(PATH);
        Self {
            serve,
            _folder: folder,
        }
    }

    fn as_case(&self) -> (&'static str, std::net::SocketAddr, u32) {
        ("leafid", self.serve.address, self.serve.process())
    }
}
