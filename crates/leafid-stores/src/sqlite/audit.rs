//! The SQL of the recorded changes for SQLite.

use super::{Session, Sqlite};
use crate::audit::{AuditBackend, AuditRecord, AuditSql, record};
use crate::store::CallError;

pub(super) const TABLE_SQL: &str = "CREATE TABLE IF NOT EXISTS leafid_audit (
        id INTEGER PRIMARY KEY,
        at_ms INTEGER NOT NULL,
        server TEXT NOT NULL,
        token TEXT NOT NULL,
        address TEXT NOT NULL,
        action TEXT NOT NULL,
        subject TEXT NOT NULL,
        old_value TEXT NOT NULL,
        new_value TEXT NOT NULL
    )";

impl AuditBackend for Sqlite {
    const SQL: AuditSql = AuditSql {
        append: "INSERT INTO leafid_audit \
            (at_ms, server, token, address, action, subject, old_value, new_value) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        trim: "DELETE FROM leafid_audit WHERE id <= \
            (SELECT id FROM leafid_audit ORDER BY id DESC LIMIT 1 OFFSET ?)",
        recent: "SELECT at_ms, server, token, address, action, subject, old_value, new_value \
            FROM leafid_audit ORDER BY id DESC LIMIT ?",
    };

    async fn recent(
        &self,
        session: &mut Session,
        count: i64,
    ) -> Result<Vec<AuditRecord>, CallError> {
        let query = sqlx::query(<Self as AuditBackend>::SQL.recent).bind(count);
        let rows = query.fetch_all(session.reading()?).await;
        let rows = session.noted(rows.map_err(CallError::from))?;
        rows.iter().map(record).collect()
    }

    /// A connection comes with all tables.
    fn is_missing(_: &sqlx::Error) -> bool {
        false
    }
}
