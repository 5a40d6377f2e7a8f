//! Guards the syntax of an access file, and the reports of its mistakes.

use leafid::Tag;

use super::*;
use crate::config::access::read_token::HASH_OF_NOTHING;
use crate::config::access::scope::{TagPattern, TokenScope};
use crate::config::access::token::SecretHash;

/// Every secret of these tests begins with this; no message may show it.
const SECRET: &str = "s3cret";

fn parse(text: &str) -> Result<AccessFile, ConfigError> {
    AccessFile::parse(text, Path::new("access.toml"), &Limits::default())
}

#[track_caller]
fn check(text: &str, mistakes: &[&str]) {
    let error = parse(text).unwrap_err();
    assert!(!error.to_string().contains(SECRET), "{error}");
    assert_eq!(error.mistakes.len(), mistakes.len(), "{error}");
    for (mistake, expected) in error.mistakes.iter().zip(mistakes) {
        let expected = format!("access.toml:{expected}");
        assert!(
            mistake.starts_with(&expected),
            "{mistake:?} is not {expected:?}"
        );
    }
}

#[test]
fn tokens_and_quotas_are_read() {
    let hash = "55c3cf8a5b2a1ba1b1ac4e5ebdb4d4c4e9bd1ec3ea2bd1bf9a51bbd8bd0a1c11";
    let file = parse(&format!(
        r#"
[[token]]
name = "billing"
secret = "{SECRET}-of-billing"
ids_per_second = 5_000

[[token]]
name = "ops"
secret_sha256 = "{hash}"
admin = true

[[quota]]
tag = "order/1"
ids_per_second = 0x10

[[quota]]
server = true
ids_per_second = 0
"#
    ))
    .unwrap();
    let tag = QuotaScope::Tag(Tag::new("order/1").unwrap());
    assert_eq!(file.quotas, [(tag, 16), (QuotaScope::Server, 0)]);
    let mut billing = TokenSpec::new("billing", &format!("{SECRET}-of-billing"));
    billing.ids_per_second = Some(5000);
    let mut ops = TokenSpec::with_secret("ops", SecretHash::from_hex(hash).unwrap());
    ops.is_admin = true;
    assert_eq!(file.tokens, [billing, ops]);
    assert_eq!(file.notes, Vec::<String>::new());
    assert_eq!(parse("").unwrap().tokens, []);
}

#[test]
fn a_hash_stands_for_its_secret() {
    let hash = "2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6";
    let of_c = TokenSpec::new("x", "c");
    let hashed = SecretHash::from_hex(hash).unwrap();
    assert!(of_c.has_secret_of(&TokenSpec::with_secret("x", hashed)));
    let is_hash = |text: &str| SecretHash::from_hex(text).is_some();
    assert!(!is_hash(&hash[1..]));
    assert!(!is_hash(&format!("{hash}00")));
    assert!(!is_hash(&hash.replace('2', "g")));
    assert!(!is_hash(&hash.replace("2e", "+e")));
}

#[test]
fn mistakes_are_named_with_their_lines() {
    check(
        "[[tokens]]\nname = 1\n",
        &["1: unknown key tokens: did you mean token?"],
    );
    check(
        "token = 3\n",
        &["1: token is not a list of tables: write [[token]]"],
    );
    check(
        "[token]\nname = 'a'\n",
        &["1: token is not a list of tables"],
    );
    check(
        "\nquota = [3]\n",
        &["2: this is not a table: write [[quota]]"],
    );
    check(
        "[[token]]\nsecret = 's3cret-and-more-of-it'\n",
        &["1: a token has no name"],
    );
    check(
        "[[token]]\nname = 'a b'\nsecret = 's3cret-and-more-of-it'\n",
        &["2: the name of a token must be a string of 1 to 64 letters"],
    );
    check("[[token]]\nname = 'a'\n", &["1: a token has no secret"]);
    check(
        "[[token]]\nname = 'a'\nsecret = ''\n",
        &["3: this secret has 0 characters, but must have 16 to 512: openssl rand"],
    );
    check(
        "[[token]]\nname = 'a'\nsecret = 's3cret'\n",
        &["3: this secret has 6 characters"],
    );
    check(
        "[[token]]\nname = 'a'\nsecret = 's3cret with white space'\n",
        &["3: a secret must consist of printable ASCII"],
    );
    check(
        "[[token]]\nname = 'a'\nsecret = 1234567890123456\n",
        &["3: a secret must be a string"],
    );
    check(
        "[[token]]\nname = 'a'\nsecret_sha256 = 's3cret'\n",
        &["3: secret_sha256 must be a string of 64 hexadecimal digits"],
    );
    check(
        &format!("[[token]]\nname = 'a'\nsecret_sha256 = '{HASH_OF_NOTHING}'\n"),
        &["3: this is the SHA-256 of an empty string"],
    );
    check(
        &format!(
            "[[token]]\nname = 'a'\nsecret = 's3cret-and-more-of-it'\n\
             secret_sha256 = '{HASH_OF_NOTHING}'\n"
        ),
        &["4: both secret and secret_sha256 are given: remove one"],
    );
}

