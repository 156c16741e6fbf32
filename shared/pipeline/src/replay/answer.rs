//! What a replay answers.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::record::Timestamp;
use crate::replay::progress::Progress;
use crate::replay::request::{Limit, Request};
use crate::replay::tally::Tally;

/// The answer of one invocation; it counts what this invocation did, also when it went on with an earlier one's run.
///
/// `matched` is always `published` (or `to_publish`) + `failed` + all that is skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// The run's id.
    pub replay_id: String,
    /// Whether nothing was published on purpose.
    pub dry_run: bool,
    /// How many were asked for, of those looked at.
    pub matched: u64,
    /// How many went back.
    pub published: u64,
    /// How many a real run would send back; only in a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_publish: Option<u64>,
    /// How many stay, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// How many the broker refuses.
    pub failed: u64,
    /// How many were asked for, by error class.
    pub by_error_class: BTreeMap<&'static str, u64>,
    /// How many were asked for, by error code.
    pub by_error_code: BTreeMap<&'static str, u64>,
    /// The bytes of the values asked for.
    pub bytes: u64,
    /// When the oldest of them died, RFC 3339.
    pub oldest: Option<String>,
    /// When the newest of them died, RFC 3339.
    pub newest: Option<String>,
    /// Where the first few of them are.
    pub sample: Vec<String>,
    /// Whether every partition was read to the end that was fixed at the start.
    pub complete: bool,
    /// Why it is not complete: `limit`, `deadline`, `stop` or `broker`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<&'static str>,
    /// What the broker's fault is, when that stopped it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The token that goes on from here, when it is not complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
}

/// Why a run ended before its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The next dead letter would be one more than asked for.
    Limit,
    /// What would come next might not be over in time.
    Deadline,
    /// The process was told to stop.
    Told,
    /// The broker is away or refuses us; says why.
    Broker(String),
}

impl Stopped {
    /// Returns the reason as answers and logs write it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Deadline => "deadline",
            Self::Told => "stop",
            Self::Broker(_) => "broker",
        }
    }
}

impl Answer {
    /// Tells what an invocation did: what it counted, how far it came, and what stopped it, if anything did.
    pub fn of(
        request: &Request,
        tally: &Tally,
        progress: &Progress,
        stopped: Option<&Stopped>,
    ) -> Self {
        let time = |time: Option<Timestamp>| time.and_then(Timestamp::to_rfc3339);
        let complete = progress.is_complete();
        let stopped = stopped.filter(|_| !complete);
        Self {
            replay_id: request.replay_id.clone(),
            dry_run: request.dry_run,
            matched: tally.matched(),
            published: if request.dry_run { 0 } else { tally.sent() },
            to_publish: request.dry_run.then(|| tally.sent()),
            skipped: tally
                .skipped()
                .map(|(reason, count)| (reason.as_str(), count))
                .collect(),
            failed: tally.failed(),
            by_error_class: tally.by_class().clone(),
            by_error_code: tally.by_code().clone(),
            bytes: tally.bytes(),
            oldest: time(tally.oldest()),
            newest: time(tally.newest()),
            sample: tally.sample().iter().map(ToString::to_string).collect(),
            complete,
            stopped: stopped.map(Stopped::as_str),
            fault: match stopped {
                Some(Stopped::Broker(fault)) => Some(fault.clone()),
                Some(Stopped::Limit | Stopped::Deadline | Stopped::Told) | None => None,
            },
            resume: (!complete).then(|| {
                let sent = tally.sent().saturating_add(tally.failed());
                request.token(
                    progress,
                    request.limit.map(|limit| limit_after(limit, sent, stopped)),
                )
            }),
        }
    }
}

/// Returns the limit with which a run goes on: whoever resumes a run that its limit has stopped asks for as many more.
const fn limit_after(limit: Limit, sent: u64, stopped: Option<&Stopped>) -> Limit {
    match stopped {
        Some(Stopped::Limit) => limit.renewed(),
        Some(Stopped::Deadline | Stopped::Told | Stopped::Broker(_)) | None => limit.after(sent),
    }
}
