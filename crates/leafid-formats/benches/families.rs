//! Ids of families as text, one by one and in batches, beside the crates `uuid` and `ulid`.
//!
//! ```text
//! cargo bench -p leafid-formats --bench families
//! ```
//!
//! Each case appends the id to a text that has room for it, so that every allocation shown is one
//! that the generator makes. The crate `uuid` has its feature `fast-rng`, without which it asks the
//! operating system for random bits at each id.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use divan::{AllocProfiler, Bencher, black_box};
use leafid::store::BoxFuture;
use leafid::{Clock, Family, SystemClock};
use leafid_formats::{Families, FamilyFormat, decode, recognise};
use uuid::Uuid;

#[global_allocator]
static ALLOCATOR: AllocProfiler = AllocProfiler::system();

static FAMILIES: LazyLock<Families> = LazyLock::new(|| Families::new(Arc::new(SystemClock::new())));

/// A clock that costs nothing to read: what is left is the work of the family itself.
struct StillClock;

impl Clock for StillClock {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn wall(&self) -> Duration {
        Duration::from_millis(1_795_305_600_000)
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

fn main() {
    divan::main();
}

fn usual(family: Family) -> FamilyFormat {
    FamilyFormat::compile(family, None).expect("each family has a usual form")
}

/// Appends to a text that is emptied before each id.
fn append(bencher: Bencher, mut push: impl FnMut(&mut String)) {
    let mut text = String::with_capacity(128);
    bencher.bench_local(|| {
        text.clear();
        push(&mut text);
        black_box(text.len())
    });
}

#[divan::bench(args = Family::ALL, sample_size = 1000)]
fn push_next(bencher: Bencher, family: Family) {
    let format = usual(family);
    append(bencher, |text| {
        FAMILIES
            .push_next(&format, text)
            .expect("the clock is right");
    });
}

#[divan::bench(args = [Family::Uuid4, Family::Uuid7, Family::Ulid], sample_size = 1000)]
fn push_next_still_clock(bencher: Bencher, family: Family) {
    let families = Families::new(Arc::new(StillClock));
    let format = usual(family);
    append(bencher, |text| {
        let pushed = families.push_next(&format, text);
        pushed.expect("the clock is right");
    });
}

/// The two ways to notice a fork without unsafe code.
#[divan::bench(sample_size = 1000)]
fn read_clock(bencher: Bencher) {
    let clock = SystemClock::new();
    let clock: &dyn Clock = &clock;
    bencher.bench_local(|| black_box(clock).wall());
}

#[divan::bench(sample_size = 1000)]
fn read_process_id() -> u32 {
    std::process::id()
}

#[divan::bench(threads = [1, 2], sample_size = 1000)]
fn push_next_uuid7(bencher: Bencher) {
    let format = usual(Family::Uuid7);
    bencher
        .with_inputs(|| String::with_capacity(36))
        .bench_refs(|text| {
            FAMILIES
                .push_next(&format, text)
                .expect("the clock is right");
        });
}

#[divan::bench(sample_size = 1000)]
fn push_next_type_id(bencher: Bencher) {
    let format = FamilyFormat::compile(Family::Uuid7, Some("order_{id form=typeid}"));
    let format = format.expect("a TypeID");
    append(bencher, |text| {
        FAMILIES
            .push_next(&format, text)
            .expect("the clock is right");
    });
}

/// A thousand ids a call, each with its own text: divide by 1000 for one id.
#[divan::bench(args = Family::ALL)]
fn next_many_1000(bencher: Bencher, family: Family) {
    let format = usual(family);
    bencher.bench(|| FAMILIES.next_many(&format, 1000));
}

#[divan::bench(sample_size = 1000)]
fn crate_uuid_v1(bencher: Bencher) {
    append(bencher, |text| {
        push_uuid(Uuid::now_v1(&[1, 2, 3, 4, 5, 6]), text);
    });
}

#[divan::bench(sample_size = 1000)]
fn crate_uuid_v4(bencher: Bencher) {
    append(bencher, |text| push_uuid(Uuid::new_v4(), text));
}

#[divan::bench(sample_size = 1000)]
fn crate_uuid_v6(bencher: Bencher) {
    append(bencher, |text| {
        push_uuid(Uuid::now_v6(&[1, 2, 3, 4, 5, 6]), text);
    });
}

#[divan::bench(sample_size = 1000)]
fn crate_uuid_v7(bencher: Bencher) {
    append(bencher, |text| push_uuid(Uuid::now_v7(), text));
}

#[divan::bench(sample_size = 1000)]
fn crate_ulid(bencher: Bencher) {
    append(bencher, |text| {
        text.push_str(ulid::Ulid::generate().array_to_str(&mut [0; 26]));
    });
}

/// Monotonic, on one thread.
#[divan::bench(sample_size = 1000)]
fn crate_ulid_generator(bencher: Bencher) {
    let mut generator = ulid::Generator::new();
    append(bencher, |text| {
        let id = generator.generate().expect("80 bits do not overflow");
        text.push_str(id.array_to_str(&mut [0; 26]));
    });
}

fn push_uuid(uuid: Uuid, text: &mut String) {
    text.push_str(uuid.hyphenated().encode_lower(&mut [0; 36]));
}

#[divan::bench(sample_size = 1000)]
fn decode_uuid7() -> bool {
    decode(
        Family::Uuid7,
        black_box("017f22e2-79b0-7cc3-98c4-dc0c0c07398f"),
    )
    .is_ok()
}

#[divan::bench(args = ["017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "175928847299117063"])]
fn recognise_text(text: &str) -> usize {
    recognise(text, 1_795_305_600_000).len()
}
