//! The invocations that run.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::batch::Batch;
use super::standing::InFlight;
use crate::invoke::{Fault, Invoke, Outcome};

/// Invocations under way, numbered from 1.
#[derive(Default)]
pub(super) struct Invocations {
    running: JoinSet<Ended>,
    /// For each, when it started, and its records.
    started: BTreeMap<u64, (Instant, usize)>,
    last: u64,
}

/// An invocation that has ended.
pub(super) struct Ended {
    pub(super) invocation: u64,
    pub(super) batch: Batch,
    pub(super) took: Duration,
    pub(super) outcome: Outcome,
}

impl Invocations {
    /// Invokes a function with a batch and returns the invocation's number.
    pub(super) fn start(&mut self, function: Arc<impl Invoke>, batch: Batch, event: Bytes) -> u64 {
        let invocation = self.last.saturating_add(1);
        self.last = invocation;
        let started = Instant::now();
        let records = batch.records.len();
        self.started.insert(invocation, (started, records));
        self.running.spawn(async move {
            let invoked = AssertUnwindSafe(function.invoke(event)).catch_unwind();
            let outcome = invoked.await.unwrap_or_else(|_| {
                Outcome::Failed(Fault::Endpoint("invoking it panicked".to_owned()))
            });
            Ended {
                invocation,
                batch,
                took: started.elapsed(),
                outcome,
            }
        });
        invocation
    }

    /// Waits for the next that ends; `None` when none runs.
    pub(super) async fn ended(&mut self) -> Option<Ended> {
        // A task that was aborted went with its mapping.
        let ended = self.running.join_next().await?.ok()?;
        self.started.remove(&ended.invocation);
        Some(ended)
    }

    /// Returns what runs; `None` when nothing does.
    pub(super) fn in_flight(&self) -> Option<InFlight> {
        let running = self.started.values();
        let since = running.clone().map(|(started, _)| *started).min()?;
        Some(InFlight {
            invocations: running.len(),
            records: running.map(|(_, records)| records).sum(),
            since,
        })
    }
}
