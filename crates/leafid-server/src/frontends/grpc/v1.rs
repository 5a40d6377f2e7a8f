//! The code generated from `proto/leafid/v1`.

include!("generated/leafid.v1.rs");

/// The same as encoded file descriptors.
pub(super) const DESCRIPTION: &[u8] = include_bytes!("generated/leafid.v1.bin");
