//! Who may take ids, and how many: what an access file says, as plain data.

// What it says.
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
