//! Guards that a shard never makes an id repeat: callers of any shards share one sequence.

use std::collections::HashSet;
use std::sync::Arc;

use leafid::{Layout, ManualClock, Snowflake, SnowflakeOptions, WorkerId};

/// Two bits of sequence, so that ticks end all the time.
const LAYOUT: &str = "time41x1ms/worker16/sequence2/shard4@2020-01-01T00:00:00Z";

#[test]
fn ids_of_all_shards_are_distinct_and_ascend() {
    let layout: Layout = LAYOUT.parse().unwrap();
    let options = SnowflakeOptions::default()
        .with_layout(layout)
        .with_shard(9);
    let clock = Arc::new(ManualClock::new());
    let snowflake = Snowflake::with_options(options, WorkerId::new(3), clock).unwrap();
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut ids = Vec::new();
    let mut counted = HashSet::new();
    while ids.len() < 900 {
        let shard = random.u32(0..=layout.shard_max());
        let taken: Vec<_> = match random.u8(..3) {
            0 => vec![snowflake.try_next().unwrap()],
            1 => {
                let id = snowflake.try_next().unwrap();
                vec![layout.with_shard(id, shard).unwrap()]
            }
            _ => {
                let ids = snowflake.try_next_many(random.u64(1..=3)).unwrap();
                ids.in_shard(shard).unwrap().collect()
            }
        };
        for id in &taken {
            let parts = layout.decompose(id.get());
            assert!(counted.insert((parts.tick, parts.sequence)), "{parts:?}");
        }
        ids.extend(taken);
    }
    assert!(
        ids.is_sorted_by(|a, b| a < b),
        "they ascend whatever their shards"
    );
    let shards: HashSet<_> = ids
        .iter()
        .map(|id| layout.decompose(id.get()).shard)
        .collect();
    assert_eq!(shards.len(), 16);
}

#[test]
fn ids_without_a_key_have_the_shard_of_the_server() {
    let layout: Layout = LAYOUT.parse().unwrap();
    let of = |shard| {
        let options = SnowflakeOptions::default()
            .with_layout(layout)
            .with_shard(shard);
        Snowflake::with_options(options, WorkerId::new(3), Arc::new(ManualClock::new()))
    };
    let ids = of(9).unwrap().try_next_many(20).unwrap();
    assert!(
        ids.clone()
            .all(|id| layout.decompose(id.get()).shard == Some(9))
    );
    assert_eq!(ids.highest(), ids.last());
    assert!(of(16).is_err());
    let leaf = SnowflakeOptions::default().with_shard(1);
    let clock = Arc::new(ManualClock::new());
    let error = Snowflake::with_options(leaf, WorkerId::new(3), clock).unwrap_err();
    assert!(
        error.to_string().contains("shard 1 does not fit"),
        "{error}"
    );
}
