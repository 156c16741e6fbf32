//! The lease: one run at a time for each topic of dead letters.

use serde::{Deserialize, Serialize};

use crate::record::Topic;

/// What stands in the lease's object. It differs with each write, so that its tag tells whether it was touched.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LeaseNote {
    /// The run that holds it, or held it last.
    pub replay_id: String,
    /// The invocation that holds it.
    pub holder: String,
    /// How often the holder has renewed it.
    pub renewals: u64,
    /// Whether it was given back.
    pub released: bool,
    /// When it was written by the holder's own clock, for people; nothing is judged by it.
    pub written: String,
}

impl LeaseNote {
    /// How long a lease lives after it was last written, in milliseconds, by the store's own clock.
    pub const LIFETIME_MS: i64 = 60_000;

    /// Returns the key of a topic's lease.
    pub fn key(topic: &Topic) -> String {
        format!("replays/_lease/{topic}.json")
    }

    /// Writes the object.
    pub fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads the object; `None` when it is no lease.
    pub fn read(object: &[u8]) -> Option<Self> {
        serde_json::from_slice(object).ok()
    }

    /// Tells whether another run may take it, so long after it was written.
    pub const fn is_free(&self, age_ms: i64) -> bool {
        self.released || age_ms > Self::LIFETIME_MS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(released: bool) -> LeaseNote {
        LeaseNote {
            replay_id: "run-1".to_owned(),
            holder: "holder-1".to_owned(),
            renewals: 3,
            released,
            written: "2025-08-23T07:12:21.805Z".to_owned(),
        }
    }

    #[test]
    fn a_lease_is_free_when_it_was_given_back_or_its_life_is_over() {
        for (released, age_ms, free) in [
            (false, 0, false),
            (false, 60_000, false),
            (false, 60_001, true),
            (false, -5_000, false),
            (true, 0, true),
        ] {
            assert_eq!(note(released).is_free(age_ms), free, "{released} {age_ms}");
        }
    }

    #[test]
    fn a_lease_comes_back_from_its_object() {
        assert_eq!(LeaseNote::read(&note(true).write()), Some(note(true)));
        assert_eq!(LeaseNote::read(b"{}"), None);
        assert_eq!(
            LeaseNote::key(&"brew.payments.dlq".parse().unwrap()),
            "replays/_lease/brew.payments.dlq.json"
        );
    }
}
