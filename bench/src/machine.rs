//! What a table was measured on: the machine, and the versions of the programs beside ours.

use std::fs;
use std::process::Command;

/// Prints it, one line each.
pub(crate) fn print() {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models = || {
        let lines = cpu.lines().filter(|line| line.starts_with("model name"));
        lines.filter_map(|line| Some(line.split_once(':')?.1.trim()))
    };
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let model = models().next().unwrap_or("unknown CPU");
    println!(
        "- machine: {model}, {} cores, Linux {}",
        models().count(),
        kernel.trim()
    );
    let programs = [
        ("nginx", "-v"),
        ("redis-server", "--version"),
        ("wrk", "-v"),
        ("h2load", "--version"),
    ];
    let versions = programs.map(|(program, flag)| version(program, flag));
    println!("- beside: {}", versions.join("; "));
    println!("- servers on core 0, load on core 1; medians of alternating rounds\n");
}

/// The first line of what a program says about its version, on whichever output.
fn version(program: &str, flag: &str) -> String {
    let Ok(output) = Command::new(program).arg(flag).output() else {
        return format!("no {program}");
    };
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().next().unwrap_or_default();
    // wrk and redis-server add who wrote it and how it was built.
    let words: Vec<&str> = line.split_whitespace().take(3).collect();
    words.join(" ")
}
