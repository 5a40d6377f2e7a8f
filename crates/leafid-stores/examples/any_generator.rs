//! Segment or snowflake ids, as a setting says, behind one trait.
#![expect(clippy::print_stdout, reason = "an example shows its ids")]

use std::env;
use std::sync::Arc;

use leafid::{GenerateError, IdGenerator, Layout, Snowflake, WorkerId};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let orders: Arc<dyn IdGenerator> = match env::var("ORDER_IDS").as_deref() {
        Ok("snowflake") => Arc::new(Snowflake::with_worker_id(Layout::LEAF, WorkerId::new(7))?),
        _ => {
            let ids = leafid_stores::connect("sqlite:ids.db").await?;
            Arc::new(ids.ensure_tag("order").await?)
        }
    };
    println!("order {}", new_order(&orders).await?);

    let batch = orders.next_many(1000).await?;
    println!("{} more", batch.len());
    Ok(())
}

async fn new_order(ids: &dyn IdGenerator) -> Result<String, GenerateError> {
    Ok(format!("O-{}", ids.next().await?))
}

#[cfg(test)]
mod support;

#[cfg(test)]
mod tests {
    use super::support::{Example, check_shown};

    fn check(test: &str, kind: &str, is_expected: impl Fn(u64) -> bool) {
        let Some(mut example) = Example::start(test, super::main, &[("ORDER_IDS", kind)]) else {
            return;
        };
        let id = example.read("order O-").parse().expect("a number");
        assert!(is_expected(id), "{id}");
        example.finish();
    }

    #[test]
    fn segment_ids_come() {
        check("tests::segment_ids_come", "segment", |id| id == 1);
    }

    #[test]
    fn snowflake_ids_come() {
        check("tests::snowflake_ids_come", "snowflake", |id| id > 1 << 40);
    }

    /// Guards that what the docs show is what runs.
    #[test]
    fn it_is_shown() {
        check_shown(include_str!("any_generator.rs"), "docs/library.md");
    }
}
