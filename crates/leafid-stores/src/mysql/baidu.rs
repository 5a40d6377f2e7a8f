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
}
