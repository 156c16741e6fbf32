//! What becomes of a record: the one place where a verdict turns into a way to go.

use std::fmt;

use bytes::Bytes;

use crate::failure::{DlqReason, ErrorClass, ErrorCode, Failure, Verdict};
use crate::headers::names;
use crate::mask::Masker;
use crate::origin::Origin;
use crate::outgoing::Outgoing;
use crate::record::{Record, Timestamp, Topic, digits};
use crate::stages::{Stage, Stages};

/// What becomes of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is handled.
    Done,
    /// It goes to the next retry stage.
    Forward(Forward),
    /// It goes to the dead-letter topic.
    DeadLetter(Forward),
    /// It stays where it is: no stage reads its topic.
    HandBack,
}

/// A move of a record to another topic, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    to: Topic,
    reason: Reason,
    failure: Failure,
    class: ErrorClass,
    retry_count: u32,
}

/// Why a record moves: the log field `reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Transient, and a next stage exists.
    NextRetry,
    /// No retry can help.
    Permanent,
    /// Transient, and no next stage exists.
    Exhausted,
}

impl Reason {
    /// Returns the reason as logs write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NextRetry => "next-retry",
            Self::Permanent => "permanent",
            Self::Exhausted => "exhausted",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Decides what becomes of a record, from the topic it was read from and the verdict of handling it, never from its headers.
pub fn decide(stages: &Stages, record: &Record, verdict: Verdict) -> Decision {
    let Some(stage) = stages.stage_of(&record.coordinates.topic) else {
        return Decision::HandBack;
    };
    match verdict {
        Verdict::Done => Decision::Done,
        Verdict::Permanent(failure) => Decision::DeadLetter(Forward {
            to: stages.dlq().clone(),
            reason: Reason::Permanent,
            failure,
            class: ErrorClass::Permanent,
            retry_count: retries_entered(stage, record),
        }),
        Verdict::Transient(failure) => {
            let entered = retries_entered(stage, record);
            match stages.next(stage) {
                Some(next) => Decision::Forward(Forward {
                    to: next.topic().clone(),
                    reason: Reason::NextRetry,
                    failure,
                    class: ErrorClass::Transient,
                    retry_count: entered.saturating_add(1),
                }),
                None => Decision::DeadLetter(Forward {
                    to: stages.dlq().clone(),
                    reason: Reason::Exhausted,
                    failure,
                    class: ErrorClass::Transient,
                    retry_count: entered,
                }),
            }
        }
    }
}

/// Decides what follows when the broker refuses the record itself on the way to a retry topic: it goes to the dead-letter topic.
///
/// The message keeps what had failed before, so that the root cause is not lost. `None` when it was the dead-letter topic that refused.
pub fn refused_by_broker(dlq: &Topic, refused: &Forward, broker_says: &str) -> Option<Forward> {
    (refused.to != *dlq).then(|| Forward {
        to: dlq.clone(),
        reason: Reason::Permanent,
        failure: Failure::new(
            ErrorCode::BrokerRejected,
            format!(
                "{} refused the record: {broker_says}; it was on its way there after {}",
                refused.to, refused.failure
            ),
        ),
        class: ErrorClass::Permanent,
        retry_count: refused.retry_count.saturating_sub(1),
    })
}

fn retries_entered(stage: &Stage, record: &Record) -> u32 {
    let claimed = record
        .headers
        .text(names::RETRY_COUNT)
        .and_then(|text| digits(text).map(|digits| digits.parse().unwrap_or(u32::MAX)));
    stage.retries_entered(claimed)
}

impl Forward {
    /// Moves a record of a pipeline that has no retry topics.
    pub(crate) const fn without_retries(
        to: Topic,
        reason: Reason,
        failure: Failure,
        class: ErrorClass,
    ) -> Self {
        Self {
            to,
            reason,
            failure,
            class,
            retry_count: 0,
        }
    }

    /// Returns the topic it goes to.
    pub const fn to(&self) -> &Topic {
        &self.to
    }

    /// Returns why it moves.
    pub const fn reason(&self) -> Reason {
        self.reason
    }

    /// Returns what failed.
    pub const fn failure(&self) -> &Failure {
        &self.failure
    }

    /// Returns the class of the failure.
    pub const fn class(&self) -> ErrorClass {
        self.class
    }

    /// Returns the reason that stands in the dead-letter topic; `None` on the way to a retry topic.
    pub const fn dlq_reason(&self) -> Option<DlqReason> {
        match self.reason {
            Reason::NextRetry => None,
            Reason::Exhausted => Some(DlqReason::Exhausted),
            Reason::Permanent => Some(self.failure.code.dlq_reason()),
        }
    }

    /// Writes the record for its next topic: same key and value, foreign headers untouched, then ours, each once.
    pub fn outgoing(&self, record: &Record, now: Timestamp, masker: &Masker) -> Outgoing {
        let origin = Origin::of(record);
        let mut headers = record.headers.foreign();
        let mut write = |name: &str, value: &str| {
            headers.push(name, Some(Bytes::copy_from_slice(value.as_bytes())));
        };
        write(names::ERROR_CLASS, self.class.as_str());
        write(names::ERROR_CODE, self.failure.code.as_str());
        write(names::ERROR_MESSAGE, &masker.line(&self.failure.message));
        write(
            names::ERROR_TIMESTAMP,
            &now.to_rfc3339().unwrap_or_default(),
        );
        write(names::RETRY_COUNT, &self.retry_count.to_string());
        write(names::PREVIOUS_TOPIC, record.coordinates.topic.as_str());
        write(names::ORIGINAL_TOPIC, origin.coordinates.topic.as_str());
        write(
            names::ORIGINAL_PARTITION,
            &origin.coordinates.partition.to_string(),
        );
        write(
            names::ORIGINAL_OFFSET,
            &origin.coordinates.offset.to_string(),
        );
        write(
            names::ORIGINAL_TIMESTAMP,
            &origin.timestamp.millis().to_string(),
        );
        if let Some(reason) = self.dlq_reason() {
            write(names::DLQ_REASON, reason.as_str());
        }
        for name in names::REPLAY {
            if let Some(carried) = record.headers.last(name) {
                headers.push(name, carried.value.clone());
            }
        }
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
