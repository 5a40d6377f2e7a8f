//! `setters!`: the methods that set one option each, of types whose options may become more.

/// For each `field: Type => with_field` a method that sets the field.
macro_rules! setters {
    ($($field:ident: $type:ty => $setter:ident),* $(,)?) => {$(
        #[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
        #[must_use]
        pub fn $setter(mut self, $field: $type) -> Self {
            self.$field = $field;
            self
        }
    )*};
}

pub(crate) use setters;
