//! Incidents that no record in the topic tells of any more.

use std::collections::BTreeMap;

use lambda::StoreFault;
use pipeline::replay::Lane;
use pipeline::{Incident, Offset, Partition, Timestamp, Topic};

use crate::store::Store;

/// Reads a run's incidents whose dead letters are gone from the topic, or were never in it.
pub(super) async fn late_incidents<S: Store>(
    store: &S,
    from: &Topic,
    held: &BTreeMap<Partition, Lane>,
    since: Timestamp,
    replay_id: &str,
) -> Result<Vec<Incident>, StoreFault> {
    let day = since.to_rfc3339();
    let day = day.as_deref().and_then(|time| time.get(..10));
    let first = format!("incidents/dt={}", day.unwrap_or_default());
    let mut incidents = Vec::new();
    for key in store.keys_after("incidents/", &first).await? {
        let Some((partition, offset, time)) = place(&key, from) else {
            // Of another topic: a record that was spilled is named after where it was read.
            incidents.extend(of_run(store, &key, replay_id).await?);
            continue;
        };
        let there = held.get(&partition);
        let there = there.is_some_and(|lane| offset >= lane.next && offset < lane.end);
        if time >= since && !there {
            incidents.extend(of_run(store, &key, replay_id).await?);
        }
    }
    Ok(incidents)
}

async fn of_run<S: Store>(
    store: &S,
    key: &str,
    replay_id: &str,
) -> Result<Option<Incident>, StoreFault> {
    let Some(object) = store.get(key).await? else {
        return Ok(None);
    };
    let incident = Incident::from_json(key, &object.body).ok();
    Ok(incident.filter(|incident| incident.replay_id.as_deref() == Some(replay_id)))
}

/// Reads the place from a key `…/<topic>-<partition>-<offset>-<time>.json`; `None` when it is of another topic.
fn place(key: &str, topic: &Topic) -> Option<(Partition, Offset, Timestamp)> {
    let name = key.rsplit('/').next()?.strip_suffix(".json")?;
    let numbers = name.strip_prefix(topic.as_str())?.strip_prefix('-')?;
    let (partition, rest) = numbers.split_once('-')?;
    let (offset, time) = rest.split_once('-')?;
    Some((
        partition.parse().ok()?,
        offset.parse().ok()?,
        Timestamp::from_millis(time.parse().ok()?),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_read_from_a_key_of_the_topic_alone() {
        let topic: Topic = "dlq".parse().unwrap();
        let check = |name: &str, expected: Option<(i32, i64, i64)>| {
            let key = format!("incidents/dt=2025-08-23/error_class=transient/{name}.json");
            let found = place(&key, &topic);
            let found = found
                .map(|(partition, offset, time)| (partition.get(), offset.get(), time.millis()));
            assert_eq!(found, expected, "{name}");
        };
        check(
            "dlq-1-00000000000000000002-1796000000000",
            Some((1, 2, 1_796_000_000_000)),
        );
        check("dlq-1-00000000000000000002--1", Some((1, 2, -1)));
        check("dlq-x-1-00000000000000000002-1796000000000", None);
        check("main-1-00000000000000000002-1796000000000", None);
        check("dlq-1", None);
    }
}
