//! Guards the standard health service: it follows readiness, by call and watched.

use std::sync::Arc;

use leafid_server::Config;
use tonic::Code;
use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::Line;
use crate::test_server::{Moody, TestServer};

fn about(service: &str) -> HealthCheckRequest {
    let service = service.to_owned();
    HealthCheckRequest { service }
}

fn client(line: &Line) -> HealthClient<Channel> {
    HealthClient::new(line.channel.clone())
}

fn check(line: &Line, service: &str) -> Result<ServingStatus, tonic::Status> {
    let checked = line.run(client(line).check(about(service)));
    checked.map(|answer| answer.into_inner().status())
}

#[test]
fn a_ready_server_serves_as_a_whole_and_by_service() {
    let line = Line::new();
    for name in ["", "leafid.v1.Ids", "leafid.v1.Tags"] {
        assert_eq!(
            check(&line, name).unwrap(),
            ServingStatus::Serving,
            "{name:?}"
        );
    }
    let status = check(&line, "leafid.v1.Nobody").unwrap_err();
    assert_eq!(status.code(), Code::NotFound);
}

#[test]
fn a_server_without_its_store_does_not_serve_until_it_comes() {
    let store = Moody::with_tag("order");
    store.go(true);
    let line = Line::to(TestServer::on_store(
        Config::default(),
        Arc::clone(&store) as Arc<_>,
    ));
    assert_eq!(check(&line, "").unwrap(), ServingStatus::NotServing);
    line.run(async {
        let mut watched = client(&line)
            .watch(about("leafid.v1.Ids"))
            .await
            .unwrap()
            .into_inner();
        let mut told = async || watched.message().await.unwrap().unwrap().status();
        assert_eq!(told().await, ServingStatus::NotServing);
        store.go(false);
        assert_eq!(told().await, ServingStatus::Serving);
    });
    assert_eq!(check(&line, "").unwrap(), ServingStatus::Serving);
}

#[test]
fn the_end_is_reported_to_watchers() {
    let mut line = Line::new();
    let (mut watched, mut unknown) = line.run(async {
        let mut client = client(&line);
        let mut watched = client.watch(about("")).await.unwrap().into_inner();
        let first = watched.message().await.unwrap().unwrap().status();
        assert_eq!(first, ServingStatus::Serving);
        let mut unknown = client.watch(about("nobody")).await.unwrap().into_inner();
        let first = unknown.message().await.unwrap().unwrap().status();
        assert_eq!(first, ServingStatus::ServiceUnknown);
        (watched, unknown)
    });
    line.server.stop();
    line.run(async {
        let last = watched.message().await.unwrap().unwrap().status();
        assert_eq!(last, ServingStatus::NotServing);
        assert_eq!(
            watched.message().await.unwrap_err().code(),
            Code::Unavailable
        );
        assert_eq!(
            unknown.message().await.unwrap_err().code(),
            Code::Unavailable
        );
    });
    line.server.ended().unwrap();
}
