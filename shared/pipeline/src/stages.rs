//! The ladder: which stages there are, where a failed record goes next, and when a record is due.

use crate::record::{Timestamp, Topic};
use crate::span::Span;

/// How many retry stages a ladder may have.
pub const MAX_RETRY_STAGES: usize = 16;

/// The configured ladder: a main topic, retry topics with their delays, a dead-letter topic, and stages being drained.
///
/// Topics are pairwise distinct, so that no record can go round in a circle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stages {
    main: Stage,
    retries: Vec<Stage>,
    draining: Vec<Stage>,
    dlq: Topic,
}

/// One stage of the ladder: a topic that a function is triggered by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    topic: Topic,
    delay_ms: i64,
    retry: u32,
    most_retries: u32,
    draining: bool,
}

/// A retry topic with its delay, as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryTopic {
    /// The topic.
    pub topic: Topic,
    /// How long a record waits there, from its own timestamp.
    pub delay: Span,
}

/// Names what makes a ladder impossible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StagesError {
    /// A topic stands twice: records would go round in a circle.
    #[error("topic {0} stands twice among MAIN_TOPIC, RETRY_STAGES, DRAIN_STAGES and DLQ_TOPIC")]
    Twice(Topic),
    /// More stages than a ladder may have.
    #[error("RETRY_STAGES and DRAIN_STAGES may name at most 16 stages each, not {0}")]
    TooMany(usize),
}

