//! `Attempt`: a connection that is being made for a call. If its call gets another one first, or is
//! given up, the attempt goes on for later calls: ending it would cost a slow server one connection
//! after the other, none of which is ever established. MariaDB refuses a host that does that.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use leafid::store::{BoxFuture, StoreError};
use tokio::runtime::Handle;

use super::{Pool, spawn};
use crate::backend::Backend;

type Making<S> = BoxFuture<'static, Result<<S as Backend>::Connection, StoreError>>;

pub(super) struct Attempt<'a, S: Backend> {
    pool: &'a Arc<Pool<S>>,
    /// `None` once it has ended.
    making: Option<Making<S>>,
    /// When it began: no sooner was its server checked.
    checked: Duration,
}

impl<'a, S: Backend> Attempt<'a, S> {
    pub(super) fn new(pool: &'a Arc<Pool<S>>, checked: Duration) -> Self {
        let counted = Counted::new(pool);
        Self {
            pool,
            making: Some(Box::pin(async move {
                let pool = &counted.0;
                pool.backend.connect(pool.patience).await
            })),
            checked,
        }
    }

    pub(super) async fn completed(&mut self) -> Result<S::Connection, StoreError> {
        let made = match &mut self.making {
            Some(making) => making.await,
            None => std::future::pending().await,
        };
        self.making = None;
        made
    }
}

impl<S: Backend> Drop for Attempt<'_, S> {
    fn drop(&mut self) {
        let Some(making) = self.making.take() else {
            return;
        };
        if self.pool.has_all() || Handle::try_current().is_err() {
            return;
        }
        let (pool, checked) = (Arc::clone(self.pool), self.checked);
        spawn(async move {
            match making.await {
                Ok(connection) => pool.put(pool.new_idle(connection, checked)),
                Err(error) => pool.note_refusal(&error),
            }
        });
    }
}

/// Counts an attempt while it goes on.
struct Counted<S: Backend>(Arc<Pool<S>>);

impl<S: Backend> Counted<S> {
    fn new(pool: &Arc<Pool<S>>) -> Self {
        pool.attempts_len.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(pool))
    }
}

impl<S: Backend> Drop for Counted<S> {
    fn drop(&mut self) {
        self.0.attempts_len.fetch_sub(1, Ordering::Relaxed);
    }
}
