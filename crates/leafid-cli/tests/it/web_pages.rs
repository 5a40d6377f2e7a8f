//! Guards what a web page can do to a server on its reader's machine: nothing. With single
//! requests, header by header, and with a real browser.

use std::collections::HashSet;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::server_process::{Server, ids, until};

/// Two worker ids, so that a third server needs one of the others'. A released one can be claimed
/// soon.
const TINY: [&str; 7] = [
    "--store",
    "sqlite:shared.db",
    "--layout",
    "time41x1ms/worker1/sequence21@2020-01-01T00:00:00Z",
    "--clock-offset-max=1s",
    "--journal-ahead=500ms",
    "--ahead-max=0s",
];
/// The headers that a foreign page sends along with a form.
const FORM: &str = "origin: http://evil.example\r\ncontent-type: text/plain\r\n";

/// Sends a request with these header lines; returns status and body.
fn send(server: &Server, request: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server.address()).unwrap();
    let host = match headers.contains("host: ") {
        true => String::new(),
        false => format!("host: {}\r\n", server.address()),
    };
    let len = body.len();
    let text = format!(
        "{request} HTTP/1.1\r\n{host}connection: close\r\ncontent-length: {len}\r\n{headers}\r\n{body}"
    );
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

fn code(answer: &(u16, String)) -> (u16, String) {
    let problem: Value = serde_json::from_str(&answer.1).unwrap_or_default();
    let code = problem["code"].as_str().unwrap_or_default();
    (answer.0, code.to_owned())
}

fn stage(server: &Server) -> String {
    let worker = server.json("/v1/worker");
    worker["stage"].as_str().unwrap().to_owned()
}

/// Takes many batches from all servers at once; returns all ids.
fn take_all(servers: &[&Server]) -> Vec<u64> {
    thread::scope(|scope| {
        let takers = servers.iter().map(|server| {
            scope.spawn(|| {
                let batches = (0..20).map(|_| server.get("/v1/tags/trace/ids?count=10000"));
                let given = batches.filter(|(status, _)| *status == 200);
                given.flat_map(|(_, body)| ids(&body)).collect::<Vec<u64>>()
            })
        });
        let takers: Vec<_> = takers.collect();
        let taken = takers.into_iter().map(|taker| taker.join().unwrap());
        taken.flatten().collect()
    })
}

