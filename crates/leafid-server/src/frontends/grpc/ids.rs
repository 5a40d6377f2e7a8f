//! `leafid.v1.Ids`: issues ids one by one, in batches and as ranges, and decodes them.

use std::sync::Arc;

use leafid::{Id, ParseLayoutError};
use prost_types::Timestamp;
use tonic::{Request, Response, Streaming};

use super::connection::Connection;
use super::error::Refusal;
use super::methods::{Answered, Methods, answer_in};
use super::reply::Room;
use super::stream::Answers;
use super::v1::ids_server::Ids;
use super::v1::{
    DecodeRequest, DecodeResponse, NextManyRequest, NextManyResponse, NextRequest, NextResponse,
    ReserveRangeRequest, ReserveRangeResponse, StreamRequest,
};
use crate::net::unread::FREE_LEN;

/// The bytes of an id, in memory and encoded.
const ID_LEN_MAX: usize = 8 + 10;

#[tonic::async_trait]
impl Ids for Methods {
    async fn next(&self, request: Request<NextRequest>) -> Answered<NextResponse> {
        let caller = self.caller(&request)?;
        let tag = request.into_inner().tag;
        let id = self.service.next(&caller, &tag).await?.get();
        Ok(Response::new(NextResponse { id }))
    }

    async fn next_many(&self, mut request: Request<NextManyRequest>) -> Answered<NextManyResponse> {
        let connection = request.extensions_mut().remove();
        let caller = self.caller(&request)?;
        let NextManyRequest { tag, count } = request.into_inner();
        let count = u64::from(count.max(1));
        let room = room(connection, count.min(self.service.limits().count_max)).await;
        let issued = self.service.next_many(&caller, &tag, count).await?;
        let ids = issued.ids().map(Id::get).collect();
        Ok(answer_in(room, NextManyResponse { ids }))
    }

    async fn reserve_range(
        &self,
        request: Request<ReserveRangeRequest>,
    ) -> Answered<ReserveRangeResponse> {
        let caller = self.caller(&request)?;
        let ReserveRangeRequest { tag, length } = request.into_inner();
        let run = self.service.take(&caller, &tag, length).await?;
        Ok(Response::new(ReserveRangeResponse {
            first: run.start(),
            last: run.end() - 1,
            length: run.len(),
        }))
    }

    type StreamStream = Answers;

    async fn stream(&self, request: Request<Streaming<StreamRequest>>) -> Answered<Answers> {
        let caller = self.caller(&request)?;
        // Now, and with each message: an open stream without messages takes memory too.
        self.service.access().check_token(&caller)?;
        let (service, requests) = (Arc::clone(&self.service), request.into_inner());
        Ok(Response::new(Answers::new(service, caller, requests)))
    }

    async fn decode(&self, request: Request<DecodeRequest>) -> Answered<DecodeResponse> {
        let DecodeRequest { id, layout } = request.into_inner();
        let layout = if layout.is_empty() {
            self.service.layout()
        } else {
            let parsed = layout.parse();
            parsed.map_err(|error: ParseLayoutError| {
                Refusal::bad_field("layout", error.to_string())
            })?
        };
        let parts = self.service.decode(id, layout)?;
        let data_center = parts.data_center;
        Ok(Response::new(DecodeResponse {
            layout: layout.to_string(),
            time: Some(timestamp(parts.unix_ms)),
            tick: parts.tick,
            worker_id: parts.worker.get(),
            data_center,
            worker_in_data_center: data_center.map(|_| parts.worker_in_data_center),
            sequence: parts.sequence,
        }))
    }
}

/// Waits until the answer may hold that many ids; `None`: they are too few to count.
async fn room(connection: Option<Arc<Connection>>, count: u64) -> Option<Room> {
    let len_max = usize::try_from(count).unwrap_or(usize::MAX) * ID_LEN_MAX;
    match connection {
        Some(connection) if len_max > FREE_LEN => {
            Some(Room::new(connection.backlog.room(len_max).await))
        }
        _ => None,
    }
}

/// Milliseconds since 1970 as a protobuf timestamp.
pub(super) fn timestamp(unix_ms: i64) -> Timestamp {
    let ms = i32::try_from(unix_ms.rem_euclid(1000)).unwrap_or_default();
    Timestamp {
        seconds: unix_ms.div_euclid(1000),
        nanos: ms * 1_000_000,
    }
}
