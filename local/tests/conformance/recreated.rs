//! A topic that is deleted and created again while it is read.
//!
//! AWS's documentation does not say what becomes of a mapping then; that it reads the new topic from its first record is assumed.

use std::collections::BTreeSet;

use local::mapping::Progress;
use pipeline::Topic;

use crate::broker::Broker;
use crate::row::{Made, made};
use crate::running::{Running, settings};
use crate::scripted::{Scripted, scripted};

/// Returns the offsets of the records with two bytes, those of the new topic, that were delivered.
fn new_ones(scripted: &Scripted, topic: &Topic) -> BTreeSet<i64> {
    let records = scripted.events().into_iter().flat_map(|event| {
        let records = event["records"][format!("{topic}-0")].as_array().cloned();
        records.unwrap_or_default()
    });
    records
        .filter(|record| record["value"] == "eHg=")
        .map(|record| record["offset"].as_i64().unwrap())
        .collect()
}

/// Deletes a topic that has so many records, creates it again with others, and checks that those are all delivered and committed.
async fn check(old: usize, new: usize) {
    let Some(broker) = Broker::find().await else {
        return;
    };
    let topic = broker.topic(1).await;
    let ends = broker.produce(&topic, &[made(0, old)]).await;
    let scripted = scripted(&["answer {}"]);
    let settings = settings(&broker, &topic, 100);
    let group = settings.group.clone();
    let mut running = Running::start(settings, &scripted.function);
    running
        .until(
            |step| matches!(step, Progress::Committed { offset, .. } if offset.get() == ends[&0]),
        )
        .await;
    let two_bytes = Made {
        bytes: 2,
        ..made(0, new)
    };
    let ends = broker.recreate(&topic, &[two_bytes]).await;
    running
        .until(|step| matches!(step, Progress::Recreated))
        .await;
    running.drain().await;
    let all: BTreeSet<i64> = (0..ends[&0]).collect();
    assert_eq!(new_ones(&scripted, &topic), all, "{old} {new}");
    assert_eq!(broker.committed(&group, &topic, 1), ends, "{old} {new}");
    broker.delete(&topic).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_topic_is_read_from_its_first_record_when_it_is_shorter_than_the_old_one() {
    check(30, 10).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_topic_is_read_from_its_first_record_when_it_is_longer_than_the_old_one() {
    check(3, 40).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_topic_is_read_from_its_first_record_when_it_is_as_long_as_the_old_one() {
    check(10, 10).await;
}
