//! `Core`: which core a thread, and the processes that it starts, run on.
//!
//! The servers of a comparison share one core and the load has the other, so that neither takes
//! time from the other and each server has the same.

use std::process::{Child, Command, Stdio};

use rustix::thread::{CpuSet, sched_setaffinity};

/// A core of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Core(usize);

impl Core {
    pub(crate) const SERVERS: Self = Self(0);
    pub(crate) const LOAD: Self = Self(1);

    /// Keeps this thread here, and what it starts from now on.
    pub(crate) fn stay(self) {
        let mut cores = CpuSet::new();
        cores.set(self.0);
        sched_setaffinity(None, &cores).expect("this needs a machine with two cores");
    }
}

/// Starts a server on its core; the load's thread stays on its own.
///
/// The kernel kills the server with this process, however it ends.
pub(crate) fn start_server(command: &Command) -> Child {
    let mut tied = Command::new("setpriv");
    tied.args(["--pdeathsig", "KILL", "--"])
        .arg(command.get_program())
        .args(command.get_args());
    tied.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    start_untied(&mut tied)
}

/// The same with nothing in between, to measure the start itself.
pub(crate) fn start_untied(command: &mut Command) -> Child {
    Core::SERVERS.stay();
    let child = command.spawn();
    Core::LOAD.stay();
    child.unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"))
}
