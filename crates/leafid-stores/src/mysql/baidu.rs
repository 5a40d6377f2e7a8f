//! The row of Baidu's table `WORKER_NODE`.

use super::Mysql;
use crate::baidu::{TABLE_SQL, WorkerNode};
use crate::servers::{Servers, Session};
use crate::sql_error::{CallError, SqlError};

impl Servers<Mysql> {
    /// Inserts a row and returns its number.
    pub(crate) async fn assign(
        &self,
        session: &mut Session<Mysql>,
        node: &WorkerNode,
    ) -> Result<u64, CallError> {
        let insert = "INSERT INTO WORKER_NODE \
            (HOST_NAME, PORT, TYPE, LAUNCH_DATE, MODIFIED, CREATED) \
            VALUES (?, ?, ?, CURDATE(), NOW(), NOW())";
        let query = sqlx::query(insert).bind(&node.host).bind(&node.port);
        let query = query.bind(node.kind as i32);
        match query.execute(&mut session.connection).await {
            // The answer to the statement itself has it: LAST_INSERT_ID() of this connection.
            Ok(done) if done.last_insert_id() > 0 => Ok(done.last_insert_id()),
            Ok(_) => Err(CallError::unsupported(
                "the column ID of WORKER_NODE has no AUTO_INCREMENT: make the table as Baidu does",
            )),
            Err(error) => {
                let error = SqlError::from(error);
                if error.number() != Some(1146) {
                    return Err(error.into());
                }
                let message = format!("the database has no table WORKER_NODE; run: {TABLE_SQL}");
                Err(CallError::unsupported(message))
            }
        }
    }

    /// Whether the database has the table of leases.
    pub(crate) async fn has_leases(&self, session: &mut Session<Mysql>) -> Result<bool, CallError> {
        let query = sqlx::query("SELECT 1 FROM leafid_worker LIMIT 1");
        match query.fetch_optional(&mut session.connection).await {
            Ok(_) => Ok(true),
            Err(error) => match SqlError::from(error) {
                error if error.number() == Some(1146) => Ok(false),
                error => Err(error.into()),
            },
        }
    }

    /// Whether the row with a number is the one of a node.
    pub(crate) async fn is_assigned(
        &self,
        session: &mut Session<Mysql>,
        number: u64,
        node: &WorkerNode,
    ) -> Result<bool, CallError> {
        let select = "SELECT 1 FROM WORKER_NODE WHERE ID = ? AND HOST_NAME = ? AND PORT = ?";
        let query = sqlx::query(select).bind(number);
        let query = query.bind(&node.host).bind(&node.port);
        let row = query.fetch_optional(&mut session.connection).await;
        Ok(row.map_err(SqlError::from)?.is_some())
    }
}
