//! The macros of utoipa that `leafid-server` uses, generating nothing. Its tests use the real ones
//! and compare the description of the API with the file that the server embeds, so that only tests
//! pay for utoipa, and structs and handlers need no `cfg_attr`.
//!
//! # Example
//!
//! ```
//! use leafid_no_openapi::ToSchema;
//!
//! #[derive(ToSchema)]
//! struct Ids {
//!     /// Ignored here, and read by `utoipa::ToSchema`.
//!     #[schema(example = json!(["1", "2"]))]
//!     ids: Vec<String>,
//! }
//! ```

use proc_macro::TokenStream;

/// `utoipa::ToSchema` without the schema.
#[proc_macro_derive(ToSchema, attributes(schema))]
pub fn to_schema(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// `utoipa::IntoParams` without the parameters.
#[proc_macro_derive(IntoParams, attributes(param, into_params))]
pub fn into_params(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// `utoipa::path` without the path: the function as it is.
#[proc_macro_attribute]
pub fn path(_: TokenStream, function: TokenStream) -> TokenStream {
    function
}
