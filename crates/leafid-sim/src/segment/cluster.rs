//! `Cluster`: the servers of a list that lead to one set of rows, as the nodes of a Galera cluster
//! do. One that has lost its cluster answers at most reads; a connection skips it.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use leafid::store::StoreError;

use crate::executor::lock;
use crate::segment::bug::Bug;

/// The membership of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    Primary,
    /// Not part of it: it answers reads, and refuses whatever changes something.
    ReadsOnly,
    /// Not part of it: it refuses everything.
    Refuses,
}

/// The kinds of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Read,
    Change,
    Probe,
}

/// How many nodes are in a list.
const NODES: usize = 2;

#[derive(Debug)]
pub(crate) struct Cluster {
    states: Mutex<[Node; NODES]>,
}

/// Which node a process is connected to; at first, the first one.
#[derive(Debug, Default)]
pub(crate) struct Route {
    at: AtomicUsize,
}

impl Cluster {
    pub(crate) fn new() -> Self {
        Self {
            states: Mutex::new([Node::Primary; NODES]),
        }
    }

    /// Changes the membership of one node.
    pub(crate) fn set(&self, at: usize, node: Node) {
        lock(&self.states)[at % NODES] = node;
    }

    /// Whether the node that a process is connected to serves the call. If not, the next call goes
    /// to the other one.
    ///
    /// # Errors
    ///
    /// Galera's error.
    pub(crate) fn admit(
        &self,
        route: &Route,
        call: Call,
        bug: Option<Bug>,
    ) -> Result<Node, StoreError> {
        // Relaxed, here and below: there is one thread.
        let at = route.at.load(Ordering::Relaxed);
        let node = lock(&self.states)[at];
        let is_served = match node {
            Node::Primary => true,
            Node::ReadsOnly => {
                let reads_to_probe = bug == Some(Bug::ProbedByReading) && call == Call::Probe;
                call == Call::Read || reads_to_probe
            }
            Node::Refuses => false,
        };
        if is_served {
            return Ok(node);
        }
        if node == Node::Refuses || bug != Some(Bug::NodeKept) {
            route.at.store((at + 1) % NODES, Ordering::Relaxed);
        }
        Err(StoreError::unavailable(
            "the node is not part of its cluster",
            "WSREP has not yet prepared node for application use",
        ))
    }
}
