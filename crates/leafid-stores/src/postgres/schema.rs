//! Inspects a PostgreSQL server and its tables in one statement: what could lose a commit or change
//! what is written, and which columns cannot hold every id.

use std::collections::HashMap;

use leafid::store::{StoreError, Weakness};
use sqlx::{PgConnection, Row};

use crate::durability::{Column, unfit, weak_trigger, weakness};
use crate::schema::{FoundKeys, OwnTable};

/// The kind of a row, a name, and two details. The tables are those that a statement finds without
/// naming a schema. Triggers and rules count that run at an insert (4) or an update (16).
const SELECT: &str = "WITH t AS (SELECT name, to_regclass(name) AS oid FROM unnest(ARRAY[ \
    'leaf_alloc', 'leafid_tag', 'leafid_worker', 'leafid_pool']) AS name) \
    SELECT 'setting', name, setting, '' FROM pg_settings WHERE name IN ('server_version', 'fsync', \
        'full_page_writes', 'synchronous_commit', 'synchronous_standby_names', \
        'transaction_read_only') \
    UNION ALL SELECT 'server', 'system', system_identifier::text, '' FROM pg_control_system() \
    UNION ALL SELECT 'server', 'timeline', timeline_id::text, '' FROM pg_control_checkpoint() \
    UNION ALL SELECT 'server', 'database', current_database()::text, '' \
    UNION ALL SELECT 'server', 'recovery', pg_is_in_recovery()::text, '' \
    UNION ALL SELECT 'server', 'tls', ssl::text, '' FROM pg_stat_ssl \
        WHERE pid = pg_backend_pid() \
    UNION ALL SELECT 'table', t.name, c.relkind::text, c.relpersistence::text \
        FROM t JOIN pg_class c ON c.oid = t.oid \
    UNION ALL SELECT 'column', t.name || '.' || a.attname, \
        format_type(COALESCE(NULLIF(y.typbasetype, 0), y.oid), NULL), a.attgenerated::text \
        FROM t JOIN pg_attribute a ON a.attrelid = t.oid JOIN pg_type y ON y.oid = a.atttypid \
        WHERE a.attnum > 0 AND NOT a.attisdropped \
    UNION ALL SELECT 'key', t.name, i.indexrelid::text, a.attname::text \
        FROM t JOIN pg_index i ON i.indrelid = t.oid JOIN pg_attribute a \
        ON a.attrelid = t.oid \
        AND a.attnum = ANY ((i.indkey::int2[])[0 : i.indnkeyatts - 1]) \
        WHERE i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL \
    UNION ALL SELECT 'collation', t.name || '.' || a.attname, c.collname::text, '' \
        FROM t JOIN pg_attribute a ON a.attrelid = t.oid JOIN pg_collation c \
        ON c.oid = a.attcollation WHERE NOT c.collisdeterministic \
    UNION ALL SELECT 'trigger', t.name, g.tgname::text, '' FROM t JOIN pg_trigger g \
        ON g.tgrelid = t.oid WHERE NOT g.tgisinternal AND g.tgenabled IN ('O', 'A') \
        AND (g.tgtype & 20) <> 0 \
    UNION ALL SELECT 'rule', t.name, r.rulename::text, '' FROM t JOIN pg_rewrite r \
        ON r.ev_class = t.oid WHERE r.ev_type IN ('2', '3')";

/// The columns that must hold every id, epoch and time.
const NUMBERS: [&str; 6] = [
    "leaf_alloc.max_id",
    "leafid_tag.id_limit",
    "leafid_tag.deleted_max_id",
    "leafid_tag.segment_max",
    "leafid_worker.epoch",
    "leafid_worker.until_ms",
];

/// The result of the inspection.
#[derive(Default)]
pub(super) struct Schema {
    /// Settings, and what the server says of itself.
    facts: HashMap<String, String>,
    pub(super) own: OwnTable,
    /// Whether there is the table of the pools of worker ids.
    pub(super) has_pools: bool,
    pub(super) weaknesses: Vec<Weakness>,
    /// A column that cannot hold every value written to it.
    pub(super) unfit: Option<StoreError>,
}

