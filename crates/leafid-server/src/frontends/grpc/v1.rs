//! Made from `proto/leafid/v1`.

include!("generated/leafid.v1.rs");

/// The same as a set of file descriptors.
pub(super) const DESCRIPTION: &[u8] = include_bytes!("generated/leafid.v1.bin");
