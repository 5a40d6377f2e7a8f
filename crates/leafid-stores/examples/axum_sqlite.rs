//! A web service that numbers orders, with its ids in a SQLite file.
#![expect(clippy::print_stdout, reason = "an example says where it listens")]

use axum::{Router, extract::State, http::StatusCode, routing::post};
use leafid::Generator;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ids = leafid_stores::connect("sqlite:ids.db").await?;
    let orders = ids.ensure_tag("order").await?;

    let app = Router::new().route("/orders", post(new_order));
    let address = std::env::var("LISTEN").unwrap_or("127.0.0.1:3000".into());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, app.with_state(orders)).await?;
    Ok(())
}

async fn new_order(State(orders): State<Generator>) -> Result<String, (StatusCode, String)> {
    match orders.next().await {
        Ok(id) => Ok(id.to_string()),
        Err(error) => Err((StatusCode::SERVICE_UNAVAILABLE, error.to_string())),
    }
}

#[cfg(test)]
mod support;

#[cfg(test)]
mod tests {
    use super::support::{Example, check_shown};

    /// Guards that the service answers with ids.
    #[test]
    fn it_runs() {
        let listen = [("LISTEN", "127.0.0.1:0")];
        let Some(mut example) = Example::start("tests::it_runs", super::main, &listen) else {
            return;
        };
        let address = example.read("listening on ");
        assert_eq!(example.post(&address, "/orders"), "1");
        assert_eq!(example.post(&address, "/orders"), "2");
    }

    /// Guards that what the docs show is what runs.
    #[test]
    fn it_is_shown() {
        check_shown(include_str!("axum_sqlite.rs"), "docs/library.md");
    }
}
