//! What a mapping reads out of a function's answer.
//!
//! Source: AWS Lambda developer guide, "Configuring error handling controls for Kafka event sources"; forms that it does not name are
//! taken from its pages on the other stream sources ("Success and failure conditions").

use std::collections::BTreeSet;

use pipeline::{Offset, Partition, Topic};
use serde_json::Value;

/// A record of a batch, named by where it is in the mapping's topic.
pub type Place = (Partition, Offset);

/// What a partial batch response says of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Every record is done.
    AllDone,
    /// These records are not done, and no others.
    Partial(BTreeSet<Place>),
    /// It cannot be made sense of, so that the whole batch counts as not done.
    Malformed(String),
}

impl Answer {
    /// Reads the answer to a batch of these records of a topic.
    pub fn read(body: &[u8], topic: &Topic, batch: &BTreeSet<Place>) -> Self {
        match failures(body) {
            Ok(failures) => {
                let places: Result<BTreeSet<Place>, String> = failures
                    .iter()
                    .map(|failure| place(failure, topic, batch))
                    .collect();
                match places {
                    Ok(places) if places.is_empty() => Self::AllDone,
                    Ok(places) => Self::Partial(places),
                    Err(problem) => Self::Malformed(problem),
                }
            }
            Err(problem) => Self::Malformed(problem),
        }
    }
}

/// Returns the list of failures; no body, `null`, `{}` and a null list are an empty one.
fn failures(body: &[u8]) -> Result<Vec<Value>, String> {
    if body.is_empty() {
        return Ok(Vec::new());
    }
    let answer: Value =
        serde_json::from_slice(body).map_err(|error| format!("it is not JSON: {error}"))?;
    match answer {
        Value::Null => Ok(Vec::new()),
        Value::Object(fields) if fields.is_empty() => Ok(Vec::new()),
        Value::Object(mut fields) => match fields.remove("batchItemFailures") {
            Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(failures)) => Ok(failures),
            Some(_) => Err("batchItemFailures is not a list".to_owned()),
            None => Err("it has no batchItemFailures".to_owned()),
        },
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err("it is not an object".to_owned())
        }
    }
}

