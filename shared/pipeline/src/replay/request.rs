//! What an operator asks of a replay, read from the invocation's payload.

mod field;
mod value;

use std::fmt;

use serde_json::{Map, Value};

use crate::failure::{ErrorClass, ErrorCode};
use crate::record::{Timestamp, Topic};
use crate::replay::fields::Fields;
use crate::replay::ledger::Place;
use crate::replay::plan::{PlanHead, PlanName, PlanPart};
use crate::replay::progress::Progress;
use crate::replay::rate::Rate;
use crate::replay::selection::{Selection, Told};
use value::{error_class, error_code, limit, rate, records, topic, window};

/// A replay as asked for, checked, with all its times fixed.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The run's id; a resumed run keeps it.
    pub replay_id: String,
    /// Where to read.
    pub from: Topic,
    /// Where to send.
    pub to: Topic,
    /// Whether to count only.
    pub dry_run: bool,
    /// What to take.
    pub selection: Selection,
    /// How many at most.
    pub limit: Option<Limit>,
    /// How fast at most.
    pub rate: Rate,
    /// Whether what an earlier run has published goes too.
    pub again: bool,
    /// The plan to run.
    pub plan: Option<PlanName>,
    /// How far an earlier, unfinished invocation has come.
    pub progress: Option<Progress>,
    /// What that invocation leaves to this one.
    pub carried: Carried,
}

/// What one invocation of a run leaves to the next, beside its progress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// What was published and is not in the ledger yet, since the store was away: at most one chunk.
    pub unrecorded: Vec<Place>,
    /// The parts of the plan that are written.
    pub parts: Vec<PlanPart>,
    /// When the next dead letter may go, as the rate says.
    pub not_before: Option<Timestamp>,
}

/// How many dead letters may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The number asked for.
    pub each: u64,
    /// How many of them are left.
    pub left: u64,
}

impl Limit {
    /// Returns what is left after so many were sent.
    pub const fn after(self, sent: u64) -> Self {
        Self {
            each: self.each,
            left: self.left.saturating_sub(sent),
        }
    }

    /// Starts again at the number asked for.
    pub const fn renewed(self) -> Self {
        Self {
            each: self.each,
            left: self.each,
        }
    }
}

/// What a payload is read against.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Where to read unless the payload says otherwise.
    pub from: &'a Topic,
    /// Where to send unless the payload says otherwise.
    pub to: &'a Topic,
    /// Where sending is allowed.
    pub targets: &'a [Topic],
    /// The id of a run that starts now.
    pub new_id: &'a str,
    /// The time.
    pub now: Timestamp,
}

/// Names every wrong field of a payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct InvalidReplay {
    problems: Vec<String>,
}

impl InvalidReplay {
    /// Names what is wrong, each problem beginning with its field.
    pub const fn of(problems: Vec<String>) -> Self {
        Self { problems }
    }
}

impl fmt::Display for InvalidReplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("; "))
    }
}

impl Request {
    /// How often a payment may be replayed unless the payload says otherwise.
    pub const MAX_REPLAYS: u64 = 3;

    /// Reads a payload; reports every wrong field, not only the first.
    pub fn read(payload: &str, terms: &Terms<'_>) -> Result<Self, InvalidReplay> {
        let Some(mut fields) = Fields::of(payload, &field::NAMES) else {
            return Err(InvalidReplay {
                problems: vec!["the payload is not a JSON object".to_owned()],
            });
        };
        let request = if fields.has(field::RESUME) {
            Self::resumed(&mut fields)
        } else {
            Some(Self::started(&mut fields, terms))
        };
        // The topics of a plan are known when it is read.
        if let Some(request) = &request
            && (request.plan.is_none() || request.progress.is_some())
        {
            request.check_topics(&mut fields, terms);
        }
        match (request, fields.into_problems()) {
            (Some(request), problems) if problems.is_empty() => Ok(request),
            (Some(_) | None, problems) => Err(InvalidReplay { problems }),
        }
    }

    /// Reads a run that starts anew; where a field is wrong its default stands in, and the problem is noted.
    fn started(fields: &mut Fields, terms: &Terms<'_>) -> Self {
        let topics = (
            topic(fields, field::FROM_TOPIC),
            topic(fields, field::TO_TOPIC),
        );
        let from = topics.0.unwrap_or_else(|| terms.from.clone());
        let to = topics.1.unwrap_or_else(|| terms.to.clone());
        let selection = Selection {
            window: window(fields, terms.now),
            error_class: error_class(fields),
            error_code: error_code(fields),
            key: fields.text(field::KEY),
            original_topic: topic(fields, field::ORIGINAL_TOPIC),
            records: records(fields, &from),
            max_replays: fields
                .positive(field::MAX_REPLAYS)
                .unwrap_or(Self::MAX_REPLAYS),
        };
        let limit = limit(fields);
        let rate = rate(fields).unwrap_or_default();
        let dry_run = fields.flag(field::DRY_RUN).unwrap_or_default();
        let again = fields.flag(field::AGAIN).unwrap_or_default();
        let plan = fields.parsed(
            field::PLAN,
            "is not <replay_id>@<sha256>, as a dry run answers it",
            |text| text.trim().parse().ok(),
        );
        if fields.has(field::PLAN) {
            for name in field::FILTERS.into_iter().chain(field::KEPT_BY_PLAN) {
                if fields.has(name) {
                    fields.problem(name, "cannot stand beside plan: the plan keeps it");
                }
            }
        }
        let all = fields.flag(field::ALL).unwrap_or_default();
        let selects = field::FILTERS.iter().any(|name| fields.has(name))
            || fields.has(field::LIMIT)
            || fields.has(field::PLAN);
        if !(selects || all || dry_run) {
            fields.problem(
                field::ALL,
                "is not true, and nothing is selected: give a filter, records, a plan or a limit, or \"all\": true to replay every dead letter",
            );
        }
        let chosen = fields.parsed(field::REPLAY_ID, "is not a UUID", |text| {
            is_uuid(text).then(|| text.to_owned())
        });
        Self {
            replay_id: chosen.unwrap_or_else(|| terms.new_id.to_owned()),
            from,
            to,
            dry_run,
            selection,
            limit,
            rate,
            again,
            plan,
            progress: None,
            carried: Carried::default(),
        }
    }

