//! What a replay answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::{Coordinates, Timestamp};
use crate::replay::plan::PlanName;
use crate::replay::progress::Progress;
use crate::replay::request::{Carried, Limit, Request};
use crate::replay::tally::Tally;

/// The answer of one invocation; it counts what this invocation did, also when it went on with an earlier one's run.
///
/// `matched` is always `published` (or `to_publish`) + `failed` + all that is skipped.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_publish: Option<u64>,
    /// How many stay, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// How many did not go back: refused by the broker, or gone.
    pub failed: u64,
    /// How many of those the plan holds and the topic no more.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub gone: u64,
    /// How many were asked for, by error class.
    pub by_error_class: BTreeMap<String, u64>,
    /// How many were asked for, by error code.
    pub by_error_code: BTreeMap<String, u64>,
    /// The bytes of the values asked for.
    pub bytes: u64,
    /// When the oldest of them died, RFC 3339.
    pub oldest: Option<String>,
    /// When the newest of them died, RFC 3339.
    pub newest: Option<String>,
    /// When the oldest died of those that no run has sent back, by error class, RFC 3339; only in a dry run over the ladder's own dead letters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unreplayed: BTreeMap<String, String>,
    /// Where the first few of them are.
    pub sample: Vec<String>,
    /// Which of the `records` asked for are not there: never written, deleted since, or hidden by an open transaction. They are not matched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The partitions, as `topic/partition`, whose end an open transaction holds back: what lies behind its first record is not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<String>,
    /// Whether every partition was read to the end that was fixed at the start, and all that was published is in the ledger.
    pub complete: bool,
    /// Why it is not complete: `limit`, `deadline`, `stop`, `broker`, `store`, `lease` or `plan`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// What the fault is, when one stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The token that goes on from here, when it is not complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// The plan that a dry run has left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

/// How an invocation ended, beside what it counted.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// How far the run has come.
    pub progress: Progress,
    /// What the next invocation is left.
    pub carried: Carried,
    /// What stopped it, if anything did.
    pub stopped: Option<Stopped>,
    /// Which of the places asked for hold no record.
    pub missing: Vec<Coordinates>,
    /// The partitions, as `topic/partition`, whose end an open transaction holds back.
    pub held_back: Vec<String>,
    /// The plan that a dry run has left.
    pub plan: Option<PlanName>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_nought(number: &u64) -> bool {
    *number == 0
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
    /// The store is away or refuses us; says why.
    Store(String),
    /// Another run may have taken the lease; says why.
    Lease(String),
    /// What is there is not what the plan saw; says what.
    Plan(String),
}

impl Stopped {
    /// Returns the reason as answers and logs write it.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Deadline => "deadline",
            Self::Told => "stop",
            Self::Broker(_) => "broker",
            Self::Store(_) => "store",
            Self::Lease(_) => "lease",
            Self::Plan(_) => "plan",
        }
    }

    /// Returns what the fault is, where one stopped the run.
    pub fn fault(&self) -> Option<&str> {
        match self {
            Self::Limit | Self::Deadline | Self::Told => None,
            Self::Broker(fault) | Self::Store(fault) | Self::Lease(fault) | Self::Plan(fault) => {
                Some(fault)
            }
        }
    }
}

impl Answer {
    /// Tells what an invocation did: what it counted, how far it came, and what stopped it, if anything did.
    pub fn of(request: &Request, tally: &Tally, ended: &Ended) -> Self {
        let time = |time: Option<Timestamp>| time.and_then(Timestamp::to_rfc3339);
        let complete = ended.progress.is_complete() && ended.carried.unrecorded.is_empty();
        let stopped = ended.stopped.as_ref().filter(|_| !complete);
        Self {
            replay_id: request.replay_id.clone(),
            dry_run: request.dry_run,
            matched: tally.matched(),
            published: if request.dry_run { 0 } else { tally.sent() },
            to_publish: request.dry_run.then(|| tally.sent()),
            skipped: tally
                .skipped()
                .map(|(reason, count)| (reason.as_str().to_owned(), count))
                .collect(),
            failed: tally.failed(),
            gone: tally.gone(),
            by_error_class: owned(tally.by_class()),
            by_error_code: owned(tally.by_code()),
            bytes: tally.bytes(),
            oldest: time(tally.oldest()),
            newest: time(tally.newest()),
            unreplayed: BTreeMap::new(),
            sample: tally.sample().iter().map(ToString::to_string).collect(),
            missing: ended.missing.iter().map(ToString::to_string).collect(),
            held_back: ended.held_back.clone(),
            complete,
            stopped: stopped.map(|stopped| stopped.as_str().to_owned()),
            fault: stopped.and_then(Stopped::fault).map(str::to_owned),
            resume: (!complete).then(|| {
                let limit = request.limit;
                let limit = limit.map(|limit| limit_after(limit, tally.tried(), stopped));
                request.token(&ended.progress, &ended.carried, limit)
            }),
            plan: ended.plan.as_ref().map(ToString::to_string),
        }
    }
}

fn owned(counts: &BTreeMap<&'static str, u64>) -> BTreeMap<String, u64> {
    let counts = counts.iter();
    counts
        .map(|(name, count)| ((*name).to_owned(), *count))
        .collect()
}

/// Returns the limit with which a run goes on: whoever resumes a run that its limit has stopped asks for as many more.
const fn limit_after(limit: Limit, tried: u64, stopped: Option<&Stopped>) -> Limit {
    match stopped {
        Some(Stopped::Limit) => limit.renewed(),
        Some(
            Stopped::Deadline
            | Stopped::Told
            | Stopped::Broker(_)
            | Stopped::Store(_)
            | Stopped::Lease(_)
            | Stopped::Plan(_),
        )
        | None => limit.after(tried),
    }
}
