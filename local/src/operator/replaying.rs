//! A replay from here: the function's own library, in this process.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::bail;
use aws::Bucket;
use kafka::{Connection, Producer};
use lambda::{Clock, Deadline, Stop, SystemClock};
use pipeline::replay::{Answer, Invoker};
use replay::{KafkaTopics, Replay, ReplayError, Settings};
use serde::Serialize;
use serde_json::{Map, Value};

use super::table::{or_dash, table};

/// How long a replay may take, in milliseconds: here nobody ends it but the operator.
const UNLIMITED_MS: u64 = 999_999_999_999;

/// The payload of a replay, field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked(Map<String, Value>);

/// What a replay did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Replayed(pub Answer);

impl Asked {
    /// Adds a text, when it was given.
    pub fn text(mut self, name: &str, text: Option<String>) -> Self {
        self.0
            .extend(text.map(|text| (name.to_owned(), Value::String(text))));
        self
    }

    /// Adds a number, when it was given; what is none goes as it is, for the function to refuse it in its own words.
    pub fn number(mut self, name: &str, text: Option<String>) -> Self {
        let value = text.map(|text| match serde_json::from_str(&text) {
            Ok(number @ Value::Number(_)) => number,
            Ok(_) | Err(_) => Value::String(text),
        });
        self.0.extend(value.map(|value| (name.to_owned(), value)));
        self
    }

    /// Adds a list, when it holds anything.
    pub fn list(mut self, name: &str, list: Vec<String>) -> Self {
        if !list.is_empty() {
            self.0.insert(name.to_owned(), list.into());
        }
        self
    }

    /// Adds `true`, when it was asked for.
    pub fn flag(mut self, name: &str, set: bool) -> Self {
        if set {
            self.0.insert(name.to_owned(), true.into());
        }
        self
    }

    /// Returns the payload.
    pub fn payload(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }

    /// Does what is asked for, until it is done or told to stop.
    pub async fn run(
        &self,
        settings: Settings,
        connection: Connection,
        bucket: Bucket,
        stop: Stop,
    ) -> Result<Replayed, ReplayError> {
        let topics = KafkaTopics::new(connection.clone());
        let replay = Replay::new(
            settings,
            Producer::new(connection),
            topics,
            bucket,
            SystemClock,
            stop,
        );
        let invoker = Invoker {
            caller: Some("cargo local replay".to_owned()),
            request_id: None,
        };
        let deadline = Deadline::from_header(UNLIMITED_MS, SystemClock.now());
        let replayed = replay.run(&self.payload(), invoker, deadline).await;
        replayed.map(Replayed)
    }
}

impl Replayed {
    /// Fails when something kept it from sending back all that it should have.
    pub fn whole(&self) -> anyhow::Result<()> {
        let answer = &self.0;
        if let Some(fault) = &answer.fault {
            bail!("the replay ended before its end: {fault}");
        }
        if answer.stopped == Some("stop") {
            bail!("the replay was told to stop before its end");
        }
        let refused = answer.failed.saturating_sub(answer.gone);
        if refused > 0 {
            bail!("the broker refuses {refused} dead letters");
        }
        if answer.gone > 0 {
            bail!("{} dead letters of the plan are there no more", answer.gone);
        }
        Ok(())
    }
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answer = &self.0;
        let mut rows = Vec::new();
        let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
        let dry = if answer.dry_run { " (dry run)" } else { "" };
        row("replay", format!("{}{dry}", answer.replay_id));
        row("matched", answer.matched.to_string());
        match answer.to_publish {
            Some(number) => row("to publish", number.to_string()),
            None => row("published", answer.published.to_string()),
        }
        for (reason, number) in &answer.skipped {
            row(&format!("skipped: {reason}"), number.to_string());
        }
        row("failed", answer.failed.to_string());
        if answer.gone > 0 {
            row("of them gone", answer.gone.to_string());
        }
        row("classes", counts(&answer.by_error_class));
        row("codes", counts(&answer.by_error_code));
        row("bytes", answer.bytes.to_string());
        row("oldest", or_dash(answer.oldest.as_ref()));
        row("newest", or_dash(answer.newest.as_ref()));
        row("sample", or_dash_list(&answer.sample));
        let stopped = answer
            .stopped
            .map_or(String::new(), |why| format!(" ({why})"));
        let complete = if answer.complete { "yes" } else { "no" };
        row("complete", format!("{complete}{stopped}"));
        f.write_str(&table(&["field", "value"], &[], rows))?;
        if answer.matched == 0 {
            f.write_str("\n\nnothing matched")?;
        }
        if !answer.held_back.is_empty() {
            let held = answer.held_back.join(", ");
            write!(
                f,
                "\n\nan open transaction hides what comes behind it: {held}"
            )?;
        }
        if let Some(plan) = &answer.plan {
            write!(f, "\n\nsend back exactly these with: --plan {plan}")?;
        }
        if let Some(token) = &answer.resume {
            // On a line of its own and whole: it is copied.
            write!(f, "\n\ngo on with: --resume {token}")?;
        }
        Ok(())
    }
}

fn counts(counts: &BTreeMap<&'static str, u64>) -> String {
    let counts = counts.iter();
    let told: Vec<String> = counts
        .map(|(name, number)| format!("{name} {number}"))
        .collect();
    or_dash_list(&told)
}

fn or_dash_list(list: &[String]) -> String {
    if list.is_empty() {
        "-".to_owned()
    } else {
        list.join(", ")
    }
}