/// Guards that no page can free the worker ids of running servers that do not answer: with one of
/// them freed, a third server would issue the ids of its holder.
#[test]
fn the_worker_ids_of_living_servers_are_not_released() {
    let folder = tempdir().unwrap();
    let start = |own: &str| {
        let server = Server::start(folder.path(), &[&TINY[..], &["--data-dir", own]].concat());
        until("worker id, or none", || {
            (stage(&server) != "starting").then_some(())
        });
        server
    };
    let (first, second, third) = (start("a"), start("b"), start("c"));
    assert_eq!(stage(&third), "refused");
    let tag = json!({ "tag": "trace", "kind": "snowflake" }).to_string();
    let declared = "content-type: application/json\r\n";
    assert_eq!(send(&third, "POST /v1/tags", declared, &tag).0, 201);
    for headers in [FORM, "origin: http://evil.example\r\n", "", declared] {
        for worker in [0, 1] {
            let call = format!("POST /v1/workers/{worker}/release");
            let answer = send(&third, &call, headers, r#"{"dead":true}"#);
            println!("{headers:?}: {} {}", answer.0, answer.1);
        }
    }
    // Longer than what a released worker id waits for.
    for _ in 0..40 {
        if stage(&third) == "holding" {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    let taken = take_all(&[&first, &second, &third]);
    let distinct: HashSet<u64> = taken.iter().copied().collect();
    println!(
        "{} ids, {} of them twice",
        taken.len(),
        taken.len() - distinct.len()
    );
    assert!(taken.len() >= 400_000, "{} ids", taken.len());
    assert_eq!(distinct.len(), taken.len(), "ids came twice");
    assert_eq!(stage(&third), "refused");
}

/// Guards each header by which a page is recognised, on the real server.
#[test]
fn pages_change_nothing_and_programs_continue() {
    const JSON: &str = "content-type: application/json\r\n";
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let check = |request: &str, headers: &str, body: &str, status: u16, expected: &str| {
        let answer = send(&server, request, headers, body);
        let found = code(&answer);
        let shown = format!("{request} {headers:?}: {answer:?}");
        assert_eq!(found, (status, expected.to_owned()), "{shown}");
    };
    // The body of each call that changes something.
    let changing = [
        ("POST /v1/tags", r#"{"tag":"made"}"#),
        ("PATCH /v1/tags/order", r#"{"step":5}"#),
        ("DELETE /v1/tags/order", ""),
        ("PUT /v1/quotas/server", r#"{"ids_per_second":0}"#),
        ("DELETE /v1/quotas/server", ""),
        ("PUT /v1/quotas/tags/order", r#"{"ids_per_second":0}"#),
        ("DELETE /v1/quotas/tags/order", ""),
        ("PUT /v1/quotas/tokens/a", r#"{"ids_per_second":0}"#),
        ("DELETE /v1/quotas/tokens/a", ""),
        ("POST /v1/workers/0/release", r#"{"dead":true}"#),
        ("POST /v1/clock/accept", ""),
    ];
    let undeclared = [
        "",
        "content-type: text/plain\r\n",
        "content-type: application/x-www-form-urlencoded\r\n",
        "content-type: multipart/form-data; boundary=x\r\n",
    ];
    let foreign = [
        "sec-fetch-site: cross-site\r\n",
        "sec-fetch-site: same-site\r\n",
        "origin: http://evil.example\r\n",
        "origin: null\r\n",
    ];
    for (request, body) in changing {
        for headers in undeclared {
            match headers.is_empty() && body.is_empty() {
                true => check(request, headers, body, 403, "undeclared"),
                false => check(request, headers, body, 415, "unsupported_media_type"),
            }
        }
        for headers in foreign {
            let declared = format!("{headers}{JSON}");
            check(request, &declared, body, 403, "foreign_page");
        }
        let rebound = format!("host: evil.example\r\n{JSON}");
        check(request, &rebound, body, 403, "foreign_host");
    }
    let issuing = [
        "GET /v1/tags/order/ids",
        "POST /v1/tags/order/ids",
        "GET /v1/tags/order/ids?count=3",
        "GET /v1/tags/new/ids",
    ];
    for request in issuing {
        for headers in foreign {
            check(request, headers, "", 403, "foreign_page");
        }
        check(request, "host: evil.example\r\n", "", 403, "foreign_host");
    }
    let range = r#"{"length":3}"#;
    for headers in foreign {
        let declared = format!("{headers}{JSON}");
        check(
            "POST /v1/tags/order/ranges",
            &declared,
            range,
            403,
            "foreign_page",
        );
        let leafs = send(&server, "GET /api/segment/get/order", headers, "");
        assert_eq!(leafs.0, 500, "as Leaf answers every error: {leafs:?}");
    }
    check(
        "POST /v1/tags/order/ranges",
        "",
        range,
        415,
        "unsupported_media_type",
    );
    check(
        "GET /v1/tags",
        "host: evil.example\r\n",
        "",
        403,
        "foreign_host",
    );
    check(
        "GET /metrics",
        "host: evil.example:80\r\n",
        "",
        403,
        "foreign_host",
    );
    check(
        "GET /nowhere",
        "host: evil.example\r\n",
        "",
        403,
        "foreign_host",
    );
    assert_eq!(server.json("/v1/tags")["tags"], json!([]));

    // What programs send: no content-type for issuing calls, any name for Leaf's own paths.
    let named = "host: leaf.example\r\n";
    let first = send(&server, "GET /api/segment/get/order", named, "");
    assert_eq!(first.0, 500, "a foreign name creates no tag: {first:?}");
    let first = send(&server, "GET /api/segment/get/order", "", "");
    assert_eq!(first, (200, "1".to_owned()));
    let second = send(&server, "GET /api/segment/get/order", named, "");
    assert_eq!(second, (200, "2".to_owned()));
    let unknown = send(&server, "GET /api/segment/get/made-by-a-page", named, "");
    assert_eq!(unknown.0, 500, "{unknown:?}");
    let own = format!("origin: http://{}\r\n", server.address());
    for (index, headers) in ["", "host: localhost\r\n", "sec-fetch-site: none\r\n", &own]
        .into_iter()
        .enumerate()
    {
        let given = send(&server, "POST /v1/tags/order/ids", headers, "");
        let expected = format!(r#"{{"ids":["{}"]}}"#, index + 3);
        assert_eq!(given, (200, expected), "{headers:?}");
    }
    let made = send(&server, "POST /v1/tags", JSON, r#"{"tag":"made"}"#);
    assert_eq!(made.0, 201, "{made:?}");
    server.stop();

    let listed = ["--allowed-hosts", "ids.example, other.example"];
    let server = Server::start(folder.path(), &listed);
    let is_let_in = |host: &str| send(&server, "GET /v1/tags", &format!("host: {host}\r\n"), "").0;
    let found = [
        "ids.example",
        "OTHER.example:80",
        "127.0.0.1",
        "evil.example",
    ]
    .map(is_let_in);
    assert_eq!(found, [200, 200, 200, 403]);
    server.stop();
}

/// A page that tries what a browser lets it do without asking, and reports when it is done.
const PAGE: &str = r#"<!doctype html><title>page</title><img src="BASE/api/segment/get/burned-by-an-image">
<iframe name="hidden"></iframe>
<form id="form" method="post" target="hidden" enctype="text/plain" action="BASE/v1/clock/accept"></form>
<script>
const bytes = new TextEncoder().encode('{"tag":"made-by-a-page"}');
const send = (method, path, body) =>
    fetch('BASE' + path, { method, body, mode: 'no-cors' }).then(() => 'sent', () => 'failed');
Promise.all([
    send('POST', '/v1/tags', new Blob([bytes])),
    send('POST', '/v1/tags', new Blob([bytes], { type: 'text/plain' })),
    send('POST', '/v1/tags/burned-by-a-page/ids', undefined),
    send('POST', '/v1/workers/0/release', new Blob(['{"dead":true}'])),
    send('POST', '/v1/clock/accept', undefined),
]).then(told => {
    document.getElementById('form').submit();
    document.body.append('all ' + told.join(' '));
});
</script>"#;

/// Serves one page to all requests, until the test ends; returns the port.
fn serve_page(text: String) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let _request = stream.read(&mut [0; 4096]);
            let len = text.len();
            let _written = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\
                 content-length: {len}\r\n\r\n{text}"
            );
        }
    });
    port
}

/// The text that a browser shows for a URL. Every name leads it to this machine.
fn browse(folder: &Path, url: &str) -> String {
    let profile = tempfile::tempdir_in(folder).unwrap();
    let shown = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--host-resolver-rules=MAP * 127.0.0.1",
            "--virtual-time-budget=5000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(url)
        .stdin(Stdio::null())
        .output()
        .expect("chromium, which ./test installs");
    assert!(shown.status.success(), "{shown:?}");
    String::from_utf8_lossy(&shown.stdout).into_owned()
}

/// Guards that a page in a real browser changes nothing and takes no id, whether it is foreign or
/// under a name that was pointed at this machine, and that a person who types a URL is served.
#[test]
fn a_page_in_a_browser_changes_nothing() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let port = server.address().rsplit(':').next().unwrap().to_owned();
    for base in [server.url.clone(), format!("http://evil.example:{port}")] {
        let page = serve_page(PAGE.replace("BASE", &base));
        for site in ["evil.example", "localhost"] {
            let shown = browse(folder.path(), &format!("http://{site}:{page}/"));
            println!(
                "{base} from {site}: {}",
                shown.lines().last().unwrap_or_default()
            );
            assert!(shown.contains("all sent"), "{shown}");
        }
    }
    let tags = server.json("/v1/tags")["tags"].clone();
    let log = server.log();
    let metrics = server.get("/metrics").1;
    let done = |line: &&str| {
        let is_change = ["/release", "/accept", "path=\"/v1/tags\"", "/ids"];
        is_change.iter().any(|part| line.contains(part)) && line.contains("status=\"2")
    };
    let done: Vec<&str> = metrics.lines().filter(done).collect();
    println!("tags {tags}; done for pages: {done:#?}");
    assert_eq!(tags, json!([]), "{log}");
    // Rebinding: all URLs of the page are ours under another name, which is the only difference.
    let rebound = browse(
        folder.path(),
        &format!("http://evil.example:{port}/v1/tags"),
    );
    assert!(rebound.contains("foreign_host"), "{rebound}");
    let typed = browse(
        folder.path(),
        &format!("{}/api/segment/get/typed", server.url),
    );
    assert!(typed.contains(">1<"), "{typed}");
    server.stop();
}
