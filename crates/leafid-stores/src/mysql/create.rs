//! The `CREATE TABLE` statements for MySQL and MariaDB.

use crate::schema::TABLES;

pub(super) const CREATE: [&str; TABLES.len()] = [
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
        format VARCHAR(500) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
        PRIMARY KEY (tag)
    ) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS leafid_worker (
        pool VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        worker BIGINT NOT NULL,
        epoch BIGINT NOT NULL,
        holder VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        address VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        until_ms BIGINT NOT NULL,
        updated TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
        PRIMARY KEY (pool, worker)
    ) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS leafid_pool (
        pool VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        layout VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
        PRIMARY KEY (pool)
    ) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS leafid_audit (
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
    ) ENGINE=InnoDB",
];
