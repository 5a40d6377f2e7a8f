//! One `[[token]]` of an access file: its name, and its secret in whichever form it is given.
//!
//! Invariant: no message shows a secret, nor what stands where one should.

use leafid::Tag;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Reading;
use crate::service::{TagPattern, TokenScope, TokenSpec};

const TOKEN_KEYS: [&str; 7] = [
    "name",
    "secret",
    "secret_sha256",
    "admin",
    "ids_per_second",
    "scope",
    "tags",
];

/// The SHA-256 of nothing: what a slip of the pen makes of `sha256sum`.
pub(super) const HASH_OF_NOTHING: &str =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

impl Reading<'_> {
    pub(super) fn token(&mut self, table: &DeTable<'_>, start: usize) {
        self.check_keys(table, &TOKEN_KEYS);
        let name = self.name(table, start);
        let made = self.secret(table, start, name.unwrap_or_default());
        let is_admin = self.switch(table, "admin");
        let ids_per_second = self.number(table, "ids_per_second");
        let scope = self.scope_of_token(table);
        let tags = self.tags(table);
        if is_admin == Some(true) && (table.contains_key("scope") || table.contains_key("tags")) {
            let message = "an admin may do everything with every tag: leave out admin, or scope \
                           and tags";
            self.mistake(start, message);
        }
        if let (Some(_), Some(mut spec)) = (name, made) {
            spec.scope = scope;
            spec.tags = tags;
            spec.is_admin = is_admin.unwrap_or(false);
            spec.ids_per_second = ids_per_second;
            self.check_unique(&spec, start);
            let line = self.line(start);
            self.tokens.push((spec, line));
        }
        if self.tokens.len() == self.limits.tokens_max + 1 {
            let max = self.limits.tokens_max;
            self.mistake(start, format!("there are more than {max} tokens"));
        }
    }

    fn scope_of_token(&mut self, table: &DeTable<'_>) -> TokenScope {
        let Some(value) = table.get("scope") else {
            return TokenScope::default();
        };
        let scope = value.get_ref().as_str().and_then(TokenScope::from_name);
        scope.unwrap_or_else(|| {
            let message = "scope must be \"ids\" (take ids), \"read\" (look) or \"all\" (both)";
            self.mistake(value.span().start, message);
            TokenScope::default()
        })
    }

    fn tags(&mut self, table: &DeTable<'_>) -> Vec<TagPattern> {
        let Some(value) = table.get("tags") else {
            return Vec::new();
        };
        let max = self.limits.token_tags_max;
        let texts = value.get_ref().as_array().map(|array| {
            let texts = array.iter().map(|text| text.get_ref().as_str());
            texts.collect::<Option<Vec<&str>>>()
        });
        let is_name = |text: &&str| !text.is_empty() && text.chars().count() <= Tag::LEN_MAX;
        let texts = texts.flatten().unwrap_or_default();
        if texts.is_empty() || texts.len() > max || !texts.iter().all(is_name) {
            let message = format!(
                "tags must be a list of 1 to {max} names of tags, in which * stands for any \
                 characters: tags = [\"order\", \"pay-*\"]"
            );
            self.mistake(value.span().start, message);
        }
        texts.into_iter().map(TagPattern::new).collect()
    }

    fn name<'t>(&mut self, table: &'t DeTable<'_>, start: usize) -> Option<&'t str> {
        let max = self.limits.token_name_len_max;
        let wanted = format!("1 to {max} letters, digits, -, _ and .");
        let Some(value) = table.get("name") else {
            self.mistake(
                start,
                format!("a token has no name: give it one of {wanted}"),
            );
            return None;
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let name = value.get_ref().as_str();
        let name =
            name.filter(|name| (1..=max).contains(&name.len()) && name.chars().all(is_plain));
        if name.is_none() {
            let message = format!("the name of a token must be a text of {wanted}");
            self.mistake(value.span().start, message);
        }
        name
    }

    /// The token with its secret, in whichever form it is given.
    fn secret(&mut self, table: &DeTable<'_>, start: usize, name: &str) -> Option<TokenSpec> {
        match (table.get("secret"), table.get("secret_sha256")) {
            (Some(_), Some(hash)) => {
                let message = "both secret and secret_sha256 are given: remove one";
                self.mistake(hash.span().start, message);
                None
            }
            (None, None) => {
                let message = "a token has no secret: give it secret, or secret_sha256 with the \
                               hexadecimal SHA-256 of one";
                self.mistake(start, message);
                None
            }
            (Some(secret), None) => self.plain_secret(secret, name),
            (None, Some(hash)) => self.hashed_secret(hash, name),
        }
    }

    fn plain_secret(&mut self, value: &Spanned<DeValue<'_>>, name: &str) -> Option<TokenSpec> {
        let (min, max) = (self.limits.secret_len_min, self.limits.secret_len_max);
        let advice = "openssl rand -hex 32 makes a good one";
        let problem = match value.get_ref().as_str() {
            None => "a secret must be a text".to_owned(),
            Some(secret) if !secret.bytes().all(|byte| byte.is_ascii_graphic()) => {
                "a secret must be of ASCII letters, digits and signs, without white space: other \
                 characters fit into no header"
                    .to_owned()
            }
            Some(secret) if !(min..=max).contains(&secret.len()) => {
                let len = secret.len();
                format!("this secret has {len} characters, but must have {min} to {max}: {advice}")
            }
            Some(secret) => return Some(TokenSpec::new(name, secret)),
        };
        self.mistake(value.span().start, problem);
        None
    }

    fn hashed_secret(&mut self, value: &Spanned<DeValue<'_>>, name: &str) -> Option<TokenSpec> {
        let hash = value.get_ref().as_str().unwrap_or_default();
        if hash.eq_ignore_ascii_case(HASH_OF_NOTHING) {
            let message = "this is the SHA-256 of an empty text, which is no secret";
            self.mistake(value.span().start, message);
            return None;
        }
        let Some(bytes) = from_hex(hash) else {
            let message = "secret_sha256 must be a text of 64 hexadecimal digits, as \
                           `printf %s SECRET | sha256sum` prints";
            self.mistake(value.span().start, message);
            return None;
        };
        Some(TokenSpec::with_hash(name, bytes))
    }

    fn check_unique(&mut self, spec: &TokenSpec, start: usize) {
        let same = |(other, line): &&(TokenSpec, usize)| {
            let problem = if other.name == spec.name {
                format!("another token is named \"{}\"", spec.name)
            } else if other.has_secret_of(spec) {
                format!("the token \"{}\" has the same secret", other.name)
            } else {
                return None;
            };
            Some(format!("{problem}, in line {line}: give each its own"))
        };
        let found = self.tokens.iter().find_map(|token| same(&token));
        if let Some(message) = found {
            self.mistake(start, message);
        }
    }
}

/// 32 bytes from 64 hexadecimal digits.
pub(super) fn from_hex(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| {
            digit
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        })
        .collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
        .collect();
    (digits.len() == 64).then(|| bytes.try_into().ok())?
}
