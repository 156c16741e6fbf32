//! The place of a client that is made at first need and replaced when it has become useless.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use pipeline::Timestamp;

use super::client::Client;
use super::undelivered::Undelivered;
use crate::auth::Credentials;
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
    clients: Mutex<Clients>,
}

#[derive(Debug)]
struct Clients {
    current: Option<Arc<Client>>,
    last_used: Timestamp,
    /// Those that were replaced and may still have records under way.
    replaced: Vec<Weak<Client>>,
}

impl Slot {
    pub(crate) const fn new(batching: Batching) -> Self {
        Self {
            batching,
            clients: Mutex::new(Clients {
                current: None,
                last_used: Timestamp::NONE,
                replaced: Vec::new(),
            }),
        }
    }

    /// Returns the client, made anew when there is none or when it has become useless.
    pub(crate) fn client(
        &self,
        connection: &Connection,
        credentials: Credentials,
        now: Timestamp,
    ) -> Result<Arc<Client>, Undelivered> {
        let mut clients = self.lock();
        let idle = now.millis_since(clients.last_used) > MOST_IDLE_MS;
        clients.last_used = now;
        if let Some(client) = &clients.current {
            let other = client.was_made_without(&credentials);
            let useless = client
                .useless()
                .or(other.then_some("has old credentials"))
                .or(idle.then_some("was idle"));
            let Some(why) = useless else {
                return Ok(Arc::clone(client));
            };
            tracing::debug!(why, "the producer's client is replaced");
        }
        let client = Client::new(connection, credentials, self.batching)
            .map(Arc::new)
            .map_err(|error| Undelivered::Fault(error.to_string()))?;
        let replaced = clients.current.replace(Arc::clone(&client));
        clients.replaced.retain(|client| client.strong_count() > 0);
        clients.replaced.extend(replaced.iter().map(Arc::downgrade));
        drop(clients);
        Ok(client)
    }

    /// Notes that the client was in use until now.
    pub(crate) fn used(&self, now: Timestamp) {
        self.lock().last_used = now;
    }

    /// Takes the client away; what it and its predecessors have not delivered is given up.
    pub(crate) fn retire(&self) {
        let (current, replaced) = {
            let mut clients = self.lock();
            (clients.current.take(), mem::take(&mut clients.replaced))
        };
        let replaced = replaced.iter().filter_map(Weak::upgrade);
        for client in replaced.chain(current) {
            client.retire();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
