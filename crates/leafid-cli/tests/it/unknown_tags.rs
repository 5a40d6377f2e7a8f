//! Guards tags in use against callers who invent tags: names without end, over HTTP, the Redis
//! protocol and gRPC, each asked for once.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use leafid_testbed::{Proxy, shared_mariadb};
use tempfile::tempdir;

use crate::server_process::{SECRET, Server, command, finish, run};
use crate::unread::{DATA, END_HEADERS, END_STREAM, HEADERS, frame, header, http2};

/// Every statement takes several times as long.
const SLOW: Duration = Duration::from_millis(60);
/// How many callers invent tags at once, over HTTP and over the Redis protocol.
const INVENTORS: usize = 40;

fn address(server: &Server, scheme: &str) -> SocketAddr {
    let mut words = server.greeting.split_whitespace();
    let address = words.find_map(|word| word.strip_prefix(scheme));
    address.unwrap().trim_end_matches(',').parse().unwrap()
}

/// A connection of the Redis protocol.
struct Resp(BufReader<TcpStream>);

impl Resp {
    fn new(server: &Server) -> Self {
        let stream = TcpStream::connect(address(server, "redis://")).unwrap();
        Self(BufReader::new(stream))
    }

    /// The first line of the answer.
    fn ask(&mut self, words: &[&str]) -> String {
        let mut bytes = format!("*{}\r\n", words.len());
        for word in words {
            bytes += &format!("${}\r\n{word}\r\n", word.len());
        }
        self.0.get_mut().write_all(bytes.as_bytes()).unwrap();
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }
}

/// A connection of gRPC, which asks for an id of a tag at a time.
struct Grpc {
    stream: TcpStream,
    next: u32,
    secret: Option<String>,
}

impl Grpc {
    fn new(server: &Server) -> Self {
        let stream = http2(address(server, "grpc://"));
        Self {
            stream,
            next: 1,
            secret: None,
        }
    }

    fn send(&mut self, tag: &str) {
        // POST, http and an :authority by their numbers in HPACK's table.
        let mut head = vec![0x83, 0x86, 0x01, 1, b'x'];
        header(&mut head, ":path", "/leafid.v1.Ids/Next");
        header(&mut head, "content-type", "application/grpc");
        header(&mut head, "te", "trailers");
        if let Some(secret) = &self.secret {
            header(&mut head, "authorization", &format!("Bearer {secret}"));
        }
        let len = u8::try_from(tag.len()).unwrap();
        let mut message = vec![0, 0, 0, 0, len + 2, 0x0a, len];
        message.extend_from_slice(tag.as_bytes());
        let mut bytes = Vec::new();
        frame(&mut bytes, HEADERS, END_HEADERS, self.next, &head);
        frame(&mut bytes, DATA, END_STREAM, self.next, &message);
        self.next += 2;
        self.stream.write_all(&bytes).unwrap();
    }

    /// Whether the call succeeded: only then is there a message before its end.
    fn ask(&mut self, tag: &str) -> bool {
        let number = self.next;
        self.send(tag);
        loop {
            let mut head = [0; 9];
            self.stream.read_exact(&mut head).unwrap();
            let len = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; usize::try_from(len).unwrap()];
            self.stream.read_exact(&mut payload).unwrap();
            let of = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            match head[3] {
                DATA if of == number && len > 0 => return true,
                HEADERS if of == number && head[4] & END_STREAM > 0 => return false,
                _ => {}
            }
        }
    }
}

/// Runs callers that invent tags on all front ends while something is done.
fn beside_inventors(server: &Server, done: impl FnOnce()) {
    let number = AtomicU64::new(0);
    let is_over = AtomicBool::new(false);
    let goes_on = || !is_over.load(Ordering::Relaxed);
    let name = || format!("invented-{}", number.fetch_add(1, Ordering::Relaxed));
    thread::scope(|scope| {
        for _ in 0..INVENTORS {
            scope.spawn(|| {
                while goes_on() {
                    let _any = server.try_get(&format!("/v1/tags/{}/ids", name()));
                }
            });
            scope.spawn(|| {
                let mut resp = Resp::new(server);
                while goes_on() {
                    resp.ask(&["INCR", &name()]);
                }
            });
        }
        scope.spawn(|| {
            while goes_on() {
                let mut grpc = Grpc::new(server);
                (0..90).for_each(|_| grpc.send(&name()));
                thread::sleep(Duration::from_millis(500));
            }
        });
        // They must stop however it ends.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(done));
        is_over.store(true, Ordering::Relaxed);
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    });
    println!("{} tags were invented", number.load(Ordering::Relaxed));
}

