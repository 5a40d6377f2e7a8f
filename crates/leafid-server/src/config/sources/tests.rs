//! Guards the order of the layers, the origins, and what mistakes say.

use super::*;

/// A folder with files, and sources that name them.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn toml(&self, text: &str) -> Sources {
        Sources {
            config: Some(self.write("leafid.toml", text)),
            ..Sources::default()
        }
    }

    fn leaf(&self, text: &str) -> Sources {
        Sources {
            leaf_properties: Some(self.write("leaf.properties", text)),
            ..Sources::default()
        }
    }
}

fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

fn flag(key: &'static str, text: &str) -> (&'static str, Vec<String>) {
    (key, vec![text.to_owned()])
}

/// Value and origin of a setting, the origin without its folder.
fn check_shown(loaded: &Loaded, key: &str, value: &str, origin: &str) {
    let shown = loaded.shown();
    let shown = shown.iter().find(|shown| shown.setting == key).unwrap();
    let text = shown.origin.to_string();
    let short = text.rsplit('/').next().unwrap();
    assert_eq!((shown.value.as_str(), short), (value, origin), "{key}");
}

/// The mistakes, without the folder of the files.
fn check_mistakes(sources: &Sources, expected: &[&str]) {
    let error = sources.load().unwrap_err();
    let named = sources.config.iter().chain(&sources.leaf_properties);
    let folder = named
        .map(|path| format!("{}/", path.parent().unwrap().display()))
        .next();
    let strip = |text: &String| text.replace(folder.as_deref().unwrap_or("\0"), "");
    let mistakes: Vec<_> = error.mistakes.iter().map(strip).collect();
    assert_eq!(mistakes, expected);
}

#[test]
fn a_higher_layer_wins_and_is_named() {
    let files = Files::new();
    let text = "http = \"127.0.0.1:1\"\nstep = 7\n\nwait-max = \"2s\"\ncover = \"1m\"\n";
    let sources = Sources {
        flags: vec![flag("http", "127.0.0.1:3")],
        environment: variables(&[
            ("LEAFID_HTTP", "127.0.0.1:2"),
            ("LEAFID_STEP", "8"),
            ("X", ""),
        ]),
        ..files.toml(text)
    };
    let loaded = sources.load().unwrap();
    check_shown(&loaded, "http", "127.0.0.1:3", "--http");
    check_shown(&loaded, "step", "8", "LEAFID_STEP");
    check_shown(&loaded, "wait-max", "2s", "leafid.toml:4");
    check_shown(&loaded, "cover", "1m", "leafid.toml:5");
    check_shown(&loaded, "threads", "0", "default");
    assert_eq!(loaded.config.step, 8);
}

#[test]
fn the_variable_names_the_file_and_an_empty_variable_is_not_set() {
    let files = Files::new();
    let path = files.write("other.toml", "step = 9");
    let path = path.to_str().unwrap();
    let environment = variables(&[("LEAFID_CONFIG", path), ("LEAFID_STEP", "")]);
    let loaded = Sources {
        environment,
        ..Sources::default()
    }
    .load()
    .unwrap();
    check_shown(&loaded, "step", "9", "other.toml:1");
}

#[test]
fn all_mistakes_are_named_with_origin_and_limits() {
    let files = Files::new();
    let text = "wait_max = \"1s\"\nstep = 0\n[http]\nport = 1\n";
    let sources = Sources {
        flags: vec![flag("log", "inf")],
        environment: variables(&[
            ("LEAFID_WAITMAX", "1s"),
            ("LEAFID_COVER", "10"),
            ("LEAFID_ZK", "x"),
        ]),
        ..files.toml(text)
    };
    check_mistakes(
        &sources,
        &[
            "http (from leafid.toml:3) is a table; allowed: an address and a port, such as \
             0.0.0.0:8080",
            "unknown key wait_max in leafid.toml:1: did you mean wait-max?",
            "unknown environment variable LEAFID_WAITMAX: did you mean LEAFID_WAIT_MAX?",
            "unknown environment variable LEAFID_ZK: remove it",
            "step is \"0\" (from leafid.toml:2): too small; allowed: 1 to 2147483647",
            "cover is \"10\" (from LEAFID_COVER): a time needs a unit, such as 250ms, 1s or 10m; \
             allowed: 1s to 1d",
            "log is \"inf\" (from --log): not a choice, did you mean info?; allowed: off, error, \
             warn, info, debug, trace",
        ],
    );
}

