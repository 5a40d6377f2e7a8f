//! Guards authentication and authorization, and that quotas change at once.

use std::time::Duration;

use leafid::{ManualClock, Tag};

use super::*;
use crate::config::{TagPattern, TokenScope};

const SECOND: Duration = Duration::from_secs(1);

fn access(tokens: &[TokenSpec], quotas: &[(QuotaScope, u64)]) -> (Arc<ManualClock>, Access) {
    let clock = Arc::new(ManualClock::new());
    clock.advance(SECOND);
    let access = Access::new(clock.clone(), tokens, quotas);
    (clock, access)
}

fn tag(name: &str) -> QuotaScope {
    QuotaScope::Tag(Tag::new(name).unwrap())
}

fn token(name: &str) -> QuotaScope {
    QuotaScope::Token(name.into())
}

fn spec(name: &str, ids_per_second: Option<u64>) -> TokenSpec {
    TokenSpec {
        ids_per_second,
        ..TokenSpec::new(name, &format!("secret of {name}"))
    }
}

fn caller(access: &Access, name: &str) -> Caller {
    access
        .authenticate(None, &format!("secret of {name}"))
        .unwrap()
}

/// Takes ids, and returns the quota that refused them.
fn take(access: &Access, caller: &Caller, tag: &str, count: u64) -> Result<(), QuotaScope> {
    match access.check(caller, Some(tag), count) {
        Ok(()) => {
            access.charge(caller, Some(tag), count);
            Ok(())
        }
        Err(ServiceError::OverQuota { scope, .. }) => Err(scope),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn callers_without_a_token_are_refused_only_where_there_are_tokens() {
    let anonymous = Caller::anonymous();
    let (_, open) = access(&[], &[]);
    assert!(open.check(&anonymous, Some("t"), 1).is_ok() && open.check_admin(&anonymous).is_ok());
    let (_, closed) = access(&[spec("a", None)], &[]);
    let refused = closed.check(&anonymous, Some("t"), 1);
    assert!(matches!(refused, Err(ServiceError::NoToken)));
    assert!(matches!(
        closed.check_admin(&anonymous),
        Err(ServiceError::NoToken)
    ));
    assert!(matches!(
        closed.authenticate(None, "x"),
        Err(ServiceError::BadToken)
    ));
    let misnamed = closed.authenticate(Some("b"), "secret of a");
    assert!(matches!(misnamed, Err(ServiceError::BadToken)));
    let a = closed.authenticate(Some("a"), "secret of a").unwrap();
    assert!(closed.check(&a, Some("t"), 1).is_ok());
    assert!(
        matches!(closed.check_admin(&a), Err(ServiceError::NotAdmin { token }) if token == "a")
    );
    let counted = TokenRefusal::ALL.map(|why| closed.refusals.tokens(why));
    assert_eq!(counted, [2, 2, 1, 0]);
}

/// Guards that a removed token is refused, even for callers that authenticated with it before.
#[test]
fn a_token_that_is_gone_lets_nobody_in() {
    let (_, access) = access(&[spec("a", None), spec("b", None)], &[]);
    let (a, b) = (caller(&access, "a"), caller(&access, "b"));
    let admin = TokenSpec {
        is_admin: true,
        ..spec("b", None)
    };
    access.apply(&[admin, spec("c", None)], &[]);
    assert!(matches!(
        access.check(&a, Some("t"), 1),
        Err(ServiceError::BadToken)
    ));
    assert!(matches!(
        access.check_admin(&a),
        Err(ServiceError::BadToken)
    ));
    assert_eq!((a.token(), b.token()), (None, Some("b")));
    assert!(access.check(&b, Some("t"), 1).is_ok());
    assert!(
        access.check_admin(&b).is_ok(),
        "who stays has the new right at once"
    );
    assert!(access.authenticate(None, "secret of a").is_err());
    assert_eq!(caller(&access, "c").token(), Some("c"));
    // Another name for the same secret is another token.
    let mut renamed = spec("c", None);
    renamed.name = "d".into();
    let c = caller(&access, "c");
    access.apply(&[renamed], &[]);
    assert_eq!((c.token(), caller(&access, "c").token()), (None, Some("d")));
}

/// Guards that a token stays itself while one of its secrets stays, and is revoked with the last.
#[test]
fn a_secret_is_rotated_without_a_refusal() {
    let two = spec("a", None).and_secret("secret of tomorrow");
    let new = TokenSpec::new("a", "secret of tomorrow");
    let (_, access) = access(&[spec("a", None)], &[]);
    let early = caller(&access, "a");
    let takes = |caller: &Caller| access.check(caller, Some("t"), 1).is_ok();
    access.apply(&[two], &[]);
    assert_eq!(access.tokens.len(), 1, "two secrets are one token");
    let late = access
        .authenticate(Some("a"), "secret of tomorrow")
        .unwrap();
    assert!(takes(&early) && takes(&late) && takes(&caller(&access, "a")));
    access.apply(std::slice::from_ref(&new), &[]);
    assert!(access.authenticate(None, "secret of a").is_err());
    assert!(takes(&early) && takes(&late), "the token has stayed");
    // A secret that goes to another token takes no caller of the former one along.
    access.apply(&[spec("a", None).and_secret("secret of tomorrow")], &[]);
    access.apply(
        &[spec("a", None), TokenSpec::new("b", "secret of tomorrow")],
        &[],
    );
    assert_eq!(early.token(), Some("a"));
    let b = access.authenticate(None, "secret of tomorrow").unwrap();
    assert_eq!((b.token(), access.tokens.len()), (Some("b"), 2));
    access.apply(&[new], &[]);
    assert!(!takes(&early) && !takes(&b), "no secret is left of either");
}

#[test]
fn every_quota_that_a_call_comes_under_holds() {
    let quotas = [(tag("slow"), 10), (QuotaScope::Server, 10_000)];
    let (clock, access) = access(&[spec("a", Some(100)), spec("b", None)], &quotas);
    let (a, b) = (caller(&access, "a"), caller(&access, "b"));
    assert_eq!(take(&access, &b, "slow", 10), Ok(()));
    assert_eq!(take(&access, &a, "slow", 7), Err(tag("slow")));
    assert_eq!(take(&access, &a, "t", 100), Ok(()));
    assert_eq!(take(&access, &a, "t", 5), Err(token("a")));
    assert_eq!(take(&access, &b, "t", 2000), Ok(()));
    assert_eq!(take(&access, &b, "t", 1), Err(QuotaScope::Server));
    let expected = [("server", 1, 1), ("tag", 1, 7), ("token", 1, 5)];
    assert_eq!(access.refusals.quotas(), expected);
    clock.advance(3 * SECOND);
    assert_eq!(take(&access, &a, "slow", 1), Ok(()));
}

#[test]
fn a_quota_is_changed_at_once_and_forgets_what_was_owed() {
    let (_, access) = access(&[], &[]);
    let anonymous = Caller::anonymous();
    let set = |per_second| {
        access
            .set_quota(&QuotaScope::Server, per_second, 1)
            .unwrap();
    };
    assert_eq!(take(&access, &anonymous, "t", 1_000_000), Ok(()));
    set(Some(0));
    assert_eq!(take(&access, &anonymous, "t", 1), Err(QuotaScope::Server));
    set(Some(1));
    assert_eq!(take(&access, &anonymous, "t", 1_000_000), Ok(()));
    assert_eq!(take(&access, &anonymous, "t", 1), Err(QuotaScope::Server));
    set(Some(1));
    assert_eq!(take(&access, &anonymous, "t", 1), Ok(()));
    set(None);
    assert!(access.quotas.all().is_empty() && !access.quotas.has_any());
    assert_eq!(take(&access, &anonymous, "t", 1), Ok(()));
}

#[test]
fn quotas_on_tags_are_bounded_and_on_tokens_named() {
    let (_, access) = access(&[spec("a", None)], &[]);
    let set = |scope: &QuotaScope| access.set_quota(scope, Some(5), 1);
    assert!(set(&tag("x")).is_ok() && set(&tag("x")).is_ok());
    assert!(matches!(
        set(&tag("y")),
        Err(ServiceError::TooManyQuotas { max: 1 })
    ));
    assert!(set(&token("a")).is_ok() && set(&QuotaScope::Server).is_ok());
    assert!(matches!(set(&token("b")), Err(ServiceError::UnknownToken { name }) if name == "b"));
    assert!(access.set_quota(&tag("y"), None, 1).is_ok());
    let expected = [(QuotaScope::Server, 5), (tag("x"), 5), (token("a"), 5)];
    assert_eq!(access.quotas.all(), expected);
}

/// Guards what is in force after a reload: the last change of each quota, wherever it was made.
#[test]
fn the_last_change_of_a_quota_holds() {
    let first = [(tag("file"), 1), (tag("gone"), 1), (tag("both"), 1)];
    let (_, access) = access(&[spec("a", Some(1)), spec("b", None)], &first);
    let anonymous = caller(&access, "b");
    assert_eq!(take(&access, &anonymous, "file", 100), Ok(()));
    for (scope, per_second) in [(tag("both"), 7), (tag("api"), 7), (token("b"), 7)] {
        access.set_quota(&scope, Some(per_second), 9).unwrap();
    }
    let same = [spec("a", Some(1)), spec("b", None)];
    access.apply(&same, &first);
    assert_eq!(
        access.quotas.all(),
        [
            (tag("api"), 7),
            (tag("both"), 7),
            (tag("file"), 1),
            (tag("gone"), 1),
            (token("a"), 1),
            (token("b"), 7)
        ]
    );
    assert_eq!(
        take(&access, &anonymous, "file", 1),
        Err(tag("file")),
        "what is owed stays owed"
    );
    access.apply(&[spec("a", Some(2))], &[(tag("file"), 1), (tag("both"), 2)]);
    assert_eq!(
        access.quotas.all(),
        [
            (tag("api"), 7),
            (tag("both"), 2),
            (tag("file"), 1),
            (token("a"), 2)
        ]
    );
}

/// Guards that a token that is being removed never appears as an admin's: many reads, while another
/// thread removes it.
#[test]
fn a_token_that_goes_is_never_an_admin() {
    const ROUNDS: usize = 2000;
    let (mut passed, mut refused, mut gone) = (0, 0, 0);
    for _ in 0..ROUNDS {
        let (_, access) = access(&[spec("a", None), spec("b", None)], &[]);
        let taker = caller(&access, "a");
        let start = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                start.wait();
                access.apply(&[spec("b", None)], &[]);
            });
            start.wait();
            loop {
                match access.check_admin(&taker) {
                    Ok(()) => passed += 1,
                    Err(ServiceError::NotAdmin { .. }) => refused += 1,
                    Err(_) => break gone += 1,
                }
            }
        });
    }
    assert_eq!(passed, 0, "of {refused} looks before it was gone");
    assert!(
        refused > ROUNDS && gone == ROUNDS,
        "they never met: {refused}, {gone}"
    );
}

