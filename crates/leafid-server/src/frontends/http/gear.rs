//! The HTTP API of Yixin's ns4_gear_idgen, for its callers: `/getId?keyType=T&keyName=N`, with its
//! envelope and codes. Source: `newsettle/ns4_gear_idgen` and `newsettle/ns4_frame`.

use axum::extract::RawQuery;
use hyper::StatusCode;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use url::form_urlencoded;
use utoipa::ToSchema;

use super::answer::{self, Answer};
use super::auth::Call;
use crate::service::ServiceError;

/// What separates the name from the count in a request for many.
const COUNT_MARK: &str = "$$$";

/// The answer, or the answer to a call that failed.
#[derive(Serialize, ToSchema)]
pub(crate) struct GearAnswer {
    /// `0000`, or `9999` for every failure.
    #[serde(rename = "retCode")]
    #[schema(example = "0000")]
    ret_code: &'static str,
    /// The same in Chinese words.
    #[serde(rename = "retInfo")]
    #[schema(example = "获取成功")]
    ret_info: &'static str,
    /// The ids.
    data: GearData,
}

/// The ids of an answer.
#[derive(Serialize, ToSchema)]
pub(crate) struct GearData {
    /// The id, or several with commas between them; empty after a failure.
    #[schema(example = "19011123221266311")]
    result: String,
}

/// What a caller wants.
#[derive(Debug, PartialEq, Eq)]
enum Wanted<'a> {
    Number(&'a str),
    Text(&'a str),
    Many(&'a str, u64),
}

/// Issues ids as ns4_gear_idgen does: `keyType` 1 for a number, 2 for a text, and 3 for several
/// texts, up to 10,000, of the tag before `$$$` in `keyName`. Numbers are those of rows of
/// `gear_key` and of tags without a format. Every failure is a 200 with the code 9999.
#[utoipa::path(
    get, path = "/getId", tag = "gear", operation_id = "gear_get_id",
    params(
        ("keyType" = Option<String>, Query, description = "`1`, `2` or `3`", example = "2"),
        ("keyName" = Option<String>, Query, description = "the tag; for `3` with `$$$` and a count",
         example = "order"),
    ),
    responses((status = 200, description = "the ids, or a failure", body = GearAnswer))
)]
pub(crate) async fn get_id(call: Call, RawQuery(query): RawQuery) -> Answer {
    let query = query.unwrap_or_default();
    let (key_type, key_name) = (value(&query, "keyType"), value(&query, "keyName"));
    let wanted = key_name.as_deref().zip(key_type.as_deref());
    let issued = match wanted.and_then(|(name, key_type)| Wanted::of(key_type, name)) {
        Some(wanted) => issue(&call, wanted).await.ok(),
        None => None,
    };
    answered(issued.unwrap_or_default())
}

fn answered(result: String) -> Answer {
    let (ret_code, ret_info) = match result.is_empty() {
        false => ("0000", "获取成功"),
        true => ("9999", "获取失败，请检查参数或重试"),
    };
    let data = GearData { result };
    let body = GearAnswer {
        ret_code,
        ret_info,
        data,
    };
    // Serialising our own types to memory does not fail.
    let body = serde_json::to_string(&body).unwrap_or_default();
    // As the system that it replaces puts it: some callers compare texts.
    let body = body.replacen("\",\"", "\", \"", 1);
    answer::of(StatusCode::OK, "application/json;charset=UTF-8", body)
}

async fn issue(call: &Call, wanted: Wanted<'_>) -> Result<String, ServiceError> {
    let Call { service, caller } = call;
    match wanted {
        Wanted::Number(tag) => Ok(service.next_number(caller, tag).await?.to_string()),
        Wanted::Text(tag) => Ok(service.next(caller, tag).await?.to_string()),
        Wanted::Many(tag, count) => {
            let issued = service.next_many(caller, tag, count).await?;
            let numbers = issued.numbers().map(|id| id.to_string());
            let texts = issued.texts().map(str::to_owned);
            Ok(numbers.chain(texts).collect::<Vec<_>>().join(","))
        }
    }
}