impl Stages {
    /// Checks and builds a ladder; reports every fault, not only the first.
    pub fn new(
        main: Topic,
        retries: &[RetryTopic],
        draining: &[RetryTopic],
        dlq: Topic,
    ) -> Result<Self, Vec<StagesError>> {
        let mut faults = Vec::new();
        for count in [retries.len(), draining.len()] {
            if count > MAX_RETRY_STAGES {
                faults.push(StagesError::TooMany(count));
            }
        }
        let mut seen: Vec<&Topic> = Vec::new();
        let all = retries.iter().chain(draining).map(|retry| &retry.topic);
        for topic in [&main].into_iter().chain(all).chain([&dlq]) {
            if seen.contains(&topic) {
                faults.push(StagesError::Twice(topic.clone()));
            }
            seen.push(topic);
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let no_longer = |than: Span| {
            let of = |list: &[RetryTopic]| list.iter().filter(|other| other.delay <= than).count();
            (of(retries), of(draining))
        };
        let ladder = retries
            .iter()
            .zip(1..)
            .map(|(retry, position)| Stage {
                topic: retry.topic.clone(),
                delay_ms: retry.delay.millis(),
                retry: position,
                most_retries: position.saturating_add(count(no_longer(retry.delay).1)),
                draining: false,
            })
            .collect();
        let drained = draining
            .iter()
            .map(|retry| {
                let (before, with_draining) = no_longer(retry.delay);
                let position = count(before).saturating_add(1);
                Stage {
                    topic: retry.topic.clone(),
                    delay_ms: retry.delay.millis(),
                    retry: position,
                    most_retries: count(before.saturating_add(with_draining)),
                    draining: true,
                }
            })
            .collect();
        Ok(Self {
            main: Stage {
                topic: main,
                delay_ms: 0,
                retry: 0,
                most_retries: 0,
                draining: false,
            },
            retries: ladder,
            draining: drained,
            dlq,
        })
    }

    /// Returns the stage that reads this topic; `None` when no stage does.
    pub fn stage_of(&self, topic: &Topic) -> Option<&Stage> {
        self.all().find(|stage| stage.topic == *topic)
    }

    /// Walks over every stage: main, the retry stages in order, the draining ones.
    pub fn all(&self) -> impl Iterator<Item = &Stage> {
        [&self.main]
            .into_iter()
            .chain(&self.retries)
            .chain(&self.draining)
    }

    /// Returns the main stage.
    pub const fn main(&self) -> &Stage {
        &self.main
    }

    /// Returns the retry stages in the order of the ladder, without the draining ones.
    pub fn retries(&self) -> &[Stage] {
        &self.retries
    }

    /// Returns the dead-letter topic.
    pub const fn dlq(&self) -> &Topic {
        &self.dlq
    }

    /// Returns the stage after `stage`; `None` when it is the last. From a draining stage it is the first with a longer delay.
    pub fn next(&self, stage: &Stage) -> Option<&Stage> {
        if stage.draining {
            self.retries
                .iter()
                .find(|next| next.delay_ms > stage.delay_ms)
        } else {
            self.retries.iter().find(|next| next.retry > stage.retry)
        }
    }
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl Stage {
    /// Returns the topic that the stage reads.
    pub const fn topic(&self) -> &Topic {
        &self.topic
    }

    /// Returns the stage's delay in milliseconds; 0 on main.
    pub const fn delay_ms(&self) -> i64 {
        self.delay_ms
    }

    /// Tells whether this is a retry stage, draining ones included.
    pub const fn is_retry(&self) -> bool {
        self.retry > 0
    }

    /// Returns how many retry topics a record on this stage has entered, given what its `retry.count` claims.
    ///
    /// 0 on main whatever the claim; on the n-th retry stage the claim within 1 to n, and n when there is none. Where stages of
    /// a shorter delay are being drained, they count towards the upper bound, since a record may have come through them.
    pub fn retries_entered(&self, claimed: Option<u32>) -> u32 {
        if self.retry == 0 {
            0
        } else {
            claimed.unwrap_or(self.retry).clamp(1, self.most_retries)
        }
    }
}

/// Returns when a record of this stage is due, given its own time.
///
/// It is the record's timestamp plus the stage's delay. A time that is missing, absurd or more than 5 s ahead of `now` counts as
/// no time, and the record is due now: a forged time can only shorten its own wait.
pub fn due_at(stage: &Stage, timestamp: Timestamp, now: Timestamp) -> Timestamp {
    match timestamp.plausible(now) {
        Some(timestamp) if stage.delay_ms > 0 => timestamp.plus_millis(stage.delay_ms),
        Some(_) | None => now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str) -> Topic {
        name.parse().unwrap()
    }

    fn retry(name: &str, delay: &str) -> RetryTopic {
        RetryTopic {
            topic: topic(name),
            delay: delay.parse().unwrap(),
        }
    }

    fn ladder(retries: &[(&str, &str)], draining: &[(&str, &str)]) -> Stages {
        let list = |list: &[(&str, &str)]| -> Vec<RetryTopic> {
            list.iter()
                .map(|(name, delay)| retry(name, delay))
                .collect()
        };
        Stages::new(topic("main"), &list(retries), &list(draining), topic("dlq")).unwrap()
    }

    fn next<'a>(stages: &'a Stages, from: &str) -> Option<&'a str> {
        let stage = stages.stage_of(&topic(from)).unwrap();
        stages.next(stage).map(|stage| stage.topic().as_str())
    }

    #[test]
    fn every_ladder_of_0_to_16_stages_is_climbed_step_by_step() {
        for length in 0..=MAX_RETRY_STAGES {
            let retries: Vec<RetryTopic> = (1..=length)
                .map(|n| retry(&format!("r{n}"), &format!("{n}s")))
                .collect();
            let stages = Stages::new(topic("main"), &retries, &[], topic("dlq")).unwrap();
            let mut climbed = 0;
            let mut stage = stages.main();
            while let Some(above) = stages.next(stage) {
                climbed += 1;
                assert_eq!(above.topic().as_str(), format!("r{climbed}"));
                assert_eq!(above.retries_entered(None), u32::try_from(climbed).unwrap());
                stage = above;
            }
            assert_eq!(climbed, length);
        }
        let too_many: Vec<RetryTopic> = (1..=17).map(|n| retry(&format!("r{n}"), "1s")).collect();
        assert_eq!(
            Stages::new(topic("main"), &too_many, &[], topic("dlq")),
            Err(vec![StagesError::TooMany(17)])
        );
    }

