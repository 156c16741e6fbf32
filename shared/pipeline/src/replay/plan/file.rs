//! How plans are written.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Planned;
use crate::record::{Offset, Partition, Timestamp, Topic};

/// The form of plans of this version.
const FORM: u32 = 1;

/// Partition, offset, time, bytes, fingerprint.
type Line = (i32, i64, i64, u64, String);

/// What a plan says of itself beside its dead letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanHead {
    /// The dry run's id.
    pub replay_id: String,
    /// When the plan was made, RFC 3339.
    pub made: String,
    /// Where the dead letters are.
    pub from: Topic,
    /// Where they are to go.
    pub to: Topic,
    /// How often a payment may have been replayed.
    pub max_replays: u64,
    /// Whether what an earlier run has published goes too.
    pub again: bool,
    /// What the dry run was asked for.
    pub asked: Value,
}

/// One of the objects of a long plan.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlanPart {
    /// The SHA-256 of the object.
    pub sha256: String,
    /// How many dead letters it lists.
    pub records: u64,
    /// The bytes of their values.
    pub bytes: u64,
}

/// The object `plan.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFile {
    /// What it says of itself.
    pub head: PlanHead,
    /// The objects that list its dead letters; none when it lists them itself.
    pub parts: Vec<PlanPart>,
    /// The dead letters that it lists itself.
    pub planned: Vec<Planned>,
}

/// Says why an object is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is no plan of this version: {0}")]
pub struct PlanFileError(String);

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    form: u32,
    replay_id: String,
    made: String,
    from_topic: String,
    to_topic: String,
    max_replays: u64,
    again: bool,
    asked: Value,
    records: u64,
    bytes: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PlanPart>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    list: Vec<Line>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct PartWire {
    form: u32,
    list: Vec<Line>,
}

impl PlanFile {
    /// Returns how many dead letters the plan holds.
    pub fn records(&self) -> u64 {
        let listed = u64::try_from(self.planned.len()).unwrap_or(u64::MAX);
        let parts = self.parts.iter().map(|part| part.records);
        parts.fold(listed, u64::saturating_add)
    }

    /// Writes the object.
    pub fn write(&self) -> Vec<u8> {
        let head = &self.head;
        let listed = self.planned.iter().map(|planned| planned.bytes);
        let parts = self.parts.iter().map(|part| part.bytes);
        let wire = Wire {
            form: FORM,
            replay_id: head.replay_id.clone(),
            made: head.made.clone(),
            from_topic: head.from.to_string(),
            to_topic: head.to.to_string(),
            max_replays: head.max_replays,
            again: head.again,
            asked: head.asked.clone(),
            records: self.records(),
            bytes: listed.chain(parts).fold(0, u64::saturating_add),
            parts: self.parts.clone(),
            list: self.planned.iter().map(line).collect(),
        };
        serde_json::to_vec(&wire).unwrap_or_default()
    }

    /// Reads the object.
    pub fn read(object: &[u8]) -> Result<Self, PlanFileError> {
        let wire: Wire =
            serde_json::from_slice(object).map_err(|error| PlanFileError(error.to_string()))?;
        check_form(wire.form)?;
        let topic = |name: &str| {
            name.parse::<Topic>()
                .map_err(|error| PlanFileError(error.to_string()))
        };
        Ok(Self {
            head: PlanHead {
                from: topic(&wire.from_topic)?,
                to: topic(&wire.to_topic)?,
                replay_id: wire.replay_id,
                made: wire.made,
                max_replays: wire.max_replays,
                again: wire.again,
                asked: wire.asked,
            },
            parts: wire.parts,
            planned: planned(&wire.list)?,
        })
    }
}

/// Writes one of the objects of a long plan.
pub fn write_part(planned: &[Planned]) -> Vec<u8> {
    let wire = PartWire {
        form: FORM,
        list: planned.iter().map(line).collect(),
    };
    serde_json::to_vec(&wire).unwrap_or_default()
}

/// Reads one of the objects of a long plan.
pub fn read_part(object: &[u8]) -> Result<Vec<Planned>, PlanFileError> {
    let wire: PartWire =
        serde_json::from_slice(object).map_err(|error| PlanFileError(error.to_string()))?;
    check_form(wire.form)?;
    planned(&wire.list)
}

fn check_form(form: u32) -> Result<(), PlanFileError> {
    if form == FORM {
        Ok(())
    } else {
        Err(PlanFileError(format!("it has form {form}")))
    }
}

fn line(planned: &Planned) -> Line {
    (
        planned.partition.get(),
        planned.offset.get(),
        planned.time.millis(),
        planned.bytes,
        planned.fingerprint.to_string(),
    )
}

fn planned(list: &[Line]) -> Result<Vec<Planned>, PlanFileError> {
    let read = |line: &Line| {
        let (partition, offset, time, bytes, fingerprint) = line;
        Some(Planned {
            partition: Partition::new(*partition)?,
            offset: Offset::new(*offset)?,
            time: Timestamp::from_millis(*time),
            bytes: *bytes,
            fingerprint: fingerprint.parse().ok()?,
        })
    };
    list.iter()
        .map(|line| read(line).ok_or_else(|| PlanFileError(format!("it lists {line:?}"))))
        .collect()
}
