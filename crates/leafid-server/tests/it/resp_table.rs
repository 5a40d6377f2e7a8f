//! The answers to a Redis client, compared byte for byte with a real redis-server.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use leafid_server::{Config, Limits, TokenSpec};
use leafid_testbed::Redis;

use crate::test_server::TestServer;

/// Answered alike. One input is one connection, and its effects remain for the next.
const ALIKE: &[&str] = &[
    // Framing.
    "*1\r\n$4\r\nPING\r\n",
    "*1\r\n$4\r\nPINGxx*1\r\n$4\r\nPING\r\n",
    "*1\rx$4\ryPING\r\n",
    "*2\r\n$4\r\nECHO\r\n$4\r\n\r\n\r\n\r\nPING\r\n",
    "*0\r\n*-1\r\n*-5\r\nPING\r\n",
    "*1\r\n$0\r\n\r\nPING\r\n",
    "*1\r\n+4\r\nPING\r\n",
    "*1\r\n\r\n\r\nPING\r\n",
    "*1\r\n$-1\r\nPING\r\n",
    "*1\r\n$536870913\r\nPING\r\n",
    "*2147483648\r\nPING\r\n",
    "*01\r\nPING\r\n",
    "*\r\nPING\r\n",
    "*x\r\nPING\r\n",
    "*1\r\n$\r\nPING\r\n",
    "*1\r\n$+4\r\nPING\r\n",
    "*1\r\n$04\r\nPING\r\n",
    "*1\r\n$4\nPING\r\nPING\r\n",
    "*3\r\n$4\r\nECHO\r\n",
    "*2\r\n$4\r\nPING\r\n*1\r\n$4\r\nPING\r\n",
    "PING\r\n*1\r\n+\r\n",
    // Inline commands.
    "PING\n",
    "\r\nPING\r\n\n\n \r\n\t\nPING\r\n",
    "  PING \t hello \r\n",
    "\"PING\"\r\n",
    "'PING' 'it\\'s'\r\n",
    "PI\"NG\"\r\n",
    "PING \"a\\n\\tb\\q\\x41\\x4g\\\\\\\"\"\r\n",
    "PING ''\r\n",
    "\"PING\r\nPING\r\n",
    "\"PING\"x\r\nPING\r\n",
    "PING 'a\r\nPING\r\n",
    "PING\0\r\nPING\r\n",
    "ping\r\nPiNg\r\n",
    // Across protocols.
    "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
    "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "PING\r\nhost: x\r\nPING\r\n",
    "*2\r\n$4\r\nPOST\r\n$1\r\n/\r\n*1\r\n$4\r\nPING\r\n",
    "PRI * x HTTP/2.0\r\nfoo\r\n",
    // Unknown commands and wrong numbers of arguments.
    "FOO\r\n",
    "foo a b c\r\n",
    "*2\r\n$3\r\nFOO\r\n$4\r\na\r\nb\r\n",
    "*2\r\n$3\r\nFOO\r\n$3\r\na\0b\r\n",
    "*2\r\n$4\r\nFO\0O\r\n$3\r\nabc\r\n",
    "INCR\r\nINCR a b\r\nINCRBY a\r\nGET\r\nGET a b\r\n",
    "PING a b\r\nECHO\r\nECHO a b\r\nSELECT\r\nTIME x\r\nRESET x\r\n",
    "CLIENT\r\nCLIENT FOO\r\nCLIENT SETNAME\r\nCLIENT ID x\r\nCONFIG\r\nCONFIG GET\r\n",
    "CONFIG FOO\r\nCOMMAND FOO\r\nCOMMAND COUNT x\r\nCOMMAND GETKEYS ping\r\n",
    // Ids.
    "INCR a\r\nincr a\r\nINCR a\r\nINCR a\r\nGET a\r\n",
    "INCR b\r\nINCR a\r\nINCR b\r\nINCRBY b 1\r\nINCRBY b 1\r\nINCRBY b 10\r\nGET b\r\nINCR b\r\n",
    "INCRBY fresh 5\r\nINCR fresh\r\n",
    "INCRBY a x\r\nINCRBY a 01\r\nINCRBY a +1\r\nINCRBY a 1.5\r\nINCRBY a \"\"\r\n",
    "INCRBY a 9223372036854775808\r\n",
    "GET nobody\r\nHELLO 3\r\nGET nobody\r\nGET a\r\nINCR a\r\n",
    // Connections.
    "PING\r\nPING hello\r\nECHO hello\r\n",
    "HELLO\r\n",
    "HELLO 2\r\nHELLO 3\r\nhello 3 setname x\r\nCLIENT GETNAME\r\nHELLO 2\r\n",
    "HELLO 4\r\nHELLO 1\r\nHELLO x\r\nHELLO 3 FOO\r\nHELLO 3 AUTH a\r\nHELLO 3 SETNAME\r\n",
    "HELLO 3 SETNAME \"a b\"\r\nHELLO 3 AUTH default x SETNAME y\r\nCLIENT GETNAME\r\n",
    "HELLO 3 AUTH other x\r\nPING\r\n",
    "HELLO 3 AUTH other x y\r\nHELLO 3 AUTH default x y\r\nHELLO 3 SETNAME z y\r\nCLIENT GETNAME\r\n",
    "HELLO 3 SETNAME \"a b\" AUTH other x\r\n",
    "AUTH x\r\nAUTH default x\r\nAUTH other x\r\nAUTH\r\nAUTH a b c\r\n",
    "SELECT 0\r\nSELECT -1\r\nSELECT 99999\r\nSELECT x\r\nSELECT 4294967296\r\n",
    "CLIENT SETNAME \"a b\"\r\nCLIENT SETNAME x\r\nCLIENT GETNAME\r\nCLIENT SETNAME \"\"\r\nCLIENT GETNAME\r\n",
    "CLIENT NO-EVICT on\r\nCLIENT NO-EVICT x\r\nCLIENT GETREDIR\r\nCLIENT MAINT_NOTIFICATIONS ON\r\n",
    "CLIENT LIST TYPE x\r\nCLIENT LIST TYPE replica\r\nCLIENT LIST FOO\r\n",
    "CLIENT LIST ID x\r\nCLIENT LIST ID 0\r\nCLIENT LIST ID -1\r\nCLIENT LIST ID 999999\r\nCLIENT LIST ID 999999 x\r\n",
    "QUIT\r\nPING\r\n",
    "quit a b\r\nPING\r\n",
    "HELLO 3\r\nCLIENT SETNAME x\r\nMULTI\r\nRESET\r\nCLIENT GETNAME\r\nEXEC\r\n",
    "CLIENT REPLY OFF\r\nPING\r\nFOO\r\nCLIENT REPLY ON\r\nPING\r\n",
    "CLIENT REPLY SKIP\r\nPING\r\nPING a\r\nCLIENT REPLY FOO\r\n",
    "CLIENT REPLY SKIP\r\n*0\r\nPING\r\n",
    "CLIENT REPLY SKIP\r\nRESET\r\nPING\r\n",
    "CLIENT REPLY SKIP\r\nCLIENT REPLY SKIP\r\nRESET\r\nPING\r\n",
    "CLIENT REPLY SKIP\r\nINCR c\r\nINCR c\r\nINCR c\r\n",
    "CLIENT REPLY OFF\r\nINCR c\r\nINCR c\r\nCLIENT REPLY ON\r\nINCR c\r\n",
    "CLIENT REPLY OFF\r\n*x\r\n",
    "CLIENT REPLY OFF\r\nRESET\r\nPING\r\n",
    // Transactions.
    "MULTI\r\nMULTI\r\nEXEC\r\nEXEC\r\nDISCARD\r\n",
    "MULTI\r\nINCR d\r\nINCR d\r\nINCRBY d 1\r\nINCRBY d 5\r\nGET d\r\nPING x\r\nEXEC\r\nPING\r\n",
    "MULTI\r\nINCR d\r\nfoo\r\nINCR d\r\nEXEC\r\nGET d\r\n",
    "MULTI\r\nINCR\r\nPING\r\nEXEC\r\nEXEC\r\n",
    "MULTI\r\nCLIENT FOO\r\nEXEC\r\n",
    "MULTI\r\nINCRBY d x\r\nINCR d\r\nEXEC\r\n",
    "MULTI\r\nINCR d\r\nDISCARD\r\nGET d\r\n",
    "MULTI\r\nEXEC x\r\nPING\r\nEXEC\r\n",
    "MULTI x\r\nEXEC x\r\nDISCARD x\r\n",
    "MULTI\r\nHELLO 3\r\nGET nobody\r\nEXEC\r\nGET nobody\r\n",
    "MULTI\r\nSELECT x\r\nECHO a\r\nEXEC\r\n",
    "MULTI\r\nINCR d\r\nQUIT\r\nEXEC\r\n",
    "CLIENT REPLY SKIP\r\nMULTI\r\nINCR e\r\nEXEC\r\n",
    "MULTI\r\nINCR e\r\nCLIENT REPLY SKIP\r\nEXEC\r\nPING\r\n",
    "MULTI\r\n*1\r\n+\r\nPING\r\n",
    "UNWATCH\r\n",
    // The server.
    "CONFIG GET nope\r\nHELLO 3\r\nCONFIG GET nope\r\nCONFIG GET save\r\n",
    "CONFIG GET save\r\nCONFIG GET sav?\r\n",
    "INFO nope\r\nHELLO 3\r\nINFO nope\r\n",
    "COMMAND INFO nope\r\nHELLO 3\r\nCOMMAND INFO nope\r\n",
    "COMMAND DOCS nope\r\nHELLO 3\r\nCOMMAND DOCS nope\r\n",
    "COMMAND GETKEYS INCR a\r\nCOMMAND GETKEYS NOPE a\r\nCOMMAND GETKEYS PING a\r\n",
    "COMMAND GETKEYS INCR a b\r\nCOMMAND LIST FOO\r\n",
];