#[test]
fn a_file_that_is_no_toml_is_named_with_its_line() {
    let files = Files::new();
    let error = files.toml("step = 1\nhttp =\n").load().unwrap_err();
    assert!(error.mistakes[0].contains("leafid.toml:2: "), "{error}");
    let missing = Sources {
        config: Some("/nonexistent.toml".into()),
        ..Sources::default()
    };
    let error = missing.load().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("cannot read the settings in /nonexistent.toml"),
        "{error}"
    );
}

/// Guards that an invalid store is reported before anything starts, with its origin.
#[test]
fn a_store_that_cannot_be_is_named_with_its_origin() {
    let environment = variables(&[("LEAFID_STORE", "mysql://u:hunter2@a")]);
    let sources = Sources {
        environment,
        ..Sources::default()
    };
    let expected = "store is \"mysql://u:***@a\" (from LEAFID_STORE): the mysql URL names no \
                    database: write mysql://USER:PASSWORD@HOST:PORT/DATABASE; allowed: URLs, \
                    several separated by spaces";
    check_mistakes(&sources, &[expected]);
}

#[test]
fn variables_of_kubernetes_are_passed_over() {
    let environment = variables(&[
        ("LEAFID_PORT", "tcp://10.0.0.1:8080"),
        ("LEAFID_PORT_8080_TCP_ADDR", "10.0.0.1"),
        ("LEAFID_SERVICE_HOST", "10.0.0.1"),
        ("LEAFID_SERVICE_PORT_HTTP", "8080"),
    ]);
    assert!(
        Sources {
            environment,
            ..Sources::default()
        }
        .load()
        .is_ok()
    );
}

#[test]
fn passwords_come_from_variable_or_file_and_are_not_shown() {
    let files = Files::new();
    let path = files.write("password", "hunter/2\n");
    let path = path.to_str().unwrap();
    let by_file = [
        ("LEAFID_STORE", "mysql://u@a/d mysql://u@b/d"),
        ("LEAFID_STORE_PASSWORD_FILE", path),
    ];
    let by_text = [
        ("LEAFID_STORE", "mysql://u@a/d mysql://u@b/d"),
        ("LEAFID_STORE_PASSWORD", "hunter/2"),
    ];
    for pairs in [by_file, by_text] {
        let sources = Sources {
            environment: variables(&pairs),
            ..Sources::default()
        };
        let loaded = sources.load().unwrap();
        let urls = ["mysql://u:hunter%2F2@a/d", "mysql://u:hunter%2F2@b/d"];
        assert_eq!(loaded.config.store, urls);
        check_shown(
            &loaded,
            "store",
            "mysql://u:***@a/d mysql://u:***@b/d",
            "LEAFID_STORE",
        );
        assert!(!format!("{loaded:?}").contains("hunter"), "{loaded:?}");
    }
    let loaded = Sources {
        environment: variables(&by_text),
        ..Sources::default()
    }
    .load()
    .unwrap();
    check_shown(&loaded, "store-password", "***", "LEAFID_STORE_PASSWORD");
}

