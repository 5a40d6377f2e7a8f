//! `named!`: an enum whose values have names, as metrics and the wire call them, written down once.

/// Declares an enum without data, with `ALL`, which has its values in the order of their numbers,
/// and with a method that gives the name of a value.
macro_rules! named {
    (
        $(#[$doc:meta])*
        $vis:vis enum $Enum:ident, by $name:ident {
            $($(#[$value_doc:meta])* $Value:ident $text:literal)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $Enum {
            $($(#[$value_doc])* $Value,)*
        }

        impl $Enum {
            /// Every value, in the order of their numbers.
            $vis const ALL: [Self; [$($text),*].len()] = [$(Self::$Value),*];

            $vis const fn $name(self) -> &'static str {
                match self {
                    $(Self::$Value => $text,)*
                }
            }
        }
    };
}

pub(crate) use named;
