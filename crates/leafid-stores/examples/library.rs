//! Segment ids and snowflake ids from one SQLite file, in the working folder.
#![expect(clippy::print_stdout, reason = "an example shows its ids")]

use std::sync::Arc;

use leafid::store::TagSettings;
use leafid::{Generators, Options, RegistryOptions, SystemClock, WorkerRegistry};
use leafid_stores::{FileJournal, LeaseOptions, StoreOptions, open, open_leases};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = "sqlite:leafid.db".parse()?;
    let store = open(&url, &StoreOptions::default()).await?;
    let options = Options {
        create_missing: Some(TagSettings::default()), // a tag is created on first use
        ..Options::default()
    };
    let clock = Arc::new(SystemClock::new());
    let (generators, driver) = Generators::open_with(store, clock, Arc::new(()), options);
    tokio::spawn(driver);
    let order = generators.next("order").await?;

    let pool = LeaseOptions::new("default");
    let leases = open_leases(&url, &pool, &StoreOptions::default()).await?;
    let journal = FileJournal::open("worker.journal")?;
    let (registry, driver) =
        WorkerRegistry::open(Some(leases), journal, RegistryOptions::default());
    let driver = tokio::spawn(driver);
    let trace = registry.snowflake().next().await?;

    println!("order {order}, trace {trace}");
    registry.stop(); // gives the worker id back
    driver.await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::process::Command;

    /// Says to this test, started anew in a folder of its own, that it is to run the example.
    const RUN: &str = "LEAFID_TEST_RUN_EXAMPLE";

    /// Guards that the example needs nothing but an empty folder.
    #[test]
    fn it_runs_in_an_empty_folder() {
        if env::var_os(RUN).is_some() {
            super::main().expect("the example runs");
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let output = Command::new(env::current_exe().expect("this program"))
            .args(["--exact", "tests::it_runs_in_an_empty_folder"])
            .arg("--nocapture")
            .env(RUN, "1")
            .current_dir(folder.path())
            .output()
            .expect("the program starts");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{output:?}");
        assert!(text.contains("order 1, trace "), "{text}");
    }

    /// Guards that what the README shows is what runs.
    #[test]
    fn it_is_what_the_readme_shows() {
        let readme = include_str!("../../../README.md");
        let (_, rest) = readme.split_once("```rust\n").expect("a Rust example");
        let (shown, _) = rest.split_once("```").expect("its end");
        let file = include_str!("library.rs");
        let (_, code) = file.split_once("\n\n").expect("code below the comment");
        let (code, _) = code.split_once("\n#[cfg(test)]").expect("these tests");
        assert_eq!(shown, code, "copy the example into README.md");
    }
}
