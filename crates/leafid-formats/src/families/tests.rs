//! What every family promises: order, uniqueness, the shape of its text, no allocation.

use std::sync::Arc;
use std::time::Duration;

use leafid::{Clock as _, Family, ManualClock};

use super::{Families, FamilyError, FamilyFormat};

fn manual() -> (ManualClock, Families) {
    let clock = ManualClock::new();
    let families = Families::new(Arc::new(clock.clone()));
    (clock, families)
}

fn usual(family: Family) -> FamilyFormat {
    FamilyFormat::compile(family, None).unwrap()
}

fn next(families: &Families, format: &FamilyFormat) -> String {
    let mut text = String::new();
    families.push_next(format, &mut text).unwrap();
    text
}

const IN_ORDER: [Family; 6] = [
    Family::CosId,
    Family::Uuid6,
    Family::Uuid7,
    Family::Uuid8,
    Family::Ulid,
    Family::Tsid,
];

#[test]
fn each_text_has_the_length_and_the_symbols_of_its_family() {
    let (_, families) = manual();
    let check = |family: Family, len: usize, symbols: &str| {
        let format = usual(family);
        assert_eq!(format.text_len(), len, "{family}");
        for text in families.next_many(&format, 200).unwrap() {
            assert_eq!(text.len(), len, "{family} {text}");
            assert!(
                text.chars().all(|sign| symbols.contains(sign)),
                "{family} {text}"
            );
        }
    };
    let hex = "0123456789abcdef-";
    for family in [
        Family::Uuid1,
        Family::Uuid4,
        Family::Uuid6,
        Family::Uuid7,
        Family::Uuid8,
    ] {
        check(family, 36, hex);
        let version = &family.name()[4..];
        let text = next(&families, &usual(family));
        assert_eq!(&text[14..15], version);
        assert!("89ab".contains(&text[19..20]), "the variant of {text}");
    }
    let crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let letters_and_digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    check(Family::Ulid, 26, crockford);
    check(Family::Tsid, 13, crockford);
    check(Family::Ksuid, 27, letters_and_digits);
    check(Family::CosId, 15, letters_and_digits);
    check(Family::ObjectId, 24, hex);
    check(Family::Xid, 20, "0123456789abcdefghijklmnopqrstuv");
    check(Family::NanoId, 21, &format!("{letters_and_digits}_-"));
    check(Family::Cuid2, 24, &letters_and_digits[..36]);
}

/// The fixed time shows the bits of the time: 2026-06-01T00:00:00Z.
#[test]
fn times_are_where_their_specification_has_them() {
    let check = |family: Family, begins: &str| {
        let (_, families) = manual();
        let text = next(&families, &usual(family));
        assert!(text.starts_with(begins), "{family} {text} {begins}");
    };
    let ms: u64 = 1_780_272_000_000;
    let seconds: u32 = 1_780_272_000;
    let hex = format!("{ms:012x}");
    check(Family::Uuid7, &format!("{}-{}-7", &hex[..8], &hex[8..]));
    let ticks = 0x01b2_1dd2_1381_4000 + ms * 10_000;
    let hex = format!("{ticks:015x}");
    let uuid6 = format!("{}-{}-6{}", &hex[..8], &hex[8..12], &hex[12..]);
    check(Family::Uuid6, &uuid6);
    let uuid1 = format!("{}-{}-1{}", &hex[7..], &hex[3..7], &hex[..3]);
    check(Family::Uuid1, &uuid1);
    let hex = format!("{:015x}", ms * 100_000);
    let uuid8 = format!("{}-{}-8{}", &hex[..8], &hex[8..12], &hex[12..]);
    check(Family::Uuid8, &uuid8);
    check(Family::ObjectId, &format!("{seconds:08x}"));
}

#[test]
fn ids_ascend_when_the_clock_stands_still_moves_and_goes_back() {
    for family in IN_ORDER {
        let (clock, families) = manual();
        let format = usual(family);
        let mut ids = families.next_many(&format, 5000).unwrap();
        let steps: [i64; 6] = [0, 1, -3_600_000, 0, 1, 3_700_000];
        for step in steps {
            let wall = clock.wall();
            let moved = Duration::from_millis(step.unsigned_abs());
            clock.set_wall(if step < 0 {
                wall.saturating_sub(moved)
            } else {
                wall + moved
            });
            ids.extend((0..5000).map(|_| next(&families, &format)));
            ids.extend(families.next_many(&format, 5000).unwrap());
        }
        assert!(ids.is_sorted_by(|a, b| a < b), "{family}");
    }
}

