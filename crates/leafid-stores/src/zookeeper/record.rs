//! ZooKeeper's records on the wire: numbers in network order, and texts, buffers and lists with
//! their length in front. Nothing here knows what a record means.

/// A record that is being written.
#[derive(Default)]
pub(super) struct Record(Vec<u8>);

impl Record {
    pub(super) fn int(mut self, value: i32) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(super) fn long(mut self, value: i64) -> Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(super) fn flag(mut self, value: bool) -> Self {
        self.0.push(u8::from(value));
        self
    }

    /// A text or a buffer. One longer than `i32::MAX` cannot be written; the server refuses far
    /// shorter ones.
    pub(super) fn bytes(self, value: &[u8]) -> Self {
        let mut record = self.int(i32::try_from(value.len()).unwrap_or(i32::MAX));
        record.0.extend(value);
        record
    }

    /// All that another one holds.
    pub(super) fn record(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

/// Reads a record field by field; `None` where it ends too early.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn int(&mut self) -> Option<i32> {
        let (value, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i32::from_be_bytes(*value))
    }

    pub(super) fn long(&mut self) -> Option<i64> {
        let (value, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i64::from_be_bytes(*value))
    }

    /// A text or a buffer. A node without content has the length -1.
    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.int()?.max(0);
        let (value, rest) = self.0.split_at_checked(usize::try_from(len).ok()?)?;
        self.0 = rest;
        Some(value)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    pub(super) fn texts(&mut self) -> Option<Vec<String>> {
        let len = self.int()?.max(0);
        (0..len).map(|_| self.text()).collect()
    }

    pub(super) fn stat(&mut self) -> Option<Stat> {
        let czxid = self.long()?;
        let _mzxid = self.long()?;
        let ctime = self.long()?;
        let mtime = self.long()?;
        let version = self.int()?;
        let cversion = self.int()?;
        let _aversion = self.int()?;
        let _ephemeral_owner = self.long()?;
        let _data_length = self.int()?;
        let num_children = self.int()?;
        let _pzxid = self.long()?;
        Some(Stat {
            czxid,
            ctime,
            mtime,
            version,
            cversion,
            num_children,
        })
    }
}

/// The state of a node, with the names that ZooKeeper's own documentation uses. Times are in
/// milliseconds since 1970 of the server that wrote.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stat {
    /// The transaction that created it.
    pub(super) czxid: i64,
    pub(super) ctime: i64,
    pub(super) mtime: i64,
    /// How often its content was written.
    pub(super) version: i32,
    /// How often a child was created or deleted.
    pub(super) cversion: i32,
    pub(super) num_children: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Vec<u8> {
        let record = Record::default().int(2).bytes(b"forever").bytes(b"leafid");
        let longs = record.long(1).long(2).long(3).long(4);
        let ints = longs.int(5).int(6).int(7).long(0).int(8).int(9).long(10);
        ints.flag(false).into_bytes()
    }

    #[test]
    fn what_was_written_is_read() {
        let record = written();
        let mut fields = Fields(&record);
        assert_eq!(fields.texts().unwrap(), ["forever", "leafid"]);
        let stat = fields.stat().unwrap();
        assert_eq!((stat.czxid, stat.ctime, stat.mtime), (1, 3, 4));
        assert_eq!((stat.version, stat.cversion, stat.num_children), (5, 6, 9));
        assert_eq!(fields.0, [0]);
    }

    #[test]
    fn a_record_that_ends_early_is_none() {
        let record = written();
        for len in 0..record.len() - 1 {
            let mut fields = Fields(&record[..len]);
            assert!(fields.texts().is_none() || fields.stat().is_none(), "{len}");
        }
    }

    /// Guards against memory and time that a length alone would take.
    #[test]
    fn lengths_are_not_believed() {
        let huge = Record::default().int(i32::MAX).int(1).into_bytes();
        assert!(Fields(&huge).bytes().is_none());
        assert!(Fields(&huge).texts().is_none());
        let none = Record::default().int(-1).into_bytes();
        assert_eq!(Fields(&none).bytes(), Some(&[][..]));
        assert_eq!(Fields(&none).texts(), Some(Vec::new()));
    }

    /// Guards that no record panics, and that a list of texts is read as it is written.
    #[test]
    fn any_record_is_read_or_ends_too_early() {
        leafid_fuzz::fuzz("zookeeper-records", |data| {
            let mut fields = Fields(data);
            let read = fields.texts().zip(fields.stat());
            let Some((texts, _)) = read else {
                return false;
            };
            let record = Record::default().int(i32::try_from(texts.len()).unwrap());
            let record = texts
                .iter()
                .fold(record, |record, text| record.bytes(text.as_bytes()));
            assert_eq!(Fields(&record.into_bytes()).texts(), Some(texts));
            true
        });
    }
}
