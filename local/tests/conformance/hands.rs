//! Partitions that change hands.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use lambda::{Clock, SystemClock};
use local::mapping::{MappingSettings, Progress, StartingPosition};

use crate::broker::{Broker, Offsets};
use crate::row::made;
use crate::running::{Running, settings};
use crate::scripted::{scripted, scripted_with};

/// With eager assignment: with the cooperative one librdkafka was seen to drop what it had read at a revoke and to read on behind it.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_skipped_when_partitions_change_hands_ten_times() {
    const RECORDS: usize = 300;
    let Some(broker) = Broker::find().await else {
        return;
    };
    let topic = broker.topic(2).await;
    // So many that reading stands still most of the time.
    let records = [made(0, RECORDS), made(1, RECORDS)];
    let ends = broker.produce(&topic, &records).await;
    let scripted = scripted_with(&["wait 40"], |function| {
        function.with_concurrency(NonZeroUsize::new(4).unwrap())
    });
    let settings = settings(&broker, &topic, 2);
    let group = settings.group.clone();
    let mut first = Running::start(settings.clone(), &scripted.function);
    first.until_it_reads(2).await;
    for _ in 0..5 {
        let mut second = Running::start(settings.clone(), &scripted.function);
        second.until_it_reads(1).await;
        first.until_it_reads(1).await;
        second
            .until(|step| matches!(step, Progress::Delivered { .. }))
            .await;
        // As a crash would end it, in the middle of an invocation; its consumer leaves the group.
        drop(second);
        first.until_it_reads(2).await;
    }
    assert!(
        broker.committed(&group, &topic, 2) != ends,
        "all was done before the last change of hands"
    );
    first.drain().await;
    assert_eq!(broker.committed(&group, &topic, 2), ends);
    let deliveries = scripted.deliveries().concat();
    for partition in 0..2 {
        let of_it = deliveries.iter().filter(|(at, _)| *at == partition);
        let offsets: BTreeSet<i64> = of_it.flat_map(|(_, offsets)| offsets.clone()).collect();
        let all = 0..i64::try_from(RECORDS).unwrap();
        assert_eq!(offsets, all.collect(), "partition {partition}");
    }
    broker.delete(&topic).await;
}

/// Checks that a record which comes after the first assignment, and before anything is done, is delivered by the next mapping.
async fn check(start: StartingPosition) {
    let Some(broker) = Broker::find().await else {
        return;
    };
    let topic = broker.topic(2).await;
    broker.produce(&topic, &[made(0, 3)]).await;
    let settings = MappingSettings {
        start,
        ..settings(&broker, &topic, 5)
    };
    let group = settings.group.clone();
    let scripted = scripted(&["answer {}"]);
    let mut first = Running::start(settings.clone(), &scripted.function);
    first.until_it_reads(2).await;
    drop(first);
    assert_eq!(
        broker.committed(&group, &topic, 2),
        Offsets::from([(0, 3), (1, 0)]),
        "{start:?}"
    );
    let ends = broker.produce(&topic, &[made(0, 2), made(1, 1)]).await;
    let mut next = Running::start(settings, &scripted.function);
    next.until_it_reads(2).await;
    next.drain().await;
    let mut deliveries = scripted.deliveries().concat();
    deliveries.sort();
    assert_eq!(deliveries, [(0, vec![3, 4]), (1, vec![0])], "{start:?}");
    assert_eq!(broker.committed(&group, &topic, 2), ends);
    broker.delete(&topic).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_begins_at_the_end_skips_nothing_that_comes_before_it_has_done_anything() {
    check(StartingPosition::Latest).await;
    // Nothing is as young as that.
    let soon = SystemClock.now().plus_millis(600_000).millis();
    check(StartingPosition::AtTimestamp(soon)).await;
}