#[test]
fn ids_of_threads_ascend_and_never_repeat() {
    let clock = Arc::new(leafid::SystemClock::new());
    for family in Family::ALL {
        let families = Families::new(clock.clone());
        let format = usual(family);
        let draw = || {
            (0..5000)
                .map(|_| next(&families, &format))
                .collect::<Vec<_>>()
        };
        let all: Vec<Vec<String>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(draw)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        if IN_ORDER.contains(&family) {
            assert!(
                all.iter().all(|ids| ids.is_sorted_by(|a, b| a < b)),
                "{family}"
            );
        }
        let mut ids = all.concat();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 20_000, "{family}");
    }
}

#[test]
fn two_generators_make_different_ids_at_one_time() {
    let (clock, _) = manual();
    for family in Family::ALL
        .into_iter()
        .filter(|family| *family != Family::Tsid)
    {
        let clock = Arc::new(clock.clone());
        let [one, two] = [Families::new(clock.clone()), Families::new(clock)];
        let mut ids = one.next_many(&usual(family), 1000).unwrap();
        ids.extend(two.next_many(&usual(family), 1000).unwrap());
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), 2000, "{family}");
    }
}

#[test]
fn an_id_allocates_nothing_but_its_text() {
    let families = Families::new(Arc::new(leafid::SystemClock::new()));
    for family in Family::ALL {
        let format = FamilyFormat::compile(family, Some("order-{id}")).unwrap();
        next(&families, &format); // seeds the thread's random bits
        let mut text = String::with_capacity(100 * format.text_len());
        let allocated = allocation_counter::measure(|| {
            for _ in 0..100 {
                families.push_next(&format, &mut text).unwrap();
            }
        });
        assert_eq!(allocated.count_total, 0, "{family}");
        assert_eq!(text.matches("order-").count(), 100);
    }
}

#[test]
fn times_that_a_family_cannot_express_are_refused() {
    let check = |family: Family, wall_s: u64, is_refused: bool| {
        let (clock, families) = manual();
        clock.set_wall(Duration::from_secs(wall_s));
        let mut text = String::from("x");
        let result = families.push_next(&usual(family), &mut text);
        let unix_ms = wall_s * 1000;
        match is_refused {
            true => {
                assert_eq!(result, Err(FamilyError::Clock { family, unix_ms }));
                assert_eq!(text, "x");
            }
            false => assert_eq!(result, Ok(()), "{family} {wall_s}"),
        }
    };
    check(Family::Ksuid, 1_399_999_999, true);
    check(Family::Ksuid, 1_400_000_000, false);
    check(Family::Ksuid, 1_400_000_000 + (1 << 32), true);
    check(Family::Tsid, 1_577_836_799, true);
    check(Family::Tsid, 1_577_836_800, false);
    check(Family::Tsid, 5_975_883_311, false);
    check(Family::Tsid, 5_975_883_312, true);
    check(Family::ObjectId, 0, true);
    check(Family::Xid, 1 << 32, true);
    check(Family::Uuid7, 0, false);
    check(Family::Uuid7, 1 << 34, false);
    check(Family::Ulid, 1 << 33, false);
    check(Family::CosId, 1 << 34, false);
    check(Family::CosId, 17_592_186_045, true);
}

/// The chance that a fair source fails is below one in a billion for each symbol.
#[test]
fn symbols_are_equally_likely() {
    let (_, families) = manual();
    let check = |family: Family, format: &str, skip: usize| {
        let format = FamilyFormat::compile(family, Some(format)).unwrap();
        let mut counts = [0_u32; 128];
        for text in families.next_many(&format, 8000).unwrap() {
            text.bytes()
                .skip(skip)
                .for_each(|byte| counts[usize::from(byte)] += 1);
        }
        let seen: Vec<f64> = counts
            .into_iter()
            .filter(|count| *count > 0)
            .map(f64::from)
            .collect();
        let fair = seen.iter().sum::<f64>() / seen.len() as f64;
        for count in &seen {
            assert!(
                (count - fair).abs() < 6.5 * fair.sqrt(),
                "{format:?} {counts:?}"
            );
        }
        seen.len()
    };
    assert_eq!(check(Family::NanoId, "{id}", 0), 64);
    assert_eq!(check(Family::NanoId, "{id length=40 alphabet=abcde}", 0), 5);
    assert_eq!(
        check(
            Family::NanoId,
            "{id length=30 alphabet=0123456789ABCDEFx}",
            0
        ),
        17
    );
    assert_eq!(check(Family::Cuid2, "{id}", 1), 36);
}
