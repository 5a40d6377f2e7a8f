//! Inspects the tables in MySQL or MariaDB: their variants, what could lose a commit or change what
//! is written, and which columns cannot hold every id.

use leafid::store::{StoreError, Weakness};
use sqlx::{AssertSqlSafe, MySqlConnection, Row};

use crate::durability::{Column, unfit, weak_trigger, weakness};
use crate::schema::{FoundKeys, OwnTable, Shape};
use crate::sql_error::SqlError;

/// The tables of segments and of a registry.
pub(super) const TABLES: &str = "'leaf_alloc', 'leafid_tag', 'leafid_worker', 'leafid_pool'";
/// The table of ns4_gear_idgen.
pub(super) const GEAR_KEY: &str = "'gear_key'";
/// Baidu's table of worker ids.
pub(super) const WORKER_NODE: &str = "'WORKER_NODE'";

/// The columns that must hold every id, epoch and time, and their types.
const NUMBERS: [(&str, &str, &str); 6] = [
    ("leaf_alloc", "max_id", "BIGINT NOT NULL DEFAULT 1"),
    ("leafid_tag", "id_limit", "BIGINT DEFAULT NULL"),
    ("leafid_tag", "deleted_max_id", "BIGINT DEFAULT NULL"),
    ("leafid_tag", "segment_max", "BIGINT DEFAULT NULL"),
    ("leafid_worker", "epoch", "BIGINT NOT NULL"),
    ("leafid_worker", "until_ms", "BIGINT NOT NULL"),
];

/// The result of the inspection.
pub(super) struct Schema {
    pub(super) shape: Shape,
    /// Whether there is the table of the pools of worker ids.
    pub(super) has_pools: bool,
    pub(super) weaknesses: Vec<Weakness>,
    /// A column that cannot hold every value written to it.
    pub(super) unfit: Option<StoreError>,
}

impl Schema {
    /// Inspects the tables of this list, in one statement.
    pub(super) async fn read(
        connection: &mut MySqlConnection,
        tables: &'static str,
    ) -> Result<Self, SqlError> {
        let mut schema = Self {
            shape: Shape {
                own: OwnTable::default(),
                description: "NULL",
                is_binary: false,
            },
            has_pools: false,
            weaknesses: Vec::new(),
            unfit: None,
        };
        let mut keys = FoundKeys::default();
        let rows = sqlx::raw_sql(AssertSqlSafe(select(tables)));
        for row in rows.fetch_all(connection).await? {
            let text = |index: usize| row.try_get::<String, _>(index);
            let (table, name) = (text(1)?, text(2)?);
            let details = [text(3)?, text(4)?, text(5)?];
            match text(0)?.as_str() {
                "table" => {
                    keys.see_table(&table);
                    schema.has_pools |= table.eq_ignore_ascii_case("leafid_pool");
                    schema.weaknesses.extend(weak_engine(&table, &details));
                }
                "key" => keys.see(&table, &name, &details[0]),
                "trigger" => schema.trigger(&table, &name, &details),
                _ => schema.column(&table, &name, &details),
            }
        }
        schema.weaknesses.extend(keys.weaknesses());
        Ok(schema)
    }

    fn column(&mut self, table: &str, name: &str, [collation, kind, extra]: &[String; 3]) {
        see(&mut self.shape, table, name, collation);
        let Some((table, name, wanted)) = NUMBERS.iter().find(|(of, number, _)| {
            table.eq_ignore_ascii_case(of) && name.eq_ignore_ascii_case(number)
        }) else {
            return;
        };
        let generated = ["VIRTUAL", "STORED", "PERSISTENT"];
        let is_generated = generated.iter().any(|word| extra.starts_with(word));
        let is_fit = kind.starts_with("bigint") && !is_generated;
        if !is_fit && self.unfit.is_none() {
            self.unfit = Some(unfit(&Column {
                table,
                name,
                kind,
                is_generated,
                correction: &format!("ALTER TABLE {table} MODIFY {name} {wanted}"),
            }));
        }
    }

    /// A trigger that runs after the change can no longer alter the row.
    fn trigger(&mut self, table: &str, name: &str, [timing, event, _]: &[String; 3]) {
        if timing == "BEFORE" && matches!(event.as_str(), "INSERT" | "UPDATE") {
            let kind = format!("{timing} {event}");
            let drop = format!("DROP TRIGGER {name}");
            self.weaknesses
                .push(weak_trigger("trigger", name, table, &kind, &drop));
        }
    }
}

fn see(shape: &mut Shape, table: &str, column: &str, collation: &str) {
    match (table, column.to_lowercase().as_str()) {
        ("leafid_tag", column) => shape.own.see(column),
        ("leaf_alloc", "biz_tag") => {
            shape.is_binary = matches!(
                collation,
                "utf8mb4_bin"
                    | "utf8mb4_nopad_bin"
                    | "utf8mb4_0900_bin"
                    | "utf8mb3_bin"
                    | "utf8_bin"
            );
        }
        ("leaf_alloc", "description") => shape.description = "a.description",
        ("leaf_alloc", "desc") => shape.description = "a.`desc`",
        _ => {}
    }
}

fn weak_engine(table: &str, [engine, kind, _]: &[String; 3]) -> Option<Weakness> {
    let found = if engine.is_empty() { kind } else { engine };
    let is_weak = !engine.eq_ignore_ascii_case("InnoDB");
    is_weak.then(|| {
        weakness(
            &format!("the engine of {table}"),
            found,
            "InnoDB",
            "the table has no transactions, and a crash loses its last changes",
        )
    })
}

/// The kind of a row, the table, a name, and up to three details. The names compare alike whatever
/// the collations of `information_schema` are.
fn select(tables: &str) -> String {
    let parts = [
        "'column', table_name, column_name, collation_name, column_type, extra \
            FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name",
        "'table', table_name, '', engine, table_type, '' \
            FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name",
        "'key', table_name, index_name, column_name, '', '' FROM information_schema.statistics \
            WHERE table_schema = DATABASE() AND non_unique = 0 AND table_name",
        "'trigger', event_object_table, trigger_name, action_timing, event_manipulation, '' \
            FROM information_schema.triggers \
            WHERE event_object_schema = DATABASE() AND event_object_table",
    ];
    let parts = parts.map(|part| {
        let (columns, from) = part.split_once(" FROM ").unwrap_or((part, ""));
        let columns = columns.split(", ").map(|column| {
            let column = column.trim();
            format!("CAST(COALESCE({column}, '') AS CHAR)")
        });
        let columns: Vec<String> = columns.collect();
        format!("SELECT {} FROM {from} IN ({tables})", columns.join(", "))
    });
    parts.join(" UNION ALL ")
}
