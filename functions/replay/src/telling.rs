//! What the log says of runs.

use pipeline::Masker;
use pipeline::replay::{Answer, Request};

use crate::dead_letters::SourceError;
use crate::error::ReplayError;

/// Tells that a run starts, or goes on.
pub(crate) fn tell_start(request: &Request, payload: &str, masker: &Masker) {
    // A token holds what may have to be masked in a form in which it is not seen.
    let asked = match request.progress {
        Some(_) => "(token)".to_owned(),
        None => masker.line(payload),
    };
    tracing::info!(
        replay.id = request.replay_id,
        replay.from = request.from.as_str(),
        replay.to = request.to.as_str(),
        replay.dry_run = request.dry_run,
        replay.resumed = request.progress.is_some(),
        replay.asked = asked,
        "replay starts"
    );
}

/// Tells why an invocation failed.
pub(crate) fn tell_failure(error: &ReplayError, masker: &Masker, duration_ms: i64) {
    let (kind, text) = (error.error_type(), masker.line(&error.to_string()));
    match error {
        ReplayError::Invalid(_)
        | ReplayError::Source(SourceError::NoSuchTopic(_))
        | ReplayError::Busy { .. }
        | ReplayError::Plan(_) => {
            tracing::warn!(
                error.r#type = kind,
                duration_ms,
                "replay is refused: {text}"
            );
        }
        ReplayError::Source(SourceError::Fault(_)) | ReplayError::Store(_) => {
            tracing::error!(
                error.r#type = kind,
                duration_ms,
                "replay cannot begin: {text}"
            );
        }
    }
}

/// Tells that the end of an invocation does not stand in the run's record.
pub(crate) fn tell_lost_record(answer: &Answer, error: &ReplayError) {
    tracing::error!(
        replay.id = answer.replay_id,
        "the record of the run does not tell of this end: {error}"
    );
}

/// Tells what an invocation did.
pub(crate) fn tell_end(answer: &Answer, masker: &Masker, duration_ms: i64) {
    let skipped = answer.skipped.values();
    let skipped: u64 = skipped.fold(0, |all, n| all.saturating_add(*n));
    tracing::info!(
        replay.id = answer.replay_id,
        replay.dry_run = answer.dry_run,
        replay.matched = answer.matched,
        replay.published = answer.published,
        replay.to_publish = answer.to_publish,
        replay.failed = answer.failed,
        replay.skipped = skipped,
        replay.bytes = answer.bytes,
        replay.complete = answer.complete,
        replay.stopped = answer.stopped.as_deref(),
        error.message = answer.fault.as_deref().map(|fault| masker.line(fault)),
        duration_ms,
        "replay ends"
    );
}
