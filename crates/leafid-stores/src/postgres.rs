//! The SQL we send to PostgreSQL.

mod audit;
mod connect;
mod leases;
mod report;
mod reserve;
mod schema;
mod tags;

use std::sync::Arc;

use leafid::Tag;
use leafid::store::{Reserve, Reserved, StoreError, StoreReport, TagPatch, TagRecord, TagSpec};
use sqlx::postgres::{PgArguments, PgConnectOptions, PgRow};
use sqlx::query::{Query, QueryScalar};
use sqlx::{
    AssertSqlSafe, Connection, FromRow, PgConnection, Postgres as Dialect, Row, SqlSafeStr,
    Transaction,
};
use url::Url;

use self::connect::Session;
use crate::identity_check::IdentityCheck;
use crate::row::{KEEP_OWN, OwnColumns, ReserveOutcome, SideTables, StoredRow, finish, records};
use crate::schema::{FoundTables, OwnTable, TABLES};
use crate::store::{Backend, CallError};
use crate::{InitReport, StoreOptions};

const TABLE_SQL: [&str; 2] = [
    "CREATE TABLE leaf_alloc (
        biz_tag varchar(128) COLLATE \"C\" NOT NULL DEFAULT '' PRIMARY KEY,
        max_id bigint NOT NULL DEFAULT 1,
        step integer NOT NULL,
        description varchar(256),
        update_time timestamptz NOT NULL DEFAULT now()
    )",
    "CREATE TABLE leafid_tag (
        tag varchar(128) COLLATE \"C\" NOT NULL PRIMARY KEY,
        policy varchar(16),
        step_max bigint,
        cover_seconds bigint,
        id_limit bigint,
        kind varchar(16),
        deleted_max_id bigint,
        segment_max bigint
    )",
];

pub(crate) struct Postgres {
    /// The servers, in the order in which they are tried, with their URL for messages.
    servers: Vec<(PgConnectOptions, String)>,
    /// Whether another one takes over from the one in use.
    is_listed: bool,
    identity_check: Arc<IdentityCheck>,
    options: StoreOptions,
    /// Begins each transaction, with the settings that it needs.
    begin: String,
}

impl Postgres {
    pub(crate) fn new(servers: &[Url], options: &StoreOptions) -> Self {
        Self {
            servers: connect::servers(servers),
            is_listed: servers.len() > 1,
            identity_check: IdentityCheck::at(servers),
            options: *options,
            begin: connect::begin(options),
        }
    }

    /// For one server of a list.
    pub(crate) fn listed(server: &Url, options: &StoreOptions) -> Self {
        Self {
            is_listed: true,
            ..Self::new(std::slice::from_ref(server), options)
        }
    }

    /// A segment of another database than before is lost: behind a pooler that keeps our connection
    /// the reservation alone can tell.
    async fn reserve_once(
        &self,
        session: &mut Session,
        reserve: &Reserve,
    ) -> Result<ReserveOutcome, CallError> {
        let side_tables = SideTables {
            own: session.own,
            has_identity: session.has_identity,
        };
        let connection = &mut session.connection;
        let found = reserve::reserve(connection, &self.begin, side_tables, reserve).await?;
        self.identity_check
            .check(&session.name, found.identity.clone())?;
        Ok(found)
    }

    /// Every call is a transaction, whose settings go with it: a pooler such as PgBouncer may lend
    /// us another connection of the server for the next one.
    async fn begin<'a>(
        &self,
        session: &'a mut Session,
    ) -> Result<Transaction<'a, Dialect>, sqlx::Error> {
        let begin = AssertSqlSafe(self.begin.clone());
        session.connection.begin_with(begin).await
    }
}