/// Guards that a tag in use continues, and that an operator can create a new one, while callers
/// invent tags over a slow store.
fn check_flood(creates: &str) {
    let folder = tempdir().unwrap();
    let database = shared_mariadb().create_database();
    let proxy = Proxy::new(shared_mariadb().port());
    let url = shared_mariadb().url_at(proxy.port(), &database.name);
    run(folder.path(), &["store", "init", "--store", &url]).ok();
    let create = [
        "tag", "create", "order", "--step", "10", "--policy", "fixed",
    ];
    run(folder.path(), &[&create[..], &["--store", &url]].concat()).ok();
    let arguments = ["--store", &url, "--snowflake=false", creates];
    let server = Server::start(folder.path(), &arguments);
    assert_eq!(server.get("/v1/tags/order/ids").0, 200);
    proxy.delay(SLOW);
    let mut refused = [0; 3];
    let mut fresh = 0;
    beside_inventors(&server, || {
        let (mut resp, mut grpc) = (Resp::new(&server), Grpc::new(&server));
        thread::sleep(Duration::from_secs(2));
        for _ in 0..20 {
            // Each round needs a segment and more.
            let (status, _) = server.get("/v1/tags/order/ids?count=7");
            refused[0] += u32::from(status != 200);
            for _ in 0..3 {
                refused[1] += u32::from(!resp.ask(&["INCR", "order"]).starts_with(':'));
                refused[2] += u32::from(!grpc.ask("order"));
            }
        }
        let create = ["tag", "create", "fresh", "--server", &server.url];
        run(folder.path(), &create).ok();
        while fresh < 50 && server.get("/v1/tags/fresh/ids").0 != 200 {
            fresh += 1;
        }
    });
    println!("refused: HTTP, RESP, gRPC {refused:?} of [20, 60, 60]; the new tag {fresh} times");
    assert_eq!(refused, [0, 0, 0]);
    assert!(fresh <= 3, "the new tag was refused {fresh} times");
    proxy.pass();
    server.stop();
}

#[test]
fn tags_in_use_continue_beside_invented_ones_that_are_created() {
    check_flood("--create-tags=true");
}

#[test]
fn tags_in_use_continue_beside_invented_ones_that_are_refused() {
    check_flood("--create-tags=false");
}

/// Guards that invented tags do not fill the room for tags: those that were only requested are
/// evicted, and those that were created leave some room to an operator.
#[test]
fn invented_tags_leave_room() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &["--tags-max", "20", "--snowflake=false"]);
    let mut resp = Resp::new(&server);
    let mut created = 0;
    for number in 0..60 {
        let answer = resp.ask(&["INCR", &format!("invented-{number}")]);
        created += u32::from(answer == ":1\r\n");
        let is_full = answer.starts_with("-BUSY overloaded ") && answer.contains("20 tags");
        assert!(answer == ":1\r\n" || is_full, "{answer}");
    }
    println!("{created} of 60 were created");
    assert!((15..20).contains(&created), "{created}");
    run(
        folder.path(),
        &["tag", "create", "fresh", "--server", &server.url],
    )
    .ok();
    assert_eq!(server.get("/v1/tags/fresh/ids").0, 200);
    server.stop();
    let server = Server::start(
        folder.path(),
        &[
            "--tags-max",
            "20",
            "--snowflake=false",
            "--create-tags=false",
        ],
    );
    let mut refused = 0;
    for number in 0..15 {
        for unknown in 0..30 {
            let path = format!("/v1/tags/unknown-{number}-{unknown}/ids");
            assert_eq!(server.get(&path).0, 404);
        }
        let (status, _) = server.get(&format!("/v1/tags/invented-{number}/ids"));
        refused += u32::from(status != 200);
    }
    println!("{refused} of 15 tags that there are were refused");
    assert_eq!(refused, 0);
    server.stop();
}

/// Guards that a tag which issues ids has its own series, however many were invented before it.
#[test]
fn a_real_tag_has_its_series_beside_invented_ones() {
    let folder = tempdir().unwrap();
    let server = Server::start(folder.path(), &["--snowflake=false"]);
    let mut resp = Resp::new(&server);
    for number in 0..520 {
        let answer = resp.ask(&["INCR", &format!("invented-{number}")]);
        assert_eq!(answer, ":1\r\n");
        if number == 510 {
            server.get("/metrics");
        }
    }
    assert_eq!(server.get("/v1/tags/order/ids?count=1000").0, 200);
    let series = server.metric("leafid_ids_issued_total{tag=\"order\"}");
    assert!((series - 1000.0).abs() < 0.5, "{series}");
    // It keeps them.
    for number in 520..540 {
        resp.ask(&["INCRBY", &format!("invented-{number}"), "2"]);
    }
    assert_eq!(server.get("/v1/tags/order/ids?count=1000").0, 200);
    let series = server.metric("leafid_ids_issued_total{tag=\"order\"}");
    assert!((series - 2000.0).abs() < 0.5, "{series}");
    server.stop();
}

