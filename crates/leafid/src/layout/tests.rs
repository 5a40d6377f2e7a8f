//! Guards the arithmetic against ids of the systems that the presets come from, at every edge, and
//! by sampling.

use super::civil::Instant;
use super::*;

/// 2026-11-21T00:00:00Z.
const NOW: i64 = 1_795_219_200_000;

fn ms_of(text: &str) -> i64 {
    let epoch: Epoch = text.parse().unwrap();
    epoch.unix_ms()
}

fn layout_of(text: &str) -> Layout {
    text.parse().unwrap()
}

/// Checks that an id decodes to these parts, and that composing them gives the same id. Worker ids
/// are given as the data centre, if there is one, and the rest.
#[track_caller]
fn check(layout: Layout, id: u64, time: &str, worker: (Option<u32>, u32), sequence: u64) {
    let parts = layout.decompose(id);
    let text = Instant {
        unix_ms: parts.unix_ms,
    };
    assert_eq!(text.to_string(), time, "{layout} {id}");
    let found = (parts.data_center, parts.worker_in_data_center);
    assert_eq!((found, parts.sequence), (worker, sequence), "{layout} {id}");
    assert_eq!(layout.tick_of(parts.unix_ms), Some(parts.tick));
    assert_eq!(layout.try_compose(parts.fields()).map(Id::get), Ok(id));
    assert_eq!(layout.compose(parts.fields()).get(), id);
}

#[test]
fn ids_of_twitter_and_leaf() {
    let twitter = Layout::TWITTER;
    let (time, worker) = ("2010-11-04T01:42:54.658Z", (Some(1), 1));
    check(twitter, 4_329_472, time, worker, 0);
    let (time, worker) = ("2010-11-04T01:42:54.657Z", (Some(31), 31));
    check(twitter, 4_194_303, time, worker, 4095);
    let (time, worker) = ("2022-06-28T16:07:40.105Z", (Some(11), 26));
    check(twitter, 1_541_815_603_606_036_480, time, worker, 0);
    let leaf = "2019-09-06T01:35:00.834Z";
    check(
        Layout::LEAF,
        1_169_786_042_799_259_000,
        leaf,
        (None, 39),
        3448,
    );
    let handbook = layout_of("twitter@2015-01-01T00:00:00+08:00");
    let (time, worker) = ("2019-12-27T06:25:00.838Z", (Some(0), 0));
    check(handbook, 660_125_991_150_026_752, time, worker, 0);
    let ecp_uid = layout_of("twitter@1514131200000");
    let parts = ecp_uid.decompose(91_543_914_239_533_056);
    assert_eq!(
        parts.unix_ms / 1000,
        ms_of("2018-09-03T14:42:49+08:00") / 1000
    );
    let worker = (parts.data_center, parts.worker_in_data_center);
    assert_eq!((worker, parts.sequence), ((Some(12), 10), 0));
}

#[test]
fn ids_of_discord() {
    let check = |id, time, worker, process, sequence| {
        check(Layout::DISCORD, id, time, (Some(worker), process), sequence);
    };
    check(175_928_847_299_117_063, "2016-04-30T11:18:25.796Z", 1, 0, 7);
    check(266_241_948_824_764_416, "2017-01-04T16:30:27.136Z", 1, 0, 0);
    check(90_339_695_967_350_784, "2015-09-07T06:57:41.949Z", 0, 3, 0);
    check(
        937_847_820_382_261_308,
        "2022-01-31T23:12:24.749Z",
        1,
        5,
        60,
    );
    let last = Layout::DISCORD.decompose(u64::MAX);
    assert_eq!(last.tick, Layout::DISCORD.ticks_max());
    let error = Layout::DISCORD.try_compose(last.fields()).unwrap_err();
    assert!(error.to_string().contains("which is not an id"), "{error}");
}

