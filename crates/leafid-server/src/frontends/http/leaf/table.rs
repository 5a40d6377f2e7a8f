//! Leaf's two tables for people: `/cache` (what is in memory) and `/db` (what the store has).

use axum::extract::State;
use leafid::Status;
use leafid::store::TagRecord;
use std::fmt::Write as _;

use super::local_time;
use crate::frontends::http::answer::{self, Answer};
use crate::frontends::http::auth::{Served, Who};
use crate::frontends::http::problem::Answered;

/// Shows the segments in memory.
#[utoipa::path(
    get, path = "/cache", tag = "leaf", operation_id = "leaf_cache",
    responses((status = 200, description = "a table: name, init, next, pos, value0, max0, step0, value1, max1, step1",
               body = String, content_type = "text/html"))
)]
pub(crate) async fn cache(State(service): Served, Who(caller): Who) -> Answered {
    let rows_max = service.limits().table_rows_max as usize;
    let statuses = service.statuses(&caller, rows_max)?;
    let columns = [
        "name", "init", "next", "pos", "value0", "max0", "step0", "value1", "max1", "step1",
    ];
    let mut page = Page::new("cache", &columns);
    for status in &statuses {
        page.row(&cache_row(status));
    }
    let loaded_len = service.loaded_len();
    Ok(page.finish(statuses.len() < loaded_len))
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
pub(crate) async fn db(State(service): Served, Who(caller): Who) -> Answered {
    service.switched_on()?;
    let limits = service.limits();
    let rows_max = limits.table_rows_max.min(limits.page_len_max);
    let listed = service.tags(&caller, None, rows_max).await?;
    let mut page = Page::new("db", &["tag", "max", "step", "update"]);
    for record in &listed.tags {
        page.row(&db_row(record));
    }
    Ok(page.finish(listed.next.is_some()))
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
struct Page(String);

impl Page {
    fn new(title: &str, columns: &[&str]) -> Self {
        let mut html = format!(
            "<!DOCTYPE html>\n<html><head><meta charset=\"UTF-8\"><title>{title}</title></head>\n<body><table border=\"1\">\n<thead><tr>"
        );
        for column in columns {
            html.push_str("<th>");
            html.push_str(column);
            html.push_str("</th>");
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        Self(html)
    }

    fn row(&mut self, cells: &[String]) {
        self.0.push_str("<tr>");
        for cell in cells {
            self.0.push_str("<td>");
            push_escaped(&mut self.0, cell);
            self.0.push_str("</td>");
        }
        self.0.push_str("</tr>\n");
    }

    fn finish(mut self, has_more: bool) -> Answer {
        self.0.push_str("</tbody></table>\n");
        if has_more {
            // Writing to a string does not fail.
            let _written = writeln!(
                self.0,
                "<p>There are more: <a href=\"/v1/tags\">/v1/tags</a> lists all, page by page.</p>"
            );
        }
        self.0.push_str("</body></html>\n");
        answer::html(self.0)
    }
}

fn push_escaped(html: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
}