/// Guards the second secret of a token, in either form, and that no two tokens share one.
#[test]
fn a_token_has_two_secrets_during_a_rotation() {
    let hash = "2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6";
    let former = "[[token]]\nname = 'a'\nsecret = 's3cret-and-more-of-it'\n";
    let plain = parse(&format!("{former}next_secret = 's3cret-of-tomorrow'\n")).unwrap();
    let expected = TokenSpec::new("a", "s3cret-and-more-of-it").and_secret("s3cret-of-tomorrow");
    assert_eq!(plain.tokens, [expected]);
    let hashed = parse(&format!("{former}next_secret_sha256 = '{hash}'\n")).unwrap();
    let expected = TokenSpec::new("a", "s3cret-and-more-of-it").and_secret("c");
    assert_eq!(hashed.tokens, [expected]);
    check(
        &format!("{former}next_secret = 's3cret'\n"),
        &["4: this secret has 6 characters"],
    );
    check(
        &format!("{former}next_secret_sha256 = 's3cret'\n"),
        &["4: next_secret_sha256 must be a string of 64 hexadecimal digits"],
    );
    check(
        &format!("{former}next_secret = 's3cret-of-tomorrow'\nnext_secret_sha256 = '{hash}'\n"),
        &["5: both next_secret and next_secret_sha256 are given: remove one"],
    );
    check(
        &format!("{former}next_secret = 's3cret-and-more-of-it'\n"),
        &["4: the next secret is the same as the secret: set a new one, or remove it"],
    );
    check(
        "[[token]]\nname = 'a'\nnext_secret = 's3cret-of-tomorrow'\n",
        &["1: a token has no secret"],
    );
    check(
        &format!(
            "{former}next_secret = 's3cret-of-tomorrow'\n\
             [[token]]\nname = 'b'\nsecret = 's3cret-of-tomorrow'\n"
        ),
        &["5: this is the secret of the token \"a\" in line 1: change or remove one"],
    );
}

#[test]
fn all_mistakes_are_told_at_once() {
    let token = |name: &str, secret: &str| {
        format!("[[token]]\nname = '{name}'\nsecret = '{secret}-and-more-of-it'\n")
    };
    check(
        &[
            token("a", SECRET),
            token("a", "another"),
            token("b", SECRET),
        ]
        .concat(),
        &[
            "4: there is another token named \"a\" in line 1: change or remove one",
            "7: this is the secret of the token \"a\" in line 1: change or remove one",
        ],
    );
    check(
        "[[token]]\nname = 'a'\nsecret = 's3cret-and-more-of-it'\nadmin = 'yes'\n\
         ids_per_second = -1\nadmn = true\n",
        &[
            "6: unknown key admn: did you mean admin?",
            "4: admin must be true or false",
            "5: ids_per_second must be a whole number from 0 to 1000000000",
        ],
    );
    check(
        "[[quota]]\nids_per_second = 1\n[[quota]]\nserver = true\ntag = 'a'\n\
         [[quota]]\nserver = false\nids_per_second = 1.5\n[[quota]]\ntag = ' a'\n",
        &[
            "1: a quota names neither a tag nor the server: set either tag",
            "3: a quota names both a tag and the server",
            "3: a quota has no ids_per_second",
            "6: a quota names neither",
            "8: ids_per_second must be a whole number",
            "10: ",
            "9: a quota has no ids_per_second",
        ],
    );
    let twice = "[[quota]]\ntag = 'a'\nids_per_second = 1\n".repeat(2);
    check(
        &twice,
        &["4: there is another quota on tag \"a\" in line 1: change or remove one"],
    );
}

/// Guards that errors of the TOML parser do not quote a secret.
#[test]
fn broken_toml_shows_no_secret() {
    for broken in [
        "secret = s3cret-and-more-of-it",
        "secret = 's3cret-and-more-of-it",
        "secret = 's3cret'-and-more-of-it",
        "secret 's3cret-and-more-of-it'",
        "secret = 's3cret'\nsecret = 's3cret'",
        "secret = \"s3cret\\q\"",
    ] {
        let text = format!("[[token]]\nname = 'a'\n{broken}\n");
        let error = parse(&text).unwrap_err();
        assert!(!error.to_string().contains(SECRET), "{error}");
        let line = |n: usize| error.to_string().starts_with(&format!("access.toml:{n}: "));
        assert!(line(3) || line(4), "{error}");
    }
}

