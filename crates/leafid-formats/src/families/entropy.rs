//! `Entropy`: the random bits of one thread, unguessable, and never those of another process.
//!
//! ChaCha with 12 rounds, seeded by the operating system, again every 64 KiB, and after a fork.
//! Each thread has its own: there is no lock, so that a fork cannot copy one that is held.

use std::cell::RefCell;

use rand::rngs::{StdRng, SysRng};
use rand::{Rng as _, SeedableRng as _};

use super::FamilyError;

/// After so many bytes the operating system is asked for a new seed.
const SEED_BYTES_MAX: usize = 64 << 10;

/// So shortly after the process id was checked, there cannot have been a fork: it copies the tables
/// of the process's memory, which takes tens of microseconds. To ask for the process id each time
/// is a system call, which takes longer than all the rest of an id.
const FORK_NS_MIN: u64 = 5_000;

thread_local! {
    static ENTROPY: RefCell<Option<Entropy>> = const { RefCell::new(None) };
}

/// Random bits, and the process that they belong to.
#[derive(Debug)]
pub(super) struct Entropy {
    rng: StdRng,
    /// The process that seeded `rng`.
    process_id: u32,
    /// The wall clock when the process id was last checked.
    checked_ns: u64,
    /// How many bytes the present seed has given.
    given_bytes: usize,
}

impl Entropy {
    /// Lends the entropy of this thread, which is certain to be this process's.
    ///
    /// # Errors
    ///
    /// When the operating system gives no seed, or the thread is ending.
    pub(super) fn with<T>(
        wall_ns: u64,
        work: impl FnOnce(&mut Self) -> Result<T, FamilyError>,
    ) -> Result<T, FamilyError> {
        let lent = ENTROPY.try_with(|slot| {
            let slot = &mut *slot.borrow_mut();
            match slot {
                Some(entropy) if entropy.is_recent(wall_ns) => work(entropy),
                _ => work(Self::check(slot, wall_ns)?),
            }
        });
        let ending = |error: std::thread::AccessError| FamilyError::Entropy {
            reason: error.to_string(),
        };
        lent.map_err(ending)?
    }

    /// A clock that went back has a difference beyond every bound.
    fn is_recent(&self, wall_ns: u64) -> bool {
        wall_ns.wrapping_sub(self.checked_ns) < FORK_NS_MIN && self.given_bytes < SEED_BYTES_MAX
    }

    #[cold]
    #[inline(never)]
    fn check(slot: &mut Option<Self>, wall_ns: u64) -> Result<&mut Self, FamilyError> {
        let process_id = std::process::id();
        let kept = slot.take().filter(|entropy| {
            entropy.process_id == process_id && entropy.given_bytes < SEED_BYTES_MAX
        });
        let mut entropy = match kept {
            Some(entropy) => entropy,
            None => Self::seeded(process_id)?,
        };
        entropy.checked_ns = wall_ns;
        Ok(slot.insert(entropy))
    }

    fn seeded(process_id: u32) -> Result<Self, FamilyError> {
        let rng = StdRng::try_from_rng(&mut SysRng).map_err(|error| FamilyError::Entropy {
            reason: error.to_string(),
        })?;
        Ok(Self {
            rng,
            process_id,
            checked_ns: 0,
            given_bytes: 0,
        })
    }

    pub(super) fn process_id(&self) -> u32 {
        self.process_id
    }

    pub(super) fn bits64(&mut self) -> u64 {
        self.given_bytes += size_of::<u64>();
        self.rng.next_u64()
    }

    pub(super) fn bits128(&mut self) -> u128 {
        u128::from(self.bits64()) << 64 | u128::from(self.bits64())
    }

    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        self.given_bytes += bytes.len();
        self.rng.fill_bytes(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(wall_ns: u64) -> u128 {
        Entropy::with(wall_ns, |entropy| Ok(entropy.bits128())).unwrap()
    }

    /// What a forked child has is a copy with the process id of its parent.
    fn become_a_copy_of_another_process() {
        ENTROPY.with_borrow_mut(|slot| {
            let entropy = slot.as_mut().unwrap();
            entropy.rng = StdRng::seed_from_u64(1);
            entropy.process_id = entropy.process_id.wrapping_add(1);
        });
    }

    #[test]
    fn a_forked_process_has_a_seed_of_its_own() {
        let mut parent = StdRng::seed_from_u64(1);
        let parents = u128::from(parent.next_u64()) << 64 | u128::from(parent.next_u64());
        for (before_ns, after_ns) in [(5_000_000, 5_005_000), (5_000_000, 4_999_999)] {
            drawn(before_ns);
            become_a_copy_of_another_process();
            assert_ne!(drawn(after_ns), parents);
            let process_id = Entropy::with(after_ns, |entropy| Ok(entropy.process_id()));
            assert_eq!(process_id, Ok(std::process::id()));
        }
    }

    #[test]
    fn a_seed_gives_a_bounded_number_of_bytes() {
        for _ in 0..3 * SEED_BYTES_MAX / size_of::<u128>() {
            drawn(7);
            let given = ENTROPY.with_borrow(|slot| slot.as_ref().unwrap().given_bytes);
            assert!(given <= SEED_BYTES_MAX);
        }
    }
}
