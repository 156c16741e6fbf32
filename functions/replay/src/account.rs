//! What is written down of each chunk: in the ledger when it went back, in the plan when it would.

use lambda::{Clock, StoreFault};
use pipeline::Timestamp;
use pipeline::replay::{LedgerEntry, Place, Planned, Request, Stopped};

use crate::dead_letters::Entry;
use crate::ledger;
use crate::planning::Planner;
use crate::store::Store;

/// Writes down what became of each chunk before the next one begins.
pub(crate) trait Account {
    /// Writes down the entries that went back, or would; says what stops the run, if anything does.
    async fn note(&mut self, sent: &[&Entry]) -> Option<Stopped>;
}

/// Keeps the ledger.
#[derive(Debug)]
pub(crate) struct Keeping<'a, S, C> {
    store: &'a S,
    clock: &'a C,
    request: &'a Request,
    /// Until when the store may be waited for.
    time: Timestamp,
    unrecorded: Vec<Place>,
}

impl<'a, S: Store, C: Clock> Keeping<'a, S, C> {
    /// Begins with nothing left unrecorded.
    pub(crate) const fn new(
        store: &'a S,
        clock: &'a C,
        request: &'a Request,
        time: Timestamp,
    ) -> Self {
        Self {
            store,
            clock,
            request,
            time,
            unrecorded: Vec::new(),
        }
    }

    /// Writes places into the ledger.
    pub(crate) async fn record(&self, places: Vec<Place>) -> Result<(), StoreFault> {
        if places.is_empty() {
            return Ok(());
        }
        let entry = LedgerEntry {
            from: self.request.from.clone(),
            to: self.request.to.clone(),
            replay_id: self.request.replay_id.clone(),
            plan: self.request.plan.clone(),
            published: self.clock.now().to_rfc3339().unwrap_or_default(),
            places,
        };
        tokio::select! {
            biased;
            recorded = ledger::record(self.store, &entry) => recorded,
            () = self.clock.sleep_until(self.time) => Err(StoreFault(
                "no answer before the invocation's time was up".to_owned(),
            )),
        }
    }

    /// Returns what was published and could not be written down: the token carries it on.
    pub(crate) fn into_unrecorded(self) -> Vec<Place> {
        self.unrecorded
    }
}

impl<S: Store, C: Clock> Account for Keeping<'_, S, C> {
    async fn note(&mut self, sent: &[&Entry]) -> Option<Stopped> {
        let places: Vec<Place> = sent.iter().filter_map(|entry| place(entry)).collect();
        let Err(error) = self.record(places.clone()).await else {
            return None;
        };
        // Whoever has neither the token nor this line would publish them once more.
        tracing::error!(
            replay.id = self.request.replay_id,
            replay.unrecorded = places.len(),
            replay.first = sent.first().map(|entry| entry.at().to_string()),
            replay.last = sent.last().map(|entry| entry.at().to_string()),
            "what was published is not in the ledger, go on with the token: {error}"
        );
        self.unrecorded = places;
        Some(Stopped::Store(error.to_string()))
    }
}

/// Drafts a plan.
#[derive(Debug)]
pub(crate) struct Drafting<'a, S>(Planner<'a, S>);

impl<'a, S: Store> Drafting<'a, S> {
    /// Drafts with a planner.
    pub(crate) const fn new(planner: Planner<'a, S>) -> Self {
        Self(planner)
    }

    /// Returns the planner with all that was noted.
    pub(crate) fn into_planner(self) -> Planner<'a, S> {
        self.0
    }
}

impl<S: Store> Account for Drafting<'_, S> {
    async fn note(&mut self, sent: &[&Entry]) -> Option<Stopped> {
        let records = sent.iter().filter_map(|entry| match entry {
            Entry::Record(record) => Some(Planned::of(record)),
            Entry::Unreadable { .. } => None,
        });
        let added = self.0.add(records).await;
        added.err().map(|error| Stopped::Store(error.to_string()))
    }
}

fn place(entry: &Entry) -> Option<Place> {
    match entry {
        Entry::Record(record) => Some(Place::of(record)),
        Entry::Unreadable { .. } => None,
    }
}
