//! What the replay function needs outside, for `{"check":true}`.

use aws::Bucket;
use kafka::Connection;
use lambda::Checks;
use lambda::check::{self, InvalidCheck};
use pipeline::Topic;
use pipeline::replay::InvalidReplay;

use crate::settings::Settings;

/// Returns what the function needs: brokers, the topics that it reads and sends to, and its state in the bucket.
pub fn checks(connection: &Connection, bucket: &Bucket, settings: &Settings) -> Checks {
    let mut topics: Vec<Topic> = vec![settings.from.clone()];
    let stages = settings.stages.all().map(pipeline::Stage::topic);
    for topic in settings.targets.iter().chain(stages) {
        if !topics.contains(topic) {
            topics.push(topic.clone());
        }
    }
    let checks = connection.check(Checks::new("replay"), topics);
    let checks = bucket.check_puts(checks, "replays/");
    let checks = bucket.check_lists(checks, "replays/");
    bucket.check_lists(checks, "incidents/")
}

/// Tells whether a payload asks for a check: `{"check":true}` and nothing else.
pub(crate) fn asked(payload: &str) -> Result<bool, InvalidReplay> {
    check::asked(payload).map_err(|error: InvalidCheck| InvalidReplay::of(vec![error.to_string()]))
}
