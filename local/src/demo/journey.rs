//! The way of each record, as the functions' own lines and the mappings' reports tell it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Deserialize;

use super::seeds::Kind;
use crate::function::{Line, Stream};
use crate::invoke::Fault;
use crate::mapping::{BatchVerdict, Progress, Report};

/// One step of a record's way, ready to be shown on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// What happened.
    pub word: Word,
    /// The record's key; empty when it is about none or several.
    pub key: String,
    /// What the record is, when that is known.
    pub kind: Option<Kind>,
    /// The stage, or the function.
    pub place: String,
    /// The rest.
    pub text: String,
}

/// What happened, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A record is handled.
    Ok,
    /// A record could not be handled and moved on.
    Fail,
    /// Records wait.
    Wait,
    /// A dead letter became an incident, and someone is told.
    Alert,
    /// A record was handed back.
    Back,
    /// A group's offset moved.
    Commit,
    /// Something is wrong with the function or a service.
    Trouble,
}

impl Word {
    /// Returns the word as it is shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Fail => "FAIL",
            Self::Wait => "WAIT",
            Self::Alert => "ALERT",
            Self::Back => "BACK",
            Self::Commit => "COMMIT",
            Self::Trouble => "TROUBLE",
        }
    }
}

/// Who takes part: what each key is, and how topics are called on the screen.
#[derive(Clone, Debug, Default)]
pub struct Cast {
    /// What each seeded record is.
    pub kinds: BTreeMap<String, Kind>,
    /// The short name of each topic.
    pub labels: BTreeMap<String, String>,
    /// How long a record waits on a stage, by its short name, in words.
    pub delays: BTreeMap<String, String>,
    /// What a record that is done is called.
    pub done: &'static str,
}

/// Follows the records; keeps nothing but the cast, an alert that is being written, and how many there were.
#[derive(Debug)]
pub struct Journey {
    cast: Cast,
    alerts: HashMap<(Arc<str>, usize), Alert>,
    alerts_raised: u64,
}

/// The first of an alert's lines.
#[derive(Debug)]
struct Alert {
    key: String,
    place: String,
}

/// A log line of a function, as far as it is shown.
#[derive(Debug, Deserialize)]
struct Logged {
    level: String,
    message: String,
    #[serde(rename = "kafka.topic")]
    topic: Option<String>,
    #[serde(rename = "kafka.partition")]
    partition: Option<i32>,
    #[serde(rename = "kafka.offset")]
    offset: Option<i64>,
    #[serde(rename = "kafka.key")]
    key: Option<String>,
    decision: Option<String>,
    to: Option<String>,
    #[serde(rename = "error.code")]
    code: Option<String>,
    dlq_reason: Option<String>,
    late_ms: Option<i64>,
}

impl Journey {
    /// Follows these.
    pub fn of(cast: Cast) -> Self {
        Self {
            cast,
            alerts: HashMap::new(),
            alerts_raised: 0,
        }
    }

    /// Returns how many alerts there were.
    pub const fn alerts(&self) -> u64 {
        self.alerts_raised
    }

    /// Takes in a line that a function wrote.
    pub fn line(&mut self, line: &Line) -> Option<Step> {
        match line.stream {
            Stream::Out => self.alert(line),
            Stream::Err => self.logged(line),
        }
    }

    /// Takes in what a mapping did.
    pub fn report(&self, report: &Report) -> Option<Step> {
        let stage = report.mapping.as_ref();
        let trouble = |text: String| Some(about(Word::Trouble, stage, text));
        match &report.progress {
            Progress::Delivered { parts, .. } => {
                let delay = self.cast.delays.get(stage)?;
                let first_time = parts.iter().filter(|part| part.delivery == 1);
                let records: usize = first_time.map(|part| part.records).sum();
                let text = match records {
                    0 => return None,
                    1 => format!("1 record waits until it is {delay} old"),
                    _ => format!("{records} records wait until they are {delay} old"),
                };
                Some(about(Word::Wait, stage, text))
            }
            Progress::Answered { verdict, .. } => match verdict {
                BatchVerdict::AllDone | BatchVerdict::HandedBack(_) => None,
                BatchVerdict::Malformed(problem) => {
                    trouble(format!("the answer makes no sense: {problem}"))
                }
                BatchVerdict::Failed(fault) => trouble(fault.to_string()),
            },
            Progress::Lost(partition) => trouble(format!(
                "partition {partition} was taken away during an invocation"
            )),
            Progress::Recreated => trouble("the topic was deleted and created again".to_owned()),
            Progress::Gone {
                partition,
                committed,
                ..
            } => trouble(format!(
                "the committed offset {committed} of partition {partition} is not there any more"
            )),
            Progress::Discarded { record, reason } => trouble(format!(
                "{record} is passed over for good, it is gone: {reason:?}"
            )),
            Progress::HeadersLost { record, headers } => {
                trouble(format!("{headers} headers of {record} cannot be read"))
            }
            Progress::Trouble(text) => trouble(text.clone()),
            Progress::Assigned(_) | Progress::Committed { .. } | Progress::Waiting { .. } => None,
        }
    }

