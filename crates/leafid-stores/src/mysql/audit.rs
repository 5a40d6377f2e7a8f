//! The SQL of the recorded changes for MySQL and MariaDB.

use super::Mysql;
use super::connect::{self, Session};
use crate::audit::{AuditBackend, AuditRecord, AuditSql, record};
use crate::store::CallError;

pub(super) const TABLE_SQL: &str = "CREATE TABLE IF NOT EXISTS leafid_audit (
        id BIGINT NOT NULL AUTO_INCREMENT,
        at_ms BIGINT NOT NULL,
        server VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        token VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        address VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        action VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        subject VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        old_value VARCHAR(1024) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        new_value VARCHAR(1024) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (id)
    ) ENGINE=InnoDB";

impl AuditBackend for Mysql {
    const SQL: AuditSql = AuditSql {
        append: "INSERT INTO leafid_audit \
            (at_ms, server, token, address, action, subject, old_value, new_value) \
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        // The inner table is made first: MySQL deletes from none that it reads.
        trim: "DELETE FROM leafid_audit WHERE id <= (SELECT id FROM \
            (SELECT id FROM leafid_audit ORDER BY id DESC LIMIT 1 OFFSET ?) AS oldest)",
        recent: "SELECT at_ms, server, token, address, action, subject, old_value, new_value \
            FROM leafid_audit ORDER BY id DESC LIMIT ?",
    };

    async fn recent(
        &self,
        session: &mut Session,
        count: i64,
    ) -> Result<Vec<AuditRecord>, CallError> {
        let query = sqlx::query(<Self as AuditBackend>::SQL.recent).bind(count);
        let rows = query.fetch_all(&mut session.connection).await?;
        rows.iter().map(record).collect()
    }

    fn is_missing(error: &sqlx::Error) -> bool {
        matches!(connect::number(error), Some(1142 | 1143 | 1146))
    }
}
