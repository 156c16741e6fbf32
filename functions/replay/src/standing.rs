//! How a run stands: what has become of the payments that it sent back, told from topics and incidents alone.

mod late;
mod seen;

use std::collections::BTreeMap;

use lambda::StoreFault;
use pipeline::headers::names;
use pipeline::replay::{InvalidReplay, Progress, RunRecord, RunState};
use pipeline::{Incident, Masker, Record, Stage, Timestamp, Topic, due_at};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dead_letters::{DeadLetters, Entry, Reading, SourceError};
use crate::error::ReplayError;
use crate::settings::Settings;
use crate::store::Store;
use late::late_incidents;
use seen::Seen;

/// How many of each kind are named.
const NAMED: usize = 100;

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Standing {
    /// The run's id.
    pub replay_id: String,
    /// Where the run itself stands.
    pub state: RunState,
    /// How many payments it has sent back.
    pub published: u64,
    /// How many of them are dead again.
    pub dead_again: u64,
    /// How many of them wait in a topic to be handled.
    pub waiting: u64,
    /// How many went through: all the others.
    pub went_through: u64,
    /// How many of them cannot be told: they were seen last in a topic that is named in `unsure`.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub unknown: u64,
    /// Whether nothing can change any more: the run is complete, none waits, and of each it is known what has become of it.
    pub over: bool,
    /// The first of those that are dead again.
    pub dead: Vec<DeadAgain>,
    /// The first of those that wait.
    pub waits: Vec<Waiting>,
    /// Topics of which it is not known what is done: no stage of this ladder, or one whose consumer group has committed nothing, or does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsure: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_nought(number: &u64) -> bool {
    *number == 0
}

/// A payment that is dead again.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct DeadAgain {
    /// Its key, when it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The dead letter that was sent back.
    pub from: String,
    /// The new one; absent when no topic has taken it, or has it any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Its error code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// The key of the new incident; absent while there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
}

/// A payment that waits.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Waiting {
    /// Its key, when it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The dead letter that was sent back.
    pub from: String,
    /// Where it waits.
    pub at: String,
    /// When it is due, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<String>,
}

/// Reads which run a payload asks about: `{"status":"ID"}` and nothing else. `None` when it asks for something else.
pub fn asked(payload: &str) -> Result<Option<String>, InvalidReplay> {
    let Ok(Value::Object(fields)) = serde_json::from_str(payload) else {
        return Ok(None);
    };
    let Some(status) = fields.get("status") else {
        return Ok(None);
    };
    let mut problems = Vec::new();
    for name in fields.keys().filter(|name| *name != "status") {
        problems.push(format!("{name} cannot stand beside status"));
    }
    match status.as_str().filter(|id| is_id(id)) {
        Some(id) if problems.is_empty() => Ok(Some(id.to_owned())),
        Some(_) => Err(InvalidReplay::of(problems)),
        None => {
            problems.push("status is not the replay_id of a run".to_owned());
            Err(InvalidReplay::of(problems))
        }
    }
}

/// An id becomes part of an object's key.
fn is_id(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(legal)
}

