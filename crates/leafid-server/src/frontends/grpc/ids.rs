//! `leafid.v1.Ids`: issues ids one by one, in batches and as ranges, and decodes them.

use std::sync::Arc;

use leafid::Id;
use tonic::{Request, Response, Streaming};

use super::connection::Connection;
use super::methods::{Answered, Methods, answer_in};
use super::reply::Room;
use super::stream::Answers;
use super::v1::ids_server::Ids;
use super::v1::{
    DecodeRequest, DecodeResponse, DecodeTextRequest, DecodeTextResponse, NextManyRequest,
    NextManyResponse, NextRequest, NextResponse, ReserveRangeRequest, ReserveRangeResponse,
    StreamRequest, next_many_request, next_request, stream_request,
};
use crate::net::unread::FREE_LEN;
use crate::service::{IssuedId, ShardChoice};

/// The bytes of an id, in memory and encoded.
const ID_LEN_MAX: usize = 8 + 10;

#[tonic::async_trait]
impl Ids for Methods {
    async fn next(&self, request: Request<NextRequest>) -> Answered<NextResponse> {
        let mut caller = self.caller(&request)?;
        let NextRequest { tag, in_shard } = request.into_inner();
        self.note_tag(&tag);
        if let Some(shard) = in_shard {
            caller = self.service.in_shard(&caller, &tag, &shard.into()).await?;
        }
        let answer = match self.service.next(&caller, &tag).await? {
            IssuedId::Number(id) => NextResponse {
                id: id.get(),
                text: String::new(),
            },
            IssuedId::Text(text) => NextResponse { id: 0, text },
        };
        Ok(Response::new(answer))
    }

    async fn next_many(&self, mut request: Request<NextManyRequest>) -> Answered<NextManyResponse> {
        let connection = request.extensions_mut().remove();
        let mut caller = self.caller(&request)?;
        let NextManyRequest {
            tag,
            count,
            in_shard,
        } = request.into_inner();
        self.note_tag(&tag);
        if let Some(shard) = in_shard {
            caller = self.service.in_shard(&caller, &tag, &shard.into()).await?;
        }
        let count = u64::from(count.max(1));
        let room = room(connection, count.min(self.service.limits().count_max)).await;
        let issued = self.service.next_many(&caller, &tag, count).await?;
        let ids = issued.numbers().map(Id::get).collect();
        let texts = issued.texts().map(str::to_owned).collect();
        Ok(answer_in(room, NextManyResponse { ids, texts }))
    }

    async fn reserve_range(
        &self,
        request: Request<ReserveRangeRequest>,
    ) -> Answered<ReserveRangeResponse> {
        let caller = self.caller(&request)?;
        let ReserveRangeRequest { tag, length } = request.into_inner();
        self.note_tag(&tag);
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
        let answer = super::decode::number(&self.service, request.into_inner())?;
        Ok(Response::new(answer))
    }

    async fn decode_text(
        &self,
        request: Request<DecodeTextRequest>,
    ) -> Answered<DecodeTextResponse> {
        let caller = self.caller(&request)?;
        let answer = super::decode::text(&self.service, &caller, request.into_inner()).await?;
        Ok(Response::new(answer))
    }
}

impl From<next_request::InShard> for ShardChoice {
    fn from(shard: next_request::InShard) -> Self {
        match shard {
            next_request::InShard::Shard(number) => Self::Number(number),
            next_request::InShard::ShardKey(key) => Self::Key(key),
        }
    }
}

impl From<next_many_request::InShard> for ShardChoice {
    fn from(shard: next_many_request::InShard) -> Self {
        match shard {
            next_many_request::InShard::Shard(number) => Self::Number(number),
            next_many_request::InShard::ShardKey(key) => Self::Key(key),
        }
    }
}

impl From<stream_request::InShard> for ShardChoice {
    fn from(shard: stream_request::InShard) -> Self {
        match shard {
            stream_request::InShard::Shard(number) => Self::Number(number),
            stream_request::InShard::ShardKey(key) => Self::Key(key),
        }
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
