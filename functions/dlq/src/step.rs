//! What becomes of one dead letter: the object, the alert, the post, and then it is done.

use std::fmt;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use futures_util::future::join_all;
use lambda::event::Undecodable;
use lambda::gate::Gate;
use lambda::{
    Cause, Clock, Count, Incidents, Objects, Outcome, Outside, Recorded, Step, StoreFault, Turn,
};
use pipeline::alert::{Post, Posts};
use pipeline::{Incident, Masker, Record, Timestamp};

use crate::settings::Settings;
use crate::webhook::Webhook;

/// The step of the dlq function.
pub struct DlqStep<O, C> {
    incidents: Incidents<O>,
    webhook: Option<Webhook>,
    posts: Mutex<Posts>,
    gate: Gate,
    clock: C,
}

impl<O, C> fmt::Debug for DlqStep<O, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DlqStep")
            .field("webhook", &self.webhook)
            .finish_non_exhaustive()
    }
}

impl<C: Clock> DlqStep<aws::Bucket, C> {
    /// Builds the step from its settings; alerts are written to `out`.
    pub fn new(settings: Settings, out: Box<dyn Write + Send>, clock: C) -> Self {
        let gate = Gate::new(settings.concurrency);
        Self::with(settings.bucket, settings.webhook, gate, out, clock)
    }
}

impl<O: Objects, C: Clock> DlqStep<O, C> {
    /// Joins the parts: store, webhook, how many dead letters are recorded at once, where alerts are written, and the clock.
    pub fn with(
        store: O,
        webhook: Option<Webhook>,
        gate: Gate,
        out: Box<dyn Write + Send>,
        clock: C,
    ) -> Self {
        Self {
            incidents: Incidents::new(store, Masker::default(), out),
            webhook,
            posts: Mutex::default(),
            gate,
            clock,
        }
    }

    /// Returns the store of incidents.
    pub const fn store(&self) -> &O {
        self.incidents.store()
    }

    /// Tells whether it is too late to start on one more dead letter.
    fn is_late(&self, turn: &Turn) -> bool {
        let last_call = turn.deadline().last_call(self.call_limit_ms());
        turn.is_closing() || self.clock.now() > last_call
    }

    /// Posts what is to be posted at once of a new incident.
    async fn tell(&self, incident: &Incident, recorded: Recorded, turn: &Turn) {
        let text = match recorded {
            Recorded::New(text) | Recorded::Unheard(text) => text,
            Recorded::Known => return,
        };
        let Some(webhook) = &self.webhook else {
            return;
        };
        let first = self
            .posts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .raised(incident, text);
        if let Some(post) = first {
            deliver(webhook, &post, turn).await;
        }
    }

    async fn concluded(
        &self,
        incident: &Incident,
        recorded: Result<Recorded, StoreFault>,
        turn: &Turn,
    ) -> Outcome {
        match recorded {
            Ok(recorded) => {
                recorded.tally(turn);
                log(incident, &recorded);
                self.tell(incident, recorded, turn).await;
                Outcome::Handled
            }
            Err(fault) => Outcome::HandBack(Cause::Fault(Outside::Store, fault.to_string())),
        }
    }
}

impl<O: Objects, C: Clock> Step for DlqStep<O, C> {
    fn start(&self, _now: Timestamp) {}

    async fn run(&self, record: &Record, turn: &Turn) -> Outcome {
        let pass = self.gate.beside_others().await;
        if self.is_late(turn) {
            return Outcome::HandBack(Cause::NoTime);
        }
        turn.late(record.timestamp, self.clock.now());
        let incident = self.incidents.told(record);
        let recorded = self.incidents.record(&incident).await;
        drop(pass);
        self.concluded(&incident, recorded, turn).await
    }

    /// Keeps the raw JSON of an entry that is no record, and an incident that names it.
    async fn run_undecodable(&self, entry: &Undecodable, turn: &Turn) -> Outcome {
        let pass = self.gate.beside_others().await;
        if self.is_late(turn) {
            return Outcome::HandBack(Cause::NoTime);
        }
        let incident = match self.incidents.spill_raw(entry).await {
            Ok(incident) => incident,
            Err(fault) => {
                return Outcome::HandBack(Cause::Fault(Outside::Store, fault.to_string()));
            }
        };
        let recorded = self.incidents.record(&incident).await;
        drop(pass);
        self.concluded(&incident, recorded, turn).await
    }

    /// Posts what was held back, all at once, so that a dead webhook costs 2 s and not 2 s for each kind.
    async fn finish(&self, turn: &Turn) {
        let held = self
            .posts
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .finish();
        if let Some(webhook) = &self.webhook {
            join_all(held.iter().map(|post| deliver(webhook, post, turn))).await;
        }
    }

    /// Has nothing to give up: a put that is cut off is tried again under the same id.
    fn give_up(&self) {}

    /// Returns 3 s, to which the loop adds 5 s: together the longest that a put takes, so that none is begun that cannot end.
    fn call_limit_ms(&self) -> i64 {
        3_000
    }
}

async fn deliver(webhook: &Webhook, post: &Post, turn: &Turn) {
    if let Err(fault) = webhook.post(post).await {
        turn.count(Count::PostsFailed);
        tracing::warn!(
            error.class = post.error_class,
            error.code = post.error_code,
            count = post.count,
            "an alert was not posted, it stands in the log alone: {fault}"
        );
    }
}

fn log(incident: &Incident, recorded: &Recorded) {
    let topic = incident.dlq_topic.as_deref();
    let (partition, offset) = (incident.dlq_partition, incident.dlq_offset);
    let key = incident.key();
    match recorded {
        Recorded::New(_) | Recorded::Unheard(_) => tracing::info!(
            kafka.topic = topic,
            kafka.partition = partition,
            kafka.offset = offset,
            decision = "incident",
            error.class = incident.error_class.as_deref(),
            error.code = incident.error_code.as_deref(),
            error.message = incident.error_message.as_deref(),
            incident = key,
            "dead letter recorded"
        ),
        Recorded::Known => tracing::debug!(
            kafka.topic = topic,
            kafka.partition = partition,
            kafka.offset = offset,
            decision = "done",
            incident = key,
            "dead letter was recorded before"
        ),
    }
}
