//! `Process`: the random bits that the ids of one process share, drawn again after a fork.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::entropy::Entropy;

/// The random bits of a process.
///
/// Two threads may draw at once, and the later draw stays. That repeats no id: within the process
/// ids differ by what [`Ascending`](super::ascending::Ascending) and
/// [`SecondCounter`](super::second_counter::SecondCounter) claim, under any bits of the process.
#[derive(Debug, Default)]
pub(super) struct Process {
    /// The process that drew the bits; 0 before the first draw.
    id: AtomicU32,
    uuid: AtomicU64,
    object_id: AtomicU64,
    xid: AtomicU64,
    tsid: AtomicU64,
    cosid: AtomicU64,
    cuid2: AtomicU64,
}

impl Process {
    /// Draws if this process has not drawn yet.
    pub(super) fn refresh(&self, entropy: &mut Entropy) {
        // Acquire pairs with the Release below: who sees this process's id sees its bits.
        if self.id.load(Ordering::Acquire) == entropy.process_id() {
            return;
        }
        for bits in [
            &self.uuid,
            &self.object_id,
            &self.xid,
            &self.tsid,
            &self.cosid,
            &self.cuid2,
        ] {
            bits.store(entropy.bits64(), Ordering::Relaxed);
        }
        self.id.store(entropy.process_id(), Ordering::Release);
    }

    /// Clock sequence (14 bits) and node (48 bits, the multicast bit set, so that it is never the
    /// address of a network card) of UUIDs of version 1 and 6. Source: RFC 9562, section 6.10.
    pub(super) fn uuid(&self) -> u64 {
        const MULTICAST: u64 = 1 << 40;
        self.uuid.load(Ordering::Relaxed) >> 2 | MULTICAST
    }

    /// The 5 random bytes of an `ObjectId`.
    pub(super) fn object_id(&self) -> u64 {
        self.object_id.load(Ordering::Relaxed) >> 24
    }

    /// Machine (24 bits) and process (16 bits) of an XID.
    pub(super) fn xid(&self) -> u64 {
        self.xid.load(Ordering::Relaxed) >> 24
    }

    /// The 10 bits of a TSID's node.
    pub(super) fn tsid(&self) -> u64 {
        self.tsid.load(Ordering::Relaxed) >> 54
    }

    /// The 20 bits of a CosId's machine.
    pub(super) fn cosid(&self) -> u64 {
        self.cosid.load(Ordering::Relaxed) >> 44
    }

    /// The fingerprint of CUID2.
    pub(super) fn cuid2(&self) -> u64 {
        self.cuid2.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_process_has_other_bits() {
        let process = Process::default();
        let bits = || {
            let uuid = process.uuid();
            assert_eq!(uuid >> 40 & 1, 1, "the multicast bit");
            assert_eq!(uuid >> 62, 0);
            (uuid, process.object_id(), process.xid(), process.cuid2())
        };
        let refresh = || {
            let refreshed = Entropy::with(0, |entropy| {
                process.refresh(entropy);
                Ok(())
            });
            refreshed.unwrap();
        };
        refresh();
        let before = bits();
        refresh();
        assert_eq!(bits(), before);
        process
            .id
            .store(std::process::id().wrapping_add(1), Ordering::Relaxed);
        refresh();
        assert_ne!(bits(), before);
        assert_eq!(process.id.load(Ordering::Relaxed), std::process::id());
    }
}
