//! Why a record was not delivered: the record's fault, its batch's, or not theirs.

use rdkafka::error::{KafkaError, RDKafkaErrorCode};

use crate::auth::Mode;
use crate::obstacle::Obstacle;

/// Says why a record was not delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Undelivered {
    /// The client refuses the record before it is sent.
    RecordRefused(String),
    /// The broker refuses the batch that the record was in, for this record or for another one.
    BatchRefused(String),
    /// Not the record's fault.
    Fault(String),
    /// The brokers refuse the client's credentials, and there are others now: another client may deliver it.
    Superseded,
}

impl Undelivered {
    pub(crate) fn fault(why: &str) -> Self {
        Self::Fault(why.to_owned())
    }

    /// Classifies an error with which the client refused to queue a record.
    pub(crate) fn from_queueing(error: &KafkaError) -> Self {
        match code(error) {
            Some(code) if is_refusal(code) => Self::RecordRefused(text(code)),
            Some(_) | None => Self::Fault(error.to_string()),
        }
    }

    /// Classifies an error with which the delivery of a queued record ended.
    pub(crate) fn from_delivery(error: &KafkaError, mode: Mode) -> Self {
        match code(error) {
            Some(code) if is_refusal(code) => Self::BatchRefused(text(code)),
            Some(code) => Self::Fault(match Obstacle::in_answer(code) {
                Some(obstacle) => format!("{}: {}", text(code), obstacle.advice(mode)),
                None => text(code),
            }),
            None => Self::Fault(error.to_string()),
        }
    }
}

fn code(error: &KafkaError) -> Option<RDKafkaErrorCode> {
    error.rdkafka_error_code()
}

fn text(code: RDKafkaErrorCode) -> String {
    format!("{code:?}: {code}")
}

/// Tells whether a client goes on to report an error for minutes after its cause is gone: it keeps it with the topic until it looks at
/// all topics again.
pub(crate) fn is_remembered(error: &KafkaError) -> bool {
    matches!(
        code(error),
        Some(
            RDKafkaErrorCode::UnknownTopic
                | RDKafkaErrorCode::UnknownTopicOrPartition
                | RDKafkaErrorCode::UnknownPartition
                | RDKafkaErrorCode::TopicAuthorizationFailed
                | RDKafkaErrorCode::InvalidTopic
        )
    )
}

/// Tells whether an error is about the bytes of a record, so that no other try of the same bytes can help.
fn is_refusal(code: RDKafkaErrorCode) -> bool {
    matches!(
        code,
        RDKafkaErrorCode::MessageSizeTooLarge
            | RDKafkaErrorCode::MessageBatchTooLarge
            | RDKafkaErrorCode::InvalidMessage
            | RDKafkaErrorCode::InvalidMessageSize
            | RDKafkaErrorCode::InvalidRecord
            | RDKafkaErrorCode::InvalidDifferentRecord
            | RDKafkaErrorCode::InvalidTimestamp
    )
}
