//! Shards: bits at the bottom of an id that say where its row is. They follow from a key, or are
//! fixed for a server.
//!
//! Ids are distinct without them, by tick, worker id and sequence. So whatever shards callers ask
//! for, no id repeats, and ids ascend as if there were none.

use crc::{CRC_32_ISO_HDLC, Crc};

use super::{Layout, LayoutError, mask};
use crate::Id;

/// The most bits of a shard.
pub(super) const SHARD_BITS_MAX: u32 = 16;

const CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// Shards.
impl Layout {
    /// Bits of the shard, which is at the bottom; 0 for none.
    #[must_use]
    pub const fn shard_bits(self) -> u32 {
        self.shard_bits as u32
    }

    /// The largest shard; 0 if the layout has none.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "it has at most 16 bits")]
    pub const fn shard_max(self) -> u32 {
        mask(self.shard_bits) as u32
    }

    /// Whether it has this shard; 0 is in every layout.
    ///
    /// # Errors
    ///
    /// [`LayoutError::NoSuchShard`].
    pub const fn check_shard(self, shard: u32) -> Result<(), LayoutError> {
        let layout = self;
        if shard > self.shard_max() {
            return Err(LayoutError::NoSuchShard { shard, layout });
        }
        Ok(())
    }

    /// The shard of a key: the CRC-32 of its bytes modulo the number of shards. Every language has
    /// this checksum (CRC-32/ISO-HDLC, as in gzip), so that a client finds the shard of a row by its
    /// key, too. Equal keys have equal shards; different keys spread evenly, and may share a shard.
    ///
    /// # Errors
    ///
    /// [`LayoutError::NoShards`] if the layout has none.
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::Layout;
    ///
    /// let layout: Layout = "time41x1ms/worker10/sequence8/shard4@2020-01-01T00:00:00Z".parse()?;
    /// assert_eq!(layout.shard_of_key(b"123456789")?, 0xcbf4_3926 % 16);
    /// assert!(Layout::LEAF.shard_of_key(b"123456789").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn shard_of_key(self, key: &[u8]) -> Result<u32, LayoutError> {
        let layout = self;
        match self.shard_bits {
            0 => Err(LayoutError::NoShards { layout }),
            _ => Ok(CRC.checksum(key) & self.shard_max()),
        }
    }

    /// The same id with another shard. Ids that differ in tick, worker id or sequence stay distinct.
    ///
    /// # Errors
    ///
    /// [`LayoutError::NoSuchShard`].
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Id, Layout};
    ///
    /// let layout: Layout = "time41x1ms/worker10/sequence8/shard4@2020-01-01T00:00:00Z".parse()?;
    /// let id = layout.with_shard(Id::new(0x7a0).ok_or("no id")?, 9)?;
    /// assert_eq!((id.get(), layout.decompose(id.get()).shard), (0x7a9, Some(9)));
    /// assert!(layout.with_shard(id, 16).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn with_shard(self, id: Id, shard: u32) -> Result<Id, LayoutError> {
        if let Err(error) = self.check_shard(shard) {
            return Err(error);
        }
        let others = id.get() & !(self.shard_max() as u64);
        match Id::new(others | shard as u64) {
            Some(id) => Ok(id),
            // It has nothing but a shard, and 0 is no id.
            None => Err(LayoutError::NoSuchShard {
                shard,
                layout: self,
            }),
        }
    }
}