#[test]
fn ids_of_instagram() {
    let instagram = Layout::INSTAGRAM;
    let parts = instagram.decompose(11_637_205_501_278_089);
    let found = (parts.tick, parts.worker.get(), parts.sequence);
    assert_eq!(found, (1_387_263_000, 1341, 905));
    let (id, time) = (2_397_296_212_031_050_759, "2020-09-13T12:26:40Z");
    check(instagram, id, time, (None, 5), 7);
}

#[test]
fn ids_of_sonyflake() {
    let parts = Layout::SONYFLAKE_V1.decompose(16_908_291);
    let found = (parts.tick, parts.worker.get(), parts.sequence);
    assert_eq!(found, (1, 3, 2));
    let (id, time) = (569_093_904_138_567_938, "2025-06-01T00:00:00Z");
    check(Layout::SONYFLAKE_V1, id, time, (None, 0x0102), 5);
}

#[test]
fn ids_of_baidu() {
    let own = layout_of("time29x1s/worker21/sequence13@2016-09-20T00:00:00+08:00");
    let id = 180_363_646_902_239_241;
    assert_eq!(own.decompose(id).tick, 10_498_546);
    check(own, id, "2017-01-19T04:15:46Z", (None, 4), 9);
    check(Layout::BAIDU, id, "2016-07-19T10:07:53Z", (None, 4), 9);
    assert_eq!(Layout::BAIDU.decompose(id).tick, 5_249_273);
    let first = "2016-05-19T16:00:01Z";
    check(Layout::BAIDU, 34_359_746_561, first, (None, 1), 1);
    let id = 3_435_973_836_800_032_777;
    assert_eq!(Layout::BAIDU.decompose(id).tick, 100_000_000);
    check(Layout::BAIDU, id, "2019-07-21T01:46:40Z", (None, 4), 9);
    let (last, worker) = ("2024-11-20T13:24:15Z", (None, (1 << 22) - 1));
    check(Layout::BAIDU, i64::MAX as u64, last, worker, 8191);
    let own = layout_of("time29x1s/worker21/sequence13@2017-12-25T00:00:00+08:00");
    let (id, time) = (374_964_732_433_530_880, "2018-09-03T06:43:40Z");
    assert_eq!(own.decompose(id).tick, 21_825_820);
    check(own, id, time, (None, 0), 0);
}

#[test]
fn layouts_end_when_their_bits_of_time_are_used_up() {
    let check = |layout: Layout, end: &str| {
        assert_eq!(layout.end_unix_ms(), ms_of(end), "{layout}");
        let last = layout.tick_of(layout.end_unix_ms());
        assert_eq!(last, Some(layout.ticks_max()), "{layout}");
        assert_eq!(layout.tick_of(layout.end_unix_ms() + 1), None, "{layout}");
        let epoch_ms = layout.epoch().unix_ms();
        assert_eq!(layout.tick_of(epoch_ms), Some(0), "{layout}");
        assert_eq!(layout.tick_of(epoch_ms - 1), None, "{layout}");
    };
    check(Layout::LEAF, "2080-07-10T17:30:30.208Z");
    check(Layout::TWITTER, "2080-07-10T17:30:30.208Z");
    check(Layout::BAIDU, "2024-11-20T21:24:15.999+08:00");
    check(Layout::SONYFLAKE_V1, "2188-11-16T03:28:58.879Z");
    check(Layout::SONYFLAKE_V2, "2199-03-19T03:28:58.879Z");
    check(Layout::JS53, "2089-08-30T07:47:35.551Z");
    check(Layout::JS53_SECONDS, "2088-01-11T19:14:07.999Z");
    check(Layout::INSTAGRAM, "2046-06-27T17:00:49.496Z");
    check(Layout::DISCORD, "2154-05-15T07:35:11.103Z");
    check(Layout::WIDE, "2060-11-03T19:53:47.775Z");
}

