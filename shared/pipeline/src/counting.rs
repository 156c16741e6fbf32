//! A pipeline without retry topics: a record that fails is handed back, and at so many failures it is dead-lettered.

use std::fmt;
use std::num::NonZeroU32;

use crate::decide::{Forward, Reason};
use crate::failure::{ErrorClass, ErrorCode, Failure, Verdict};
use crate::record::{Record, Topic};

/// The topic that is read, the topic of its dead letters, and how often a record may fail.
///
/// The two topics are distinct, so that no record can go round in a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counting {
    topic: Topic,
    dlq: Topic,
    max_fails: NonZeroU32,
}

/// Says that a topic would be its own dead-letter topic: records would go round in a circle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("topic {0} is the one that is read: its dead letters would come back to it without end")]
pub struct SameTopic(Topic);

/// What becomes of a record whose failures are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CountedDecision {
    /// It is handled.
    Done,
    /// It failed and is handed back, to be tried again.
    TryAgain(FailedAttempt),
    /// It goes to the dead-letter topic.
    DeadLetter(Forward),
    /// It stays where it is: its topic is not the one that is read.
    HandBack,
}

/// An attempt that failed and is not the last one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    /// How often the record has failed, this attempt included.
    pub failures: u32,
    /// At how many failures it is dead-lettered.
    pub of: NonZeroU32,
    /// The class of the failure.
    pub class: ErrorClass,
    /// What failed.
    pub failure: Failure,
}

impl fmt::Display for FailedAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "it failed ({} of {}): {}",
            self.failures, self.of, self.failure
        )
    }
}

impl Counting {
    /// Joins a topic with its dead-letter topic and the number of failures at which a record goes there.
    pub fn new(topic: Topic, dlq: Topic, max_fails: NonZeroU32) -> Result<Self, SameTopic> {
        if topic == dlq {
            return Err(SameTopic(topic));
        }
        Ok(Self {
            topic,
            dlq,
            max_fails,
        })
    }

    /// Returns the topic that is read.
    pub const fn topic(&self) -> &Topic {
        &self.topic
    }

    /// Returns the dead-letter topic.
    pub const fn dlq(&self) -> &Topic {
        &self.dlq
    }

    /// Returns at how many failures a record is dead-lettered.
    pub const fn max_fails(&self) -> NonZeroU32 {
        self.max_fails
    }

    /// Decides what becomes of a record that cannot even be read: no count is kept, since more tries do not change its bytes.
    pub fn give_up(&self, topic: &Topic, failure: Failure) -> CountedDecision {
        if *topic != self.topic {
            return CountedDecision::HandBack;
        }
        CountedDecision::DeadLetter(self.dead_letter(ErrorClass::Permanent, failure))
    }

    fn dead_letter(&self, class: ErrorClass, failure: Failure) -> Forward {
        let reason = match class {
            ErrorClass::Transient => Reason::Exhausted,
            ErrorClass::Permanent => Reason::Permanent,
        };
        Forward::without_retries(self.dlq.clone(), reason, failure, class)
    }
}

/// Decides what becomes of a record, from the verdict of handling it and how often it had failed before.
///
/// A failure below the limit hands it back, whatever its class: to this pipeline a failure is a failure. The one at the limit
/// dead-letters it, as exhausted when it is transient, else for its own reason. What no try can change does so at once.
pub fn decide_counted(
    counting: &Counting,
    record: &Record,
    verdict: Verdict,
    failures_before: u32,
) -> CountedDecision {
    if record.coordinates.topic != counting.topic {
        return CountedDecision::HandBack;
    }
    let (class, failure) = match verdict {
        Verdict::Done => return CountedDecision::Done,
        Verdict::Transient(failure) => (ErrorClass::Transient, failure),
        Verdict::Permanent(failure) => (ErrorClass::Permanent, failure),
    };
    let failures = failures_before.saturating_add(1);
    if failures >= counting.max_fails.get() || is_final(class, &failure) {
        return CountedDecision::DeadLetter(counting.dead_letter(class, failure));
    }
    CountedDecision::TryAgain(FailedAttempt {
        failures,
        of: counting.max_fails,
        class,
        failure,
    })
}

/// Tells whether more tries are of no use: the bytes stay of an unknown version, and a record that kills is not run again.
fn is_final(class: ErrorClass, failure: &Failure) -> bool {
    class == ErrorClass::Permanent
        && matches!(
            failure.code,
            ErrorCode::PayloadSchemaVersion | ErrorCode::HandlerCrashed
        )
}

#[cfg(test)]
mod tests;