impl<'a> Wanted<'a> {
    fn of(key_type: &str, key_name: &'a str) -> Option<Self> {
        if key_name.is_empty() {
            return None;
        }
        match key_type {
            "1" => Some(Self::Number(key_name)),
            "2" => Some(Self::Text(key_name)),
            "3" => {
                let (tag, count) = key_name.split_once(COUNT_MARK)?;
                // As there: a count that is no number means one, and none is a failure.
                let count = match count.trim() {
                    "" => return None,
                    count if count.bytes().all(|byte| byte.is_ascii_digit()) => {
                        count.parse().ok()?
                    }
                    _ => 1,
                };
                (count > 0).then_some(Self::Many(tag.trim(), count))
            }
            _ => None,
        }
    }
}

/// The first value of a parameter, trimmed; `None` if it is missing, not encoded as it must be, or no
/// UTF-8.
fn value(query: &str, name: &str) -> Option<String> {
    let first = query
        .split('&')
        .find(|pair| form_urlencoded::parse(pair.as_bytes()).any(|(other, _)| other == name))?;
    let (_, encoded) = first.split_once('=').unwrap_or_default();
    let is_escape = |rest: &str| {
        let digits = rest.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !encoded.split('%').skip(1).all(is_escape) {
        return None;
    }
    let encoded = encoded.replace('+', " ");
    let value = percent_decode_str(&encoded).decode_utf8().ok()?;
    Some(value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_there() {
        let check = |key_type: &str, key_name, wanted| {
            assert_eq!(
                Wanted::of(key_type, key_name),
                wanted,
                "{key_type} {key_name}"
            );
        };
        check("1", "order", Some(Wanted::Number("order")));
        check("2", "order", Some(Wanted::Text("order")));
        check("3", "order$$$5", Some(Wanted::Many("order", 5)));
        check("3", "order$$$abc", Some(Wanted::Many("order", 1)));
        check("3", "order$$$0", None);
        check("3", "order$$$", None);
        check("3", "order", None);
        check("3", "order$$$99999999999999999999", None);
        check("4", "order", None);
        check("", "order", None);
        check("1", "", None);
    }

    /// Guards that a name is never changed on its way: another tag would issue the ids.
    #[test]
    fn a_name_is_decoded_or_refused() {
        let name = |query| value(query, "keyName");
        assert_eq!(
            name("keyName=a+b%20c%2B&keyName=d").as_deref(),
            Some("a b c+")
        );
        assert_eq!(name("key%4Eame=%E5%8D%95").as_deref(), Some("单"));
        assert_eq!(name("keyName=&keyType=1").as_deref(), Some(""));
        assert_eq!(name("keyName").as_deref(), Some(""));
        assert_eq!(name("keyName=%ff"), None);
        assert_eq!(name("keyType=1"), None);
    }

    /// Guards that no request panics, and that a count and a name are what stands in it.
    #[test]
    fn any_request_is_read_or_refused() {
        leafid_fuzz::fuzz("gear-requests", |data| {
            let text = str::from_utf8(data).unwrap_or_default();
            let _any = value(text, "keyName");
            let (key_type, key_name) = text.split_once(' ').unwrap_or_default();
            let query: String = form_urlencoded::Serializer::new(String::new())
                .append_pair("keyType", key_type)
                .append_pair("keyName", key_name)
                .finish();
            assert_eq!(value(&query, "keyType").as_deref(), Some(key_type.trim()));
            let key_name = value(&query, "keyName").unwrap_or_default();
            match Wanted::of(key_type, &key_name) {
                None => false,
                Some(Wanted::Number(tag) | Wanted::Text(tag)) => {
                    assert_eq!(tag, key_name);
                    true
                }
                Some(Wanted::Many(tag, count)) => {
                    assert!(count > 0 && !tag.contains(COUNT_MARK));
                    if tag.ends_with('$') {
                        return true; // the first mark in the text below would begin there
                    }
                    let again = format!("{tag}{COUNT_MARK}{count}");
                    assert_eq!(Wanted::of("3", &again), Some(Wanted::Many(tag, count)));
                    true
                }
            }
        });
    }
}