#[test]
fn a_tick_is_rounded_down() {
    let sonyflake = Layout::SONYFLAKE_V2;
    let start = sonyflake.epoch().unix_ms();
    assert_eq!(sonyflake.tick_of(start + 9), Some(0));
    assert_eq!(sonyflake.tick_of(start + 10), Some(1));
    assert_eq!(sonyflake.unix_ms_of(1), start + 10);
    let baidu = Layout::BAIDU;
    assert_eq!(baidu.tick_of(baidu.epoch().unix_ms() + 1_999), Some(1));
    for extreme in [i64::MIN, i64::MAX] {
        assert_eq!(baidu.tick_of(extreme), None);
    }
}

#[test]
fn presets_have_their_bits() {
    for (name, layout) in Layout::PRESETS {
        let total = match name {
            "js53" | "js53-seconds" => 53,
            "discord" => 64,
            _ => 63,
        };
        assert_eq!(layout.total_bits(), total, "{name}");
        assert_eq!(layout.number_max().count_ones(), total, "{name}");
        let last = layout.decompose(layout.number_max());
        let found = (last.tick, last.worker.get(), last.sequence);
        let largest = (
            layout.ticks_max(),
            layout.worker_max(),
            layout.sequence_max(),
        );
        assert_eq!(found, largest, "{name}");
        let remade = Layout::new(spec_of(layout));
        assert_eq!(remade.ok(), (total != 64).then_some(layout), "{name}");
    }
    assert_eq!(Layout::JS53.number_max(), 9_007_199_254_740_991);
    assert_eq!(Layout::WIDE.sequence_max() + 1, 131_072);
}

fn spec_of(layout: Layout) -> LayoutSpec {
    LayoutSpec {
        time_bits: layout.time_bits(),
        worker_bits: layout.worker_bits(),
        data_center_bits: layout.data_center_bits(),
        sequence_bits: layout.sequence_bits(),
        shard_bits: layout.shard_bits(),
        unit: layout.unit(),
        epoch: layout.epoch(),
        sequence_place: layout.sequence_place(),
    }
}

#[test]
fn widths_that_make_no_layout_are_refused() {
    let leaf = spec_of(Layout::LEAF);
    let check = |spec: LayoutSpec, expected: &str| {
        let error = Layout::new(spec).unwrap_err().to_string();
        assert!(error.contains(expected), "{spec:?}: {error}");
    };
    let time_bits = |time_bits| LayoutSpec { time_bits, ..leaf };
    check(time_bits(40), "add up to 62 bits");
    check(time_bits(42), "add up to 64 bits");
    check(time_bits(u32::MAX), "add up to 4294967295 bits");
    let sequence_bits = 53;
    let spec = LayoutSpec {
        sequence_bits,
        ..time_bits(0)
    };
    check(spec, "no bits of time");
    let (time_bits, worker_bits) = (30, 33);
    let spec = LayoutSpec {
        time_bits,
        worker_bits,
        sequence_bits: 0,
        ..leaf
    };
    check(spec, "33 bits: give it at most 32");
    let data_center_bits = 11;
    let spec = LayoutSpec {
        data_center_bits,
        ..leaf
    };
    check(spec, "the data centre has 11 bits and the worker id 10");
}

#[test]
fn fields_out_of_range_are_named() {
    let check = |tick, worker, sequence, expected: &str| {
        let worker = WorkerId::new(worker);
        let fields = Fields {
            tick,
            worker,
            sequence,
            shard: 0,
        };
        let error = Layout::LEAF.try_compose(fields).unwrap_err();
        assert_eq!(error.to_string(), expected);
    };
    let tick = "the tick is 2199023255552: this layout has room for 0 to 2199023255551";
    check(1 << 41, 0, 0, tick);
    let worker = "the worker id is 1024: this layout has room for 0 to 1023";
    check(1, 1024, 0, worker);
    let sequence = "the sequence is 4096: this layout has room for 0 to 4095";
    check(1, 0, 4096, sequence);
    let nothing = "these fields make 0, which is not an id: an id lies between 1 and 2^63 - 1";
    check(0, 0, 0, nothing);
}

