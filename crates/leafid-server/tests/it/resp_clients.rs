//! The Redis front end with the tools that come with Redis: `redis-cli` and `redis-benchmark`.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::test_server::TestServer;

fn tool(server: &TestServer, name: &str) -> Command {
    let port = server.addresses.resp.unwrap().port();
    let mut command = Command::new(name);
    command.args(["-h", "127.0.0.1", "-p", &port.to_string()]);
    command
}

/// Runs a tool with this input; returns its output.
fn run(command: &mut Command, input: &str) -> String {
    let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = pipes.stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn redis_cli_takes_ids() {
    let server = TestServer::new();
    let cli = |words: &[&str]| run(tool(&server, "redis-cli").args(words), "");
    assert_eq!(cli(&["INCR", "order"]), "1\n");
    assert_eq!(cli(&["-3", "INCRBY", "order", "10"]), "11\n");
    assert_eq!(cli(&["-n", "0", "GET", "order"]), "11\n");
    assert_eq!(cli(&["-r", "3", "INCR", "order"]), "12\n13\n14\n");
    assert_eq!(cli(&["ID.RANGE", "order", "5"]), "15\n19\n");
    let refused = cli(&["SET", "order", "1"]);
    assert!(refused.starts_with("ERR SET would repeat ids"));
    // As in a terminal: the commands are read from the input, after COMMAND DOCS.
    let typed = "INCR order\nMULTI\nINCR order\nINCR order\nEXEC\n";
    let printed = run(&mut tool(&server, "redis-cli"), typed);
    assert_eq!(printed, "20\nOK\nQUEUED\nQUEUED\n21\n22\n");
}

#[test]
fn redis_cli_sends_a_whole_file() {
    let server = TestServer::new();
    let commands = "*2\r\n$4\r\nINCR\r\n$5\r\norder\r\n".repeat(10_000);
    let printed = run(tool(&server, "redis-cli").arg("--pipe"), &commands);
    assert!(printed.contains("errors: 0, replies: 10000"), "{printed}");
    assert_eq!(server.last("order"), 10_000);
}

#[test]
fn redis_benchmark_runs_without_a_complaint() {
    let server = TestServer::new();
    for arguments in ["-P 1", "-P 16 -c 20", "-P 128 -3"] {
        let before = server.last("counter:__rand_int__");
        let mut benchmark = tool(&server, "redis-benchmark");
        benchmark.args(["-t", "incr", "-n", "20000", "--csv"]);
        let printed = run(benchmark.args(arguments.split(' ')), "");
        assert!(printed.contains("\"INCR\""), "{arguments}: {printed}");
        assert!(!printed.contains("WARN"), "{arguments}: {printed}");
        let last = server.last("counter:__rand_int__");
        assert!(last >= before + 20_000, "{last}");
    }
}