#[test]
fn two_passwords_of_one_layer_are_a_mistake_and_a_higher_layer_wins() {
    let files = Files::new();
    let path = files.write("password", "high\n");
    let path = path.to_str().unwrap();
    let environment = variables(&[
        ("LEAFID_STORE", "mysql://u@a/d"),
        ("LEAFID_STORE_PASSWORD", "low"),
    ]);
    let sources = Sources {
        environment,
        ..Sources::default()
    };
    let higher = Sources {
        flags: vec![flag("store-password-file", path)],
        ..sources.clone()
    };
    assert_eq!(higher.load().unwrap().config.store, ["mysql://u:high@a/d"]);
    let mut both = sources;
    both.environment
        .push(("LEAFID_STORE_PASSWORD_FILE".into(), path.into()));
    let error = both.load().unwrap_err().to_string();
    assert!(
        error.contains("remove one") && !error.contains("low"),
        "{error}"
    );
}

#[test]
fn leaf_properties_start_a_server_like_leaf() {
    let files = Files::new();
    let text = "leaf.name=com.sankuai.leaf.opensource.test\n\
                leaf.segment.enable=true\n\
                leaf.jdbc.url=jdbc:mysql://db:3306/leaf?useSSL=false&characterEncoding=utf8\n\
                leaf.jdbc.username=root\n\
                leaf.jdbc.password=hunter2\n\
                leaf.snowflake.enable=true\n\
                leaf.snowflake.port=2181\n\
                leaf.jdbc.pasword=x\n";
    let sources = Sources {
        environment: variables(&[("LEAFID_HTTP", "127.0.0.1:8080")]),
        ..files.leaf(text)
    };
    let loaded = sources.load().unwrap();
    assert_eq!(
        loaded.config.store,
        ["mysql://root:hunter2@db:3306/leaf?ssl-mode=DISABLED"]
    );
    let shown_url = "mysql://root:***@db:3306/leaf?ssl-mode=DISABLED";
    check_shown(&loaded, "store", shown_url, "leaf.properties:3");
    check_shown(&loaded, "segment", "true", "leaf.properties:2");
    check_shown(&loaded, "policy", "leaf", "leaf.properties");
    check_shown(&loaded, "create-tags", "false", "leaf.properties");
    check_shown(&loaded, "step-max", "1000000", "default");
    check_shown(&loaded, "http", "127.0.0.1:8080", "LEAFID_HTTP");
    check_shown(&loaded, "snowflake", "true", "leaf.properties:6");
    check_shown(
        &loaded,
        "worker-pool",
        "com.sankuai.leaf.opensource.test",
        "leaf.properties:1",
    );
    check_shown(&loaded, "registry", "", "default");
    assert_eq!(loaded.config.workers.leaf_port, Some(2181));
    let notes = loaded.notes.join("\n");
    for part in [
        "characterEncoding",
        "without leaf.snowflake.zk.address",
        "leaf.properties:7) only says where workerID.properties is; to take over the number",
        "did you mean leaf.jdbc.password?",
    ] {
        assert!(notes.contains(part), "{notes}");
    }
    assert!(
        !notes.contains("hunter2") && !notes.contains("leaf.name"),
        "{notes}"
    );
}

#[test]
fn leaf_modes_are_on_or_off_as_in_leaf() {
    let files = Files::new();
    let segment = |text: &str| files.leaf(text).load().unwrap().config.segment;
    assert!(!segment("leaf.segment.enable=false\n"));
    assert!(!segment("leaf.name=x\n"));
    assert!(segment("leaf.jdbc.url=jdbc:mysql://db/leaf\n"));
    assert!(segment(
        "leaf.segment.enable=TRUE\nleaf.jdbc.url=jdbc:mysql://db/leaf\n"
    ));
    let workers = |text: &str| {
        let config = files.leaf(text).load().unwrap().config;
        config.snowflake.then_some(config.workers.registry)
    };
    assert_eq!(workers("leaf.name=x\n"), None);
    assert_eq!(
        workers("leaf.snowflake.enable=false\nleaf.snowflake.zk.address=zk\n"),
        None
    );
    let servers = Some(vec!["zookeeper://zk1:2181,zk2:2181".to_owned()]);
    assert_eq!(
        workers("leaf.snowflake.zk.address=zk1:2181, zk2:2181\n"),
        servers
    );
    let port = files.leaf("leaf.snowflake.zk.address=zk:port\n").load();
    let mistake = port.unwrap_err().to_string();
    assert!(mistake.contains("each server is HOST:PORT"), "{mistake}");
    check_mistakes(
        &files.leaf("leaf.segment.enable=true\nleaf.jdbc.url=\n"),
        &["leaf.segment.enable is true, but leaf.properties:2 has no leaf.jdbc.url"],
    );
}