/// Guards that a token whose grants change is another one, and that one which keeps them stays.
#[test]
fn grants_hold_from_the_next_call_on() {
    let limited = |tags: &[&str], scope| {
        let tags = tags.iter().copied().map(TagPattern::new).collect();
        let spec = spec("a", None);
        TokenSpec {
            tags,
            scope,
            ..spec
        }
    };
    let (_, access) = access(&[limited(&["order", "pay-*"], TokenScope::All)], &[]);
    let a = caller(&access, "a");
    let takes = |caller: &Caller, tag| access.check(caller, Some(tag), 1).is_ok();
    let looks = |caller: &Caller, tag| access.check_look(caller, tag).is_ok();
    assert!(takes(&a, "order") && takes(&a, "pay-in") && !takes(&a, "user"));
    assert!(looks(&a, Some("order")) && looks(&a, None) && !looks(&a, Some("user")));
    assert!(access.shows(&a, "pay-x") && !access.shows(&a, "x"));
    assert_eq!(access.refusals.tokens(TokenRefusal::NotAllowed), 2);
    access.apply(&[limited(&["order", "pay-*"], TokenScope::All)], &[]);
    assert!(takes(&a, "order"), "nothing has changed");
    access.apply(&[limited(&["order"], TokenScope::Ids)], &[]);
    assert!(!takes(&a, "order"), "it has to be shown again");
    let a = caller(&access, "a");
    assert!(takes(&a, "order") && !takes(&a, "pay-in") && !looks(&a, Some("order")));
    assert!(!looks(&a, None));
    access.apply(&[limited(&[], TokenScope::Read)], &[]);
    let a = caller(&access, "a");
    assert!(!takes(&a, "order") && looks(&a, Some("order")) && looks(&a, None));
    assert!(matches!(
        access.check_admin(&a),
        Err(ServiceError::NotAdmin { .. })
    ));
}
