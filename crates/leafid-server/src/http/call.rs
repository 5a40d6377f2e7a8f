//! `Call`: one request without its body, as the routes see it.

use hyper::{HeaderMap, Uri};

use super::json::Fields;
use super::problem::Problem;
use crate::limits::Limits;
use crate::service::Service;

/// One request without its body.
pub(crate) struct Call<'a> {
    pub(crate) service: &'a Service,
    pub(crate) uri: &'a Uri,
    pub(crate) headers: &'a HeaderMap,
}

impl Call<'_> {
    pub(crate) fn limits(&self) -> &Limits {
        self.service.limits()
    }

    /// Takes a JSON body apart.
    pub(crate) fn fields(&self, body: &[u8], known: &[&str]) -> Result<Fields, Problem> {
        Fields::parse(self.headers, body, known)
    }
}
