//! A web service that numbers orders, with its ids in PostgreSQL, and shuts down in order.
#![expect(clippy::print_stdout, reason = "an example says where it listens")]

use std::env;

use axum::{Router, extract::State, http::StatusCode, routing::post};
use leafid::Generator;
use leafid_stores::Connector;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = env::var("DATABASE_URL")?; // postgres://user:password@host/database
    let ids = Connector::new(&url).create_tables(true).spawn().await?;
    let orders = ids.ensure_tag("order").await?;

    let app = Router::new().route("/orders", post(new_order));
    let address = env::var("LISTEN").unwrap_or("127.0.0.1:3000".into());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    axum::serve(listener, app.with_state(orders))
        .with_graceful_shutdown(async { tokio::signal::ctrl_c().await.unwrap_or_default() })
        .await?;
    Ok(())
}

async fn new_order(State(orders): State<Generator>) -> Result<String, (StatusCode, String)> {
    match orders.next().await {
        Ok(id) => Ok(id.to_string()),
        Err(error) if error.is_retryable() => {
            Err((StatusCode::SERVICE_UNAVAILABLE, error.to_string()))
        }
        Err(error) => Err((StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
    }
}

#[cfg(test)]
mod support;

#[cfg(test)]
mod tests {
    use super::support::{Example, check_shown};

    /// Guards that the service answers with ids, and ends in order.
    #[test]
    fn it_runs() {
        let database = leafid_testbed::shared_postgres().create_database();
        let variables = [("LISTEN", "127.0.0.1:0"), ("DATABASE_URL", &*database.url)];
        let Some(mut example) = Example::start("tests::it_runs", super::main, &variables) else {
            return;
        };
        let address = example.read("listening on ");
        assert_eq!(example.post(&address, "/orders"), "1");
        example.interrupt();
        example.finish();
    }

    /// Guards that what the docs show is what runs.
    #[test]
    fn it_is_shown() {
        check_shown(include_str!("axum_postgres.rs"), "docs/library.md");
    }
}
