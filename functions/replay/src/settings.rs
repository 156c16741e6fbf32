//! The settings of the replay function.

use std::num::NonZeroU16;

use lambda::SettingsReader;
use pipeline::Topic;

/// What the replay function is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where dead letters are read unless asked otherwise.
    pub from: Topic,
    /// Where they go unless asked otherwise.
    pub to: Topic,
    /// Where they may go.
    pub targets: Vec<Topic>,
    /// How many may be under way at once.
    pub concurrency: NonZeroU16,
}

impl Settings {
    /// Reads the ladder's topics, `REPLAY_TARGETS` and `CONCURRENCY`.
    pub fn read(reader: &mut SettingsReader<'_>) -> Option<Self> {
        let stages = reader.stages();
        let targets = reader.optional("REPLAY_TARGETS", topics);
        let concurrency = reader.or_default("CONCURRENCY", NonZeroU16::new(32)?, concurrency);
        let (stages, targets) = (stages?, targets?);
        let to = stages.main().topic().clone();
        let from = stages.dlq().clone();
        let targets = targets.unwrap_or_else(|| vec![to.clone()]);
        if targets.contains(&from) {
            reader.problem(
                "REPLAY_TARGETS",
                format_args!("names DLQ_TOPIC, {from}: dead letters would go round in a circle"),
            );
            return None;
        }
        Some(Self {
            from,
            to,
            targets,
            concurrency: concurrency?,
        })
    }
}

fn topics(list: &str) -> Result<Vec<Topic>, String> {
    list.split(',')
        .map(|name| name.trim().parse().map_err(|error| format!("{error}")))
        .collect()
}

fn concurrency(text: &str) -> Result<NonZeroU16, &'static str> {
    text.parse()
        .ok()
        .filter(|number: &NonZeroU16| number.get() <= 1_000)
        .ok_or("it is not a whole number from 1 to 1000")
}