/// Answered alike if a password is required.
const ALIKE_BEFORE_AUTH: &[&str] = &[
    "PING\r\nINCR a\r\nINCR\r\nFOO\r\nCLIENT FOO\r\nMULTI\r\nCOMMAND\r\nEXEC\r\n",
    "SET a 1\r\nWATCH a\r\n",
    "EXEC x\r\n",
    "HELLO\r\nHELLO 3\r\nHELLO 4\r\nHELLO 3 FOO\r\nPING\r\n",
    "HELLO 3 AUTH default PASSWORD\r\nPING\r\nINCR a\r\n",
    "HELLO 3 AUTH default wrong\r\nHELLO 3 AUTH other PASSWORD\r\nPING\r\n",
    "HELLO 3 AUTH default PASSWORD SETNAME x\r\nCLIENT GETNAME\r\n",
    "AUTH wrong\r\nAUTH PASSWORD\r\nPING\r\nAUTH wrong\r\nPING\r\n",
    "AUTH default PASSWORD\r\nRESET\r\nPING\r\n",
    "AUTH PASSWORD\r\nHELLO 3\r\n",
    "RESET\r\nQUIT\r\nPING\r\n",
    "*10\r\n*11\r\nPING\r\n",
    "*11\r\n",
    "*1\r\n$16385\r\n",
    "*1\r\n$536870913\r\n",
    "AUTH PASSWORD\r\n*11\r\n",
    "POST /\r\nPING\r\n",
    "HELLO 3 AUTH default PASSWORD x\r\nPING\r\n",
    "HELLO 3 AUTH default wrong x\r\nHELLO 3 SETNAME x\r\nHELLO 3 AUTH default PASSWORD\r\nCLIENT GETNAME\r\n",
];

