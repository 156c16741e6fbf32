//! The ladder of one demo: its topics, with short delays and short names.

use std::collections::BTreeMap;

use anyhow::Context;
use pipeline::stages::RetryTopic;
use pipeline::{Span, Stages, Topic};

use super::brokers::Topics;
use crate::topics::Layout;

/// The topics of a demo.
#[derive(Clone, Debug)]
pub(super) struct Ladder {
    stages: Stages,
    steps: Vec<Rung>,
}

/// One topic of the ladder, and how it is called on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rung {
    /// The short name.
    pub(super) label: &'static str,
    /// The topic.
    pub(super) topic: Topic,
    /// How long a record waits there; `None` on main and in the dead-letter topic.
    pub(super) delay: Option<Span>,
}

impl Topics for Ladder {
    fn named(prefix: &str) -> anyhow::Result<Self> {
        let mut steps = Vec::new();
        for (label, name, delay_ms) in Self::TOPICS {
            steps.push(Rung {
                label,
                topic: format!("{prefix}{name}").parse()?,
                delay: delay_ms.and_then(Span::from_millis),
            });
        }
        let retries: Vec<RetryTopic> = steps
            .iter()
            .filter_map(|step| {
                Some(RetryTopic {
                    topic: step.topic.clone(),
                    delay: step.delay?,
                })
            })
            .collect();
        let topic = |rung: Option<&Rung>| rung.map(|rung| rung.topic.clone());
        let (main, dlq) = topic(steps.first())
            .zip(topic(steps.last()))
            .context("a ladder has topics")?;
        let stages = Stages::new(main, &retries, &[], dlq)
            .map_err(|faults| anyhow::anyhow!("this is no ladder: {faults:?}"))?;
        Ok(Self { stages, steps })
    }

    fn layout(&self) -> Layout {
        Layout::of_ladder(&self.stages)
    }
}

impl Ladder {
    /// The topics with their short names, and the delays in the demo, where half a minute would be long.
    const TOPICS: [(&'static str, &'static str, Option<i64>); 5] = [
        ("main", "brew.payments.v1", None),
        ("retry.30s", "brew.payments.retry.30s", Some(1_000)),
        ("retry.5m", "brew.payments.retry.5m", Some(2_000)),
        ("retry.1h", "brew.payments.retry.1h", Some(3_000)),
        ("dlq", "brew.payments.dlq", None),
    ];

    /// Returns the stages.
    pub(super) const fn stages(&self) -> &Stages {
        &self.stages
    }

    /// Returns every topic: main, the retry topics in order, the dead-letter topic.
    pub(super) fn rungs(&self) -> &[Rung] {
        &self.steps
    }

    /// Returns the settings that tell the functions of it.
    pub(super) fn env(&self) -> [(&'static str, String); 3] {
        let retries = self.steps.iter().filter_map(|rung| {
            let delay = rung.delay?;
            Some(format!("{}={delay}", rung.topic))
        });
        [
            ("MAIN_TOPIC", self.stages.main().topic().to_string()),
            ("RETRY_STAGES", retries.collect::<Vec<_>>().join(",")),
            ("DLQ_TOPIC", self.stages.dlq().to_string()),
        ]
    }

    /// Returns the short name of each topic.
    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        let steps = self.steps.iter();
        steps
            .map(|rung| (rung.topic.to_string(), rung.label.to_owned()))
            .collect()
    }

    /// Returns the delay of each retry stage, by its short name.
    pub(super) fn delays(&self) -> BTreeMap<String, String> {
        let steps = self.steps.iter();
        steps
            .filter_map(|rung| Some((rung.label.to_owned(), rung.delay?.to_string())))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use lambda::SettingsReader;

    use super::*;

    #[test]
    fn the_functions_read_the_ladder_that_was_written_for_them() {
        for prefix in ["", "demo-1a2b."] {
            let ladder = Ladder::named(prefix).unwrap();
            let env: BTreeMap<&str, String> = ladder.env().into();
            let env = |name: &str| env.get(name).cloned();
            let mut reader = SettingsReader::new(&env);
            let stages = reader.stages();
            assert_eq!(&reader.finish(stages).unwrap(), ladder.stages());
        }
    }

    #[test]
    fn a_prefix_stands_before_every_topic() {
        let ladder = Ladder::named("demo-1a2b.").unwrap();
        assert_eq!(ladder.rungs().len(), 5);
        for rung in ladder.rungs() {
            assert!(rung.topic.as_str().starts_with("demo-1a2b.brew.payments."));
        }
    }
}