    /// Takes in a line on standard output: an alert has four, and two of them name what is shown.
    fn alert(&mut self, line: &Line) -> Option<Step> {
        let writer = (Arc::clone(&line.function), line.sandbox);
        if let Some(head) = line.text.strip_prefix("[ALERT] #") {
            self.alerts_raised = self.alerts_raised.saturating_add(1);
            let (place, key) = head.split_once(" key=").unwrap_or((head, "-"));
            let place = place.split_once(" dlq=").map_or(place, |(_, place)| place);
            let alert = Alert {
                key: key.to_owned(),
                place: self.shown_place(place),
            };
            self.alerts.insert(writer, alert);
            return None;
        }
        let text = line.text.trim_start();
        if text.starts_with("class=") {
            let Alert { key, place } = self.alerts.remove(&writer)?;
            return Some(Step {
                word: Word::Alert,
                kind: self.kind(&key),
                key,
                place,
                text: shortened(text),
            });
        }
        None
    }

    /// Writes `brew.payments.dlq p=1 off=2` as `dlq 1/2`.
    fn shown_place(&self, place: &str) -> String {
        let mut words = place.split_whitespace();
        let topic = self.label(words.next().unwrap_or("-"));
        let mut number = |prefix| {
            words
                .next()
                .and_then(|word| word.strip_prefix(prefix))
                .unwrap_or("-")
        };
        let (partition, offset) = (number("p="), number("off="));
        format!("{topic} {partition}/{offset}")
    }

    fn logged(&self, line: &Line) -> Option<Step> {
        let Ok(logged) = serde_json::from_str::<Logged>(&line.text) else {
            // What is not JSON comes from below the logger: a runtime's last words.
            let text = line.text.trim();
            return (!text.is_empty())
                .then(|| about(Word::Trouble, &line.function, shortened(text)));
        };
        match logged.message.as_str() {
            "record done" => {
                let late = logged.late_ms.filter(|_| self.is_retry(&logged));
                let done = self.cast.done;
                let text = late.map_or_else(
                    || done.to_owned(),
                    |late| format!("{done}, {late} ms after it was due"),
                );
                Some(self.step(Word::Ok, &logged, text))
            }
            "record moved" => {
                let code = logged.code.as_deref().unwrap_or("-");
                let to = self.label(logged.to.as_deref().unwrap_or("-"));
                let text = match &logged.dlq_reason {
                    Some(reason) => format!("{code} → {to} ({reason})"),
                    None => format!("{code} → {to}"),
                };
                Some(self.step(Word::Fail, &logged, text))
            }
            _ if logged.decision.as_deref() == Some("hand-back") => {
                let text = shortened(&logged.message);
                Some(self.step(Word::Back, &logged, text))
            }
            _ if matches!(logged.level.as_str(), "WARN" | "ERROR") => {
                Some(about(Word::Trouble, &line.function, logged.message))
            }
            _ => None,
        }
    }

    fn is_retry(&self, logged: &Logged) -> bool {
        logged
            .topic
            .as_deref()
            .is_some_and(|topic| self.cast.delays.contains_key(self.label(topic)))
    }

    fn step(&self, word: Word, logged: &Logged, text: String) -> Step {
        let key = logged.key.clone().unwrap_or_else(|| {
            let number = |number: Option<i64>| number.map_or("-".to_owned(), |n| n.to_string());
            let partition = number(logged.partition.map(i64::from));
            format!("{partition}/{}", number(logged.offset))
        });
        Step {
            word,
            kind: self.kind(&key),
            key,
            place: self
                .label(logged.topic.as_deref().unwrap_or("-"))
                .to_owned(),
            text,
        }
    }

    fn kind(&self, key: &str) -> Option<Kind> {
        self.cast.kinds.get(key).copied()
    }

    fn label<'a>(&'a self, topic: &'a str) -> &'a str {
        self.cast.labels.get(topic).map_or(topic, String::as_str)
    }
}

/// Tells whether a report says that a function cannot even start: waiting for it would be in vain.
pub fn cannot_start(report: &Report) -> Option<&str> {
    match &report.progress {
        Progress::Answered {
            verdict: BatchVerdict::Failed(Fault::Init(why)),
            ..
        } => Some(why),
        Progress::Answered { .. }
        | Progress::Assigned(_)
        | Progress::Delivered { .. }
        | Progress::Committed { .. }
        | Progress::Waiting { .. }
        | Progress::Lost(_)
        | Progress::Recreated
        | Progress::Gone { .. }
        | Progress::Discarded { .. }
        | Progress::HeadersLost { .. }
        | Progress::Trouble(_) => None,
    }
}

/// Returns a step that is about no record alone.
pub(super) fn about(word: Word, place: &str, text: String) -> Step {
    Step {
        word,
        key: String::new(),
        kind: None,
        place: place.to_owned(),
        text,
    }
}

/// Cuts what would not fit on a line.
fn shortened(text: &str) -> String {
    const MOST: usize = 96;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(MOST.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests;