/// Answered differently from Redis: the input, our answer, and why.
const OTHERWISE: &[(&str, &str, &str)] = &[
    (
        "INCRBY a 0\r\nINCRBY a -1\r\n",
        "-ERR bad_count a range of ids has a length of at least 1: the numbers of a tag never go \
         back, or ids would come twice\r\n-ERR bad_count a range of ids has a length of at least \
         1: the numbers of a tag never go back, or ids would come twice\r\n",
        "ids never go back",
    ),
    (
        "SET a 1\r\n",
        "-ERR SET would repeat ids: the numbers of a tag are never set. INCR takes the next id; \
         the start of a tag is set when it is created\r\n",
        "ids are not set",
    ),
    (
        "MULTI\r\nDEL a\r\nINCR x\r\nEXEC\r\nGET x\r\n",
        "+OK\r\n-ERR DEL would repeat ids: in Redis the counter would start again at 1. To delete a \
         tag, use leafid tag delete\r\n+QUEUED\r\n-EXECABORT \
         Transaction discarded because of previous errors.\r\n$-1\r\n",
        "what is refused breaks the transaction before any id is taken",
    ),
    (
        "WATCH a\r\n",
        "-ERR WATCH has nothing to watch: each id is issued once, however many clients take ids. \
         Leave it out\r\n",
        "an answer of OK would promise something",
    ),
    (
        "SELECT 1\r\n",
        "-ERR DB index is out of range\r\n",
        "there is one database",
    ),
    (
        "*1025\r\nPING\r\n",
        "-ERR Protocol error: invalid multibulk length\r\n",
        "a tighter bound",
    ),
    (
        "*2\r\n$4\r\nPING\r\n$16385\r\n",
        "-ERR Protocol error: invalid bulk length\r\n",
        "a tighter bound",
    ),
    (
        "CLIENT SETINFO lib-name x\r\nCLIENT SETINFO lib-ver \"a b\"\r\nCLIENT SETINFO y z\r\n",
        "+OK\r\n-ERR lib-ver cannot contain spaces, newlines or special characters.\r\n-ERR \
         Unrecognized option 'y'\r\n",
        "as Redis 7.2, because every client sends it",
    ),
    (
        "INCR \" x\"\r\n",
        "-ERR bad_tag a tag must not start or end with white space\r\n",
        "a tag has to be a name in every store",
    ),
    (
        "*2\r\n$4\r\nINCR\r\n$1\r\n\u{80}\r\n",
        "-ERR bad_tag a tag is a text in UTF-8\r\n",
        "a tag has to be a name in every store",
    ),
    (
        "CONFIG SET save x\r\n",
        "-ERR settings are not changed through the Redis protocol: see leafid serve --help\r\n",
        "settings are the operator's",
    ),
    (
        "ID.NEXT id\r\nID.NEXT id 2\r\nID.RANGE id 10\r\nGET id\r\n",
        "$1\r\n1\r\n*2\r\n$1\r\n2\r\n$1\r\n3\r\n*2\r\n$1\r\n4\r\n$2\r\n13\r\n$2\r\n13\r\n",
        "a command of ours",
    ),
    (
        "ID.NEXT id 0\r\nID.NEXT id x\r\nID.NEXT id 1 2\r\nID.RANGE id 0\r\nID.RANGE id x\r\n",
        "-ERR bad_count count is 0: ask for 1 to 10000\r\n-ERR value is not an integer or out of \
         range\r\n-ERR syntax error\r\n-ERR bad_count a range of ids has a length of at least 1: \
         the numbers of a tag never go back, or ids would come twice\r\n-ERR value is not an \
         integer or out of range\r\n",
        "a command of ours",
    ),
    (
        "ID.DECODE 1169786042799259000 leaf\r\nID.DECODE x\r\nID.DECODE 1 2 3\r\n",
        "*16\r\n$2\r\nid\r\n$19\r\n1169786042799259000\r\n$6\r\nlayout\r\n$4\r\nleaf\r\n$4\r\n\
         time\r\n$24\r\n2019-09-06T01:35:00.834Z\r\n$7\r\nunix_ms\r\n$13\r\n1567733700834\r\n\
         $4\r\ntick\r\n$12\r\n278898726177\r\n$9\r\nworker_id\r\n:39\r\n$8\r\nsequence\r\n$4\r\n\
         3448\r\n$5\r\nmarks\r\n*0\r\n-ERR bad_field an id is a whole number of at most 64 bits in \
         decimal, or a text of a family\r\n-ERR syntax error\r\n",
        "a command of ours",
    ),
    (
        "HELLO 3\r\nID.DECODE 175928847299117063 discord\r\n",
        "%7\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n\
         :3\r\n$2\r\nid\r\n:N\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\
         \r\n$7\r\nmodules\r\n*0\r\n%10\r\n$2\r\nid\r\n$18\r\n175928847299117063\r\n$6\r\nlayout\
         \r\n$7\r\ndiscord\r\n$4\r\ntime\r\n$24\r\n2016-04-30T11:18:25.796Z\r\n$7\r\nunix_ms\r\n\
         $13\r\n1462015105796\r\n$4\r\ntick\r\n$11\r\n41944705796\r\n$9\r\nworker_id\r\n:32\r\n\
         $11\r\ndata_center\r\n:1\r\n$21\r\nworker_in_data_center\r\n:0\r\n$8\r\nsequence\r\n$1\
         \r\n7\r\n$5\r\nmarks\r\n*0\r\n",
        "a command of ours",
    ),
];

