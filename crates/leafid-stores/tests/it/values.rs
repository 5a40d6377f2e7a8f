//! Ids and tags in statements and columns of sqlx.

use leafid::{Id, Tag};
use leafid_testbed::{shared_mariadb, shared_postgres};
use sqlx::{Connection as _, MySqlConnection, PgConnection, Row as _};

use crate::tag;

/// Guards that what is bound is read back, and that a column with another number is an error.
macro_rules! check_values {
    ($server:expr, $select:literal) => {{
        let mut server = $server.await.unwrap();
        for id in [Id::MAX, Id::try_from(1_u64).unwrap()] {
            let name = tag("订单");
            let select = sqlx::query($select).bind(id).bind(&name).bind(None::<Id>);
            let row = select.fetch_one(&mut server).await.unwrap();
            assert_eq!(row.get::<Id, _>(0), id);
            assert_eq!(row.get::<i64, _>(0), i64::from(id));
            assert_eq!(row.get::<Tag, _>(1), name);
            assert_eq!(row.get::<Option<Id>, _>(2), None);
        }
        for number in [0_i64, -1] {
            let select = sqlx::query($select).bind(number).bind(" x").bind(number);
            let row = select.fetch_one(&mut server).await.unwrap();
            assert!(row.try_get::<Id, _>(0).is_err());
            assert!(row.try_get::<Tag, _>(1).is_err());
            assert!(row.try_get::<Option<Id>, _>(2).is_err());
        }
    }};
}

#[tokio::test]
async fn postgres_has_ids_and_tags() {
    let url = shared_postgres().create_database().url;
    check_values!(
        PgConnection::connect(&url),
        "SELECT $1::bigint, $2::text, $3::bigint"
    );
}

#[tokio::test]
async fn mariadb_has_ids_and_tags() {
    let url = shared_mariadb().create_database().url;
    check_values!(
        MySqlConnection::connect(&url),
        "SELECT CAST(? AS SIGNED), CAST(? AS CHAR), CAST(? AS SIGNED)"
    );
}
