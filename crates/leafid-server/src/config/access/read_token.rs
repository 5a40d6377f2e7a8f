//! One `[[token]]` of an access file: its name, its secrets in either form, and what it may do.

use leafid::Tag;
use toml::de::{DeTable, DeValue};

use super::reader::Reader;
use super::scope::{TagPattern, TokenScope};
use super::token::{SecretHash, TokenSpec};
use crate::config::limits::Limits;

const KEYS: [&str; 9] = [
    "name",
    "secret",
    "secret_sha256",
    "next_secret",
    "next_secret_sha256",
    "admin",
    "ids_per_second",
    "scope",
    "tags",
];

/// The SHA-256 of an empty string, which is easily made by mistake with `sha256sum`.
pub(super) const HASH_OF_NOTHING: &str =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

pub(super) fn token(
    reader: &mut Reader<'_>,
    table: &DeTable<'_>,
    start: usize,
) -> Option<TokenSpec> {
    reader.check_keys(table, &KEYS);
    let limits = *reader.limits;
    let name = name(reader, table, start);
    let first = secret(reader, table, ("secret", "secret_sha256"));
    let next_secret = secret(reader, table, ("next_secret", "next_secret_sha256"));
    check_secrets(reader, table, start, (first, next_secret));
    let is_admin = reader.switch(table, "admin");
    let ids_per_second = reader.ids_per_second(table);
    let scope = reader.value(table, "scope", scope);
    let tags = reader.value(table, "tags", |value| tags(value, limits.token_tags_max));
    if is_admin == Some(true) && (table.contains_key("scope") || table.contains_key("tags")) {
        let message = "an admin token is not limited by scope and tags: remove admin, or scope \
                       and tags";
        reader.mistake(start, message);
    }
    Some(TokenSpec {
        is_admin: is_admin.unwrap_or_default(),
        ids_per_second,
        scope: scope.unwrap_or_default(),
        tags: tags.unwrap_or_default(),
        next_secret,
        ..TokenSpec::with_secret(name?, first?)
    })
}

fn name<'t>(reader: &mut Reader<'_>, table: &'t DeTable<'t>, start: usize) -> Option<&'t str> {
    let max = reader.limits.token_name_len_max;
    let wanted = format!("1 to {max} letters, digits, -, _ and .");
    if !table.contains_key("name") {
        let message = format!("a token has no name: set one of {wanted}");
        reader.mistake(start, message);
    }
    reader.value(table, "name", |value| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_name = |name: &&str| (1..=max).contains(&name.len()) && name.chars().all(is_plain);
        let problem = || format!("the name of a token must be a string of {wanted}");
        value.as_str().filter(is_name).ok_or_else(problem)
    })
}

fn scope(value: &DeValue<'_>) -> Result<TokenScope, &'static str> {
    let scope = value.as_str().and_then(TokenScope::from_name);
    scope.ok_or(
        "scope must be \"ids\" (take ids), \"read\" (look at tags and workers) or \"all\" (both)",
    )
}

fn tags(value: &DeValue<'_>, max: usize) -> Result<Vec<TagPattern>, String> {
    let is_name = |text: &&str| !text.is_empty() && text.chars().count() <= Tag::LEN_MAX;
    let pattern = |value: &DeValue<'_>| value.as_str().filter(is_name).map(TagPattern::new);
    let all = value
        .as_array()
        .filter(|all| (1..=max).contains(&all.len()));
    let tags = all.and_then(|all| all.iter().map(|text| pattern(text.get_ref())).collect());
    tags.ok_or_else(|| {
        format!(
            "tags must be a list of 1 to {max} tag names, in which * stands for any \
             characters: tags = [\"order\", \"pay-*\"]"
        )
    })
}

/// One of the two secrets, in whichever form it is given.
fn secret(
    reader: &mut Reader<'_>,
    table: &DeTable<'_>,
    (plain, hashed): (&str, &str),
) -> Option<SecretHash> {
    match (table.get(plain), table.get(hashed)) {
        (Some(_), Some(hash)) => {
            let message = format!("both {plain} and {hashed} are given: remove one");
            reader.mistake(hash.span().start, message);
            None
        }
        (None, None) => None,
        (Some(_), None) => {
            let limits = *reader.limits;
            reader.value(table, plain, |value| plain_secret(value, &limits))
        }
        (None, Some(_)) => reader.value(table, hashed, |value| hashed_secret(value, hashed)),
    }
}

/// A token needs a secret; a second one differs from it.
fn check_secrets(
    reader: &mut Reader<'_>,
    table: &DeTable<'_>,
    start: usize,
    (first, next): (Option<SecretHash>, Option<SecretHash>),
) {
    if !table.contains_key("secret") && !table.contains_key("secret_sha256") {
        let message = "a token has no secret: set secret, or secret_sha256 to the hexadecimal \
                       SHA-256 of one";
        reader.mistake(start, message);
    }
    let key = ["next_secret", "next_secret_sha256"];
    let at = key.iter().find_map(|key| table.get(*key));
    if let (Some(at), true) = (at, first.is_some() && first == next) {
        let message = "the next secret is the same as the secret: set a new one, or remove it";
        reader.mistake(at.span().start, message);
    }
}

fn plain_secret(value: &DeValue<'_>, limits: &Limits) -> Result<SecretHash, String> {
    let (min, max) = (limits.secret_len_min, limits.secret_len_max);
    let secret = value.as_str().ok_or("a secret must be a string")?;
    let len = secret.len();
    if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
        let message = "a secret must consist of printable ASCII characters without white space: \
                       others cannot be sent in a header";
        return Err(message.to_owned());
    }
    if !(min..=max).contains(&len) {
        return Err(format!(
            "this secret has {len} characters, but must have {min} to {max}: openssl rand -hex 32 \
             makes a good one"
        ));
    }
    Ok(SecretHash::of(secret))
}

fn hashed_secret(value: &DeValue<'_>, key: &str) -> Result<SecretHash, String> {
    let hash = value.as_str().unwrap_or_default();
    if hash.eq_ignore_ascii_case(HASH_OF_NOTHING) {
        let message = "this is the SHA-256 of an empty string: hash the secret, as `printf %s \
                       SECRET | sha256sum` does";
        return Err(message.to_owned());
    }
    SecretHash::from_hex(hash).ok_or_else(|| {
        format!(
            "{key} must be a string of 64 hexadecimal digits, as `printf %s SECRET | sha256sum` \
             prints"
        )
    })
}
