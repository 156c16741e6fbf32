//! What a run leaves behind of itself: `run.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::record::Coordinates;
use crate::replay::answer::Answer;

/// The record of a run over all its invocations, written when each begins and when it ends: one that was killed stays `running`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct RunRecord {
    /// The run's id.
    pub replay_id: String,
    /// Where it stands.
    pub state: RunState,
    /// Where it reads.
    pub from_topic: String,
    /// Where it sends.
    pub to_topic: String,
    /// What it was asked for, with its times fixed.
    pub asked: Value,
    /// The plan that it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Who asked first.
    pub invoked: Invoker,
    /// When it started, RFC 3339.
    pub started: String,
    /// When its last invocation began or ended, RFC 3339.
    pub updated: String,
    /// How long its invocations took together, in milliseconds.
    pub duration_ms: i64,
    /// How many invocations began.
    pub invocations: u64,
    /// The counts of those that ended.
    pub counts: RunCounts,
    /// The first dead letter that was published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<String>,
    /// The last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// Why the last invocation stopped before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The fault that stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// An invocation runs, or was killed.
    Running,
    /// The last invocation ended before the run's end.
    Stopped,
    /// It is done.
    Complete,
}

/// Who invoked a run, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Invoker {
    /// The caller's identity: Lambda tells it only of callers with an identity of Cognito's, and of those that name themselves in the client context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Lambda's id of the request, under which `CloudTrail` names who made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// What a run has counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct RunCounts {
    /// How many were asked for.
    pub matched: u64,
    /// How many went back.
    pub published: u64,
    /// How many did not: refused by the broker, or there no more.
    pub failed: u64,
    /// How many stay, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// How many of each error class.
    pub by_error_class: BTreeMap<String, u64>,
    /// How many of each error code.
    pub by_error_code: BTreeMap<String, u64>,
    /// The bytes of their values.
    pub bytes: u64,
}

impl RunCounts {
    fn add(&mut self, answer: &Answer) {
        for (sum, more) in [
            (&mut self.matched, answer.matched),
            (&mut self.published, answer.published),
            (&mut self.failed, answer.failed),
            (&mut self.bytes, answer.bytes),
        ] {
            *sum = sum.saturating_add(more);
        }
        for (sums, more) in [
            (&mut self.skipped, &answer.skipped),
            (&mut self.by_error_class, &answer.by_error_class),
            (&mut self.by_error_code, &answer.by_error_code),
        ] {
            for (name, count) in more {
                let sum = sums.entry(name.clone()).or_default();
                *sum = sum.saturating_add(*count);
            }
        }
    }
}

impl RunRecord {
    /// Returns the key of a run's record.
    pub fn key(replay_id: &str) -> String {
        format!("replays/{replay_id}/run.json")
    }

    /// Notes that another invocation of the run has begun.
    pub fn begin_again(&mut self, now: String) {
        self.state = RunState::Running;
        self.updated = now;
        self.invocations = self.invocations.saturating_add(1);
        self.stopped = None;
        self.fault = None;
    }

    /// Notes the end of an invocation.
    pub fn end(&mut self, answer: &Answer, now: String, took_ms: i64, ends: Option<&Ends>) {
        self.state = if answer.complete {
            RunState::Complete
        } else {
            RunState::Stopped
        };
        self.updated = now;
        self.duration_ms = self.duration_ms.saturating_add(took_ms);
        self.counts.add(answer);
        if let Some(ends) = ends {
            self.first.get_or_insert_with(|| ends.first.to_string());
            self.last = Some(ends.last.to_string());
        }
        self.stopped.clone_from(&answer.stopped);
        self.fault.clone_from(&answer.fault);
    }

    /// Writes the object.
    pub fn write(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Reads the object; `None` when it is no record of a run.
    pub fn read(object: &[u8]) -> Option<Self> {
        serde_json::from_slice(object).ok()
    }
}

/// The first and the last dead letter that an invocation published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The first.
    pub first: Coordinates,
    /// The last.
    pub last: Coordinates,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(published: u64, complete: bool) -> Answer {
        Answer {
            replay_id: "run-1".to_owned(),
            dry_run: false,
            matched: published.saturating_add(3),
            published,
            to_publish: None,
            skipped: BTreeMap::from([("max-replays".to_owned(), 2)]),
            failed: 1,
            gone: 0,
            by_error_class: BTreeMap::from([("transient".to_owned(), published.saturating_add(3))]),
            by_error_code: BTreeMap::new(),
            bytes: 10,
            oldest: None,
            newest: None,
            unreplayed: BTreeMap::new(),
            sample: Vec::new(),
            missing: Vec::new(),
            held_back: Vec::new(),
            complete,
            stopped: (!complete).then(|| "deadline".to_owned()),
            fault: None,
            resume: None,
            plan: None,
        }
    }

    fn started() -> RunRecord {
        RunRecord {
            replay_id: "run-1".to_owned(),
            state: RunState::Running,
            from_topic: "dlq".to_owned(),
            to_topic: "main".to_owned(),
            asked: json!({ "all": true }),
            plan: None,
            invoked: Invoker {
                caller: None,
                request_id: Some("r-1".to_owned()),
            },
            started: "t0".to_owned(),
            updated: "t0".to_owned(),
            duration_ms: 0,
            invocations: 1,
            counts: RunCounts::default(),
            first: None,
            last: None,
            stopped: None,
            fault: None,
        }
    }

    #[test]
    fn a_run_adds_up_over_its_invocations() {
        let mut run = started();
        let ends = |first: &str, last: &str| Ends {
            first: first.parse().unwrap(),
            last: last.parse().unwrap(),
        };
        let first = ends("dlq/0/1", "dlq/1/4");
        run.end(&answer(5, false), "t1".to_owned(), 100, Some(&first));
        assert_eq!(
            (run.state, run.stopped.as_deref()),
            (RunState::Stopped, Some("deadline"))
        );
        run.begin_again("t2".to_owned());
        assert_eq!(
            (run.state, run.stopped.as_deref()),
            (RunState::Running, None)
        );
        let second = ends("dlq/0/2", "dlq/1/9");
        run.end(&answer(7, true), "t3".to_owned(), 50, Some(&second));
        assert_eq!(RunRecord::read(&run.write()), Some(run.clone()));
        assert_eq!((run.state, run.invocations), (RunState::Complete, 2));
        assert_eq!(
            (run.counts.matched, run.counts.published, run.counts.failed),
            (18, 12, 2)
        );
        assert_eq!(run.counts.skipped["max-replays"], 4);
        assert_eq!(run.counts.by_error_class["transient"], 18);
        assert_eq!((run.duration_ms, run.counts.bytes), (150, 20));
        assert_eq!(
            (run.first.as_deref(), run.last.as_deref()),
            (Some("dlq/0/1"), Some("dlq/1/9"))
        );
        assert_eq!((run.started.as_str(), run.updated.as_str()), ("t0", "t3"));
    }
}
