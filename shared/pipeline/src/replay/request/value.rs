//! The values of single fields.

use std::collections::BTreeSet;

use super::{Limit, field};
use crate::failure::{ErrorClass, ErrorCode};
use crate::record::{Coordinates, Offset, Partition, Timestamp, Topic};
use crate::replay::fields::{Fields, short};
use crate::replay::moment::moment;
use crate::replay::rate::Rate;
use crate::replay::selection::{Told, UNKNOWN, Window};

pub(super) fn topic(fields: &mut Fields, name: &str) -> Option<Topic> {
    fields.parsed(name, "is not a legal topic name", |text| text.parse().ok())
}

pub(super) fn window(fields: &mut Fields, now: Timestamp) -> Window {
    const WRONG: &str = "is neither a span ago, such as 1h, 24h or 7d, nor an RFC 3339 time";
    let since = fields.parsed(field::SINCE, WRONG, |text| moment(text, now));
    let until = fields.parsed(field::UNTIL, WRONG, |text| moment(text, now));
    if let (Some(since), Some(until)) = (since, until)
        && since >= until
    {
        fields.problem(field::SINCE, "is not before until");
    }
    Window { since, until }
}

pub(super) fn error_class(fields: &mut Fields) -> Option<Told<ErrorClass>> {
    fields.parsed(
        field::ERROR_CLASS,
        "is none of transient, permanent, unknown",
        |text| Some(Told::class_of(text)).filter(|told| told.as_str() == text),
    )
}

pub(super) fn error_code(fields: &mut Fields) -> Option<Told<ErrorCode>> {
    let known: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    let wrong = format!("is none of {}, {UNKNOWN}", known.join(", "));
    fields.parsed(field::ERROR_CODE, &wrong, |text| {
        Some(Told::code_of(text)).filter(|told| told.as_str() == text)
    })
}

pub(super) fn records(fields: &mut Fields, from: &Topic) -> Option<BTreeSet<(Partition, Offset)>> {
    let list = fields.list(field::RECORDS)?;
    if list.is_empty() {
        fields.problem(field::RECORDS, "is empty");
        return None;
    }
    let mut places = BTreeSet::new();
    let mut wrong: Vec<String> = Vec::new();
    for entry in &list {
        let at = entry
            .as_str()
            .and_then(|text| text.parse::<Coordinates>().ok())
            .filter(|at| at.topic == *from);
        match at {
            Some(at) => {
                places.insert((at.partition, at.offset));
            }
            None => wrong.push(short(entry.as_str().unwrap_or(&entry.to_string()))),
        }
    }
    if let Some(first) = wrong.first() {
        fields.problem(
            field::RECORDS,
            format_args!(
                "has {} of {} entries that are not \"{from}/partition/offset\", first {first}",
                wrong.len(),
                list.len(),
            ),
        );
        return None;
    }
    Some(places)
}

pub(super) fn limit(fields: &mut Fields) -> Option<Limit> {
    let each = fields.positive(field::LIMIT)?;
    Some(Limit { each, left: each })
}

pub(super) fn rate(fields: &mut Fields) -> Option<Rate> {
    let number = fields.number(field::RATE)?;
    let rate = Rate::per_second(number);
    if rate.is_none() {
        fields.problem(field::RATE, "is below zero");
    }
    rate
}
