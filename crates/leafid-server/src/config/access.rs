//! The access file: tokens and quotas, as plain data.

// What it contains.
mod quota;
mod scope;
mod token;

// How it is read.
mod file;
mod read_quota;
mod read_token;
mod reader;

pub use file::AccessFile;
pub use quota::QuotaScope;
pub use scope::{TagPattern, TokenScope};
pub(crate) use token::SecretHash;
pub use token::TokenSpec;
