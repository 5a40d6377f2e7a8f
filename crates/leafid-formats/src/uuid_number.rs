//! `UuidNumber` and `UuidHash`: the number in a UUID of version 8, or hashed into one of version 3
//! or 5.

use leafid::Tag;
use leafid::format::FormatError;
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::Sha256;
use uuid::{Builder, Uuid};

use crate::number::NumberText;

/// The bits of a version 8 that are of the tag.
const TAG_BITS: u32 = 58;

/// The namespace of a name: one of RFC 9562, appendix A, or any UUID.
pub(crate) fn namespace(text: &str) -> Option<Uuid> {
    match text {
        "dns" => Some(Uuid::NAMESPACE_DNS),
        "url" => Some(Uuid::NAMESPACE_URL),
        "oid" => Some(Uuid::NAMESPACE_OID),
        "x500" => Some(Uuid::NAMESPACE_X500),
        _ => Uuid::try_parse(text).ok(),
    }
}

/// The number as the name `TAG/NUMBER` of a namespace: version 3 by MD5, version 5 by SHA-1. It
/// cannot be read back.
#[derive(Debug)]
pub(crate) struct UuidHash {
    namespace: Uuid,
    tag: Tag,
    version: HashVersion,
}

/// The versions that are hashes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HashVersion {
    /// Version 3.
    Md5,
    /// Version 5.
    Sha1,
}

impl HashVersion {
    fn uuid(self, namespace: &Uuid, name: &[u8]) -> Uuid {
        let builder = match self {
            Self::Md5 => {
                let hash = Md5::new().chain_update(namespace).chain_update(name);
                Builder::from_md5_bytes(hash.finalize().into())
            }
            Self::Sha1 => {
                let hash = Sha1::new()
                    .chain_update(namespace)
                    .chain_update(name)
                    .finalize();
                let mut first = [0; 16];
                first.iter_mut().zip(hash).for_each(|(byte, of)| *byte = of);
                Builder::from_sha1_bytes(first)
            }
        };
        builder.into_uuid()
    }
}

impl UuidHash {
    pub(crate) fn new(version: HashVersion, namespace: Uuid, tag: &Tag) -> Self {
        Self {
            namespace,
            tag: tag.clone(),
            version,
        }
    }
}

impl NumberText for UuidHash {
    fn write(&self, number: u64, text: &mut String) -> Result<(), FormatError> {
        let name = format!("{}/{number}", self.tag.as_str());
        push(&self.version.uuid(&self.namespace, name.as_bytes()), text);
        Ok(())
    }

    fn read(&self, _text: &str) -> Result<u64, FormatError> {
        Err(FormatError::NotOfFormat(
            "a UUID of version 3 or 5 is a hash: its number cannot be read back".to_owned(),
        ))
    }

    fn largest(&self) -> u64 {
        u64::MAX
    }

    fn is_readable(&self) -> bool {
        false
    }
}

/// The number in the first 64 free bits of a version 8, which sorts by it; the other 58 are the
/// first of the SHA-256 of the tag, so that two tags differ.
#[derive(Debug)]
pub(crate) struct UuidNumber {
    tag: u64,
}

impl UuidNumber {
    pub(crate) fn new(tag: &Tag) -> Self {
        let hash = Sha256::digest(tag.as_str());
        let first = hash
            .iter()
            .take(8)
            .fold(0, |bits, byte| bits << 8 | u64::from(*byte));
        Self {
            tag: first >> (u64::BITS - TAG_BITS),
        }
    }

    /// 48 bits, the version, 12 bits, the variant, 4 bits of the number and those of the tag.
    fn uuid(&self, number: u64) -> Uuid {
        let high = u128::from(number >> 16) << 80 | u128::from(number >> 4 & 0xfff) << 64;
        let low = u128::from(number & 0xf) << TAG_BITS | u128::from(self.tag);
        Builder::from_custom_bytes((high | low).to_be_bytes()).into_uuid()
    }
}

impl NumberText for UuidNumber {
    fn write(&self, number: u64, text: &mut String) -> Result<(), FormatError> {
        push(&self.uuid(number), text);
        Ok(())
    }

    fn read(&self, text: &str) -> Result<u64, FormatError> {
        let uuid = Uuid::try_parse_ascii(text.as_bytes());
        let number = uuid.map(|uuid| {
            let (high, low) = uuid.as_u64_pair();
            high >> 16 << 16 | (high & 0xfff) << 4 | low >> TAG_BITS & 0xf
        });
        let mut again = String::new();
        match number {
            Ok(number) if self.write(number, &mut again).is_ok() && again == text => Ok(number),
            _ => Err(FormatError::NotOfFormat(
                "the text has no UUID of version 8 of this tag".to_owned(),
            )),
        }
    }

    fn largest(&self) -> u64 {
        u64::MAX
    }
}

fn push(uuid: &Uuid, text: &mut String) {
    text.push_str(uuid.hyphenated().encode_lower(&mut Uuid::encode_buffer()));
}
