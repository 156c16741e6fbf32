//! What was seen of a run's payments: each counts once, under the dead letter that was sent back.

use std::collections::{BTreeMap, BTreeSet};

use lambda::StoreFault;
use pipeline::headers::names;
use pipeline::replay::{RunRecord, RunState};
use pipeline::{Coordinates, Incident, Offset, Partition, Record};

use super::{DeadAgain, NAMED, Standing, Waiting};
use crate::store::Store;

/// The dead letter that was sent back: its place in the topic of dead letters.
type Origin = (Partition, Offset);

/// What was seen of a run's payments.
#[derive(Debug, Default)]
pub(super) struct Seen {
    sent: BTreeSet<Origin>,
    waiting: BTreeSet<Origin>,
    unknown: BTreeSet<Origin>,
    dead: BTreeSet<Origin>,
    target_is_gone: bool,
    waits: Vec<Waiting>,
    named: BTreeMap<Origin, DeadAgain>,
}

impl Seen {
    /// Notes a payment in the topic to which it was sent back.
    pub(super) fn sent(&mut self, record: &Record) {
        self.sent.extend(origin(record));
    }

    /// Notes a payment in a topic of the ladder, later than where it was seen before: what it did there is over.
    pub(super) fn passed(&mut self, record: &Record) {
        if let Some(origin) = origin(record) {
            self.unknown.remove(&origin);
        }
    }

    /// Notes that the topic to which the run has sent is not there: of what was in it nothing is known.
    pub(super) const fn target_is_gone(&mut self) {
        self.target_is_gone = true;
    }

    /// Notes a payment of which it is not known whether it is done where it is.
    pub(super) fn unknown(&mut self, record: &Record) {
        self.unknown.extend(origin(record));
    }

    /// Notes a payment that waits.
    pub(super) fn waits(&mut self, record: &Record, due: Option<String>) {
        let Some(origin) = origin(record) else { return };
        if self.waiting.insert(origin) && self.waits.len() < NAMED {
            self.waits.push(Waiting {
                key: key(record),
                from: from(record),
                at: record.coordinates.to_string(),
                due,
            });
        }
    }

    /// Notes a payment that is dead again.
    pub(super) fn dead(&mut self, record: &Record, incident: &Incident) {
        let Some(origin) = origin(record) else { return };
        if self.dead.insert(origin) && self.named.len() < NAMED {
            let dead = DeadAgain {
                key: incident.key.clone(),
                from: from(record),
                at: Some(record.coordinates.to_string()),
                error_code: incident.error_code.clone(),
                incident: Some(incident.key().to_owned()),
            };
            self.named.insert(origin, dead);
        }
    }

    /// Notes a payment that is dead again, of which only the incident is left.
    pub(super) fn dead_by_incident(&mut self, incident: &Incident) {
        let from = incident.replay_from_dlq.clone().unwrap_or_default();
        let Ok(place) = from.parse::<Coordinates>() else {
            return;
        };
        let origin = (place.partition, place.offset);
        if self.dead.insert(origin) && self.named.len() < NAMED {
            let dead = DeadAgain {
                key: incident.key.clone(),
                from,
                at: None,
                error_code: incident.error_code.clone(),
                incident: Some(incident.key().to_owned()),
            };
            self.named.insert(origin, dead);
        }
    }

    /// Leaves out the incidents that are not there yet.
    pub(super) async fn check_incidents<S: Store>(&mut self, store: &S) -> Result<(), StoreFault> {
        for dead in self.named.values_mut() {
            if let Some(incident) = &dead.incident
                && store.get(incident).await?.is_none()
            {
                dead.incident = None;
            }
        }
        Ok(())
    }

    /// Adds up. A payment that is dead again does not wait, though a copy of it may.
    pub(super) fn standing(mut self, run: &RunRecord, unsure: Vec<String>) -> Standing {
        let waiting = self.waiting.difference(&self.dead).count();
        let known = |origin: &&Origin| self.dead.contains(origin) || self.waiting.contains(origin);
        let unknown = self.unknown.iter().filter(|origin| !known(origin));
        let mut unknown = many(unknown.count());
        let (dead_again, waiting) = (many(self.dead.len()), many(waiting));
        if self.target_is_gone {
            let told = dead_again.saturating_add(waiting);
            unknown = run.counts.published.saturating_sub(told);
        }
        let not_through = dead_again.saturating_add(waiting).saturating_add(unknown);
        // A run that was killed has not written down all that it sent; the topic may not have all that it wrote down.
        let published = run.counts.published.max(many(self.sent.len()));
        let published = published.max(not_through);
        let dead: BTreeSet<String> = self.named.values().map(|dead| dead.from.clone()).collect();
        self.waits.retain(|waiting| !dead.contains(&waiting.from));
        Standing {
            replay_id: run.replay_id.clone(),
            state: run.state,
            published,
            dead_again,
            waiting,
            went_through: published.saturating_sub(not_through),
            unknown,
            over: run.state == RunState::Complete && waiting == 0 && unknown == 0,
            dead: self.named.into_values().collect(),
            waits: self.waits,
            unsure,
        }
    }
}

fn origin(record: &Record) -> Option<Origin> {
    let place: Coordinates = record.headers.text(names::REPLAY_FROM_DLQ)?.parse().ok()?;
    Some((place.partition, place.offset))
}

fn from(record: &Record) -> String {
    let from = record.headers.text(names::REPLAY_FROM_DLQ);
    from.unwrap_or_default().to_owned()
}

fn key(record: &Record) -> Option<String> {
    let key = std::str::from_utf8(record.key.as_deref()?).ok()?;
    Some(pipeline::Masker::default().text(key))
}

fn many(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
