//! `Texts`: many ids as text, in one piece of memory.

/// Ids as text, in the order in which they were made. However many there are, they take two pieces
/// of memory.
///
/// # Example
///
/// ```
/// use leafid_server::Texts;
///
/// let mut texts = Texts::default();
/// texts.push_with(|text| {
///     text.push_str("SO-17");
///     Ok::<(), ()>(())
/// })?;
/// assert_eq!(texts.iter().collect::<Vec<_>>(), ["SO-17"]);
/// # Ok::<(), ()>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    joined: String,
    /// Where each text ends.
    ends: Vec<usize>,
}

impl Texts {
    /// With room for that many.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        Self {
            joined: String::new(),
            ends: Vec::with_capacity(count),
        }
    }

    /// Appends the text that `write` appends.
    ///
    /// # Errors
    ///
    /// Those of `write`; then no text was appended.
    pub fn push_with<E>(
        &mut self,
        write: impl FnOnce(&mut String) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.joined.len();
        if let Err(error) = write(&mut self.joined) {
            self.joined.truncate(start);
            return Err(error);
        }
        if self.ends.is_empty() {
            // The others are about as long.
            let rest = self.ends.capacity().saturating_sub(1);
            self.joined.reserve(self.joined.len().saturating_mul(rest));
        }
        self.ends.push(self.joined.len());
        Ok(())
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of all texts together.
    #[must_use]
    pub fn bytes_len(&self) -> usize {
        self.joined.len()
    }

    /// The texts.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.ends.iter().scan(0, |start, end| {
            let text = self.joined.get(*start..*end);
            *start = *end;
            text
        })
    }
}