impl Backend for Postgres {
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
        let (connection, name) = (&mut session.connection, &session.name);
        (session.own, session.has_identity) = self.check_server(connection, name).await?;
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
        let names: Vec<&str> = tags.iter().map(Tag::as_str).collect();
        let sql = format!("{} WHERE a.biz_tag = ANY($1)", select(session.own));
        let query = unnamed(AssertSqlSafe(sql)).bind(names);
        let mut transaction = self.begin(session).await?;
        let rows = query.fetch_all(&mut *transaction).await;
        let rows = finish(transaction, rows.map_err(CallError::from)).await?;
        records(stored(&rows)?, tags)
    }

    async fn list(
        &self,
        session: &mut Session,
        after: Option<&Tag>,
        count: u32,
    ) -> Result<Vec<TagRecord>, CallError> {
        let select = select(session.own);
        let sql = format!(
            "{select} WHERE a.biz_tag COLLATE \"C\" > $1 ORDER BY a.biz_tag COLLATE \"C\" LIMIT $2"
        );
        let mut after = after.map_or("", Tag::as_str).to_owned();
        let mut listed = Vec::new();
        // A row whose name is no tag makes room for another one.
        while listed.len() < count as usize {
            let wanted = i64::try_from(count as usize - listed.len()).unwrap_or(i64::MAX);
            let query = unnamed(AssertSqlSafe(sql.clone()))
                .bind(&after)
                .bind(wanted);
            let mut transaction = self.begin(session).await?;
            let rows = query.fetch_all(&mut *transaction).await;
            let rows = stored(&finish(transaction, rows.map_err(CallError::from)).await?)?;
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
        let own_table = session.own;
        let mut transaction = self.begin(session).await?;
        let answer = tags::create_in(&mut transaction, own_table, spec, &own).await;
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
        let own_table = session.own;
        let mut transaction = self.begin(session).await?;
        let answer = tags::update_in(&mut transaction, own_table, tag, patch).await;
        finish(transaction, answer).await
    }

    async fn delete(&self, session: &mut Session, tag: &Tag) -> Result<(), CallError> {
        session.need_own_table("delete a tag").await?;
        let mut transaction = self.begin(session).await?;
        let answer = tags::delete_in(&mut transaction, tag).await;
        finish(transaction, answer).await
    }

    async fn inspect(&self, session: &mut Session) -> Result<StoreReport, CallError> {
        let schema = self.schema(&mut session.connection).await?;
        session.own = schema.own;
        let transport = Some(session.transport(&schema));
        let report = report::report(schema, self.is_listed);
        Ok(StoreReport {
            transport,
            ..report
        })
    }

    async fn init(&self, session: &mut Session) -> Result<InitReport, CallError> {
        let mut transaction = self.begin(session).await?;
        let answer = create_missing(&mut transaction).await;
        finish(transaction, answer).await
    }

    async fn probe(&self, session: &mut Session) -> Result<(), CallError> {
        Ok(connect::probe(&mut session.connection).await?)
    }

    fn is_conflict(error: &sqlx::Error) -> bool {
        connect::is_conflict(error)
    }

    fn is_full(error: &sqlx::Error) -> bool {
        connect::code(error).as_deref() == Some("53300")
    }

    fn remedy(error: &sqlx::Error) -> Option<&'static str> {
        connect::remedy(error)
    }
}

/// A server that waits for the tables may be creating those of its registry meanwhile.
async fn create_missing(connection: &mut PgConnection) -> Result<InitReport, CallError> {
    sqlx::raw_sql(leases::CREATE_LOCK)
        .execute(&mut *connection)
        .await?;
    let found = found_tables(connection).await?;
    let statements = TABLE_SQL.into_iter().chain(leases::TABLE_SQL);
    let statements = statements.chain([audit::TABLE_SQL]);
    for (table, sql) in TABLES.iter().zip(statements) {
        if found.is_missing(table) {
            sqlx::raw_sql(sql).execute(&mut *connection).await?;
        }
    }
    leases::keep_identity(connection).await?;
    let own_table = match found.is_missing("leafid_tag") {
        true => OwnTable::default(),
        false => connect::own_table(connection).await?,
    };
    for (column, _) in own_table.missing() {
        let kind = match column {
            "kind" => "varchar(16)",
            _ => "bigint",
        };
        let add = format!("ALTER TABLE leafid_tag ADD COLUMN IF NOT EXISTS {column} {kind}");
        sqlx::raw_sql(AssertSqlSafe(add))
            .execute(&mut *connection)
            .await?;
    }
    Ok(found.report(own_table))
}

/// Those that a statement finds without naming a schema.
async fn found_tables(connection: &mut PgConnection) -> Result<FoundTables, sqlx::Error> {
    let select = format!(
        "SELECT name FROM unnest(string_to_array('{}', ',')) AS name \
        WHERE to_regclass(name) IS NOT NULL",
        TABLES.join(",")
    );
    let rows = sqlx::raw_sql(AssertSqlSafe(select)).fetch_all(connection);
    let names: Result<Vec<String>, _> = rows.await?.iter().map(|row| row.try_get(0)).collect();
    Ok(FoundTables::of(&names?))
}

fn select(own_table: OwnTable) -> String {
    let segment_max = match own_table.has_segment_max {
        true => "t.segment_max",
        false => "NULL",
    };
    let own = match own_table.exists {
        true => format!(
            "t.policy::text, t.step_max::bigint, t.cover_seconds::bigint, t.id_limit::bigint, \
            t.kind::text, t.deleted_max_id::bigint, {segment_max}::bigint \
            FROM leaf_alloc a LEFT JOIN leafid_tag t ON t.tag = a.biz_tag COLLATE \"C\""
        ),
        false => "NULL::text, NULL::bigint, NULL::bigint, NULL::bigint, NULL::text, NULL::bigint, \
            NULL::bigint FROM leaf_alloc a"
            .to_owned(),
    };
    format!(
        "SELECT a.biz_tag::text, a.max_id::bigint, a.step::bigint, a.description::text, \
        (EXTRACT(EPOCH FROM a.update_time) * 1000)::bigint, {own}"
    )
}

fn stored(rows: &[PgRow]) -> Result<Vec<StoredRow>, sqlx::Error> {
    rows.iter().map(StoredRow::read).collect()
}

/// A statement that the server forgets at once: behind a pooler, the next transaction may find
/// another connection, where another program gave the same name to another statement.
pub(super) fn unnamed<'q>(sql: impl SqlSafeStr) -> Query<'q, Dialect, PgArguments> {
    sqlx::query(sql).persistent(false)
}

fn unnamed_scalar<'q, T>(sql: impl SqlSafeStr) -> QueryScalar<'q, Dialect, T, PgArguments>
where
    (T,): for<'r> FromRow<'r, PgRow>,
{
    sqlx::query_scalar(sql).persistent(false)
}
