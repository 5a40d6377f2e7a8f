//! A JSON value, as serde reads it. What is wrong comes out as a [`Mistake`], while serde_json's
//! own error is a text: no nearest name could be suggested for an unknown field.

use std::fmt;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

/// What is wrong with a value.
#[derive(Debug, thiserror::Error)]
pub(super) enum Mistake {
    /// An object has a field that is not among these.
    #[error("the field is not known")]
    Unknown { known: &'static [&'static str] },
    /// An object lacks this field.
    #[error("the field {name} is missing")]
    Missing { name: &'static str },
    /// The value is something else.
    #[error("the field must be {wanted}")]
    Wrong { wanted: String },
}

impl Error for Mistake {
    fn custom<T: fmt::Display>(wanted: T) -> Self {
        let wanted = wanted.to_string();
        Self::Wrong { wanted }
    }

    fn invalid_type(_: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::custom(wanted)
    }

    fn invalid_value(_: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::custom(wanted)
    }

    fn unknown_field(_: &str, known: &'static [&'static str]) -> Self {
        Self::Unknown { known }
    }

    fn missing_field(name: &'static str) -> Self {
        Self::Missing { name }
    }
}

/// A value to be read.
#[derive(Clone, Copy)]
pub(super) struct Json<'de>(pub(super) &'de Value);

impl<'de> Deserializer<'de> for Json<'de> {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(bool) => visitor.visit_bool(*bool),
            Value::Number(number) => match (number.as_u64(), number.as_f64()) {
                (Some(whole), _) => visitor.visit_u64(whole),
                (None, float) => visitor.visit_f64(float.unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(values) => {
                visitor.visit_seq(SeqDeserializer::new(values.iter().map(Json)))
            }
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(name, value)| (name.as_str(), Json(value)));
                visitor.visit_map(MapDeserializer::new(fields))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    /// An array is no object, though serde would take one.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        match self.0 {
            Value::Object(_) => self.deserialize_any(visitor),
            _ => Err(Mistake::custom("a JSON object")),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Mistake> for Json<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}
