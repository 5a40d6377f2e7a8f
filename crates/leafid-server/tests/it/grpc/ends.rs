//! Guards how connections end: those that are not used, and those of peers that do not read.

use std::time::Duration;

use leafid::{Clock as _, SystemClock};
use leafid_server::{Config, Limits};

use super::frames::{GOAWAY, PREFACE, Raw};
use crate::site::Site;

/// Guards: a channel that is opened ahead of use has the time of one between two calls, and is
/// told when that is over, so that no call is lost on it.
#[test]
fn a_connection_without_a_call_is_told_to_go() {
    let limits = Limits {
        first_head_max: Duration::from_millis(50),
        idle_max: Duration::from_millis(400),
        ..Limits::default()
    };
    let site = Site::with(&Config::default(), limits);
    let clock = SystemClock::new();
    let begun = clock.now();
    let mut raw = Raw::new(&site, 65_535);
    // Once, or a first time and then with the last stream there is.
    let kinds = raw.kinds_to_end();
    assert!(
        !kinds.is_empty() && kinds.iter().all(|kind| *kind == GOAWAY),
        "{kinds:?}"
    );
    assert!(
        clock.now() - begun >= limits.idle_max,
        "it was told too early"
    );
}

/// Guards: who has not said whether it speaks HTTP/2 has less time, and is told nothing.
#[test]
fn a_connection_that_does_not_speak_http2_is_closed() {
    let limits = Limits {
        first_head_max: Duration::from_millis(50),
        idle_max: Duration::from_secs(600),
        ..Limits::default()
    };
    let site = Site::with(&Config::default(), limits);
    for said in [&b""[..], &PREFACE[..23]] {
        let mut raw = Raw::mute(&site);
        raw.say(said);
        assert_eq!(raw.kinds_to_end(), [0; 0], "after {said:?}");
    }
}
