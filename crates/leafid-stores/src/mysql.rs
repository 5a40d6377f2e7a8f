//! The SQL we send to MySQL and MariaDB: Leaf's own table as it stands, and ours beside it.
//!
//! A name is compared twice: `biz_tag = ?` finds the row through the index, under whatever
//! collation the column has, and the comparison of bytes then decides.

mod audit;
mod baidu;
mod connect;
mod leases;
mod report;
mod reserve;
mod schema;
mod tags;

use std::sync::Arc;

use leafid::Tag;
use leafid::store::{Reserve, Reserved, StoreError, StoreReport, TagPatch, TagRecord, TagSpec};
use sqlx::mysql::{MySqlConnectOptions, MySqlRow};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, Row};
use url::Url;

use self::connect::Session;
use self::report::Variables;
use self::schema::{Schema, Shape};
use crate::identity_check::IdentityCheck;
use crate::row::{
    KEEP_OWN, OwnColumns, ReserveOutcome, SideTables, StoredRow, finish, padded, records,
};
use crate::schema::{FoundTables, OwnTable, TABLES};
use crate::store::{Backend, CallError};
use crate::{InitReport, StoreOptions};

/// The name as bytes of UTF-8, whatever the column's character set.
const NAME_BYTES: &str = "CAST(CONVERT(a.biz_tag USING utf8mb4) AS BINARY)";

const TABLE_SQL: [&str; 2] = [
    "CREATE TABLE leaf_alloc (
        biz_tag VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL DEFAULT '',
        max_id BIGINT NOT NULL DEFAULT 1,
        step INT NOT NULL,
        description VARCHAR(256) CHARACTER SET utf8mb4 DEFAULT NULL,
        update_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
        PRIMARY KEY (biz_tag)
    ) ENGINE=InnoDB",
    "CREATE TABLE leafid_tag (
        tag VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        policy VARCHAR(16) DEFAULT NULL,
        step_max BIGINT DEFAULT NULL,
        cover_seconds BIGINT DEFAULT NULL,
        id_limit BIGINT DEFAULT NULL,
        kind VARCHAR(16) DEFAULT NULL,
        deleted_max_id BIGINT DEFAULT NULL,
        segment_max BIGINT DEFAULT NULL,
        PRIMARY KEY (tag)
    ) ENGINE=InnoDB",
];

pub(crate) struct Mysql {
    /// The servers, in the order in which they are tried, with their URL for messages.
    servers: Vec<(MySqlConnectOptions, String)>,
    /// Whether another one takes over from the one in use.
    is_listed: bool,
    identity_check: Arc<IdentityCheck>,
    /// Those that are looked at.
    tables: &'static str,
    options: StoreOptions,
}

impl Mysql {
    pub(crate) fn new(servers: &[Url], options: &StoreOptions) -> Self {
        Self {
            servers: connect::servers(servers),
            is_listed: servers.len() > 1,
            identity_check: IdentityCheck::at(servers),
            tables: schema::TABLES,
            options: *options,
        }
    }

    /// For one server of a list.
    pub(crate) fn listed(server: &Url, options: &StoreOptions) -> Self {
        Self {
            is_listed: true,
            ..Self::new(std::slice::from_ref(server), options)
        }
    }

    /// For the table `WORKER_NODE` alone.
    pub(crate) fn of_worker_node(servers: &[Url], options: &StoreOptions) -> Self {
        Self {
            tables: schema::WORKER_NODE,
            ..Self::new(servers, options)
        }
    }

    /// A segment of another database than before is lost: behind a proxy that keeps our connection
    /// the reservation alone can tell.
    async fn reserve_once(
        &self,
        session: &mut Session,
        reserve: &Reserve,
    ) -> Result<ReserveOutcome, CallError> {
        let side_tables = SideTables {
            own: session.shape.own,
            has_identity: session.has_identity,
        };
        let found = reserve::reserve(&mut session.connection, side_tables, reserve).await?;
        self.identity_check
            .check(&session.name, found.identity.clone())?;
        Ok(found)
    }
}

impl Backend for Mysql {
    type Connection = Session;

    const CONNECTIONS_MAX: usize = usize::MAX;

    async fn connect(&self) -> Result<Session, StoreError> {
        self.connect_to_one().await
    }

    fn refusal(&self) -> Option<String> {
        self.identity_check.refusal()
    }

    fn server(session: &Session) -> Option<&str> {
        Some(&session.name)
    }

    async fn is_alive(&self, session: &mut Session) -> bool {
        session.connection.ping().await.is_ok()
    }

    async fn recheck(&self, session: &mut Session) -> Result<(), StoreError> {
        (session.shape, session.has_identity) = self
            .check_server(&mut session.connection, &session.name)
            .await?;
        Ok(())
    }