#[test]
fn answers_are_those_of_redis() {
    let redis = Redis::start();
    redis.command(&["CONFIG", "SET", "requirepass", ""]);
    let server = TestServer::new();
    let both = Both::new(&redis, &server);
    for input in ALIKE {
        both.check(input.as_bytes());
    }
    for (sign, len) in [("", 65_537), ("*", 65_536), ("*1\r\n$", 65_537)] {
        both.check(format!("{sign}{}", "1".repeat(len)).as_bytes());
    }
    let long = "x".repeat(200);
    both.check(format!("FOO {long} b\r\n{long} {}\r\n", "x ".repeat(100)).as_bytes());
    for (input, expected, why) in OTHERWISE {
        let (theirs, ours) = both.ask(input.as_bytes());
        assert_eq!(ours, *expected, "{input:?}: {why}");
        assert_ne!(ours, theirs, "{input:?} is answered alike by now");
    }
}

#[test]
fn answers_before_a_password_are_those_of_redis() {
    let redis = Redis::start();
    let [password, _] = redis.passwords();
    let mut app = TokenSpec::new("app", password);
    app.is_admin = true;
    let config = Config {
        tokens: vec![app],
        ..Config::default()
    };
    let server = TestServer::with(&config, Limits::default());
    let both = Both::new(&redis, &server);
    for input in ALIKE_BEFORE_AUTH {
        both.check(input.replace("PASSWORD", password).as_bytes());
    }
}