/// Reads one failure; it must name a record of the batch.
fn place(failure: &Value, topic: &Topic, batch: &BTreeSet<Place>) -> Result<Place, String> {
    let identifier = failure
        .get("itemIdentifier")
        .ok_or_else(|| format!("{failure} has no itemIdentifier"))?;
    let partition = identifier
        .get("partition")
        .and_then(Value::as_str)
        .ok_or_else(|| format!("{identifier} has no partition"))?;
    let offset = identifier
        .get("offset")
        .and_then(Value::as_i64)
        .ok_or_else(|| format!("{identifier} has no offset"))?;
    partition
        .strip_prefix(topic.as_str())
        .and_then(|rest| rest.strip_prefix('-'))
        .and_then(|number| number.parse().ok())
        .zip(Offset::new(offset))
        .filter(|place| batch.contains(place))
        .ok_or_else(|| format!("{identifier} is not in the batch"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(partition: i32, offset: i64) -> Place {
        (
            Partition::new(partition).unwrap(),
            Offset::new(offset).unwrap(),
        )
    }

    fn read(body: &str) -> Answer {
        let topic = "some.topic-3".parse().unwrap();
        let batch = BTreeSet::from([at(3, 41), at(3, 42), at(4, 42)]);
        Answer::read(body.as_bytes(), &topic, &batch)
    }

    #[test]
    fn nothing_listed_means_that_all_is_done() {
        for body in [
            "",
            "null",
            "{}",
            " { } ",
            r#"{"batchItemFailures":[]}"#,
            r#"{"batchItemFailures":null}"#,
            r#"{"batchItemFailures":[],"other":1}"#,
        ] {
            assert_eq!(read(body), Answer::AllDone, "{body:?}");
        }
    }

    #[test]
    fn what_is_listed_and_was_in_the_batch_is_not_done() {
        let check = |body: &str, places: &[Place]| {
            let places = places.iter().copied().collect();
            assert_eq!(read(body), Answer::Partial(places), "{body}");
        };
        check(
            r#"{"batchItemFailures":[{"itemIdentifier":{"partition":"some.topic-3-3","offset":42}}]}"#,
            &[at(3, 42)],
        );
        check(
            r#"{"batchItemFailures":[
                {"itemIdentifier":{"partition":"some.topic-3-4","offset":42}},
                {"itemIdentifier":{"offset":41,"partition":"some.topic-3-3"},"more":[]},
                {"itemIdentifier":{"partition":"some.topic-3-4","offset":42}}]}"#,
            &[at(3, 41), at(4, 42)],
        );
    }

    #[test]
    fn everything_else_is_malformed() {
        let identifiers = [
            r#""""#,
            "null",
            "{}",
            "[]",
            "7",
            r#""some.topic-3-3""#,
            r#"{"partition":"some.topic-3-3"}"#,
            r#"{"offset":42}"#,
            r#"{"partition":"","offset":42}"#,
            r#"{"partition":null,"offset":42}"#,
            r#"{"partition":"some.topic-3-3","offset":null}"#,
            r#"{"partition":"some.topic-3-3","offset":"42"}"#,
            r#"{"partition":"some.topic-3-3","offset":42.0}"#,
            r#"{"partition":"some.topic-3-3","offset":-1}"#,
            r#"{"partition":"some.topic-3-3","offset":43}"#,
            r#"{"partition":"some.topic-3-4","offset":41}"#,
            r#"{"partition":"some.topic-3","offset":42}"#,
            r#"{"partition":"some.topic-3-","offset":42}"#,
            r#"{"partition":"some.topic-3-+3","offset":42}"#,
            r#"{"partition":"some.topic-3--3","offset":42}"#,
            r#"{"partition":"some.topic-3-3 ","offset":42}"#,
            r#"{"partition":"other-3","offset":42}"#,
            r#"{"partition":3,"offset":42}"#,
            r#"{"topic-partition":"some.topic-3-3","offset":42}"#,
            r#"{"Partition":"some.topic-3-3","Offset":42}"#,
        ];
        let good = r#"{"itemIdentifier":{"partition":"some.topic-3-3","offset":42}}"#;
        let in_items = identifiers.iter().flat_map(|identifier| {
            let failure = format!(r#"{{"itemIdentifier":{identifier}}}"#);
            [
                format!(r#"{{"batchItemFailures":[{failure}]}}"#),
                format!(r#"{{"batchItemFailures":[{good},{failure}]}}"#),
            ]
        });
        let items = [
            "null",
            "{}",
            "7",
            "[]",
            r#""x""#,
            r#"{"itemId":{"partition":"some.topic-3-3","offset":42}}"#,
        ]
        .map(|item| format!(r#"{{"batchItemFailures":[{item}]}}"#));
        let whole = [
            " ",
            "{",
            "nul",
            "done",
            r#"{"batchItemFailures":[]}}"#,
            r#""""#,
            r#""ok""#,
            "true",
            "0",
            "[]",
            r#"{"batchItemFailures":{}}"#,
            r#"{"batchItemFailures":""}"#,
            r#"{"batchItemFailures":false}"#,
            r#"{"BatchItemFailures":[]}"#,
            r#"{"batchitemfailures":[]}"#,
            r#"{"statusCode":200}"#,
            "\u{feff}null",
        ]
        .map(str::to_owned);
        for body in in_items.chain(items).chain(whole) {
            assert!(matches!(read(&body), Answer::Malformed(_)), "{body}");
        }
        let topic = "t".parse().unwrap();
        let not_utf8 = Answer::read(b"\"\xff\"", &topic, &BTreeSet::new());
        assert!(matches!(not_utf8, Answer::Malformed(_)));
    }
}
