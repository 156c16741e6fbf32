//! The record of a run in the store, `run.json`: written before the first dead letter goes, and at the end.

use lambda::StoreFault;
use pipeline::Masker;
use pipeline::replay::run_record::RunCounts;
use pipeline::replay::{Invoker, Request, RunRecord, RunState};
use serde_json::Value;

use crate::store::{Store, put};

/// Notes that an invocation of a run begins; returns what the run has left of itself so far.
pub(crate) async fn begin<S: Store>(
    store: &S,
    request: &Request,
    invoked: Invoker,
    now: String,
) -> Result<RunRecord, StoreFault> {
    let key = RunRecord::key(&request.replay_id);
    let before = store.get(&key).await?;
    let before = before.and_then(|object| RunRecord::read(&object.body));
    let record = match before {
        Some(mut record) => {
            record.begin_again(now);
            record
        }
        None => RunRecord {
            replay_id: request.replay_id.clone(),
            state: RunState::Running,
            from_topic: request.from.to_string(),
            to_topic: request.to.to_string(),
            asked: masked(request.asked(), &Masker::default()),
            plan: request.plan.as_ref().map(ToString::to_string),
            invoked,
            started: now.clone(),
            updated: now,
            duration_ms: 0,
            invocations: 1,
            counts: RunCounts::default(),
            first: None,
            last: None,
            stopped: None,
            fault: None,
        },
    };
    put(store, &key, record.write()).await?;
    Ok(record)
}

/// Notes the end of an invocation.
pub(crate) async fn end<S: Store>(store: &S, record: &RunRecord) -> Result<(), StoreFault> {
    put(store, &RunRecord::key(&record.replay_id), record.write()).await
}

/// Masks every text: a key that was asked for may be a card number.
pub(crate) fn masked(value: Value, masker: &Masker) -> Value {
    match value {
        Value::String(text) => Value::String(masker.text(&text)),
        Value::Array(list) => list
            .into_iter()
            .map(|value| masked(value, masker))
            .collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, masked(value, masker)))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}
