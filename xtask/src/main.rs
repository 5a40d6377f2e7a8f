//! The project's own commands: `cargo xtask ci` runs every check, `cargo xtask help` lists them.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command for people, whose output is the point"
)]

mod ci;
mod codegen;
mod console;
mod deny;
mod dependencies;
mod loom;
#[cfg(test)]
mod protocol;
mod public_api;
mod run;
mod scripts;
mod tidy;

use std::process::ExitCode;

use anyhow::{Result, bail};

fn main() -> ExitCode {
    match run_command() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run_command() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["help" | "--help" | "-h"] => help(),
        ["ci"] => ci::run_all()?,
        ["ci", "--list"] => ci::list(),
        ["codegen"] => codegen::rewrite()?,
        ["deny"] => deny::run_check()?,
        [name] => ci::run_one(name)?,
        [name, ..] => bail!("{name} takes no further words; cargo xtask help lists the commands"),
    }
    Ok(())
}

fn help() {
    println!("cargo xtask ci          every check, in order; stops at the first failure");
    println!("cargo xtask ci --list   the names of the checks");
    println!("cargo xtask CHECK       one check");
    println!("cargo xtask codegen     rewrites the files that are made from code");
    println!("cargo xtask deny        licences, sources and duplicates of dependencies");
    println!();
    println!("checks:");
    ci::list();
}
