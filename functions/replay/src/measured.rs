//! What the metrics tell of a replay.

use lambda::{Count, Measured, Time};
use pipeline::replay::Answer;
use pipeline::{ErrorClass, Timestamp};

use crate::dead_letters::SourceError;
use crate::error::ReplayError;

/// Counts how far a replay came in one invocation that ended at `now`; a dry run publishes nothing and counts nothing, but tells how old
/// the oldest is that it would send back.
pub(crate) fn measured(result: &Result<Answer, ReplayError>, now: Timestamp) -> Measured {
    let mut measured = Measured::default();
    match result {
        Ok(answer) => {
            measured.note("replay.id", answer.replay_id.as_str());
            if !answer.dry_run {
                let skipped = answer.skipped.values();
                let skipped = skipped.fold(0_u64, |all, many| all.saturating_add(*many));
                measured.count(Count::ReplayMatched, answer.matched);
                measured.count(Count::ReplayPublished, answer.published);
                measured.count(Count::ReplaySkipped, skipped);
                measured.count(Count::ReplayFailed, answer.failed);
            }
            for (class, died) in &answer.unreplayed {
                let what = if class == ErrorClass::Transient.as_str() {
                    Time::UnreplayedTransientAge
                } else {
                    Time::UnreplayedOtherAge
                };
                if let Some(died) = Timestamp::from_rfc3339(died) {
                    measured.time(what, now.millis_since(died));
                }
            }
            measured.count(Count::ReplaysBroken, answer.fault.is_some().into());
        }
        // Whoever asked wrongly is told so, and nobody else needs to know.
        Err(
            ReplayError::Invalid(_)
            | ReplayError::Source(SourceError::NoSuchTopic(_))
            | ReplayError::Busy { .. }
            | ReplayError::Plan(_),
        ) => {}
        Err(ReplayError::Source(SourceError::Fault(_)) | ReplayError::Store(_)) => {
            measured.count(Count::ReplaysBroken, 1);
        }
    }
    measured
}
