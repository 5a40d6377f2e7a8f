//! `leafid.v1.Tags`: creates, shows, lists, changes and deletes tags.

mod read;
mod view;

use std::sync::Arc;

use tonic::{Request, Response};

use super::Method;
use super::connection::Connection;
use super::error::Refusal;
use super::methods::{Answered, Methods, answer_in};
use super::reply::Room;
use super::v1::tags_server::Tags;
use super::v1::{
    self, CreateTagRequest, DeleteTagRequest, GetTagRequest, ListTagsRequest, ListTagsResponse,
    UpdateTagRequest,
};

/// The approximate size of the longest page: its real size is counted once it is made.
const PAGE_LEN_MAX: usize = 256 * 1024;

#[tonic::async_trait]
impl Tags for Methods {
    async fn create_tag(&self, request: Request<CreateTagRequest>) -> Answered<v1::Tag> {
        let caller = self.changer(&request, Method::CreateTag)?;
        let spec = read::spec(request.into_inner(), self.service.step())?;
        let view = self.service.create_tag(&caller, &spec).await?;
        Ok(Response::new(v1::Tag::from(&view)))
    }

    async fn get_tag(&self, request: Request<GetTagRequest>) -> Answered<v1::Tag> {
        let caller = self.caller(&request)?;
        let tag = read::name("name", request.into_inner().name)?;
        let view = self.service.tag(&caller, &tag).await?;
        Ok(Response::new(v1::Tag::from(&view)))
    }

    async fn list_tags(&self, mut request: Request<ListTagsRequest>) -> Answered<ListTagsResponse> {
        let connection: Option<Arc<Connection>> = request.extensions_mut().remove();
        let caller = self.caller(&request)?;
        let request = request.into_inner();
        let limits = self.service.limits();
        let page_len = match u32::try_from(request.page_size) {
            Ok(0) => limits.page_len,
            Ok(page_size) => page_size.min(limits.page_len_max),
            Err(_) => {
                let message = format!("page_size is {}: ask for 0 or more", request.page_size);
                return Err(Refusal::bad_field("page_size", message).into());
            }
        };
        let token = Some(request.page_token).filter(|token| !token.is_empty());
        let after = token
            .map(|token| read::name("page_token", token))
            .transpose()?;
        let room = match connection {
            Some(connection) => Some(Room::new(connection.backlog.room(PAGE_LEN_MAX).await)),
            None => None,
        };
        let service = &self.service;
        let page = service.tags(&caller, after.as_ref(), page_len).await?;
        let next = page.next.map(|tag| tag.as_str().to_owned());
        let answer = ListTagsResponse {
            tags: page.tags.iter().map(v1::Tag::from).collect(),
            next_page_token: next.unwrap_or_default(),
        };
        Ok(answer_in(room, answer))
    }

    async fn update_tag(&self, request: Request<UpdateTagRequest>) -> Answered<v1::Tag> {
        let caller = self.changer(&request, Method::UpdateTag)?;
        let request = request.into_inner();
        let fixed = read::fixed(&request);
        let (tag, patch, next) = read::patch(request)?;
        if let Some(fixed) = fixed {
            let found = self.service.tag(&caller, &tag).await?;
            read::check_fixed(&fixed, &v1::Tag::from(&found))?;
        }
        let changed = self.service.change_tag(&caller, &tag, &patch, next);
        let view = changed.await?;
        Ok(Response::new(v1::Tag::from(&view)))
    }

    async fn delete_tag(&self, request: Request<DeleteTagRequest>) -> Answered<()> {
        let caller = self.changer(&request, Method::DeleteTag)?;
        let tag = read::name("name", request.into_inner().name)?;
        self.service.delete_tag(&caller, &tag).await?;
        Ok(Response::new(()))
    }
}