    async fn reserve(
        &self,
        session: &mut Session,
        reserve: &Reserve,
    ) -> Result<Reserved, CallError> {
        let mut found = self.reserve_once(session, reserve).await?;
        if found.came_since {
            // Our own table may know of a former life of the tag. The segment is left out.
            session.look_for_own_table().await?;
            found = self.reserve_once(session, reserve).await?;
        }
        Ok(found.reserved)
    }

    async fn read(&self, session: &mut Session, tags: &[Tag]) -> Result<Vec<TagRecord>, CallError> {
        // How far a deleted tag had come is there, and must not be missed.
        session.look_for_own_table().await?;
        let rows = match rows_of(session, tags).await {
            // The column's character set lacks some letters, so it has no tag with them.
            Err(CallError::Store(StoreError::UnknownTag)) => {
                let is_ascii = |tag: &&Tag| tag.as_str().is_ascii();
                let tags: Vec<Tag> = tags.iter().filter(is_ascii).cloned().collect();
                rows_of(session, &tags).await?
            }
            rows => rows?,
        };
        records(rows, tags)
    }

    async fn list(
        &self,
        session: &mut Session,
        after: Option<&Tag>,
        count: u32,
    ) -> Result<Vec<TagRecord>, CallError> {
        // A binary collation sorts by bytes, so that the index serves; else the rows are sorted.
        let name = if session.shape.is_binary {
            "a.biz_tag"
        } else {
            NAME_BYTES
        };
        let select = select(&session.shape);
        let sql = format!("{select} WHERE {name} > ? ORDER BY {name} LIMIT ?");
        let mut after = after.map_or("", Tag::as_str).to_owned();
        let mut listed = Vec::new();
        // A row whose name is no tag makes room for another one.
        while listed.len() < count as usize {
            let wanted = u64::try_from(count as usize - listed.len()).unwrap_or(u64::MAX);
            let query = sqlx::query(AssertSqlSafe(sql.clone()));
            let query = match session.shape.is_binary {
                true => query.bind(&after),
                false => query.bind(after.as_bytes()),
            };
            let rows = stored(
                &query
                    .bind(wanted)
                    .fetch_all(&mut session.connection)
                    .await?,
            )?;
            let Some(last) = rows.last() else { break };
            after.clone_from(&last.tag);
            for row in rows {
                listed.extend(row.record()?);
            }
        }
        Ok(listed)
    }

    async fn create(&self, session: &mut Session, spec: &TagSpec) -> Result<TagRecord, CallError> {
        let own = OwnColumns::of(&spec.settings);
        if !own.is_empty() {
            session.need_own_table(KEEP_OWN).await?;
        }
        session.look_for_own_table().await?;
        if !session.shape.own.exists {
            session.need_sight_of_own_table().await?;
        }
        let shape = session.shape;
        let mut transaction = session.connection.begin().await?;
        let answer = tags::create_in(&mut transaction, &shape, spec, &own).await;
        finish(transaction, answer).await
    }

    async fn update(
        &self,
        session: &mut Session,
        tag: &Tag,
        patch: &TagPatch,
    ) -> Result<TagRecord, CallError> {
        if patch.policy.is_some() || patch.limit.is_some() {
            session.look_for_own_table().await?;
        }
        let shape = session.shape;
        let mut transaction = session.connection.begin().await?;
        let answer = tags::update_in(&mut transaction, &shape, tag, patch).await;
        finish(transaction, answer).await
    }

    async fn delete(&self, session: &mut Session, tag: &Tag) -> Result<(), CallError> {
        session.need_own_table("delete a tag").await?;
        let mut transaction = session.connection.begin().await?;
        let answer = tags::delete_in(&mut transaction, tag).await;
        finish(transaction, answer).await
    }

    async fn inspect(&self, session: &mut Session) -> Result<StoreReport, CallError> {
        let variables = Variables::read(&mut session.connection).await?;
        let schema = Schema::read(&mut session.connection, self.tables).await?;
        session.shape = schema.shape;
        let report = variables.report(schema, self.is_listed);
        let transport = Some(session.transport().await?);
        Ok(StoreReport {
            transport,
            ..report
        })
    }

    async fn init(&self, session: &mut Session) -> Result<InitReport, CallError> {
        let found = found_tables(&mut session.connection).await?;
        let statements = TABLE_SQL.into_iter().chain(leases::TABLE_SQL);
        let statements = statements.chain([audit::TABLE_SQL]);
        for (table, sql) in TABLES.iter().zip(statements) {
            if found.is_missing(table) {
                sqlx::raw_sql(sql).execute(&mut session.connection).await?;
            }
        }
        leases::keep_identity(&mut session.connection).await?;
        let own = add_columns(&mut session.connection, found).await?;
        Ok(found.report(own))
    }

