//! The front ends: each reads the requests of one protocol, calls the service, and writes the
//! answers.

mod bearer;
pub(crate) mod grpc;
pub(crate) mod http;
pub(crate) mod resp;
