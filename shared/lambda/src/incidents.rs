//! Incidents kept and told: the object first, then the alert, then whatever the caller does next.

use std::fmt;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use pipeline::alert::alert_text;
use pipeline::spill::{RawSpill, SpilledRecord};
use pipeline::{Coordinates, Incident, Masker, Outgoing, Record, Timestamp};

use crate::event::Undecodable;
use crate::metrics::Count;
use crate::objects::{Objects, Put, StoreFault};
use crate::turn::Turn;

/// Keeps incidents in the object store and writes an alert of each new one; one for the whole process, which it counts them in.
pub struct Incidents<O> {
    store: O,
    masker: Masker,
    alerts: Mutex<Alerts>,
}

struct Alerts {
    raised: u64,
    out: Box<dyn Write + Send>,
}

/// Tells whether an incident is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It is, and its alert was written: the alert's text.
    New(String),
    /// It is, but its alert could not be written: its text stands in the log.
    Unheard(String),
    /// It was kept before: nobody is alerted again.
    Known,
}

impl Recorded {
    /// Counts what it is in the metrics of an invocation.
    pub fn tally(&self, turn: &Turn) {
        match self {
            Self::New(_) => {
                turn.count(Count::IncidentsCreated);
                turn.count(Count::AlertsRaised);
            }
            Self::Unheard(_) => turn.count(Count::IncidentsCreated),
            Self::Known => {}
        }
    }
}

impl<O> fmt::Debug for Incidents<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incidents").finish_non_exhaustive()
    }
}

impl<O: Objects> Incidents<O> {
    /// Joins the store with what takes secrets out of text and the place where alerts are written: standard output, in production.
    pub fn new(store: O, masker: Masker, out: Box<dyn Write + Send>) -> Self {
        let alerts = Mutex::new(Alerts { raised: 0, out });
        Self {
            store,
            masker,
            alerts,
        }
    }

    /// Returns the store.
    pub const fn store(&self) -> &O {
        &self.store
    }

    /// Tells of a record in the dead-letter topic.
    pub fn told(&self, record: &Record) -> Incident {
        Incident::of(record, &self.masker)
    }

    /// Keeps an incident, and writes an alert when it is new. An error means that neither happened, or that it may not have.
    pub async fn record(&self, incident: &Incident) -> Result<Recorded, StoreFault> {
        match self.store.put_new(incident.key(), incident.json()).await? {
            Put::Created => Ok(self.alert(incident)),
            Put::Existed => Ok(Recorded::Known),
        }
    }

    /// Keeps a record whole that no topic takes, and an incident that names it; `source` and `timestamp` are those of the record as it was read.
    pub async fn spill(
        &self,
        outgoing: &Outgoing,
        source: &Coordinates,
        timestamp: Timestamp,
    ) -> Result<Recorded, StoreFault> {
        let spilled = SpilledRecord {
            source: source.clone(),
            timestamp,
            outgoing: outgoing.clone(),
        };
        let key = spilled.key();
        self.store.put_new(&key, spilled.json()).await?;
        let incident = Incident::of_spilled(outgoing, source, timestamp, &key, &self.masker);
        self.record(&incident).await
    }

    /// Keeps the raw JSON of an entry that is no record, and returns the incident that names it, yet to be recorded.
    pub async fn spill_raw(&self, entry: &Undecodable) -> Result<Incident, StoreFault> {
        let spill = RawSpill {
            topic: entry.topic.as_ref(),
            partition: entry.partition,
            offset: entry.offset,
            timestamp: entry.timestamp,
            raw: &entry.raw,
        };
        self.store.put_new(&spill.key(), entry.raw.to_vec()).await?;
        Ok(Incident::of_raw(&spill, &entry.why, &self.masker))
    }

    /// Writes the next alert in one piece, so that alerts of records that run beside each other do not mix.
    fn alert(&self, incident: &Incident) -> Recorded {
        let mut alerts = self.alerts.lock().unwrap_or_else(PoisonError::into_inner);
        alerts.raised = alerts.raised.saturating_add(1);
        let text = alert_text(incident, alerts.raised, &self.masker);
        let written = alerts
            .out
            .write_all(format!("{text}\n").as_bytes())
            .and_then(|()| alerts.out.flush());
        drop(alerts);
        if let Err(error) = written {
            // The incident is kept, so the record is done: to hand it back would alert nobody either.
            tracing::error!("an alert could not be written: {error}; it was: {text}");
            return Recorded::Unheard(text);
        }
        Recorded::New(text)
    }
}

#[cfg(test)]
mod tests;