/// A redis-server and ours.
struct Both {
    redis: SocketAddr,
    ours: SocketAddr,
}

impl Both {
    fn new(redis: &Redis, server: &TestServer) -> Self {
        Self {
            redis: SocketAddr::from(([127, 0, 0, 1], redis.port())),
            ours: server.addresses.resp.unwrap(),
        }
    }

    fn check(&self, input: &[u8]) {
        let (theirs, ours) = self.ask(input);
        let shown = String::from_utf8_lossy(&input[..input.len().min(200)]).into_owned();
        assert_eq!(ours, theirs, "ours and theirs differ on {shown:?}");
    }

    fn ask(&self, input: &[u8]) -> (String, String) {
        (answers(self.redis, input), answers(self.ours, input))
    }
}

/// Sends bytes on a separate connection, closes the sending side, and returns the answer.
fn answers(address: SocketAddr, input: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).unwrap();
    stream.write_all(input).unwrap();
    // The server may be gone already.
    let _told = stream.shutdown(Shutdown::Write);
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers).unwrap();
    without_number(&String::from_utf8_lossy(&answers))
}

/// Without the number of the connection in HELLO's answer.
fn without_number(answers: &str) -> String {
    const BEFORE: &str = "$2\r\nid\r\n:";
    let mut parts = answers.split(BEFORE);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|digit: char| digit.is_ascii_digit());
        text += &format!("{BEFORE}N{rest}");
    }
    text
}
