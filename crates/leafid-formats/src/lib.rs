//! Ids as text: formats of numbers, and families of ids that need no store.

mod calendar;
mod decimal;
mod decode;
mod families;
mod formats;
mod gear;
mod gene;
mod keys;
mod number;
mod opaque;
mod recognise;
mod sqids_number;
mod template;
mod uuid_number;
mod wrong_value;

pub use decimal::decimal;
pub use decode::{DecodeError, Decoded, Part, PartValue, decode};
pub use families::{Families, FamilyError, FamilyFormat};
pub use formats::Formats;
pub use gear::GearKey;
pub use keys::{KeyId, Keys, KeysError};
pub use recognise::{Mark, Recognised, recognise, recognise_with};
