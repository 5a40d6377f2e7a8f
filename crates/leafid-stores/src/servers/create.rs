//! Creates the tables: those of Leaf and our own, and those of a registry of worker ids.

use leafid::store::new_identity;

use super::product::Product;
use crate::InitReport;
use crate::leases::{Change, IDENTITY};
use crate::schema::{FoundTables, OwnTable, Shape, TABLES};
use crate::sql::{Dialect as _, Row as _, Work as _};
use crate::sql_error::{CallError, SqlError};

pub(super) async fn found_tables<P: Product>(
    connection: &mut P::Connection,
) -> Result<FoundTables, SqlError> {
    let rows = connection.rows(P::FOUND_TABLES, &[]).await?;
    let names: Result<Vec<String>, _> = rows.iter().map(|row| row.text(0)).collect();
    Ok(FoundTables::of(&names?))
}

/// A server that waits for the tables may be creating those of its registry meanwhile.
pub(crate) async fn create_missing<P: Product>(
    connection: &mut P::Connection,
    shape: Shape,
) -> Result<InitReport, CallError> {
    let found = create_tables::<P>(connection, shape, &TABLES).await?;
    let own = match found.is_missing("leafid_tag") {
        true => OwnTable::default(),
        false => add_columns::<P>(connection, shape).await?,
    };
    Ok(found.report(own))
}

/// Creates the tables beside those of another system that has the tags: of the registry, and the
/// audit log.
#[cfg(feature = "mysql")]
pub(crate) async fn create_beside<P: Product>(
    connection: &mut P::Connection,
    shape: Shape,
) -> Result<InitReport, CallError> {
    let beside = &TABLES[2..];
    let found = create_tables::<P>(connection, shape, beside).await?;
    Ok(found.report_of(beside, OwnTable::default()))
}

/// Creates the missing ones of these tables; returns which ones existed.
async fn create_tables<P: Product>(
    connection: &mut P::Connection,
    shape: Shape,
    tables: &[&str],
) -> Result<FoundTables, CallError> {
    lock_tables::<P>(connection).await?;
    let found = found_tables::<P>(connection).await?;
    for (table, sql) in TABLES.iter().zip(P::CREATE) {
        if tables.contains(table) && found.is_missing(table) {
            connection.execute(sql, &[]).await?;
        }
    }
    // Gives the database an identity, unless it has one.
    let keep = Change::KeepLayout {
        pool: IDENTITY.into(),
        layout: new_identity(),
    };
    keep.run(connection, shape).await?;
    Ok(found)
}

/// Adds to our own table what an older version did not create, and returns its former state.
async fn add_columns<P: Product>(
    connection: &mut P::Connection,
    shape: Shape,
) -> Result<OwnTable, SqlError> {
    let own = P::look_again(connection, shape).await?.own;
    for (column, _) in own.missing() {
        let kind = match column {
            "kind" => "varchar(16)",
            "format" => P::FORMAT,
            _ => "bigint",
        };
        let add = format!("{} {column} {kind} DEFAULT NULL", P::ADD_COLUMN);
        match connection.execute(&add, &[]).await {
            // Another process was faster.
            Err(error) if P::is_column_there(&error) => {}
            added => drop(added?),
        }
    }
    Ok(own)
}

pub(super) async fn create_registry<P: Product>(
    connection: &mut P::Connection,
) -> Result<(), SqlError> {
    lock_tables::<P>(connection).await?;
    for sql in &P::CREATE[2..4] {
        connection.execute(sql, &[]).await?;
    }
    Ok(())
}

async fn lock_tables<P: Product>(connection: &mut P::Connection) -> Result<(), SqlError> {
    match P::CREATE_LOCK {
        Some(lock) => connection.rows(lock, &[]).await.map(drop),
        None => Ok(()),
    }
}
