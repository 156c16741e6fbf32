//! A retry partition that has no leader for a minute.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use local::mapping::{Answers, Redelivery};
use pipeline::Topic;

use crate::harness::binaries;
use crate::harness::cluster::Cluster;
use crate::harness::gateway::{Gateway, Ruling};
use crate::harness::ladder::Ladder;
use crate::harness::payment::{fresh_ids, id_of};
use crate::harness::world::World;

/// How many payments go up the ladder.
const PAYMENTS: usize = 60;

/// For how long the partition has no leader.
const AWAY: Duration = Duration::from_mins(1);

/// An answer is held for at most 30 s; then everything has to go through.
const AFTERWARDS: Duration = Duration::from_secs(90);

/// Partitions of the main topic: fewer than the retry topic has, so that a batch holds payments that have a place beside some that have none.
const PARTITIONS: i32 = 2;

/// For each partition of main: the holds of 1, 2, 4, 8 and 16 s fill the minute, each after a produce of 5 s, and then it ends.
const MOST_INVOCATIONS: usize = 2 * 7;

fn leader(cluster: &Cluster, topic: &Topic, leader: Option<i32>) {
    let topic = topic.to_string();
    cluster.with(move |mock| mock.partition_leader(&topic, 0, leader).unwrap());
}

async fn copies(world: &World) -> BTreeMap<String, usize> {
    let mut copies = BTreeMap::new();
    for record in world.cluster.records(world.ladder.retry(0)).await {
        *copies.entry(id_of(record.value.as_deref())).or_default() += 1;
    }
    copies
}

/// Runs payments that all fail on main while a quarter of them has nowhere to go.
async fn check(batch_failures: &str, answers: Answers) {
    let unavailable = |_: &_| Ruling::Refuse(503, "down".to_owned());
    let gateway = Gateway::start(unavailable).await;
    let ladder = Ladder::with_delays(&["1h"]);
    let cluster = Cluster::embedded();
    cluster.create(&ladder.main, PARTITIONS, &[]).await;
    let world = World::new(cluster, ladder, &gateway.url()).await;
    leader(&world.cluster, world.ladder.retry(0), None);
    let ids = fresh_ids("leaderless", PAYMENTS);
    let main = &world.ladder.main;
    world.cluster.pay(main, &ids, |_| "transient").await;
    let more = [("BATCH_FAILURES", batch_failures)];
    let settings = world.settings("payments", binaries::payments(), &more);
    let mapped = world.map_with(settings, &world.ladder.main, answers);
    tokio::time::sleep(AWAY).await;
    leader(&world.cluster, world.ladder.retry(0), Some(1));
    let idle = mapped.mapping.idle_for(Duration::from_secs(1));
    let what = format!("{batch_failures} {answers:?}");
    tokio::time::timeout(AFTERWARDS, idle)
        .await
        .unwrap_or_else(|_| panic!("{what}: not everything went through"))
        .unwrap();
    let copies = copies(&world).await;
    assert_eq!(copies.len(), PAYMENTS, "{what}: lost");
    let doubled: Vec<_> = copies.iter().filter(|(_, copies)| **copies > 2).collect();
    assert!(doubled.is_empty(), "{what}: {doubled:?}");
    assert!(world.cluster.records(&world.ladder.dlq).await.is_empty());
    let invocations = mapped.invocations();
    assert!(
        invocations <= MOST_INVOCATIONS,
        "{what}: it spins: {invocations} invocations"
    );
}

/// Row 48: no leader is not the record's fault; the others go on and redelivery does not spin.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_without_a_leader_for_a_minute_loses_nothing_and_copies_at_most_once() {
    let cases = [
        ("report", Answers::Reported(Redelivery::Resume)),
        ("report", Answers::Reported(Redelivery::Items)),
        ("raise", Answers::Ignored),
        ("raise", Answers::Reported(Redelivery::Items)),
    ];
    join_all(cases.map(|(batch_failures, answers)| check(batch_failures, answers))).await;
}
