//! The log line of a record that is handed back.

use crate::event::Entry;
use crate::outcome::{Cause, Outcome};

/// Logs a record that is handed back: as an error where only a person can help, and as no more than information where it waits its turn.
pub(crate) fn log_hand_back(entry: &Entry, outcome: &Outcome) {
    let Outcome::HandBack(cause) = outcome else {
        return;
    };
    let at = entry.coordinates();
    let topic = at.as_ref().map_or("-", |at| at.topic.as_str());
    let partition = at.as_ref().map(|at| at.partition.get());
    let offset = at.as_ref().map(|at| at.offset.get());
    match cause {
        Cause::Broken(why) => tracing::error!(
            kafka.topic = topic,
            kafka.partition = partition,
            kafka.offset = offset,
            decision = "hand-back",
            reason = cause.as_str(),
            "{why}"
        ),
        Cause::Failed(failed) => tracing::warn!(
            kafka.topic = topic,
            kafka.partition = partition,
            kafka.offset = offset,
            decision = "hand-back",
            reason = cause.as_str(),
            failures = failed.failures,
            error.class = failed.class.as_str(),
            error.code = failed.failure.code.as_str(),
            "handed back: {cause}"
        ),
        Cause::Fault(_, _) => tracing::warn!(
            kafka.topic = topic,
            kafka.partition = partition,
            kafka.offset = offset,
            decision = "hand-back",
            reason = cause.as_str(),
            "handed back: {cause}"
        ),
        Cause::NotDue | Cause::NoTime | Cause::KeyBefore => tracing::info!(
            kafka.topic = topic,
            kafka.partition = partition,
            kafka.offset = offset,
            decision = "hand-back",
            reason = cause.as_str(),
            "handed back: {cause}"
        ),
    }
}
