//! `PendingReplies`: one reply to many commands in a row, of which some copies are still to be
//! written.
//!
//! An error takes many times the bytes of an id, so the buffer may not have room for the errors of
//! all commands that were executed together. The session writes them before it reads on.

/// A reply, and how many copies of it are due; at least one.
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

    /// Writes as many as there is room for, but at least one; returns whether that was all.
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
