//! Leaf's two tables for people: `/cache` (what is in memory) and `/db` (what the store has).

use leafid::Status;
use leafid::store::TagRecord;

use super::local_time;
use crate::frontends::http::answer::{self, Answer};
use crate::frontends::http::auth::Call;
use crate::frontends::http::problem::Answered;

/// Shows the segments in memory.
#[utoipa::path(
    get, path = "/cache", tag = "leaf", operation_id = "leaf_cache",
    responses((status = 200, description = "a table: name, init, next, pos, value0, max0, step0, value1, max1, step1",
               body = String, content_type = "text/html"))
)]
pub(crate) async fn cache(call: Call) -> Answered {
    let rows_max = call.service.limits().table_rows_max as usize;
    let statuses = call.service.statuses(&call.caller, rows_max)?;
    let columns = [
        "name", "init", "next", "pos", "value0", "max0", "step0", "value1", "max1", "step1",
    ];
    let rows = statuses.iter().map(cache_row);
    let has_more = statuses.len() < call.service.loaded_len();
    Ok(page("cache", columns, rows, has_more))
}

fn cache_row(status: &Status) -> [String; 10] {
    let [first, second] = status.segments;
    let is_next_ready = !second.is_empty() && second.start() >= first.end();
    let (value1, max1, step1) = if is_next_ready {
        (second.start(), second.end(), second.len())
    } else {
        (0, 0, 0)
    };
    [
        status.tag.to_string(),
        (status.reserves > 0).to_string(),
        is_next_ready.to_string(),
        "0".into(),
        status.cursor.min(first.end()).to_string(),
        first.end().to_string(),
        first.len().to_string(),
        value1.to_string(),
        max1.to_string(),
        step1.to_string(),
    ]
}

/// Shows the rows of the store.
#[utoipa::path(
    get, path = "/db", tag = "leaf", operation_id = "leaf_db",
    responses((status = 200, description = "a table: tag, max, step, update",
               body = String, content_type = "text/html"))
)]
pub(crate) async fn db(call: Call) -> Answered {
    call.service.switched_on()?;
    let limits = call.service.limits();
    let rows_max = limits.table_rows_max.min(limits.page_len_max);
    let listed = call.service.tags(&call.caller, None, rows_max).await?;
    let columns = ["tag", "max", "step", "update"];
    let rows = listed.tags.iter().map(db_row);
    Ok(page("db", columns, rows, listed.next.is_some()))
}

fn db_row(record: &TagRecord) -> [String; 4] {
    let updated = record.updated_ms;
    [
        record.tag.to_string(),
        record.max_id.to_string(),
        record.settings.step.to_string(),
        updated.map_or_else(String::new, |ms| local_time(ms, "%Y-%m-%d %H:%M:%S")),
    ]
}

/// A page with one table.
fn page<const N: usize>(
    title: &str,
    columns: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
    has_more: bool,
) -> Answer {
    let columns = columns.map(|column| format!("<th>{column}</th>")).concat();
    let rows = rows.map(|cells| {
        let cells = cells.map(|cell| format!("<td>{}</td>", escaped(&cell)));
        format!("<tr>{}</tr>\n", cells.concat())
    });
    let rows: String = rows.collect();
    let more = match has_more {
        true => {
            "<p>There are more: <a href=\"/v1/tags\">/v1/tags</a> lists all, page by page.</p>\n"
        }
        false => "",
    };
    answer::html(format!(
        "<!DOCTYPE html>\n<html><head><meta charset=\"UTF-8\"><title>{title}</title></head>\n\
         <body><table border=\"1\">\n<thead><tr>{columns}</tr></thead>\n<tbody>\n{rows}\
         </tbody></table>\n{more}</body></html>\n"
    ))
}

fn escaped(text: &str) -> String {
    // The ampersand first: the others are written with one.
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let text = text.replace('>', "&gt;").replace('"', "&quot;");
    text.replace('\'', "&#39;")
}
