//! Ids from one SQLite file, in the working folder.
#![expect(clippy::print_stdout, reason = "an example shows its ids")]

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ids = leafid_stores::connect("sqlite:ids.db").await?;
    let orders = ids.ensure_tag("order").await?;
    println!("order {}", orders.next().await?);
    Ok(())
}

#[cfg(test)]
mod support;

#[cfg(test)]
mod tests {
    use super::support::{Example, check_shown};

    /// Guards that the example needs nothing but an empty folder.
    #[test]
    fn it_runs() {
        let Some(mut example) = Example::start("tests::it_runs", super::main, &[]) else {
            return;
        };
        assert_eq!(example.read("order "), "1");
        example.finish();
    }

    /// Guards that what the README shows is what runs.
    #[test]
    fn it_is_shown() {
        check_shown(include_str!("library.rs"), "README.md");
    }
}
