//! A dead letter on its way back.

use crate::headers::names;
use crate::outgoing::Outgoing;
use crate::record::{Record, Timestamp, Topic};

/// The run that sends dead letters back: where to, and under which name.
#[derive(Clone, Copy, Debug)]
pub struct Returning<'a> {
    /// Where they go.
    pub to: &'a Topic,
    /// The run's id.
    pub replay_id: &'a str,
}

impl Returning<'_> {
    /// Writes a dead letter for its way back: `nth` replay of its payment, at `now`.
    ///
    /// Key, value and every header stay as they are, in their order; only `retry.count` starts again at 0 and `replay.*` tell of this run.
    pub fn outgoing(&self, record: &Record, nth: u64, now: Timestamp) -> Outgoing {
        let mut headers = record.headers.clone();
        headers.set(names::RETRY_COUNT, "0");
        headers.set(names::REPLAY_FROM_DLQ, &record.coordinates.to_string());
        headers.set(
            names::REPLAY_TIMESTAMP,
            &now.to_rfc3339().unwrap_or_default(),
        );
        headers.set(names::REPLAY_ID, self.replay_id);
        headers.set(names::REPLAY_COUNT, &nth.to_string());
        Outgoing {
            topic: self.to.clone(),
            key: record.key.clone(),
            value: record.value.clone(),
            headers,
        }
    }
}

#[cfg(test)]
mod tests;
