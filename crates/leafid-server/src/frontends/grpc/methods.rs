//! `Methods`: answers the calls of all services; a file for each has its methods. Here is what they
//! share: authentication, and answers that were counted before they were made.

use std::sync::Arc;

use tonic::{Request, Response, Status};

use super::Method;
use super::connection::Connection;
use super::reply::Room;
use crate::frontends::bearer;
use crate::service::{Caller, Service, ServiceError};
use crate::trace::note_tag;

/// Answers the calls of all services.
pub(super) struct Methods {
    pub(super) service: Arc<Service>,
    /// Whether calls may be traced.
    pub(super) is_traced: bool,
}

/// The result of a method.
pub(super) type Answered<T> = Result<Response<T>, Status>;

impl Methods {
    /// Notes the tag of a call that is traced.
    #[inline]
    pub(super) fn note_tag(&self, tag: &str) {
        if self.is_traced {
            note_tag(tag);
        }
    }

    /// The caller of a method.
    pub(super) fn caller<T>(&self, request: &Request<T>) -> Result<Caller, ServiceError> {
        bearer::caller(&self.service, request.metadata().as_ref())
    }

    /// The caller of a method that changes something.
    pub(super) fn changer<T>(
        &self,
        request: &Request<T>,
        method: Method,
    ) -> Result<Caller, ServiceError> {
        let connection = request.extensions().get::<Arc<Connection>>();
        let peer = connection.and_then(|connection| connection.peer.0);
        let caller = self.caller(request);
        let note = |error: &ServiceError| self.service.note_unknown(peer, method.path(), error);
        Ok(caller.inspect_err(note)?.at(peer))
    }
}

/// An answer, with the room that was counted for it before it was made.
pub(super) fn answer_in<T>(room: Option<Room>, message: T) -> Response<T> {
    let mut answer = Response::new(message);
    if let Some(room) = room {
        answer.extensions_mut().insert(room);
    }
    answer
}
