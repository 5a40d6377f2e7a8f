//! Guards opaque ids on the real binary: their keys come from a file, are rotated under load
//! without a duplicate, and a wrong or missing key issues nothing.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tempfile::tempdir;

use crate::server_process::{Server, command, finish, run, until};

fn new_key(folder: &std::path::Path) -> String {
    run(folder, &["format-key"]).ok()
}

fn key_id(line: &str) -> &str {
    line.split_once(" = ").unwrap().0
}

#[test]
fn keys_are_rotated_under_load_without_a_duplicate() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("format-keys");
    let (first, second) = (new_key(folder.path()), new_key(folder.path()));
    fs::write(&path, &first).unwrap();
    let arguments = ["--snowflake=false", "--format-keys", path.to_str().unwrap()];
    let server = Server::start(folder.path(), &arguments);
    assert!(
        server.log().contains("chmod 600"),
        "others can read the file"
    );
    let format = "{key}-{opaque radix=62}";
    let create = [
        "tag",
        "create",
        "order",
        "--format",
        format,
        "--server",
        &server.url,
    ];
    run(folder.path(), &create).ok();
    let done = AtomicBool::new(false);
    let texts: Vec<String> = thread::scope(|scope| {
        let callers = [(); 3].map(|()| {
            scope.spawn(|| {
                let mut texts = Vec::new();
                while !done.load(Ordering::Relaxed) {
                    let ids = server.json("/v1/tags/order/ids?count=50");
                    let ids = ids["ids"].as_array().unwrap().iter();
                    texts.extend(ids.map(|id| id.as_str().unwrap().to_owned()));
                }
                texts
            })
        });
        for keys in [format!("{first}{second}"), format!("{second}{first}")] {
            thread::sleep(Duration::from_millis(300));
            fs::write(&path, keys).unwrap();
            let before = server.log().matches("reloaded the format keys").count();
            server.signal("HUP");
            until("reload", || {
                (server.log().matches("reloaded the format keys").count() > before).then_some(())
            });
        }
        thread::sleep(Duration::from_millis(300));
        done.store(true, Ordering::Relaxed);
        callers
            .into_iter()
            .flat_map(|caller| caller.join().unwrap())
            .collect()
    });
    let distinct: BTreeSet<_> = texts.iter().collect();
    assert_eq!(distinct.len(), texts.len(), "a text came twice");
    let by = |line: &str| {
        texts
            .iter()
            .filter(|text| text.starts_with(key_id(line)))
            .count()
    };
    let (old, new) = (by(&first), by(&second));
    println!(
        "{} texts, {old} by the first key and {new} by the second",
        texts.len()
    );
    assert!(old > 0 && new > 0 && old + new == texts.len());
    for text in [&texts[0], texts.last().unwrap()] {
        let decoded = server.json(&format!("/v1/decode/{text}?tag=order"));
        assert!(decoded["number"].is_string(), "{decoded}");
    }
    // A file with a mistake changes nothing, and no key is ever logged.
    fs::write(&path, "abcd = 00").unwrap();
    server.signal("HUP");
    until("refusal", || {
        server
            .log()
            .contains("keeping the previous format keys")
            .then_some(())
    });
    assert_eq!(server.get("/v1/tags/order/ids").0, 200);
    for line in [&first, &second] {
        let (_, key) = line.trim_end().split_once(" = ").unwrap();
        assert!(!server.log().contains(key));
    }
    server.stop();
}

#[test]
fn a_server_without_the_key_issues_nothing() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("format-keys");
    fs::write(&path, new_key(folder.path())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let keys = ["--format-keys", path.to_str().unwrap()];
    let format = "{key}-{opaque radix=36}";
    let store = ["--data-dir", "leafid-data"];
    let create = [&["tag", "create", "order", "--format", format], &store[..]].concat();
    let refused = run(folder.path(), &create);
    refused.check_failed(2, "{opaque radix=36} at character 7", "format-keys");
    run(folder.path(), &[&create[..], &keys].concat()).ok();
    let next = [&["next", "order"], &store[..], &keys].concat();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    run(folder.path(), &next).check_note("other users can read");
    let other = [&["tag", "create", "other", "--format", format], &store[..]].concat();
    let other = run(folder.path(), &[&other[..], &keys].concat());
    other.check_note("other users can read");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let text = run(folder.path(), &next).ok();
    assert_eq!(text.trim().split_once('-').unwrap().0.len(), 4);
    let server = Server::start(folder.path(), &["--snowflake=false"]);
    for path in [
        "/v1/tags/order/ids",
        &format!("/v1/decode/{}?tag=order", text.trim()),
    ] {
        let (status, body) = server.get(path);
        let is_named = body.contains("missing_key") && body.contains("format-keys");
        assert!(status == 500 && is_named, "{status} {body}");
    }
    server.stop();
}

