//! Replays from here: what is asked, where it is run, and what it did.

mod place;
mod standing;
mod told;

use pipeline::replay::run_of;
use serde_json::{Map, Value};
use uuid::Uuid;

pub use self::place::{Here, Place, Refusal, There};
pub use self::standing::Stood;
pub use self::told::Replayed;

/// The payload of a replay, field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked(Map<String, Value>);

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

    /// Tells why a real run of this would be refused although a dry run is not: nothing is selected.
    pub fn check_selects(&self) -> Result<(), String> {
        const NARROWING: [&str; 9] = [
            "since",
            "until",
            "error_class",
            "error_code",
            "key",
            "original_topic",
            "records",
            "limit",
            "all",
        ];
        if NARROWING.iter().any(|name| self.0.contains_key(*name)) {
            return Ok(());
        }
        Err("InvalidReplay: all is not true, and nothing is selected: give a filter, records, a plan or a limit, or --all to replay every dead letter".to_owned())
    }

    /// Asks for the same as a dry run.
    pub fn as_dry_run(&self) -> Self {
        self.clone().flag("dry_run", true)
    }

    /// Asks for exactly what a dry run saw, as fast as this was asked for.
    pub fn as_plan(&self, plan: &str) -> Self {
        self.narrowed("plan", plan)
    }

    /// Asks to go on from a token, as fast as this was asked for.
    pub fn as_resumed(&self, token: &str) -> Self {
        self.narrowed("resume", token)
    }

    fn narrowed(&self, name: &str, value: &str) -> Self {
        let rate = self.0.get("rate_per_second");
        let rate = rate.map(|rate| ("rate_per_second".to_owned(), rate.clone()));
        let fields = [(name.to_owned(), Value::String(value.to_owned()))];
        Self(fields.into_iter().chain(rate).collect())
    }

    /// Chooses the id of the run, unless this goes on with one, and returns it: the run can be asked for though its answer never comes.
    pub fn with_id(self) -> (Self, String) {
        let token = self.0.get("resume").and_then(Value::as_str);
        if let Some(id) = token.and_then(run_of) {
            return (self, id);
        }
        let id = Uuid::new_v4().to_string();
        match token {
            Some(_) => (self, id),
            None => (self.text("replay_id", Some(id.clone())), id),
        }
    }

    /// Returns the payload.
    pub fn payload(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }
}
