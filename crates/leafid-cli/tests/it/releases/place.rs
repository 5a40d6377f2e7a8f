//! `Place`: a store or registry whose whole content is written out as text, and put back.

use std::path::Path;

/// A store or registry of a test.
pub(super) trait Place {
    /// The name of its folder.
    fn name(&self) -> &'static str;

    /// The settings of a server that uses it.
    fn settings(&self) -> Vec<String>;

    /// Whether it holds tags, and not worker ids alone.
    fn has_tags(&self) -> bool;

    /// All that it holds, as lines; `folder` is that of the test.
    fn written(&self, folder: &Path) -> String;

    /// Puts back what was [`written`](Self::written).
    fn put(&self, written: &str);

    /// Where the journal says that it is.
    fn location(&self) -> String;
}