impl Schema {
    pub(super) async fn read(connection: &mut PgConnection) -> Result<Self, sqlx::Error> {
        let (mut schema, mut keys) = (Self::default(), FoundKeys::default());
        for row in sqlx::raw_sql(SELECT).fetch_all(connection).await? {
            let text = |index: usize| row.try_get::<String, _>(index);
            let (what, name, value, detail) = (text(0)?, text(1)?, text(2)?, text(3)?);
            match what.as_str() {
                "table" => {
                    keys.see_table(&name);
                    schema.has_pools |= name == "leafid_pool";
                    schema.table(&name, &value, &detail);
                }
                "key" => keys.see(&name, &value, &detail),
                "column" => schema.column(&name, &value, &detail),
                "collation" => schema.loose_name(&name, &value),
                "trigger" | "rule" => {
                    let drop = format!("DROP {} {value} ON {name}", what.to_uppercase());
                    let weak = weak_trigger(&what, &value, &name, "in force", &drop);
                    schema.weaknesses.push(weak);
                }
                _ => drop(schema.facts.insert(name, value)),
            }
        }
        schema.weaknesses.extend(keys.weaknesses());
        Ok(schema)
    }

    /// A setting, or a property of the server; empty if it is unknown.
    pub(super) fn get(&self, name: &str) -> &str {
        self.facts.get(name).map_or("", String::as_str)
    }

    fn table(&mut self, table: &str, kind: &str, persistence: &str) {
        // Plain and partitioned ones.
        if !matches!(kind, "r" | "p") {
            let found = match kind {
                "v" => "a view",
                "m" => "a materialized view",
                "f" => "a foreign table",
                _ => "no table",
            };
            let danger = "what is written may not be kept";
            let setting = format!("the kind of {table}");
            self.weaknesses
                .push(weakness(&setting, found, "a table", danger));
        }
        let (found, danger) = match persistence {
            "u" => ("unlogged", "a crash empties it"),
            "t" => ("temporary", "it goes with the connection"),
            _ => return,
        };
        let setting = format!("the persistence of {table}");
        let wanted = format!("permanent (ALTER TABLE {table} SET LOGGED)");
        self.weaknesses
            .push(weakness(&setting, found, &wanted, danger));
    }

    /// Names that a collation considers equal would be one row, and one tag of a statement.
    fn loose_name(&mut self, column: &str, collation: &str) {
        const NAMES: [&str; 3] = ["leaf_alloc.biz_tag", "leafid_tag.tag", "leafid_worker.pool"];
        let (true, Some((table, name))) = (NAMES.contains(&column), column.split_once('.')) else {
            return;
        };
        let message = format!(
            "the column {name} of {table} has the collation {collation}, which takes different \
            names for equal: ALTER TABLE {table} ALTER COLUMN {name} TYPE varchar({}) COLLATE \"C\"",
            if name == "pool" { 64 } else { 128 }
        );
        self.unfit
            .get_or_insert(StoreError::Unsupported { message });
    }

    fn column(&mut self, column: &str, kind: &str, generated: &str) {
        if let Some(name) = column.strip_prefix("leafid_tag.") {
            self.own.see(name);
        }
        let is_generated = !generated.is_empty();
        let is_fit = kind == "bigint" && !is_generated;
        let (true, false, Some((table, name))) = (
            NUMBERS.contains(&column),
            is_fit || self.unfit.is_some(),
            column.split_once('.'),
        ) else {
            return;
        };
        let change = match is_generated {
            true => "DROP EXPRESSION",
            false => "TYPE bigint",
        };
        self.unfit = Some(unfit(&Column {
            table,
            name,
            kind,
            is_generated,
            correction: &format!("ALTER TABLE {table} ALTER COLUMN {name} {change}"),
        }));
    }
}
