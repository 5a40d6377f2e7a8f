//! Real servers for tests: MariaDB, PostgreSQL (also behind PgBouncer), Redis, etcd, ZooKeeper and Prometheus as child
//! processes on free ports, with their files in a temporary folder, a TCP proxy that misbehaves on demand, a
//! wall clock that steps on demand, certificates, stand-ins for Java Leaf, and programs in other
//! languages.
//!
//! The servers are durable as in production (every commit is flushed); only what does not touch
//! durability is made small, so that a server is up within a second. They die with the process
//! that started them, however it ends, and their folders go too.
//!
//! ```no_run
//! let database = leafid_testbed::shared_mariadb().create_database();
//! println!("{}", database.url);
//! ```
#![expect(
    clippy::panic,
    reason = "a test cannot go on without its server; the panic shows the server's log"
)]

mod certificates;
mod child;
mod clients;
mod etcd;
mod fake_clock;
mod java_leaf;
mod java_leaf_worker;
mod mariadb;
mod pgbouncer;
mod postgres;
mod prometheus;
mod proxy;
mod redis;
mod server;
mod zookeeper;

pub use certificates::{Authority, Certificate};
pub use child::{Database, free_port, run};
pub use clients::{Clients, entries, go_build, install_python};
pub use etcd::{Etcd, shared_etcd};
pub use fake_clock::FakeClock;
pub use java_leaf::{JavaLeaf, LEAF_ALLOC, LEAF_ALLOC_SURROGATE};
pub use java_leaf_worker::{JavaLeafStart, JavaLeafWorker, RefusedStart};
pub use mariadb::{MariaDb, shared_mariadb};
pub use pgbouncer::PgBouncer;
pub use postgres::{Postgres, shared_postgres};
pub use prometheus::Prometheus;
pub use proxy::Proxy;
pub use redis::{Redis, shared_redis};
pub use zookeeper::{ZooKeeper, shared_zookeeper};