    /// Reads a run that goes on: the token says all but how fast and how many more.
    fn resumed(fields: &mut Fields) -> Option<Self> {
        for name in field::FILTERS.into_iter().chain(field::KEPT_BY_TOKEN) {
            if fields.has(name) {
                fields.problem(name, "cannot stand beside resume: the token keeps it");
            }
        }
        let limit = limit(fields);
        let rate = rate(fields);
        fields.flag(field::ALL);
        let from = topic(fields, field::FROM_TOPIC);
        let to = topic(fields, field::TO_TOPIC);
        let dry_run = fields.flag(field::DRY_RUN);
        let max_replays = fields.positive(field::MAX_REPLAYS);
        let mut request = fields.parsed(
            field::RESUME,
            "is no token that a replay has answered",
            Self::from_token,
        )?;
        for (name, differs) in [
            (
                field::FROM_TOPIC,
                from.is_some_and(|from| from != request.from),
            ),
            (field::TO_TOPIC, to.is_some_and(|to| to != request.to)),
            (
                field::DRY_RUN,
                dry_run.is_some_and(|dry_run| dry_run != request.dry_run),
            ),
            (
                field::MAX_REPLAYS,
                max_replays.is_some_and(|most| most != request.selection.max_replays),
            ),
        ] {
            if differs {
                fields.problem(name, "is not what the resume token says");
            }
        }
        request.limit = limit.or(request.limit);
        request.rate = rate.unwrap_or(request.rate);
        Some(request)
    }

    /// Takes over what the plan keeps; the plan was read since the payload was.
    pub fn follow(&mut self, plan: &PlanHead, terms: &Terms<'_>) -> Result<(), InvalidReplay> {
        self.from.clone_from(&plan.from);
        self.to.clone_from(&plan.to);
        self.selection.max_replays = plan.max_replays;
        self.again = plan.again;
        let mut fields = Fields::default();
        self.check_topics(&mut fields, terms);
        let problems = fields.into_problems();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(InvalidReplay { problems })
        }
    }

    /// Returns what is asked for, as fields of a payload with its times fixed, for people to read later.
    pub fn asked(&self) -> Value {
        let selection = &self.selection;
        let time = |time: Option<Timestamp>| {
            let time = time?;
            let text = time.to_rfc3339();
            Some(text.map_or_else(|| Value::from(time.millis()), Value::from))
        };
        let text = |text: Option<&str>| text.map(Value::from);
        let records = selection.records.as_ref().map(|places| {
            let places = places.iter();
            let at =
                places.map(|(partition, offset)| format!("{}/{partition}/{offset}", self.from));
            at.map(Value::from).collect::<Value>()
        });
        let fields = [
            (field::SINCE, time(selection.window.since)),
            (field::UNTIL, time(selection.window.until)),
            (
                field::ERROR_CLASS,
                text(selection.error_class.map(Told::<ErrorClass>::as_str)),
            ),
            (
                field::ERROR_CODE,
                text(selection.error_code.map(Told::<ErrorCode>::as_str)),
            ),
            (field::KEY, text(selection.key.as_deref())),
            (
                field::ORIGINAL_TOPIC,
                text(selection.original_topic.as_ref().map(Topic::as_str)),
            ),
            (field::RECORDS, records),
            (field::LIMIT, self.limit.map(|limit| limit.each.into())),
            (field::RATE, Some(self.rate.get().into())),
            (field::MAX_REPLAYS, Some(selection.max_replays.into())),
            (field::AGAIN, Some(self.again.into())),
            (
                field::PLAN,
                self.plan.as_ref().map(|plan| plan.to_string().into()),
            ),
        ];
        let fields = fields.into_iter();
        let set = fields.filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(set.collect::<Map<_, _>>())
    }

    fn check_topics(&self, fields: &mut Fields, terms: &Terms<'_>) {
        if self.from == self.to {
            fields.problem(
                field::TO_TOPIC,
                format_args!("is the same as {}: {}", field::FROM_TOPIC, self.to),
            );
        }
        if !terms.targets.contains(&self.to) {
            let allowed: Vec<&str> = terms.targets.iter().map(Topic::as_str).collect();
            fields.problem(
                field::TO_TOPIC,
                format_args!(
                    "{} is not among REPLAY_TARGETS: {}",
                    self.to,
                    allowed.join(", ")
                ),
            );
        }
    }
}

/// Tells whether a text has the form of a UUID: the id of a run that nobody else chooses too.
fn is_uuid(text: &str) -> bool {
    let groups = text.split('-').map(|group| {
        let hex = group.bytes().all(|byte| byte.is_ascii_hexdigit());
        hex.then_some(group.len())
    });
    groups.eq([8, 4, 4, 4, 12].map(Some))
}

#[cfg(test)]
mod tests;
