//! `Id` and `Tag` as values of statements and columns, for sqlx 0.9 (feature `sqlx`): an id as
//! `BIGINT`, a tag as text. A column that holds something else is an error when it is read.

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::{Database, Decode, Encode, Type};

use crate::id::Id;
use crate::tag::Tag;

impl<D: Database> Type<D> for Id
where
    i64: Type<D>,
{
    fn type_info() -> D::TypeInfo {
        i64::type_info()
    }

    fn compatible(found: &D::TypeInfo) -> bool {
        i64::compatible(found)
    }
}

impl<'q, D: Database> Encode<'q, D> for Id
where
    i64: Encode<'q, D>,
{
    fn encode_by_ref(&self, buffer: &mut D::ArgumentBuffer) -> Result<IsNull, BoxDynError> {
        i64::from(*self).encode_by_ref(buffer)
    }
}

impl<'r, D: Database> Decode<'r, D> for Id
where
    i64: Decode<'r, D>,
{
    fn decode(value: D::ValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(Self::try_from(i64::decode(value)?)?)
    }
}

impl<D: Database> Type<D> for Tag
where
    String: Type<D>,
{
    fn type_info() -> D::TypeInfo {
        String::type_info()
    }

    fn compatible(found: &D::TypeInfo) -> bool {
        String::compatible(found)
    }
}

impl<'q, D: Database> Encode<'q, D> for Tag
where
    String: Encode<'q, D>,
{
    fn encode_by_ref(&self, buffer: &mut D::ArgumentBuffer) -> Result<IsNull, BoxDynError> {
        self.as_str().to_owned().encode_by_ref(buffer)
    }
}

impl<'r, D: Database> Decode<'r, D> for Tag
where
    String: Decode<'r, D>,
{
    fn decode(value: D::ValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(Self::new(String::decode(value)?)?)
    }
}
