//! The reader of settings: the environment is an argument, and every problem is reported, not only the first.

use std::fmt;

use pipeline::Span;
use pipeline::stages::{RetryTopic, Stages};
use pipeline::{Topic, stages::StagesError};

/// Reads settings one by one and gathers what is wrong with them.
///
/// Each method returns `None` after it noted a problem, so that the caller can go on reading and build its settings at the end.
pub struct SettingsReader<'a> {
    env: &'a dyn Fn(&str) -> Option<String>,
    problems: Vec<Problem>,
}

/// Returns the process's own environment, for `main` to pass on.
///
/// A value that is not UTF-8 comes with U+FFFD where it is wrong, which the reader then reports.
pub fn environment() -> impl Fn(&str) -> Option<String> {
    |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// One wrong setting.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Problem {
    name: String,
    text: String,
}

/// Lists every wrong setting by name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SettingsError {
    problems: Vec<Problem>,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("wrong settings: ")?;
        for (index, Problem { name, text }) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{name} {text}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for SettingsReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettingsReader")
            .field("problems", &self.problems)
            .finish_non_exhaustive()
    }
}

impl<'a> SettingsReader<'a> {
    /// Starts to read from an environment: a name to its value.
    pub fn new(env: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self {
            env,
            problems: Vec::new(),
        }
    }

    /// Notes a problem with a setting; `text` continues the setting's name, as in "is empty".
    pub fn problem(&mut self, name: &str, text: impl fmt::Display) {
        let problem = Problem {
            name: name.to_owned(),
            text: text.to_string(),
        };
        // Parts that share a setting each read it.
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Reads a setting that must be there.
    pub fn required<T, E: fmt::Display>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let read = self.optional(name, parse)?;
        if read.is_none() {
            self.problem(name, "is not set");
        }
        read
    }

    /// Reads a setting that has a default.
    pub fn or_default<T, E: fmt::Display>(
        &mut self,
        name: &str,
        default: T,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        Some(self.optional(name, parse)?.unwrap_or(default))
    }

    /// Reads a setting that may be absent: `Some(None)` when it is. Set but empty is wrong.
    pub fn optional<T, E: fmt::Display>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<Option<T>> {
        match (self.env)(name) {
            None => Some(None),
            Some(value) if value.trim().is_empty() => {
                self.problem(name, "is empty");
                None
            }
            Some(value) if value.contains(char::REPLACEMENT_CHARACTER) => {
                self.problem(name, "is not UTF-8");
                None
            }
            Some(value) => match parse(&value) {
                Ok(parsed) => Some(Some(parsed)),
                Err(error) => {
                    self.problem(name, format_args!("is wrong: {error}"));
                    None
                }
            },
        }
    }

    /// Ends the reading: the settings, or every problem that was noted.
    pub fn finish<T>(self, settings: Option<T>) -> Result<T, SettingsError> {
        match settings {
            Some(settings) if self.problems.is_empty() => Ok(settings),
            Some(_) | None => Err(SettingsError {
                problems: self.problems,
            }),
        }
    }

    /// Reads the ladder: `MAIN_TOPIC`, `RETRY_STAGES`, `DRAIN_STAGES` and `DLQ_TOPIC`.
    pub fn stages(&mut self) -> Option<Stages> {
        let main = self.topic("MAIN_TOPIC", "brew.payments.v1");
        let retries = self.stage_list(
            "RETRY_STAGES",
            "brew.payments.retry.30s=30s,brew.payments.retry.5m=5m,brew.payments.retry.1h=1h",
        );
        let draining = self.stage_list("DRAIN_STAGES", "");
        let dlq = self.topic("DLQ_TOPIC", "brew.payments.dlq");
        let faults: Vec<StagesError> = match Stages::new(main?, &retries?, &draining?, dlq?) {
            Ok(stages) => return Some(stages),
            Err(faults) => faults,
        };
        for fault in faults {
            self.problem("RETRY_STAGES", format_args!("is wrong: {fault}"));
        }
        None
    }

    /// Reads a topic name that has a default.
    pub fn topic(&mut self, name: &str, default: &str) -> Option<Topic> {
        match self.optional(name, str::parse::<Topic>)? {
            Some(topic) => Some(topic),
            None => default.parse().ok(),
        }
    }

    /// Reads a list `topic=delay,…`, which alone among settings may be empty.
    fn stage_list(&mut self, name: &str, default: &str) -> Option<Vec<RetryTopic>> {
        let list = (self.env)(name).unwrap_or_else(|| default.to_owned());
        if list.trim().is_empty() {
            return Some(Vec::new());
        }
        if list.contains(char::REPLACEMENT_CHARACTER) {
            self.problem(name, "is not UTF-8");
            return None;
        }
        let parsed: Result<Vec<RetryTopic>, String> = list
            .split(',')
            .map(|entry| retry_topic(entry.trim()))
            .collect();
        match parsed {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                self.problem(name, format_args!("is wrong: {error}"));
                None
            }
        }
    }
}

fn retry_topic(entry: &str) -> Result<RetryTopic, String> {
    let (topic, delay) = entry
        .split_once('=')
        .ok_or_else(|| format!("{entry:?} is not of the form topic=delay"))?;
    Ok(RetryTopic {
        topic: topic.trim().parse().map_err(|error| format!("{error}"))?,
        delay: delay
            .trim()
            .parse::<Span>()
            .map_err(|error| format!("{error}"))?,
    })
}

#[cfg(test)]
mod tests;
