//! The token with which an unfinished run goes on: all that was asked and how far it came, so that nothing need be kept elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::record::{Offset, Partition, Timestamp};
use crate::replay::fingerprint::is_sha256;
use crate::replay::ledger::Place;
use crate::replay::plan::PlanPart;
use crate::replay::progress::{Lane, Progress};
use crate::replay::rate::Rate;
use crate::replay::request::{Carried, Limit, Request};
use crate::replay::selection::{Selection, Told, Window};

/// The form of tokens of this version.
const FORM: u32 = 1;

/// The longest id that a run may have.
const LONGEST_ID: usize = 64;

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    form: u32,
    replay_id: String,
    from: String,
    to: String,
    dry_run: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    since: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_class: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    original_topic: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    records: Option<Vec<(i32, i64)>>,
    max_replays: u64,
    /// The limit asked for, and how many of it are left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<(u64, u64)>,
    rate: f64,
    /// Partition, next offset, end.
    lanes: Vec<(i32, i64, i64)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    done_ahead: Vec<(i32, i64)>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    again: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    plan: Option<String>,
    /// Partition, offset, time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unrecorded: Vec<(i32, i64, i64)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PlanPart>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_before: Option<i64>,
}

impl Request {
    /// Writes the token with which this run goes on from `progress`, with what is carried on and a limit of which some may be used up.
    pub fn token(&self, progress: &Progress, carried: &Carried, limit: Option<Limit>) -> String {
        let selection = &self.selection;
        let wire = Wire {
            form: FORM,
            replay_id: self.replay_id.clone(),
            from: self.from.to_string(),
            to: self.to.to_string(),
            dry_run: self.dry_run,
            since: selection.window.since.map(Timestamp::millis),
            until: selection.window.until.map(Timestamp::millis),
            error_class: selection.error_class.map(|told| told.as_str().to_owned()),
            error_code: selection.error_code.map(|told| told.as_str().to_owned()),
            key: selection.key.clone(),
            original_topic: selection.original_topic.as_ref().map(ToString::to_string),
            records: selection.records.as_ref().map(|records| {
                let places = records.iter();
                places.map(|(p, offset)| (p.get(), offset.get())).collect()
            }),
            max_replays: selection.max_replays,
            limit: limit.map(|Limit { each, left }| (each, left)),
            rate: self.rate.get(),
            lanes: progress
                .left()
                .map(|(p, lane)| (p.get(), lane.next.get(), lane.end.get()))
                .collect(),
            done_ahead: progress
                .done_ahead()
                .map(|(p, offset)| (p.get(), offset.get()))
                .collect(),
            again: self.again,
            plan: self.plan.as_ref().map(ToString::to_string),
            unrecorded: carried
                .unrecorded
                .iter()
                .map(|place| {
                    let (partition, offset) = (place.partition.get(), place.offset.get());
                    (partition, offset, place.time.millis())
                })
                .collect(),
            parts: carried.parts.clone(),
            not_before: carried.not_before.map(Timestamp::millis),
        };
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(&wire).unwrap_or_default())
    }

    /// Reads a token; `None` when it is none, or one that no run can have written.
    pub(super) fn from_token(token: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(token.trim()).ok()?;
        let wire: Wire = serde_json::from_slice(&bytes).ok()?;
        if wire.form != FORM || !is_id(&wire.replay_id) {
            return None;
        }
        let places = |list: &[(i32, i64)]| -> Option<BTreeSet<_>> {
            list.iter().map(|(p, offset)| place(*p, *offset)).collect()
        };
        let told = |text: Option<&str>, shown: fn(&str) -> bool| text.is_none_or(shown);
        let class_is_told = told(wire.error_class.as_deref(), |text| {
            Told::class_of(text).as_str() == text
        });
        let code_is_told = told(wire.error_code.as_deref(), |text| {
            Told::code_of(text).as_str() == text
        });
        let limit = wire.limit.map(|(each, left)| Limit { each, left });
        if !class_is_told
            || !code_is_told
            || wire.max_replays == 0
            || limit.is_some_and(|limit| limit.each == 0 || limit.left > limit.each)
            || !wire.parts.iter().all(|part| is_sha256(&part.sha256))
        {
            return None;
        }
        Some(Self {
            from: wire.from.parse().ok()?,
            to: wire.to.parse().ok()?,
            dry_run: wire.dry_run,
            selection: Selection {
                window: Window {
                    since: wire.since.map(Timestamp::from_millis),
                    until: wire.until.map(Timestamp::from_millis),
                },
                error_class: wire.error_class.as_deref().map(Told::class_of),
                error_code: wire.error_code.as_deref().map(Told::code_of),
                key: wire.key,
                original_topic: match wire.original_topic {
                    Some(topic) => Some(topic.parse().ok()?),
                    None => None,
                },
                records: match wire.records {
                    Some(records) => Some(places(&records)?),
                    None => None,
                },
                max_replays: wire.max_replays,
            },
            limit,
            rate: Rate::per_second(wire.rate)?,
            progress: Some(Progress::new(
                lanes(&wire.lanes)?,
                places(&wire.done_ahead)?,
            )),
            again: wire.again,
            plan: match wire.plan {
                Some(plan) => Some(plan.parse().ok()?),
                None => None,
            },
            carried: Carried {
                unrecorded: unrecorded(&wire.unrecorded)?,
                parts: wire.parts,
                not_before: wire.not_before.map(Timestamp::from_millis),
            },
            replay_id: wire.replay_id,
        })
    }
}

/// Returns the id of the run that a token goes on with; `None` when it is no token.
pub fn run_of(token: &str) -> Option<String> {
    Request::from_token(token).map(|request| request.replay_id)
}

/// Tells whether a text may be the id of a run: it becomes part of the keys of objects.
pub(super) fn is_id(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(legal)
}

fn unrecorded(list: &[(i32, i64, i64)]) -> Option<Vec<Place>> {
    let read = |(partition, offset, time): &(i32, i64, i64)| {
        let (partition, offset) = place(*partition, *offset)?;
        Some(Place {
            partition,
            offset,
            time: Timestamp::from_millis(*time),
        })
    };
    list.iter().map(read).collect()
}

fn place(partition: i32, offset: i64) -> Option<(Partition, Offset)> {
    Some((Partition::new(partition)?, Offset::new(offset)?))
}

fn lanes(list: &[(i32, i64, i64)]) -> Option<BTreeMap<Partition, Lane>> {
    let mut lanes = BTreeMap::new();
    for (partition, next, end) in list {
        let (partition, next) = place(*partition, *next)?;
        let end = Offset::new(*end)?;
        if lanes.insert(partition, Lane { next, end }).is_some() {
            return None;
        }
    }
    Some(lanes)
}

#[cfg(test)]
mod tests;
