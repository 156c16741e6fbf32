//! The ladder changed by the template's parameters alone, with records in flight.

use std::time::Duration;

use local::provider::{Provider, ProviderSettings};

use crate::emulated::each_is_charged_once;
use crate::harness::cluster::Cluster;
use crate::harness::emulator::Emulator;
use crate::harness::ladder::Ladder;
use crate::harness::payment::fresh_ids;
use crate::harness::until;
use crate::harness::world::{PARTITIONS, World};

/// How long a run may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(3);

/// Waits until a topic has so many records.
async fn until_there(world: &World, nth: usize, records: usize, emulator: &Emulator) {
    let topic = world.ladder.retry(nth).clone();
    until(PATIENCE, "payments climb", async || {
        let there = world.cluster.records(&topic).await.len();
        if there >= records {
            Ok(())
        } else {
            Err(format!("{there} in {topic}: {}", emulator.notes()))
        }
    })
    .await;
}

/// Adds a last stage and takes out the middle one, whose records are under way: they are handled, and none goes there any more.
#[tokio::test(flavor = "multi_thread")]
async fn a_stage_is_added_and_another_drained_by_parameters_and_no_record_is_stranded() {
    let provider = Provider::start(ProviderSettings::default()).await.unwrap();
    provider.down();
    // The last one is not in the ladder at first.
    let delays = ["2s", "3s", "4s", "5s"];
    let mut ladder = Ladder::with_delays(&delays);
    let entries: Vec<String> = ladder
        .retries
        .iter()
        .map(|(topic, delay)| format!("{topic}={delay}"))
        .collect();
    let added = ladder.retries.pop().unwrap();
    let mut world = World::new(Cluster::embedded(), ladder, &provider.url()).await;
    world.cluster.create(&added.0, PARTITIONS, &[]).await;
    let ids = fresh_ids("in-flight", 60);
    let main = world.ladder.main.clone();
    world.cluster.pay(&main, &ids, |_| "ok").await;

    let before = Emulator::start(&world, &[]);
    until_there(&world, 1, 1, &before).await;
    before.kill().await;

    let middle = world.ladder.retry(1).clone();
    world.ladder.retries.push(added);
    let climbing = format!("RetryStages={},{},{}", entries[0], entries[2], entries[3]);
    let draining = format!("DrainStages={}", entries[1]);
    let more = ["--parameter", &climbing, "--parameter", &draining];
    let after = Emulator::start(&world, &[&more[..], &["--until-idle", "8s"]].concat());
    until_there(&world, 3, 1, &after).await;
    let in_middle = world.cluster.records(&middle).await.len();
    provider.up();
    after.ended(PATIENCE).await.well();

    each_is_charged_once(&provider, &ids);
    assert!(world.dead().await.is_empty());
    let there = world.cluster.records(&middle).await.len();
    assert_eq!(there, in_middle, "nothing goes to a stage that is drained");
    for stage in world.ladder.stages() {
        let group = format!("payments.{stage}");
        let committed = world.cluster.committed(&group, stage, PARTITIONS).await;
        let committed: i64 = committed.iter().filter_map(|(_, offset)| *offset).sum();
        let records = world.cluster.records(stage).await.len();
        assert_eq!(usize::try_from(committed).unwrap(), records, "{stage}");
    }
}
