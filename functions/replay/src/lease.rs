//! The lease of a topic of dead letters: taken before anything is published, renewed while the run goes on, given back at its end.
//!
//! Whether a lease is dead is judged by the store's own clock alone: when it was written and when it was looked at. The holder counts from
//! before its last write, by a clock that nobody sets, and stops early enough that what it has sent is over before anybody else may begin.

use std::convert::Infallible;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws::Swap;
use lambda::{Clock, Deadline, StoreFault};
use pipeline::replay::LeaseNote;
use pipeline::{Timestamp, Topic};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::error::ReplayError;
use crate::store::Store;

/// How often a lease is renewed.
const RENEWAL: Duration = Duration::from_secs(15);

/// How soon a renewal is tried again that the store did not take.
const AGAIN: Duration = Duration::from_secs(3);

/// How long before a lease's end its holder stops, in milliseconds: a produce may take that long, and the store's clock shows whole seconds.
const MARGIN_MS: i64 = Deadline::PRODUCE_MS.saturating_add(2_000);

/// How often taking a lease looks again when another write came between.
const LOOKS: usize = 4;

/// A lease that is held.
pub(crate) struct Lease<'a, S, C> {
    store: &'a S,
    clock: &'a C,
    key: String,
    replay_id: String,
    holder: String,
    held: Mutex<Held>,
}

#[derive(Clone, Debug)]
struct Held {
    etag: String,
    renewals: u64,
    good_until: Instant,
    lost: Option<String>,
}

impl<S, C> fmt::Debug for Lease<'_, S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("key", &self.key)
            .field("holder", &self.holder)
            .finish_non_exhaustive()
    }
}

impl<'a, S: Store, C: Clock> Lease<'a, S, C> {
    /// Takes the lease of a topic for a run; fails naming the run that holds it.
    pub(crate) async fn take(
        store: &'a S,
        clock: &'a C,
        topic: &Topic,
        replay_id: &str,
    ) -> Result<Self, ReplayError> {
        let lease = Self {
            store,
            clock,
            key: LeaseNote::key(topic),
            replay_id: replay_id.to_owned(),
            holder: Uuid::new_v4().to_string(),
            held: Mutex::new(Held {
                etag: String::new(),
                renewals: 0,
                good_until: Instant::now(),
                lost: None,
            }),
        };
        let body = || lease.note(0, false).write();
        let mut wrote = Instant::now();
        let mut holder = String::new();
        for _ in 0..LOOKS {
            let Some(there) = store.get(&lease.key).await? else {
                wrote = Instant::now();
                store.put_new(&lease.key, body()).await?;
                continue;
            };
            let note = LeaseNote::read(&there.body);
            let is_ours = |note: &LeaseNote| note.holder == lease.holder && !note.released;
            if note.as_ref().is_some_and(is_ours) {
                lease.hold(there.etag, 0, wrote);
                return Ok(lease);
            }
            let age_ms = there
                .age_ms
                .unwrap_or_else(|| lease.age_by_note(note.as_ref()));
            let is_free = note
                .as_ref()
                .map_or(age_ms > LeaseNote::LIFETIME_MS, |note| note.is_free(age_ms));
            holder = note.map_or_else(|| "unknown".to_owned(), |note| note.replay_id);
            if !is_free {
                break;
            }
            wrote = Instant::now();
            match store.replace(&lease.key, body(), &there.etag).await? {
                Swap::Swapped(etag) => {
                    lease.hold(etag, 0, wrote);
                    return Ok(lease);
                }
                Swap::Changed => {}
            }
        }
        Err(ReplayError::Busy {
            topic: topic.clone(),
            holder,
        })
    }

    /// Renews the lease until it is dropped, or lost.
    pub(crate) async fn keep(&self) -> Infallible {
        let mut pause = RENEWAL;
        loop {
            sleep(pause).await;
            pause = match self.renew().await {
                Ok(()) => RENEWAL,
                Err(error) => {
                    tracing::warn!(
                        replay.id = self.replay_id,
                        "the lease is not renewed: {error}"
                    );
                    AGAIN
                }
            };
            if self.held().lost.is_some() {
                return std::future::pending().await;
            }
        }
    }

    /// Says why nothing more may be published under it, if so.
    pub(crate) fn lost(&self) -> Option<String> {
        let held = self.held();
        if Instant::now() >= held.good_until && held.lost.is_none() {
            return Some(format!("{} could not be renewed in time", self.key));
        }
        held.lost.clone()
    }

    /// Gives the lease back, so that the next run need not wait for its end.
    pub(crate) async fn give_back(&self) {
        for _ in 0..2 {
            let (etag, renewals) = {
                let held = self.held();
                (held.etag.clone(), held.renewals)
            };
            let body = self.note(renewals.saturating_add(1), true).write();
            match self.store.replace(&self.key, body, &etag).await {
                Ok(Swap::Swapped(_)) => return,
                // A renewal that was cut short may have been written all the same.
                Ok(Swap::Changed) => match self.look().await {
                    Ok(Some(etag)) => self.held().etag = etag,
                    Ok(None) | Err(_) => return,
                },
                Err(error) => {
                    tracing::warn!(
                        replay.id = self.replay_id,
                        "the lease is not given back, and ends by itself: {error}"
                    );
                    return;
                }
            }
        }
    }

    async fn renew(&self) -> Result<(), StoreFault> {
        let (etag, renewals) = {
            let held = self.held();
            (held.etag.clone(), held.renewals.saturating_add(1))
        };
        let wrote = Instant::now();
        let body = self.note(renewals, false).write();
        match self.store.replace(&self.key, body, &etag).await? {
            Swap::Swapped(etag) => self.hold(etag, renewals, wrote),
            // Our own write, when its answer got lost and it was sent again.
            Swap::Changed => match self.look().await? {
                Some(etag) => self.hold(etag, renewals, wrote),
                None => {
                    self.held().lost = Some(format!("{} was taken by another run", self.key));
                }
            },
        }
        Ok(())
    }

    /// Looks whether the lease still is ours, and returns its tag if so.
    async fn look(&self) -> Result<Option<String>, StoreFault> {
        let there = self.store.get(&self.key).await?;
        Ok(there.and_then(|there| {
            let note = LeaseNote::read(&there.body)?;
            (note.holder == self.holder && !note.released).then_some(there.etag)
        }))
    }

    fn hold(&self, etag: String, renewals: u64, wrote: Instant) {
        let good_ms = LeaseNote::LIFETIME_MS.saturating_sub(MARGIN_MS);
        let good = Duration::from_millis(good_ms.unsigned_abs());
        *self.held() = Held {
            etag,
            renewals,
            good_until: wrote.checked_add(good).unwrap_or(wrote),
            lost: None,
        };
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, renewals: u64, released: bool) -> LeaseNote {
        LeaseNote {
            replay_id: self.replay_id.clone(),
            holder: self.holder.clone(),
            renewals,
            released,
            written: self.clock.now().to_rfc3339().unwrap_or_default(),
        }
    }

    /// Tells a lease's age by our own clock, for a store that keeps no times.
    fn age_by_note(&self, note: Option<&LeaseNote>) -> i64 {
        let written = note.and_then(|note| Timestamp::from_rfc3339(&note.written));
        written.map_or(0, |written| self.clock.now().millis_since(written))
    }
}