/// Guards the promise that no password is shown, whatever it contains: each pair of odd characters
/// between two marks, neither of which may be shown.
#[test]
fn no_odd_password_is_shown() {
    let odd = " \t\n,;:@/?#%&='\"\\|{}[]<>^`+$!é\u{2003}";
    let pairs = odd.chars().flat_map(|a| odd.chars().map(move |b| (a, b)));
    let mut read = 0;
    for (a, b) in pairs {
        for pattern in ["mysql://u:MARK{}MARK@h/d", "redis://:MARK{}MARK@h"] {
            let url = pattern.replace("{}", &format!("{a}{b}"));
            for variable in ["LEAFID_STORE", "LEAFID_REGISTRY"] {
                let sources = Sources {
                    environment: variables(&[(variable, &url)]),
                    ..Sources::default()
                };
                let text = match sources.load() {
                    Ok(loaded) => {
                        read += 1;
                        format!("{loaded:?} {:?} {:?}", loaded.config, loaded.shown())
                    }
                    Err(error) => format!("{error} {error:?}"),
                };
                assert!(!text.contains("MARK"), "{url:?}: {text}");
            }
        }
    }
    assert!(read > 100, "only {read} could be read at all");
}

/// Guards that a file with a password that every user can read is named, and no other.
#[test]
fn a_file_with_a_password_that_all_users_can_read_is_named() {
    use std::os::unix::fs::PermissionsExt as _;

    let files = Files::new();
    let password = files.write("password", "hunter2\n");
    let config = files.write("leafid.toml", "store = \"mysql://u:hunter2@a/d\"\n");
    let plain = files.write("plain.toml", "store = \"mysql://u@a/d\"\n");
    let notes = |mode: u32, config: &Path| {
        for file in [&password, &config.to_owned()] {
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let sources = Sources {
            flags: vec![flag("registry-password-file", password.to_str().unwrap())],
            config: Some(config.to_owned()),
            ..Sources::default()
        };
        sources.load().unwrap().notes
    };
    let open = notes(0o644, &config);
    assert_eq!(open.len(), 2, "{open:?}");
    assert!(
        open[0].contains("leafid.toml contains a password"),
        "{open:?}"
    );
    assert!(open[1].contains("password contains a password"), "{open:?}");
    assert!(!open.concat().contains("hunter"), "{open:?}");
    assert_eq!(notes(0o644, &plain).len(), 1);
    assert!(notes(0o640, &config).is_empty());
}

/// Guards that our own settings win over OpenTelemetry's variables, also those of a file.
#[cfg(feature = "otel")]
#[test]
fn variables_of_opentelemetry_come_last() {
    let files = Files::new();
    let otel = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel:4317"),
        ("OTEL_SERVICE_NAME", "otel"),
    ];
    let own = ("LEAFID_OTLP_ENDPOINT", "http://own:4317");
    let sources = Sources {
        environment: variables(&[&[own][..], &otel].concat()),
        ..files.toml("otlp-service = \"file\"")
    };
    let loaded = sources.load().unwrap();
    check_shown(&loaded, "otlp-endpoint", "http://own:4317", own.0);
    check_shown(&loaded, "otlp-service", "file", "leafid.toml:1");
    let sources = Sources {
        environment: variables(&otel),
        ..Sources::default()
    };
    let loaded = sources.load().unwrap();
    check_shown(&loaded, "otlp-service", "otel", otel[1].0);
}