/// Guards the rate limit of creation on first use, the error beyond it, and that it applies to no
/// other calls.
#[test]
fn creation_on_first_use_has_a_rate() {
    let folder = tempdir().unwrap();
    let arguments = ["--create-tags-per-minute", "5", "--snowflake=false"];
    let server = Server::start(folder.path(), &arguments);
    let mut resp = Resp::new(&server);
    let mut created = 0;
    let refusal = loop {
        let answer = resp.ask(&["INCR", &format!("invented-{created}")]);
        if answer != ":1\r\n" {
            break answer;
        }
        created += 1;
        assert!(created < 30, "no end");
    };
    assert!((5..=8).contains(&created), "{created}");
    assert!(
        refusal.starts_with("-BUSY too_many_new_tags tag \"invented-"),
        "{refusal}"
    );
    let (status, body) = server.get("/v1/tags/another/ids");
    assert_eq!(status, 429, "{body}");
    for text in [
        "too_many_new_tags",
        "retry_after_ms",
        "create-tags-per-minute",
    ] {
        assert!(body.contains(text), "{body}");
    }
    assert!(!Grpc::new(&server).ask("another"));
    assert!(server.metric("leafid_tag_creations_refused_total") >= 3.0);
    assert!((server.metric("leafid_tags_created_total") - f64::from(created)).abs() < 0.5);
    // An operator is not counted, and existing tags continue.
    run(
        folder.path(),
        &["tag", "create", "another", "--server", &server.url],
    )
    .ok();
    assert_eq!(resp.ask(&["INCR", "another"]), ":1\r\n");
    assert_eq!(resp.ask(&["INCR", "invented-0"]), ":2\r\n");
    server.stop();
}

fn write_tokens(folder: &Path) -> [String; 2] {
    let path = folder.join("access.toml");
    let [taker, admin] = ["taker", "admin"].map(|name| format!("{SECRET}-of-{name}-and-more"));
    let text = format!(
        "[[token]]\nname = \"taker\"\nsecret = \"{taker}\"\ntags = [\"new-*\"]\n\
         [[token]]\nname = \"ops\"\nsecret = \"{admin}\"\nadmin = true\n"
    );
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    [taker, admin]
}

/// Guards that with tokens only an admin's creates tags, on every front end; a token whose patterns
/// match the tag does not.
#[test]
fn only_admins_create_tags_where_there_are_tokens() {
    let folder = tempdir().unwrap();
    let [taker, admin] = write_tokens(folder.path());
    let arguments = ["--access-file", "access.toml", "--snowflake=false"];
    let server = Server::start(folder.path(), &arguments);
    for path in ["/v1/tags/new-1/ids", "/v1/tags/new-1/ids?count=5"] {
        let (status, body) = server.get_as(path, &taker);
        assert_eq!(status, 403, "{body}");
        for text in ["not_admin", "does not exist", "admin = true", "taker"] {
            assert!(body.contains(text), "{body}");
        }
    }
    let (status, body) = server.get_as("/api/segment/get/new-1", &taker);
    assert_eq!(status, 500, "{body}");
    let mut resp = Resp::new(&server);
    assert_eq!(resp.ask(&["AUTH", &taker]), "+OK\r\n");
    for words in [
        &["INCR", "new-1"][..],
        &["INCRBY", "new-1", "9"],
        &["ID.NEXT", "new-1", "9"],
    ] {
        let answer = resp.ask(words);
        assert!(
            answer.starts_with("-NOPERM not_admin tag \"new-1\" does not exist"),
            "{answer}"
        );
    }
    let mut grpc = Grpc::new(&server);
    grpc.secret = Some(taker.clone());
    assert!(!grpc.ask("new-1"));
    let list = ["tag", "list", "--server", &server.url];
    let listed = finish(command(folder.path(), &list).env("LEAFID_TOKEN", &admin)).ok();
    assert!(!listed.contains("new-1"), "{listed}");
    // The admin's does, and then all may take ids of it.
    assert_eq!(server.get_as("/v1/tags/new-1/ids", &admin).0, 200);
    assert_eq!(server.get_as("/v1/tags/new-1/ids", &taker).0, 200);
    assert_eq!(resp.ask(&["INCR", "new-1"]), ":3\r\n");
    assert!(grpc.ask("new-1"));
    server.stop();
}
