//! A program without an async runtime: driver and store get a thread of their own.
#![expect(clippy::print_stdout, reason = "an example shows its ids")]

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ids = leafid_stores::blocking::connect("sqlite:ids.db")?;
    let orders = ids.ensure_tag_blocking("order")?;

    // Each thread takes 256 ids at a time, and issues them without touching shared memory.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let mut block = orders.block(256);
            scope.spawn(move || (0..1000).try_for_each(|_| block.next_blocking().map(drop)));
        }
    });
    println!("order {}", orders.next_blocking()?);
    Ok(())
}

#[cfg(test)]
mod support;

#[cfg(test)]
mod tests {
    use super::support::{Example, check_shown};

    /// Guards that a plain `main` gets ids: 1000 on each of 4 threads, by the block.
    #[test]
    fn it_runs() {
        let Some(mut example) = Example::start("tests::it_runs", super::main, &[]) else {
            return;
        };
        let order: u64 = example.read("order ").parse().expect("an id");
        assert!(order > 4000, "{order}");
        example.finish();
    }

    /// Guards that what the docs show is what runs.
    #[test]
    fn it_is_shown() {
        check_shown(include_str!("no_runtime.rs"), "docs/library.md");
    }
}
