//! Topics that no other test has, and the settings that name them.

use pipeline::Topic;
use uuid::Uuid;

/// The topics of one pipeline.
#[derive(Clone, Debug)]
pub(crate) struct Ladder {
    pub(crate) main: Topic,
    pub(crate) retries: Vec<(Topic, &'static str)>,
    pub(crate) dlq: Topic,
}

impl Ladder {
    /// Names fresh topics, one retry topic for each delay.
    pub(crate) fn with_delays(delays: &[&'static str]) -> Self {
        let id = Uuid::new_v4().simple().to_string();
        let topic = |name: &str| format!("test-{id}.{name}").parse::<Topic>().unwrap();
        let retries = delays.iter().enumerate();
        Self {
            main: topic("payments"),
            retries: retries
                .map(|(nth, delay)| (topic(&format!("retry.{nth}")), *delay))
                .collect(),
            dlq: topic("dlq"),
        }
    }

    /// Returns the stages' topics, main first.
    pub(crate) fn stages(&self) -> Vec<&Topic> {
        let retries = self.retries.iter().map(|(topic, _)| topic);
        std::iter::once(&self.main).chain(retries).collect()
    }

    /// Returns every topic.
    pub(crate) fn topics(&self) -> Vec<&Topic> {
        let mut topics = self.stages();
        topics.push(&self.dlq);
        topics
    }

    /// Returns the topic of a retry stage, counted from 0.
    pub(crate) fn retry(&self, nth: usize) -> &Topic {
        &self.retries[nth].0
    }

    /// Returns the variables that tell functions of these topics.
    pub(crate) fn env(&self) -> [(&'static str, String); 3] {
        let stages: Vec<String> = self
            .retries
            .iter()
            .map(|(topic, delay)| format!("{topic}={delay}"))
            .collect();
        [
            ("MAIN_TOPIC", self.main.to_string()),
            ("RETRY_STAGES", stages.join(",")),
            ("DLQ_TOPIC", self.dlq.to_string()),
        ]
    }
}
