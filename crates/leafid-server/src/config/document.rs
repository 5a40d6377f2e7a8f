//! `docs/config.md`, made from the table of settings. The test compares; with `LEAFID_UPDATE=1`
//! it writes.

use std::fmt::Write;
use std::path::Path;

use super::setting::Setting;
use super::table::SETTINGS;

const INTRODUCTION: &str = "\
<!-- Made from crates/leafid-server/src/config/table.rs. Do not edit by hand: change the table,
     then run cargo xtask codegen. -->

# Settings of the server

```sh
leafid store init --store mysql://leaf@db1:3306/leaf
leafid serve --http 0.0.0.0:8080 --access-file access.toml --store mysql://leaf@db1:3306/leaf
LEAFID_HTTP=0.0.0.0:8080 LEAFID_ACCESS_FILE=access.toml LEAFID_STORE=mysql://leaf@db1:3306/leaf leafid serve
leafid config show --origin        # every value, and where it comes from
```

A setting has the same name everywhere: `--wait-max` as a flag, `LEAFID_WAIT_MAX` as an
environment variable, `wait-max` in a file. The first of these that sets it wins:

1. flags;
2. environment variables (an empty one counts as unset);
3. Leaf's own `leaf.properties`, if `--leaf-properties FILE` or `LEAFID_LEAF_PROPERTIES` names it;
4. a TOML file: `--config FILE`, else `LEAFID_CONFIG`, else `leafid.toml` in the working directory
   if it exists;
5. the default.

The file is one flat table:

```toml
http = \"0.0.0.0:8080\"
access-file = \"access.toml\"
store = [\"mysql://leaf@db1:3306/leaf\", \"mysql://leaf@db2:3306/leaf\"]
store-password-file = \"leaf.password\"
wait-max = \"250ms\"
```

A time is a whole number and a unit: `250ms`, `1s`, `10m`, `24h`, `7d`. The server refuses to start
with an unknown key or `LEAFID_*` variable, and suggests the name that was probably meant. It ignores
the variables that Kubernetes sets for a service named `leafid` (`LEAFID_PORT`,
`LEAFID_SERVICE_HOST`, ...). Passwords are never printed.

";

const LEAF_PROPERTIES: &str = "
## Starting from Leaf's `leaf.properties`

```sh
leafid serve --leaf-properties leaf.properties
```

| key | becomes |
| --- | --- |
| `leaf.segment.enable` | `segment`. Without the key, segments are on if `leaf.jdbc.url` is set |
| `leaf.jdbc.url` | `store`; a list of hosts becomes a fail-over list. `useSSL`, `requireSSL`, `verifyServerCertificate` and `sslMode` become `ssl-mode`; other parameters have no effect here, and are listed at start |
| `leaf.jdbc.username`, `leaf.jdbc.password` | user and password in `store` |
| `leaf.snowflake.enable` | `snowflake`. Without the key, snowflake ids are on if `leaf.snowflake.zk.address` is set |
| `leaf.snowflake.zk.address` | `registry`, as `zookeeper://...`. Without it, worker ids are leased where the store is, and a note at start says so |
| `leaf.name` | `worker-pool` |
| `leaf.snowflake.port` | only locates Leaf's `workerID.properties`; to take over the number that Leaf had, stop Leaf and set `worker-address` to its `IP:PORT` in ZooKeeper |

The file also implies Leaf's fixed behaviour: `http = \"0.0.0.0:8080\"` (every interface, as in
Spring), `policy = \"leaf\"`, `create-tags = \"false\"`. Flags and variables override all of these.
";

/// The page.
fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("| setting | default | what it does |\n| --- | --- | --- |\n");
    for setting in SETTINGS {
        let Setting { key, .. } = setting;
        let default = code(&setting.default());
        let summary = setting.summary();
        let _ = writeln!(page, "| [`{key}`](#{key}) | {default} | {summary} |");
    }
    SETTINGS
        .iter()
        .for_each(|setting| section(setting, &mut page));
    page.push_str(LEAF_PROPERTIES);
    page
}

fn section(setting: &Setting, page: &mut String) {
    let flag = match setting.flag() {
        Some(flag) => format!("`{flag} {}`", setting.value_name()),
        None => "no flag".to_owned(),
    };
    let _ = write!(
        page,
        "\n## {}\n\n{}\n\n{flag}, `{}`. Default: {}. Allowed: {}.\n",
        setting.key,
        setting.doc,
        setting.variable(),
        code(&setting.default()),
        setting.allowed(),
    );
}

fn code(text: &str) -> String {
    if text.is_empty() {
        "none".to_owned()
    } else {
        format!("`{text}`")
    }
}

#[test]
fn generated_page_matches_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    if std::env::var_os("LEAFID_UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, page()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page(),
        "docs/config.md does not match the table of settings: \
         run cargo xtask codegen"
    );
}
