//! The place of a client that is made at first need and replaced when it has become useless.

use std::sync::{Arc, Mutex, PoisonError};

use pipeline::Timestamp;

use super::client::Client;
use super::undelivered::Undelivered;
use crate::connection::Connection;

/// How long a client may be idle before it is replaced, in milliseconds.
///
/// Between invocations the process is frozen, and the other end of a connection may go without a word: load balancers and brokers
/// drop idle connections after minutes. A new client costs a few round trips, a dead connection seconds.
const MOST_IDLE_MS: i64 = 60_000;

/// How records are put into batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Batching {
    /// Those of a partition that come within a few milliseconds go together.
    Together,
    /// Every record is a batch of its own.
    Alone,
}

/// Holds the client of one way of batching, if there is one.
#[derive(Debug)]
pub(crate) struct Slot {
    batching: Batching,
    current: Mutex<Option<Current>>,
}

#[derive(Debug)]
struct Current {
    client: Arc<Client>,
    last_used: Timestamp,
}

impl Slot {
    pub(crate) const fn new(batching: Batching) -> Self {
        Self {
            batching,
            current: Mutex::new(None),
        }
    }

    /// Returns the client, made anew when there is none or when it has become useless.
    pub(crate) fn client(
        &self,
        connection: &Connection,
        now: Timestamp,
    ) -> Result<Arc<Client>, Undelivered> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(current) = &mut *current {
            let useless = current
                .client
                .useless()
                .or_else(|| (now.millis_since(current.last_used) > MOST_IDLE_MS).then_some("idle"));
            match useless {
                None => {
                    current.last_used = now;
                    return Ok(Arc::clone(&current.client));
                }
                Some(why) => tracing::debug!(why, "the producer's client is replaced"),
            }
            current.client.retire();
        }
        let client = Client::new(connection, self.batching)
            .map(Arc::new)
            .map_err(|error| Undelivered::Fault(error.to_string()))?;
        *current = Some(Current {
            client: Arc::clone(&client),
            last_used: now,
        });
        drop(current);
        Ok(client)
    }

    /// Notes that the client was in use until now.
    pub(crate) fn used(&self, now: Timestamp) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(current) = &mut *current {
            current.last_used = now;
        }
    }

    /// Takes the client away; what it has not delivered is given up.
    pub(crate) fn retire(&self) {
        let current = {
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            current.take()
        };
        if let Some(current) = current {
            current.client.retire();
        }
    }
}
