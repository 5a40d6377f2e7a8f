//! Guards the stream: one answer for each message, in order, whatever is requested.

use std::sync::Arc;

use leafid_server::Config;
use tokio::sync::mpsc;
use tonic::{Code, Status, Streaming};

use super::v1::{StreamRequest, StreamResponse};
use super::{Line, check_status};
use crate::test_server::{Moody, TestServer};

/// An open stream.
struct Talk {
    asked: Option<mpsc::UnboundedSender<StreamRequest>>,
    answers: Streaming<StreamResponse>,
}

impl Talk {
    async fn new(line: &Line) -> Self {
        let (asked, requests) = mpsc::unbounded_channel();
        let requests = futures_util::stream::unfold(requests, |mut requests| async {
            let request = requests.recv().await?;
            Some((request, requests))
        });
        let answers = line.ids().stream(requests).await.unwrap().into_inner();
        Self {
            asked: Some(asked),
            answers,
        }
    }

    fn ask(&self, tag: &str, count: u32) {
        let tag = tag.to_owned();
        let asked = self.asked.as_ref().unwrap();
        asked
            .send(StreamRequest {
                tag,
                count,
                ..StreamRequest::default()
            })
            .unwrap();
    }

    async fn answer(&mut self) -> StreamResponse {
        self.answers.message().await.unwrap().unwrap()
    }

    async fn ids(&mut self) -> Vec<u64> {
        let answer = self.answer().await;
        assert_eq!(answer.failure, None);
        answer.ids
    }

    /// How it ends.
    async fn end(&mut self) -> Result<Option<StreamResponse>, Status> {
        self.answers.message().await
    }
}

#[test]
fn each_message_is_answered_in_order() {
    let line = Line::new();
    line.run(async {
        let mut talk = Talk::new(&line).await;
        for count in [1, 0, 5, 2] {
            talk.ask("order", count);
        }
        talk.ask("user", 1);
        assert_eq!(talk.ids().await, [1]);
        assert_eq!(talk.ids().await, [2]);
        assert_eq!(talk.ids().await, [3, 4, 5, 6, 7]);
        assert_eq!(talk.ids().await, [8, 9]);
        assert_eq!(talk.ids().await, [1]);
        for _ in 0..10_000 {
            talk.ask("order", 1);
        }
        for id in 10..10_010 {
            assert_eq!(talk.ids().await, [id]);
        }
        talk.asked = None;
        assert_eq!(talk.end().await.unwrap(), None);
    });
    let counted = super::counted(&line.server);
    let key = ("leafid.v1.Ids/Stream".to_owned(), "OK".to_owned());
    assert_eq!(counted[&key], 1, "{counted:?}");
}

#[test]
fn a_message_that_gets_no_ids_does_not_end_the_stream() {
    let line = Line::new();
    line.run(async {
        let mut talk = Talk::new(&line).await;
        talk.ask("order", 1);
        talk.ask("", 1);
        talk.ask("order", 10_001);
        talk.ask("order", 1);
        assert_eq!(talk.ids().await, [1]);
        for reason in ["BAD_TAG", "BAD_COUNT"] {
            let answer = talk.answer().await;
            assert!(answer.ids.is_empty());
            let failure = answer.failure.unwrap();
            assert_eq!((failure.code, failure.reason.as_str()), (3, reason));
            assert!(!failure.message.is_empty());
            assert_eq!(failure.retry_after, None);
        }
        assert_eq!(talk.ids().await, [2]);
    });
}

/// Guards that a tag which the stream has resolved is used in its present state, not its former
/// one.
#[test]
fn what_is_done_to_a_tag_while_a_stream_is_open_counts() {
    let line = Line::new();
    let server = &line.server;
    let mut talk = line.run(Talk::new(&line));
    let mut ask = |tag: &str| {
        talk.ask(tag, 1);
        let answer = line.run(talk.answer());
        answer
            .failure
            .map_or(Ok(answer.ids), |failure| Err(failure.reason))
    };
    assert_eq!(ask("order"), Ok(vec![1]));
    let quota = "PUT /v1/quotas/tags/order";
    assert!(server.ask_with(quota, r#"{"ids_per_second":0}"#).status < 300);
    assert_eq!(ask("order"), Err("OVER_QUOTA".to_owned()));
    assert_eq!(ask("user"), Ok(vec![1]));
    let quota = "DELETE /v1/quotas/tags/order";
    assert!(server.ask(quota).status < 300);
    assert_eq!(ask("order"), Ok(vec![2]));
    assert_eq!(ask("order"), Ok(vec![3]));
    assert_eq!(server.ask("DELETE /v1/tags/order").status, 204);
    assert_eq!(ask("order"), Err("UNKNOWN_TAG".to_owned()));
    // Created anew it continues above all ids ever issued.
    let created = server.ask_with("POST /v1/tags", r#"{"tag":"order"}"#);
    assert_eq!(created.status, 201, "{}", created.body);
    let after = ask("order").unwrap()[0];
    assert!(after > 3, "{after}");
    assert_eq!(ask("order"), Ok(vec![after + 1]));
    assert_eq!(line.next("order").unwrap(), after + 2);
}

#[test]
fn a_failing_store_is_reported_message_by_message_until_it_is_back() {
    let store = Moody::with_tag("order");
    let line = Line::to(TestServer::on_store(
        Config::default(),
        Arc::clone(&store) as Arc<_>,
    ));
    line.server.wait_until_ready();
    store.go(true);
    line.run(async {
        let mut talk = Talk::new(&line).await;
        talk.ask("order", 1);
        let failure = talk.answer().await.failure.unwrap();
        assert_eq!(failure.code, i32::from(Code::Unavailable));
        assert_eq!(failure.reason, "STORE_UNAVAILABLE");
        assert!(!failure.message.contains("secret"), "{failure:?}");
        assert!(failure.retry_after.is_some());
        store.go(false);
        loop {
            talk.ask("order", 1);
            let answer = talk.answer().await;
            if answer.failure.is_none() {
                assert_eq!(answer.ids, [1]);
                break;
            }
        }
    });
}

#[test]
fn an_open_stream_ends_with_the_server_and_says_so() {
    let mut line = Line::new();
    let mut talk = line.run(async {
        let mut talk = Talk::new(&line).await;
        talk.ask("order", 1);
        assert_eq!(talk.ids().await, [1]);
        talk
    });
    line.server.stop();
    let status = line.run(talk.end()).unwrap_err();
    check_status(&status, Code::Unavailable, "SHUTTING_DOWN", None);
    // Well before the grace period is over, or this would wait for it.
    line.server.ended().unwrap();
}
