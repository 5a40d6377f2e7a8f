//! `SqidsNumber`: the number as Sqids write it.
//!
//! Sqids are an obfuscation and no encryption: anyone can decode them.

use leafid::format::FormatError;
use sqids::Sqids;

use crate::number::NumberText;

/// The most characters that are read: the longest number with `min=64`.
const LEN_MAX: usize = 64;

/// The number as a Sqid, with the default alphabet and list of blocked words.
#[derive(Debug)]
pub(crate) struct SqidsNumber(Sqids);

impl SqidsNumber {
    /// Texts have at least so many characters.
    pub(crate) fn new(len_min: usize) -> Result<Self, sqids::Error> {
        let len_min = u8::try_from(len_min).unwrap_or(u8::MAX);
        Ok(Self(Sqids::builder().min_length(len_min).build()?))
    }

    fn encode(&self, number: u64) -> Result<String, FormatError> {
        self.0.encode(&[number]).map_err(|error| {
            FormatError::Unavailable(format!("the number {number} has no Sqid: {error}"))
        })
    }
}

impl NumberText for SqidsNumber {
    fn write(&self, number: u64, text: &mut String) -> Result<(), FormatError> {
        text.push_str(&self.encode(number)?);
        Ok(())
    }

    /// Several texts decode to one number; only the one that is written is read.
    fn read(&self, text: &str) -> Result<u64, FormatError> {
        let not_sqid =
            || FormatError::NotOfFormat("the text is not a Sqid of one number".to_owned());
        if text.len() > LEN_MAX {
            return Err(not_sqid());
        }
        match self.0.decode(text)[..] {
            [number] if self.encode(number)? == text => Ok(number),
            _ => Err(not_sqid()),
        }
    }

    fn largest(&self) -> u64 {
        u64::MAX
    }
}