/// Guards that keys may come in the environment in place of a file, and are never shown.
#[test]
fn keys_come_in_the_environment() {
    let folder = tempdir().unwrap();
    let (first, second) = (new_key(folder.path()), new_key(folder.path()));
    let lines = format!("{}; {}", first.trim(), second.trim());
    let secret = first.trim().split_once(" = ").unwrap().1;
    let ask = |arguments: &[&str], variables: &[(&str, &str)]| {
        let run = finish(command(folder.path(), arguments).envs(variables.iter().copied()));
        let shown = format!("{}{}", run.out, run.errors);
        assert!(!shown.contains(secret), "{arguments:?}: {shown}");
        run
    };
    let variables = [("LEAFID_FORMAT_KEY_LINES", lines.as_str())];
    let server = Server::start_with(folder.path(), &["--snowflake=false"], &variables);
    for (tag, format) in [
        ("order", "{key}-{opaque radix=62}".to_owned()),
        ("pinned", format!("{{opaque key={}}}", key_id(&second))),
    ] {
        let create = ["tag", "create", tag, "--server", &server.url, "--format"];
        ask(&[&create[..], &[&format]].concat(), &[]).ok();
        let text = server.get(&format!("/api/segment/get/{tag}")).1;
        let decoded = server.json(&format!("/v1/decode/{text}?tag={tag}"));
        assert_eq!(decoded["number"], "1", "{text}");
    }
    server.stop();
    let store = ["--data-dir", "leafid-data"];
    let next = [&["next", "order"], &store[..]].concat();
    let text = ask(&next, &variables).ok();
    assert!(text.starts_with(key_id(&first)), "{text}");
    ask(&next, &[]).check_failed(1, "needs a key", "");

    let shown = ask(&["config", "show"], &variables).ok();
    assert!(shown.contains("format-key-lines"), "{shown}");
    let mistyped = lines.replace('a', "b").replace('0', "1");
    let refused = ask(
        &["config", "check"],
        &[("LEAFID_FORMAT_KEY_LINES", &mistyped)],
    );
    let mistyped = mistyped.split_once(" = ").unwrap().1;
    assert!(!refused.errors.contains(&mistyped[..20]), "{refused:?}");
    refused.check_failed(
        1,
        "format-key-lines is \"***\" (from LEAFID_FORMAT_KEY_LINES)",
        "",
    );
    let both = ["config", "check", "--format-keys", "file"];
    ask(&both, &variables).check_failed(1, "remove one", "");
}

/// Guards that calls which are refused for want of a key or a worker id lose no numbers: a format
/// with few digits would soon have none left.
#[test]
fn refused_calls_lose_no_numbers() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("format-keys");
    let (key, other) = (new_key(folder.path()), new_key(folder.path()));
    fs::write(&path, &key).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let keys = ["--format-keys", path.to_str().unwrap()];
    let mut server = Server::start(folder.path(), &[&keys[..], &["--snowflake=false"]].concat());
    let opaque = format!("{{opaque radix=10 width=6 key={}}}", key_id(&key));
    let daily = "{date %Y%m%d}{number restart=day width=6}{worker width=4}";
    let formats = [
        ("code", &*opaque),
        ("desk", "{worker width=4}-{number width=6}"),
        ("daily", daily),
    ];
    for (tag, format) in formats {
        let create = [
            "tag",
            "create",
            tag,
            "--format",
            format,
            "--server",
            &server.url,
        ];
        run(folder.path(), &create).ok();
    }
    let reload = |server: &Server, keys: &str| {
        fs::write(&path, keys).unwrap();
        let before = server.log().matches("reloaded the format keys").count();
        server.signal("HUP");
        until("reload", || {
            (server.log().matches("reloaded the format keys").count() > before).then_some(())
        });
    };
    assert_eq!(server.get("/v1/tags/code/ids").0, 200);
    reload(&server, &other);
    for _ in 0..1100 {
        for (tag, _) in formats {
            let (status, body) = server.get(&format!("/v1/tags/{tag}/ids?count=1000"));
            assert!(status >= 500, "{tag}: {status} {body}");
        }
    }
    reload(&server, &format!("{key}{other}"));
    let number = |server: &Server, tag: &str| -> u64 {
        let text = server.json(&format!("/v1/tags/{tag}/ids"))["ids"][0].clone();
        let text = text.as_str().unwrap();
        let decoded = server.json(&format!("/v1/decode/{text}?tag={tag}"));
        decoded["number"].as_str().unwrap().parse().unwrap()
    };
    assert_eq!(number(&server, "code"), 2);
    server.signal("TERM");
    server.wait();
    let server = Server::start(folder.path(), &keys);
    until("worker id", || {
        (server.get("/v1/tags/desk/ids").0 == 200).then_some(())
    });
    let texts = server.json("/v1/tags/desk/ids?count=2");
    let text = texts["ids"][1].as_str().unwrap();
    let (worker, _) = text.split_once('-').unwrap();
    assert_eq!(
        worker,
        format!("{:04}", server.metric("leafid_worker_id{pool=\"default\"}"))
    );
    // One call may have lost its numbers, when the tag was loaded.
    assert!(number(&server, "desk") < 10_000);
    let daily = server.json("/v1/tags/daily/ids")["ids"][0].clone();
    assert_eq!(daily.as_str().unwrap().get(8..14), Some("000001"));
    server.stop();
}