#[test]
fn a_layout_that_ended_is_refused_with_what_to_do() {
    let error = Layout::BAIDU.check(NOW).unwrap_err().to_string();
    assert_eq!(
        error,
        "the layout baidu ended at 2024-11-20T13:24:15Z: its 28 bits of time are exhausted; issue \
         with a layout that has more of them, or, if no id made with this one is still in use, \
         with an epoch of your own, such as baidu@2026-01-01T00:00:00Z"
    );
    assert_eq!(layout_of("baidu@2026-01-01T00:00:00Z").check(NOW), Ok(None));
    let error = Layout::DISCORD.check(NOW).unwrap_err().to_string();
    assert!(
        error.contains("has 64 bits and is for decoding only"),
        "{error}"
    );
}

#[test]
fn an_epoch_must_be_past_by_a_tick() {
    for (layout, unit_ms) in [(Layout::WIDE, 1), (Layout::SONYFLAKE_V2, 10)] {
        let epoch_ms = layout.epoch().unix_ms();
        let error = layout.check(epoch_ms + unit_ms - 1).unwrap_err();
        assert!(matches!(error, LayoutError::EpochNotPast { .. }));
        assert_eq!(layout.check(epoch_ms + unit_ms), Ok(None));
    }
    let error = layout_of("leaf@2030-01-01T00:00:00Z").check(NOW);
    let error = error.unwrap_err().to_string();
    let expected = "the epoch 2030-01-01T00:00:00Z is not past, it is 2026-11-21T00:00:00Z now";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn the_last_three_years_are_warned_of() {
    let leaf = Layout::LEAF;
    let end = leaf.end_unix_ms();
    let day_ms = civil::DAY_MS;
    assert_eq!(leaf.check(end - 1096 * day_ms), Ok(None));
    let warning = leaf.check(end - 1096 * day_ms + 1).unwrap().unwrap();
    assert_eq!((warning.end_unix_ms(), warning.days_left()), (end, 1095));
    assert_eq!(
        warning.to_string(),
        "the layout leaf ends at 2080-07-10T17:30:30.208Z, in 1095 days: it issues no id after \
         that; move to a layout with more bits of time before"
    );
    assert_eq!(leaf.check(end).unwrap().unwrap().days_left(), 0);
    assert!(leaf.check(end + 1).is_err());
}

/// A layout with random widths; a failure prints them.
fn any_layout(random: &mut fastrand::Rng) -> Layout {
    let total = *random.choice(&[53, 63]).unwrap();
    let time_bits = random.u32(20..=48);
    let worker_bits = random.u32(0..=(total - time_bits).min(32));
    let counted_bits = total - time_bits - worker_bits;
    let shard_bits = random.u32(0..=counted_bits.min(16));
    let spec = LayoutSpec {
        time_bits,
        worker_bits,
        data_center_bits: random.u32(0..=worker_bits),
        sequence_bits: counted_bits - shard_bits,
        shard_bits,
        unit: *random
            .choice(&[TimeUnit::Ms1, TimeUnit::Ms10, TimeUnit::S1])
            .unwrap(),
        epoch: Epoch::from_unix_ms(random.i64(-1 << 40..1 << 42)),
        sequence_place: *random
            .choice(&[SequencePlace::Low, SequencePlace::AboveWorker])
            .unwrap(),
    };
    Layout::new(spec).unwrap()
}

fn any_fields(layout: Layout, random: &mut fastrand::Rng) -> Fields {
    Fields {
        tick: random.u64(1..=layout.ticks_max()),
        worker: WorkerId::new(random.u32(0..=layout.worker_max())),
        sequence: random.u64(0..=layout.sequence_max()),
        shard: random.u32(0..=layout.shard_max()),
    }
}

#[test]
fn samples_come_back_and_ascend() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut seen = 0;
    for round in 0..20_000 {
        let layout = match round % 4 {
            0 => random.choice(&Layout::PRESETS).unwrap().1,
            _ => any_layout(&mut random),
        };
        if layout.total_bits() == 64 {
            continue;
        }
        assert_eq!(layout_of(&layout.to_string()), layout);
        let fields = any_fields(layout, &mut random);
        let id = layout.compose(fields);
        let parts = layout.decompose(id.get());
        assert_eq!(parts.fields(), fields, "{layout}");
        assert_eq!(layout.tick_of(parts.unix_ms), Some(fields.tick), "{layout}");
        let other = Fields {
            worker: fields.worker,
            shard: fields.shard,
            ..any_fields(layout, &mut random)
        };
        let by_time = (other.tick, other.sequence).cmp(&(fields.tick, fields.sequence));
        assert_eq!(
            layout.compose(other).cmp(&id),
            by_time,
            "{layout} {fields:?} {other:?}"
        );
        seen += 1;
    }
    assert!(seen > 15_000, "{seen}");
}

