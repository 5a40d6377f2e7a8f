//! `Tag`: the checked name of one sequence of ids.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::escaped::Escaped;

/// The name of one sequence of ids, such as `order` (Leaf calls it `biz_tag`).
///
/// A tag has 1 to 128 characters, none of them a control character, with no white space at
/// either end: exactly what fits Leaf's `varchar(128)` column and compares alike in every store.
/// Upper and lower case are different tags. Cloning is cheap: the text is shared.
///
/// # Example
///
/// ```
/// use leafid::Tag;
///
/// let tag = Tag::new("order")?;
/// assert_eq!(tag.as_str(), "order");
/// assert!(Tag::new(" order").is_err());
/// # Ok::<(), leafid::TagError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Tag(Arc<str>);

impl Tag {
    /// The most characters a tag may have.
    pub const LEN_MAX: usize = 128;

    /// Checks `name` and makes a tag of it.
    ///
    /// # Errors
    ///
    /// [`TagError`] says which rule the name breaks.
    pub fn new(name: impl AsRef<str>) -> Result<Self, TagError> {
        let name = name.as_ref();
        check(name)?;
        Ok(Self(Arc::from(name)))
    }

    /// Checks that a tag may be created with this name. Existing tags may have invisible
    /// characters; they continue to work, and are shown escaped ([`Escaped`]).
    ///
    /// # Errors
    ///
    /// [`TagError::InvisibleCharacter`].
    ///
    /// # Example
    ///
    /// ```
    /// use leafid::{Tag, TagError};
    ///
    /// assert_eq!(Tag::new("order")?.check_new(), Ok(()));
    /// let reversed = Tag::new("order\u{202e}")?;
    /// assert_eq!(reversed.check_new(), Err(TagError::InvisibleCharacter));
    /// assert_eq!(reversed.to_string(), r"order\u{202e}");
    /// # Ok::<(), TagError>(())
    /// ```
    pub fn check_new(&self) -> Result<(), TagError> {
        match self.0.contains(Escaped::is_invisible) {
            true => Err(TagError::InvisibleCharacter),
            false => Ok(()),
        }
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn check(name: &str) -> Result<(), TagError> {
    if name.is_empty() {
        return Err(TagError::Empty);
    }
    let len = name.chars().count();
    if len > Tag::LEN_MAX {
        return Err(TagError::TooLong { len });
    }
    if name.chars().any(char::is_control) {
        return Err(TagError::ControlCharacter);
    }
    if name.trim() != name {
        return Err(TagError::OuterWhiteSpace);
    }
    Ok(())
}

/// Why a text is not a [`Tag`].
///
/// # Example
///
/// ```
/// use leafid::{Tag, TagError};
///
/// assert_eq!(Tag::new("").unwrap_err(), TagError::Empty);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TagError {
    /// The name has no characters.
    #[error("a tag must not be empty")]
    Empty,
    /// The name has more than [`Tag::LEN_MAX`] characters.
    #[error("a tag has at most {max} characters, this one has {len}", max = Tag::LEN_MAX)]
    TooLong {
        /// The number of its characters.
        len: usize,
    },
    /// The name has a control character, such as a line break.
    #[error("a tag must not contain control characters")]
    ControlCharacter,
    /// The name of a new tag has an invisible character, such as a bidirectional control.
    #[error("a new tag must not contain invisible characters, such as bidirectional controls")]
    InvisibleCharacter,
    /// The name starts or ends with white space.
    #[error("a tag must not start or end with white space")]
    OuterWhiteSpace,
}

/// For people: invisible characters are escaped. [`as_str`](Tag::as_str) is the name itself.
impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Escaped(&self.0).fmt(f)
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tag({:?})", &*self.0)
    }
}

impl FromStr for Tag {
    type Err = TagError;

    fn from_str(name: &str) -> Result<Self, TagError> {
        Self::new(name)
    }
}

impl Borrow<str> for Tag {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Tag {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_name(name: &str, expected: Result<(), TagError>) {
        assert_eq!(Tag::new(name).map(|_| ()), expected, "{name:?}");
    }

    #[test]
    fn names_are_checked_at_the_edge() {
        check_name("order", Ok(()));
        check_name("leaf-segment-test", Ok(()));
        check_name("订单 2026", Ok(()));
        check_name(&"x".repeat(128), Ok(()));
        check_name(&"é".repeat(128), Ok(()));
        check_name("", Err(TagError::Empty));
        check_name(&"x".repeat(129), Err(TagError::TooLong { len: 129 }));
        check_name("a\nb", Err(TagError::ControlCharacter));
        check_name("order ", Err(TagError::OuterWhiteSpace));
    }
}
