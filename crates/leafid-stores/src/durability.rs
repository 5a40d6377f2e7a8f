//! The durability check: how weaknesses of a database are named, and which columns are refused.

#[cfg(feature = "_sqlx")]
use leafid::store::StoreError;
use leafid::store::Weakness;

pub(crate) fn weakness(setting: &str, value: &str, wanted: &str, danger: &str) -> Weakness {
    Weakness {
        setting: setting.to_owned(),
        value: value.to_owned(),
        wanted: wanted.to_owned(),
        danger: danger.to_owned(),
    }
}

/// A trigger or a rule that can change what is written.
#[cfg(feature = "_sqlx")]
pub(crate) fn weak_trigger(
    what: &str,
    name: &str,
    table: &str,
    kind: &str,
    drop: &str,
) -> Weakness {
    weakness(
        &format!("the {what} {name} of {table}"),
        kind,
        &format!("none ({drop})"),
        "it can change what is written",
    )
}

/// A column that cannot hold every value written to it.
#[cfg(feature = "_sqlx")]
pub(crate) struct Column<'a> {
    pub(crate) table: &'a str,
    pub(crate) name: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) is_generated: bool,
    /// The statement that corrects it.
    pub(crate) correction: &'a str,
}

/// Refuses a column, and names the statement that corrects it.
#[cfg(feature = "_sqlx")]
pub(crate) fn unfit(column: &Column<'_>) -> StoreError {
    let Column {
        table,
        name,
        kind,
        is_generated,
        correction,
    } = column;
    let fault = match is_generated {
        true => "a generated column, which keeps nothing that is written",
        false => "which cannot hold every number",
    };
    StoreError::Unsupported {
        message: format!("the column {name} of {table} is {kind}, {fault}: {correction}"),
    }
}
