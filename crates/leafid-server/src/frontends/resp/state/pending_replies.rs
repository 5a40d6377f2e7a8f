//! `PendingReplies`: one reply to many commands in a row, as far as it was not written yet.
//!
//! An error takes many times the bytes of an id, so that there may be no room for as many of it
//! as commands were run together. The session writes them before it reads on.

/// A reply that is due so many times more, at least once.
#[derive(Debug)]
pub(in crate::frontends::resp) struct PendingReplies {
    reply: Box<[u8]>,
    times: u64,
}

impl PendingReplies {
    /// `None` if none is due.
    pub(in crate::frontends::resp) fn new(reply: &[u8], times: u64) -> Option<Box<Self>> {
        (times > 0).then(|| {
            let reply = reply.into();
            Box::new(Self { reply, times })
        })
    }

    /// Writes as many as there is room for, but one at least; answers whether that was all.
    pub(in crate::frontends::resp) fn write(
        &mut self,
        out: &mut Vec<u8>,
        out_len_max: usize,
    ) -> bool {
        loop {
            out.extend_from_slice(&self.reply);
            self.times -= 1;
            if self.times == 0 || out.len() >= out_len_max {
                return self.times == 0;
            }
        }
    }
}