/// Guards that ids of other software are decoded too, whatever their bits.
#[test]
fn every_number_is_decoded_and_composed_again() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    for (_, layout) in Layout::PRESETS {
        for number in [0, 1, i64::MAX as u64, u64::MAX, random.u64(..)] {
            let parts = layout.decompose(number);
            assert_eq!(layout.number(parts.fields()), number, "{layout}");
            let fits = number <= layout.number_max();
            assert_eq!(parts.tick <= layout.ticks_max(), fits, "{layout} {number}");
            let checked = layout.try_decompose(number);
            assert_eq!(checked.ok(), fits.then_some(parts), "{layout} {number}");
        }
    }
}

/// Guards that a shard changes neither the other parts nor the order of ids, and that those which
/// the layout has not are refused.
#[test]
fn shards_are_below_the_other_parts() {
    let layout = layout_of("time41x1ms/worker10/sequence8/shard4@2020-01-01T00:00:00Z");
    assert_eq!((layout.total_bits(), layout.shard_max()), (63, 15));
    let id = |sequence, shard| {
        let fields = Fields {
            tick: 7,
            worker: WorkerId::new(3),
            sequence,
            shard,
        };
        layout.try_compose(fields)
    };
    let (first, last) = (id(0, 0).unwrap(), id(0, 15).unwrap());
    assert_eq!(first.get(), (7 << 18 | 3 << 8) << 4);
    assert!(first < last && last < id(1, 0).unwrap());
    assert_eq!(layout.with_shard(last, 0), Ok(first));
    assert_eq!(layout.decompose(last.get()).shard, Some(15));
    let error = id(0, 16).unwrap_err().to_string();
    assert_eq!(error, "the shard is 16: this layout has room for 0 to 15");
    let error = layout.check_shard(16).unwrap_err().to_string();
    assert!(error.contains("whose largest is 15"), "{error}");
    assert!(Layout::LEAF.with_shard(first, 1).is_err());
    let leaf = spec_of(Layout::LEAF);
    let wide = LayoutSpec {
        sequence_bits: 0,
        time_bits: 36,
        shard_bits: 17,
        ..leaf
    };
    let error = Layout::new(wide).unwrap_err().to_string();
    assert_eq!(error, "the shard has 17 bits: give it at most 16");
}

/// Source of the checksum: the catalogue of CRCs, CRC-32/ISO-HDLC, and `zlib.crc32` of Python.
#[test]
fn keys_have_the_shard_of_their_checksum() {
    let layout = layout_of("time41x1ms/worker10/sequence6/shard6@2020-01-01T00:00:00Z");
    let check = |key: &str, crc: u32| {
        assert_eq!(layout.shard_of_key(key.as_bytes()), Ok(crc % 64), "{key}");
    };
    check("", 0);
    check("123456789", 0xcbf4_3926);
    check("customer 4711", 0xc7b9_971e);
    check("订单", 0xc2c1_5bb3);
    let mut counts = [0_u32; 64];
    for number in 0..64_000 {
        let shard = layout.shard_of_key(format!("customer {number}").as_bytes());
        counts[usize::try_from(shard.unwrap()).unwrap()] += 1;
    }
    assert!(
        counts.iter().all(|count| (700..1300).contains(count)),
        "{counts:?}"
    );
}