    async fn probe(&self, session: &mut Session) -> Result<(), CallError> {
        Ok(connect::probe(&mut session.connection).await?)
    }

    fn is_conflict(error: &sqlx::Error) -> bool {
        connect::is_conflict(error)
    }

    fn is_full(error: &sqlx::Error) -> bool {
        matches!(connect::number(error), Some(1040 | 1203 | 1226))
    }

    fn remedy(error: &sqlx::Error) -> Option<&'static str> {
        connect::remedy(error)
    }
}

async fn found_tables(connection: &mut MySqlConnection) -> Result<FoundTables, sqlx::Error> {
    let select = "SELECT CAST(table_name AS CHAR) FROM information_schema.tables \
        WHERE table_schema = DATABASE() AND table_name LIKE 'leaf%'";
    let rows = sqlx::raw_sql(select).fetch_all(connection).await?;
    let names: Result<Vec<String>, _> = rows.iter().map(|row| row.try_get(0)).collect();
    Ok(FoundTables::of(&names?))
}

/// Adds to our own table what an older version did not make, and answers what there was of it.
async fn add_columns(
    connection: &mut MySqlConnection,
    found: FoundTables,
) -> Result<OwnTable, CallError> {
    if found.is_missing("leafid_tag") {
        return Ok(OwnTable::default());
    }
    let own = Schema::read(connection, schema::TABLES).await?.shape.own;
    for (column, _) in own.missing() {
        let kind = match column {
            "kind" => "VARCHAR(16)",
            _ => "BIGINT",
        };
        let add = format!("ALTER TABLE leafid_tag ADD COLUMN {column} {kind} DEFAULT NULL");
        let added = sqlx::raw_sql(AssertSqlSafe(add)).execute(&mut *connection);
        match added.await {
            // Another one was faster.
            Err(error) if connect::number(&error) == Some(1060) => {}
            added => {
                added?;
            }
        }
    }
    Ok(own)
}

async fn rows_of(session: &mut Session, tags: &[Tag]) -> Result<Vec<StoredRow>, CallError> {
    if tags.is_empty() {
        return Ok(Vec::new());
    }
    let marks = vec!["?"; padded(tags).count()].join(", ");
    let sql = format!("{} WHERE a.biz_tag IN ({marks})", select(&session.shape));
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for tag in padded(tags) {
        query = query.bind(tag.as_str());
    }
    let rows = known_charset(query.fetch_all(&mut session.connection).await)?;
    Ok(stored(&rows)?)
}

fn select(shape: &Shape) -> String {
    let segment_max = match shape.own.has_segment_max {
        true => "t.segment_max",
        false => "NULL",
    };
    let own = match shape.own.exists {
        true => format!(
            "t.policy, CAST(t.step_max AS SIGNED), CAST(t.cover_seconds AS SIGNED), \
            CAST(t.id_limit AS SIGNED), t.kind, CAST(t.deleted_max_id AS SIGNED), \
            CAST({segment_max} AS SIGNED) FROM leaf_alloc a LEFT JOIN leafid_tag t \
            ON t.tag = CONVERT(a.biz_tag USING utf8mb4) COLLATE utf8mb4_bin"
        ),
        false => "CAST(NULL AS CHAR), CAST(NULL AS SIGNED), CAST(NULL AS SIGNED), \
            CAST(NULL AS SIGNED), CAST(NULL AS CHAR), CAST(NULL AS SIGNED), \
            CAST(NULL AS SIGNED) FROM leaf_alloc a"
            .to_owned(),
    };
    format!(
        "SELECT CONVERT(a.biz_tag USING utf8mb4), CAST(a.max_id AS SIGNED), \
        CAST(a.step AS SIGNED), CONVERT({} USING utf8mb4), \
        CAST(UNIX_TIMESTAMP(a.update_time) * 1000 AS SIGNED), {own}",
        shape.description
    )
}

/// A name that the column's character set cannot hold is the name of no row.
fn known_charset<T>(answer: Result<T, sqlx::Error>) -> Result<T, CallError> {
    answer.map_err(|error| match connect::number(&error) {
        // Illegal mix of collations; cannot convert the string.
        Some(1267 | 1270 | 1271 | 3988 | 4025) => StoreError::UnknownTag.into(),
        _ => error.into(),
    })
}

fn stored(rows: &[MySqlRow]) -> Result<Vec<StoredRow>, sqlx::Error> {
    rows.iter().map(StoredRow::read).collect()
}
