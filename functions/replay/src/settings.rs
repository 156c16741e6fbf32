//! The settings of the replay function.

use std::num::NonZeroU16;

use lambda::SettingsReader;
use lambda::invocation::concurrency;
use pipeline::{Stages, Topic};

/// What the replay function is set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Where dead letters are read unless asked otherwise.
    pub from: Topic,
    /// Where they go unless asked otherwise.
    pub to: Topic,
    /// Where they may go.
    pub targets: Vec<Topic>,
    /// The topics that replayed payments pass through.
    pub stages: Stages,
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
            stages,
            concurrency: concurrency?,
        })
    }
}

fn topics(list: &str) -> Result<Vec<Topic>, String> {
    list.split(',')
        .map(|name| name.trim().parse().map_err(|error| format!("{error}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(env: &[(&str, &str)]) -> Result<Settings, String> {
        let value = |name: &str| {
            let set = env.iter().find(|(set, _)| *set == name)?;
            Some(set.1.to_owned())
        };
        let mut reader = SettingsReader::new(&value);
        let settings = Settings::read(&mut reader);
        reader.finish(settings).map_err(|error| error.to_string())
    }

    fn check_refused(env: &[(&str, &str)], named: &[&str]) {
        let refused = read(env).unwrap_err();
        for name in named {
            assert!(refused.contains(name), "{env:?}: {refused}");
        }
    }

    #[test]
    fn what_is_not_set_has_its_default() {
        let settings = read(&[]).unwrap();
        assert_eq!(settings.from.as_str(), "brew.payments.dlq");
        assert_eq!(settings.to.as_str(), "brew.payments.v1");
        assert_eq!(settings.targets, [settings.to]);
        assert_eq!(settings.concurrency.get(), 32);
    }

    #[test]
    fn what_is_set_holds() {
        let settings = read(&[
            ("MAIN_TOPIC", "main"),
            ("DLQ_TOPIC", "dlq"),
            ("RETRY_STAGES", ""),
            ("REPLAY_TARGETS", "main, orders"),
            ("CONCURRENCY", "7"),
        ]);
        let settings = settings.unwrap();
        let targets: Vec<&str> = settings.targets.iter().map(Topic::as_str).collect();
        assert_eq!(
            (settings.to.as_str(), settings.from.as_str()),
            ("main", "dlq")
        );
        assert_eq!(
            (targets.as_slice(), settings.concurrency.get()),
            (&["main", "orders"][..], 7)
        );
    }

    #[test]
    fn every_wrong_setting_is_named() {
        check_refused(
            &[("REPLAY_TARGETS", ""), ("CONCURRENCY", "0")],
            &["REPLAY_TARGETS", "CONCURRENCY"],
        );
        check_refused(&[("REPLAY_TARGETS", "main,,orders")], &["REPLAY_TARGETS"]);
        check_refused(
            &[("DLQ_TOPIC", ""), ("CONCURRENCY", "many")],
            &["DLQ_TOPIC", "CONCURRENCY"],
        );
        check_refused(
            &[("REPLAY_TARGETS", "brew.payments.v1,brew.payments.dlq")],
            &["REPLAY_TARGETS", "circle"],
        );
    }
}
