//! `/console/servers`: every server of the cluster, each with its own overview. A server asks the
//! others, which the registry of worker ids lists; it proves in the name of its caller that it may.

use std::collections::BTreeMap;

use axum::extract::State;
use tokio::task::JoinSet;

use super::pages;
use crate::api::console::{KnownServer, Overview, Servers};
use crate::frontends::http::answer;
use crate::frontends::http::auth::Call;
use crate::frontends::http::problem::{Answered, Problem};
use crate::frontends::http::request_context::RequestContext;
use crate::service::ServiceError;

/// How many servers are asked.
const SERVERS_MAX: usize = 64;

pub(super) async fn list(call: Call, context: State<RequestContext>) -> Answered {
    let Call { service, caller } = &call;
    service.check_look(caller)?;
    let _turn = context.console.rounds.acquire().await;
    let own = pages::shown_to(&context, caller).await;
    let own_worker = own.worker.as_ref().and_then(|worker| worker.worker);
    let mut servers = vec![KnownServer {
        address: own.server.name.clone(),
        worker: own_worker,
        own: true,
        overview: Some(own),
        error: None,
    }];
    let rows = match service.workers(caller).await {
        Ok(rows) => rows,
        // Without a registry no other server is known.
        Err(ServiceError::SnowflakeOff) => Vec::new(),
        Err(error) => return Err(Problem::from(error)),
    };
    let others = rows.into_iter().filter(|row| row.is_held && !row.is_own);
    let others = others.filter(|row| !row.record.address.is_empty());
    let mut asked = JoinSet::new();
    for row in others.take(SERVERS_MAX) {
        let (address, worker) = (row.record.address, row.record.worker.get());
        let proof = service.peer_proof(caller, &address);
        let peers = context.console.peers.clone();
        asked.spawn(async move {
            let overview: Option<Overview> = peers.overview(&address, proof).await;
            KnownServer {
                error: overview
                    .is_none()
                    .then(|| "it does not answer as a leafid server".to_owned()),
                worker: Some(worker),
                own: false,
                address,
                overview,
            }
        });
    }
    let answers = asked.join_all().await;
    let answers: BTreeMap<_, _> = answers
        .into_iter()
        .map(|server| (server.worker, server))
        .collect();
    servers.extend(answers.into_values());
    Ok(answer::ok(&Servers { servers }))
}