    #[test]
    fn a_topic_that_stands_twice_is_refused_by_name_wherever_it_stands() {
        let names = ["a", "b", "c", "d", "e", "f"];
        for first in 0..names.len() {
            for second in first + 1..names.len() {
                let mut names = names;
                names[second] = names[first];
                let stages = Stages::new(
                    topic(names[0]),
                    &[retry(names[1], "1s"), retry(names[2], "2s")],
                    &[retry(names[3], "3s"), retry(names[4], "4s")],
                    topic(names[5]),
                );
                assert_eq!(stages, Err(vec![StagesError::Twice(topic(names[first]))]));
            }
        }
    }

    #[test]
    fn a_draining_stage_sends_on_to_the_first_longer_delay_else_to_the_dlq() {
        let stages = ladder(
            &[("r30s", "30s"), ("r1h", "1h")],
            &[("r5m", "5m"), ("r2h", "2h"), ("r1s", "1s")],
        );
        assert_eq!(next(&stages, "main"), Some("r30s"));
        assert_eq!(next(&stages, "r30s"), Some("r1h"));
        assert_eq!(next(&stages, "r1h"), None);
        assert_eq!(next(&stages, "r1s"), Some("r30s"));
        assert_eq!(next(&stages, "r5m"), Some("r1h"));
        assert_eq!(next(&stages, "r2h"), None);
    }

    #[test]
    fn a_claimed_retry_count_stays_within_what_the_stage_allows() {
        let stages = ladder(&[("r1", "1s"), ("r2", "2s"), ("r3", "3s")], &[]);
        for (position, name) in [(0, "main"), (1, "r1"), (2, "r2"), (3, "r3")] {
            let stage = stages.stage_of(&topic(name)).unwrap();
            assert_eq!(stage.retries_entered(None), position);
            for claimed in [0, 1, 2, 3, 4, 9_999, u32::MAX] {
                let expected = if position == 0 {
                    0
                } else {
                    claimed.clamp(1, position)
                };
                assert_eq!(
                    stage.retries_entered(Some(claimed)),
                    expected,
                    "{claimed} on {name}"
                );
            }
        }
    }

    #[test]
    fn a_record_that_came_through_a_draining_stage_keeps_its_count() {
        let stages = ladder(&[("r30s", "30s"), ("r1h", "1h")], &[("r5m", "5m")]);
        let on = |name: &str, claimed| {
            stages
                .stage_of(&topic(name))
                .unwrap()
                .retries_entered(claimed)
        };
        assert_eq!(on("r5m", Some(2)), 2);
        assert_eq!(on("r5m", None), 2);
        assert_eq!(on("r1h", Some(3)), 3);
        assert_eq!(on("r1h", None), 2);
        assert_eq!(on("r30s", Some(3)), 1);
    }

    #[test]
    fn a_record_is_due_its_delay_after_its_own_time_and_a_forged_time_never_delays_it() {
        let stages = ladder(&[("r30s", "30s")], &[]);
        let stage = stages.stage_of(&topic("r30s")).unwrap();
        let now = 1_755_933_141_855;
        let check = |timestamp: i64, expected: i64| {
            let due = due_at(
                stage,
                Timestamp::from_millis(timestamp),
                Timestamp::from_millis(now),
            );
            assert_eq!(due.millis(), expected, "{timestamp}");
        };
        check(now, now + 30_000);
        check(now - 10_000, now + 20_000);
        check(now - 60_000, now - 30_000);
        check(now + 5_000, now + 35_000);
        check(now + 5_001, now);
        check(0, now);
        check(-1, now);
        check(1_755_933_141_855_875, now);
        check(253_402_300_799_000, now);
        check(i64::MAX, now);
        check(i64::MIN, now);
        let main = due_at(
            stages.main(),
            Timestamp::from_millis(now + 5_000),
            Timestamp::from_millis(now),
        );
        assert_eq!(main.millis(), now, "main never waits");
    }
}
