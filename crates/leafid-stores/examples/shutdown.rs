//! What to do about errors, and how to end.
#![expect(clippy::print_stdout, reason = "an example says what it does")]

use std::time::Duration;

use leafid::{ErrorKind, Generator, Id, IssueError};
use leafid_stores::Connector;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (ids, driver) = Connector::new("sqlite:ids.db").build().await?;
    let driver = tokio::spawn(driver);
    let orders = ids.ensure_tag("order").await?;
    println!("order {}", next(&orders).await?);

    if let Err(error) = ids.next("misspelt").await {
        println!("{:?}: {error}", error.kind());
    }

    ids.stop(); // what is in memory can still be taken
    driver.await?;
    println!("order {}", orders.try_next()?);
    Ok(())
}

/// Tries again while that makes sense, for about a minute.
async fn next(orders: &Generator) -> Result<Id, IssueError> {
    for _ in 0..60 {
        match orders.next().await {
            Err(error)
                if error.kind() == ErrorKind::Busy || error.kind() == ErrorKind::StoreDown =>
            {
                let wait = error.retry_after().unwrap_or(Duration::from_secs(1));
                tokio::time::sleep(wait).await;
            }
            // A limit, a wrong password, a tag that does not exist: an operator has to act.
            done => return done,
        }
    }
    orders.next().await
}

#[cfg(test)]
mod support;

#[cfg(test)]
mod tests {
    use super::support::{Example, check_shown};

    /// Guards that a program can tell errors apart, and ends in order.
    #[test]
    fn it_runs() {
        let Some(mut example) = Example::start("tests::it_runs", super::main, &[]) else {
            return;
        };
        assert_eq!(example.read("order "), "1");
        let error = example.read("NotFound: ");
        assert!(error.contains("misspelt"), "{error}");
        assert_eq!(example.read("order "), "2");
        example.finish();
    }

    /// Guards that what the docs show is what runs.
    #[test]
    fn it_is_shown() {
        check_shown(include_str!("shutdown.rs"), "docs/library.md");
    }
}
