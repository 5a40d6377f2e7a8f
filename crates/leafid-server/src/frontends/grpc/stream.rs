//! `Answers`: a stream of ids, one answer for each message, in order.
//!
//! hyper polls it to write the answers out, and it reads a message only then: nothing is queued
//! between the two, and no task stands between them. Ids in memory are answered at once; only an
//! answer that has to wait is put on the heap.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio_stream::Stream;
use tonic::{Status, Streaming};

use super::error::Refusal;
use super::v1::{StreamRequest, StreamResponse};
use crate::service::{Caller, Issued, IssuedId, LastTag, Service, ServiceError, ShardChoice};

type Waiting = Pin<Box<dyn Future<Output = Result<Issued, ServiceError>> + Send>>;

/// The answers of one stream.
pub(super) struct Answers {
    service: Arc<Service>,
    caller: Caller,
    last_tag: LastTag,
    requests: Streaming<StreamRequest>,
    /// The message that waits for its ids.
    waiting: Option<Waiting>,
}

impl Answers {
    pub(super) fn new(
        service: Arc<Service>,
        caller: Caller,
        requests: Streaming<StreamRequest>,
    ) -> Self {
        Self {
            service,
            caller,
            last_tag: LastTag::default(),
            requests,
            waiting: None,
        }
    }

    /// Answers a message out of memory, or has it wait.
    fn answer(&mut self, request: StreamRequest) -> Option<StreamResponse> {
        let StreamRequest {
            tag,
            count,
            in_shard,
        } = request;
        if let Some(shard) = in_shard {
            self.wait_in(tag, count, shard.into());
            return None;
        }
        let answered = match count {
            0 | 1 => {
                let (caller, last_tag) = (&self.caller, &mut self.last_tag);
                let id = self.service.try_next_again(caller, &tag, last_tag);
                id.map(|id| match id {
                    IssuedId::Number(id) => ids_answer(vec![id.get()], Vec::new()),
                    IssuedId::Text(text) => ids_answer(Vec::new(), vec![text]),
                })
            }
            _ => {
                let issued = self.service.try_next_many(&self.caller, &tag, count.into());
                issued.map(|issued| issued_answer(&issued))
            }
        };
        match answered {
            Err(error) if error.is_worth_waiting() => {
                let (service, caller) = (Arc::clone(&self.service), self.caller.clone());
                let count = count.max(1).into();
                self.waiting = Some(Box::pin(async move {
                    service.next_many(&caller, &tag, count).await
                }));
                None
            }
            answered => Some(answered.unwrap_or_else(failed_answer)),
        }
    }

    /// Has a message wait that names a shard: the tag may have to be read first.
    fn wait_in(&mut self, tag: String, count: u32, shard: ShardChoice) {
        let (service, caller) = (Arc::clone(&self.service), self.caller.clone());
        let count = count.max(1).into();
        self.waiting = Some(Box::pin(async move {
            let caller = service.in_shard(&caller, &tag, &shard).await?;
            service.next_many(&caller, &tag, count).await
        }));
    }
}

impl Stream for Answers {
    type Item = Result<StreamResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                let issued = ready!(waiting.as_mut().poll(context));
                self.waiting = None;
                let answer = issued.map(|issued| issued_answer(&issued));
                return Poll::Ready(Some(Ok(answer.unwrap_or_else(failed_answer))));
            }
            let request = match ready!(Pin::new(&mut self.requests).poll_next(context)) {
                Some(Ok(request)) => request,
                Some(Err(status)) => return Poll::Ready(Some(Err(status))),
                None => return Poll::Ready(None),
            };
            if let Some(answer) = self.answer(request) {
                return Poll::Ready(Some(Ok(answer)));
            }
        }
    }
}

fn issued_answer(issued: &Issued) -> StreamResponse {
    let texts = issued.texts().map(str::to_owned).collect();
    ids_answer(issued.numbers().map(leafid::Id::get).collect(), texts)
}

fn ids_answer(ids: Vec<u64>, texts: Vec<String>) -> StreamResponse {
    StreamResponse {
        ids,
        failure: None,
        texts,
    }
}

fn failed_answer(error: ServiceError) -> StreamResponse {
    StreamResponse {
        ids: Vec::new(),
        texts: Vec::new(),
        failure: Some(Refusal::from(error).into()),
    }
}
