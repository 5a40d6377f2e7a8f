//! Start to the first durable id with the embedded store, and resident memory when idle.

use std::thread;
use std::time::Duration;

use crate::median;
use crate::serve::Serve;

const STARTS: usize = 20;

pub(crate) fn run() {
    let (mut fresh, mut again, mut idle) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data_dir = folder.path().to_str().expect("a plain path");
        for times in [&mut fresh, &mut again] {
            let serve = Serve::start(&["--data-dir", data_dir]);
            times.push(serve.first_answer("/api/segment/get/order").as_secs_f64() * 1e3);
            thread::sleep(Duration::from_millis(700));
            #[expect(clippy::cast_precision_loss, reason = "a figure needs no 53 bits")]
            idle.push(serve.resident_kib() as f64 / 1024.0);
        }
    }
    println!(
        "{STARTS} starts of `leafid serve`, from exec to the first id over HTTP, embedded store"
    );
    println!("| | median | min | max |\n| --- | --- | --- | --- |");
    print("start on an empty folder, ms", fresh);
    print("start on an existing database, ms", again);
    print("resident memory when idle, MiB", idle);
}

fn print(name: &str, figures: Vec<f64>) {
    let min = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let max = figures.iter().copied().fold(0.0, f64::max);
    println!("| {name} | {:.1} | {min:.1} | {max:.1} |", median(figures));
}
