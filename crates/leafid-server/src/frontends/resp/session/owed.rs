//! `Owed`: one answer to many commands in a row, as far as it was not given yet.
//!
//! An error takes many times the bytes of an id, so that there may be no room for as many of it
//! as commands were run together. The session gives them before it looks at anything else.

/// An answer that is due so many times more; at least once.
#[derive(Debug)]
pub(super) struct Owed {
    answer: Box<[u8]>,
    times: u64,
}

impl Owed {
    /// `None` if nothing is due.
    pub(super) fn new(answer: &[u8], times: u64) -> Option<Box<Self>> {
        (times > 0).then(|| {
            let answer = answer.into();
            Box::new(Self { answer, times })
        })
    }

    /// Gives what there is room for, but once at least; tells whether that was all.
    pub(super) fn give(&mut self, out: &mut Vec<u8>, out_len_max: usize) -> bool {
        loop {
            out.extend_from_slice(&self.answer);
            self.times -= 1;
            if self.times == 0 || out.len() >= out_len_max {
                return self.times == 0;
            }
        }
    }
}
