//! Guards reflection, as grpcurl uses it, by the v1 name of the service and the v1alpha one.

use futures_util::stream;
use prost::Message as _;
use prost_types::FileDescriptorProto;
use tonic_reflection::pb::{v1, v1alpha};

use super::Line;

#[test]
fn the_services_are_listed_and_described() {
    use v1::server_reflection_request::MessageRequest;
    use v1::server_reflection_response::MessageResponse;
    let line = Line::new();
    let ask = |question: MessageRequest| {
        let request = v1::ServerReflectionRequest {
            host: String::new(),
            message_request: Some(question),
        };
        let mut client =
            v1::server_reflection_client::ServerReflectionClient::new(line.channel.clone());
        line.run(async {
            let requests = stream::iter([request]);
            let answers = client.server_reflection_info(requests).await.unwrap();
            let answer = answers.into_inner().message().await.unwrap().unwrap();
            answer.message_response.unwrap()
        })
    };
    let MessageResponse::ListServicesResponse(listed) =
        ask(MessageRequest::ListServices(String::new()))
    else {
        panic!("no list");
    };
    let mut names: Vec<_> = listed
        .service
        .iter()
        .map(|service| &*service.name)
        .collect();
    names.sort_unstable();
    let expected = [
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
        "leafid.v1.Ids",
        "leafid.v1.Tags",
    ];
    assert_eq!(names, expected);

    // The files that a client needs, from the one that it asks about to those it is built on.
    let files = [
        MessageRequest::FileContainingSymbol("leafid.v1.Ids".into()),
        MessageRequest::FileContainingSymbol("leafid.v1.Tags.UpdateTag".into()),
        MessageRequest::FileContainingSymbol("google.rpc.ErrorInfo".into()),
        MessageRequest::FileByFilename("google/protobuf/timestamp.proto".into()),
        MessageRequest::FileByFilename("google/protobuf/field_mask.proto".into()),
        MessageRequest::FileByFilename("google/protobuf/empty.proto".into()),
        MessageRequest::FileByFilename("google/protobuf/duration.proto".into()),
    ];
    for question in files {
        let asked = format!("{question:?}");
        let MessageResponse::FileDescriptorResponse(found) = ask(question) else {
            panic!("{asked} was not found");
        };
        let file = FileDescriptorProto::decode(&*found.file_descriptor_proto[0]).unwrap();
        assert!(file.name.is_some(), "{asked}");
    }
}

#[test]
fn old_clients_ask_by_the_old_name() {
    use v1alpha::server_reflection_request::MessageRequest;
    let line = Line::new();
    let request = v1alpha::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let channel = line.channel.clone();
    let mut client = v1alpha::server_reflection_client::ServerReflectionClient::new(channel);
    let answer = line.run(async {
        let requests = stream::iter([request]);
        let answers = client.server_reflection_info(requests).await.unwrap();
        answers.into_inner().message().await.unwrap().unwrap()
    });
    let listed = format!("{answer:?}");
    assert!(listed.contains("leafid.v1.Ids"), "{listed}");
}