#[test]
fn bounds_hold() {
    let limits = Limits {
        tokens_max: 1,
        quotas_max: 1,
        ..Limits::default()
    };
    let text = "[[token]]\nname = 'a'\nsecret = 's3cret-and-more-of-it'\n\
                [[token]]\nname = 'b'\nsecret = 's3cret-and-more-of-me'\n\
                [[quota]]\ntag = 'a'\nids_per_second = 1\n\
                [[quota]]\ntag = 'b'\nids_per_second = 1\n";
    let error = AccessFile::parse(text, Path::new("x"), &limits).unwrap_err();
    let expected = [
        "x:4: there are more than 1 tokens",
        "x:10: there are more than 1 quotas",
    ];
    assert_eq!(error.mistakes, expected);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.toml");
    std::fs::write(&path, text).unwrap();
    let limits = Limits {
        access_file_len_max: 10,
        ..Limits::default()
    };
    let error = AccessFile::read(&path, &limits).unwrap_err();
    assert!(error.to_string().contains("more than 10 bytes"), "{error}");
}

#[test]
fn what_an_operator_should_know_is_noted() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.toml");
    let mut text = "[[token]]\nname = 'a'\nsecret = 's3cret-and-more-of-it'\n".to_owned();
    let mut notes = |mode: u32, more: &str| {
        text.push_str(more);
        std::fs::write(&path, &text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        AccessFile::read(&path, &Limits::default()).unwrap().notes
    };
    let noted = notes(0o600, "");
    assert!(
        noted.len() == 1 && noted[0].contains("admin = true"),
        "{noted:?}"
    );
    let noted = notes(0o640, "admin = true\n");
    assert!(
        noted.len() == 1 && noted[0].contains("(mode 640): chmod 600"),
        "{noted:?}"
    );
    assert_eq!(notes(0o400, ""), Vec::<String>::new());
}

#[test]
fn a_token_may_be_good_for_some_tags_only() {
    let token = |more: &str| {
        format!("[[token]]\nname = 'a'\nsecret = '{SECRET}-and-16-more-of-it'\n{more}\n")
    };
    let file = parse(&token("scope = 'ids'\ntags = ['order', 'pay-*']")).unwrap();
    let [spec] = &file.tokens[..] else {
        panic!("{file:?}");
    };
    assert_eq!(spec.scope, TokenScope::Ids);
    let tags = ["order", "pay-*"].map(TagPattern::new);
    assert_eq!(spec.tags, tags);
    let tags_wanted = "5: tags must be a list of 1 to 1000 tag names";
    let check_line = |more: &str, mistakes: &[&str]| check(&token(&format!("\n{more}")), mistakes);
    check_line("tags = []", &[tags_wanted]);
    check_line("tags = 'order'", &[tags_wanted]);
    check_line("tags = ['']", &[tags_wanted]);
    check_line("tags = [1]", &[tags_wanted]);
    check_line("scope = 'write'", &["5: scope must be \"ids\""]);
    check_line("scope = true", &["5: scope must be \"ids\""]);
    check_line(
        "admin = true\ntags = ['a']",
        &["1: an admin token is not limited"],
    );
    check_line(
        "admin = true\nscope = 'ids'",
        &["1: an admin token is not limited"],
    );
}

/// Guards that no file panics or makes a message that shows a secret, and that mistakes have lines.
#[test]
fn any_file_is_read_or_refused_without_its_secrets() {
    leafid_fuzz::fuzz("access-files", |data| {
        let text = str::from_utf8(data).unwrap_or_default();
        let secrets = text.matches(&format!("secret = \"{SECRET}")).count();
        if text.matches(SECRET).count() > secrets {
            return false; // It is a name or a comment, too.
        }
        let lines_max = text.lines().count() + 1;
        match parse(text) {
            Ok(file) => {
                let shown = format!("{file:?}");
                assert!(!shown.contains(SECRET), "{shown}");
                assert_eq!(parse(text), Ok(file));
                true
            }
            Err(error) => {
                assert!(!error.to_string().contains(SECRET), "{error}");
                for mistake in &error.mistakes {
                    let line = mistake.strip_prefix("access.toml:").unwrap();
                    let line: usize = line.split_once(':').unwrap().0.parse().unwrap();
                    assert!((1..=lines_max).contains(&line), "{mistake}");
                }
                false
            }
        }
    });
}