/// Tells how a run stands at `now`. Writes nothing.
pub(crate) async fn tell<D: DeadLetters, S: Store>(
    topics: &D,
    store: &S,
    settings: &Settings,
    now: Timestamp,
    replay_id: &str,
) -> Result<Standing, ReplayError> {
    let run = read_run(store, replay_id).await?;
    let wrong = |name: &str| StoreFault(format!("{} names no {name}", RunRecord::key(replay_id)));
    let from: Topic = run.from_topic.parse().map_err(|_| wrong("topic"))?;
    let to: Topic = run.to_topic.parse().map_err(|_| wrong("topic"))?;
    let started = Timestamp::from_rfc3339(&run.started).ok_or_else(|| wrong("time"))?;
    // The clocks of those who write may differ a little.
    let since = started.plus_millis(-60_000);
    let mut seen = Seen::default();
    let mut unsure = Vec::new();
    let on_the_way = settings.stages.retries().iter().chain(
        settings
            .stages
            .all()
            .filter(|stage| stage.is_retry() && !settings.stages.retries().contains(stage)),
    );
    let main = [(&to, settings.stages.stage_of(&to))];
    let retries = on_the_way.map(|stage| (stage.topic(), Some(stage)));
    for (topic, stage) in main.into_iter().chain(retries) {
        let is_target = *topic == to;
        let mut reading = match topics.open(topic).await {
            Ok(reading) => reading,
            Err(SourceError::NoSuchTopic(_)) if is_target => {
                seen.target_is_gone();
                unsure.push(topic.to_string());
                continue;
            }
            // A stage whose topic is not there holds nothing.
            Err(SourceError::NoSuchTopic(_)) => continue,
            Err(error) => return Err(error.into()),
        };
        let mut here = Vec::new();
        read(&mut reading, since, replay_id, |record| {
            if is_target {
                seen.sent(record);
            }
            here.push(Record {
                value: None,
                ..record.clone()
            });
        })
        .await?;
        // Asked after reading: what was read and is done by now does not wait. Who reads a topic that is no stage is not known.
        let committed = match stage {
            Some(_) => reading.committed_by(&format!("payments.{topic}")).await,
            None => Ok(BTreeMap::new()),
        };
        let committed = committed.unwrap_or_default();
        if committed.is_empty() && !here.is_empty() {
            unsure.push(topic.to_string());
        }
        for record in &here {
            let at = &record.coordinates;
            let due = stage.filter(|stage| stage.is_retry());
            let due = due.map(|stage: &Stage| due_at(stage, record.timestamp, now));
            let told = due.and_then(Timestamp::to_rfc3339);
            match committed.get(&at.partition) {
                Some(next) if at.offset < *next => seen.passed(record),
                // A partition of which nothing is committed, while of others something is, has nothing done.
                None if committed.is_empty() && due.is_none_or(|due| due <= now) => {
                    seen.passed(record);
                    seen.unknown(record);
                }
                Some(_) | None => seen.waits(record, told),
            }
        }
    }
    let mut reading = topics.open(&from).await?;
    let held = reading.held();
    read(&mut reading, since, replay_id, |record| {
        let incident = Incident::of(record, &Masker::default());
        seen.dead(record, &incident);
    })
    .await?;
    for incident in late_incidents(store, &from, &held, since, replay_id).await? {
        seen.dead_by_incident(&incident);
    }
    seen.check_incidents(store).await?;
    Ok(seen.standing(&run, unsure))
}

/// Hands over every record of a run that a topic holds since a time.
async fn read<R: Reading>(
    reading: &mut R,
    since: Timestamp,
    replay_id: &str,
    mut take: impl FnMut(&Record),
) -> Result<(), SourceError> {
    let mut left = Progress::new(reading.held(), std::collections::BTreeSet::new());
    for (partition, first) in reading.first_since(since).await? {
        left.reach(partition, first);
    }
    reading.start_at(&left).await?;
    while !left.is_complete() {
        let chunk = reading.next_chunk(std::future::pending()).await?;
        for entry in &chunk.entries {
            if let Entry::Record(record) = entry
                && record.headers.text(names::REPLAY_ID) == Some(replay_id)
            {
                take(record);
            }
        }
        for (partition, position) in chunk.positions {
            left.reach(partition, position);
        }
    }
    Ok(())
}

async fn read_run<S: Store>(store: &S, replay_id: &str) -> Result<RunRecord, ReplayError> {
    let key = RunRecord::key(replay_id);
    let Some(object) = store.get(&key).await? else {
        let told = format!("status names no run: there is no {key}");
        return Err(InvalidReplay::of(vec![told]).into());
    };
    let run = RunRecord::read(&object.body);
    Ok(run.ok_or_else(|| StoreFault(format!("{key} is no record of a run")))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(payload: &str, expected: Result<Option<&str>, &str>) {
        match (asked(payload), expected) {
            (Ok(asked), Ok(expected)) => assert_eq!(asked.as_deref(), expected, "{payload}"),
            (Err(error), Err(named)) => assert!(error.to_string().contains(named), "{error}"),
            (asked, _) => panic!("{payload}: {asked:?}"),
        }
    }

    #[test]
    fn only_a_status_alone_asks_how_a_run_stands() {
        check(r#"{"status":"run-1"}"#, Ok(Some("run-1")));
        for other in ["{}", "[]", "no JSON", r#"{"all":true}"#] {
            check(other, Ok(None));
        }
        check(
            r#"{"status":"run-1","all":true}"#,
            Err("all cannot stand beside status"),
        );
        for id in ["7", "null", r#""""#, r#""a/b""#, r#""..""#] {
            let payload = format!(r#"{{"status":{id}}}"#);
            check(&payload, Err("status is not the replay_id"));
        }
    }
}
