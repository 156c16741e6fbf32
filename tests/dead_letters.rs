//! The dlq function: one incident and one alert for each dead letter, whatever happens in between.

use std::sync::Arc;
use std::time::Duration;

use local::function::Function;
use local::mapping::{BatchVerdict, Mapping, MappingSettings, Progress};

use crate::harness::binaries;
use crate::harness::cluster::{Cluster, Seed};
use crate::harness::gathered::Gathered;
use crate::harness::ladder::Ladder;
use crate::harness::payment::fresh_ids;
use crate::harness::until;
use crate::harness::world::World;

const PATIENCE: Duration = Duration::from_mins(1);

const HEADERS: [(&str, Option<&[u8]>); 3] = [
    ("error.class", Some(b"permanent")),
    ("error.code", Some(b"provider.declined")),
    ("dlq-reason", Some(b"declined")),
];

/// Makes a world of dead letters; nothing in it is charged.
async fn world(dead_letters: usize) -> World {
    let ladder = Ladder::with_delays(&["1h"]);
    let world = World::new(Cluster::embedded(), ladder, "http://127.0.0.1:1").await;
    let ids = fresh_ids("dead", dead_letters);
    let seed = |id| Seed {
        key: Some(id),
        value: Some(b"{}"),
        headers: &HEADERS,
        ..Seed::default()
    };
    let seeds: Vec<_> = ids.iter().map(|id| seed(id.as_bytes())).collect();
    world.cluster.produce(&world.ladder.dlq, &seeds).await;
    world
}

/// Waits until the mapping of the dead-letter topic has nothing left, and returns incidents and alerts.
async fn when_idle(world: &World, mapping: &Mapping) -> (usize, usize) {
    let idle = mapping.idle_for(Duration::from_secs(1));
    tokio::time::timeout(PATIENCE, idle).await.unwrap().unwrap();
    (
        world.store.keys("incidents/").await.len(),
        world.lines.alerts("dlq").len(),
    )
}

/// Row 47: nothing is published again, the same offsets come back, and there is one incident each in the end.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_store_dead_letters_wait_and_nothing_is_produced() {
    let mut world = world(6).await;
    world.store.go_away();
    let dlq = world.map_dlq();
    let handed_back = |least: usize| {
        let reports = dlq.reports.all();
        let found = reports.iter().filter(|report| {
            matches!(
                &report.progress,
                Progress::Answered { verdict: BatchVerdict::HandedBack(records), .. } if *records > 0
            )
        });
        let found = found.count();
        if found >= least {
            Ok(())
        } else {
            Err(format!("{found} invocations handed records back"))
        }
    };
    until(
        PATIENCE,
        "records are handed back again and again",
        async || handed_back(5),
    )
    .await;
    let committed = |report: &local::mapping::Report| matches!(report.progress, Progress::Committed { offset, .. } if offset.get() > 0);
    assert!(!dlq.reports.all().iter().any(committed), "an offset moved");
    let logs = world.lines.logs("dlq");
    let told = logs
        .iter()
        .find(|line| line["reason"] == "fault")
        .unwrap_or_else(|| panic!("{logs:#?}"));
    let told = told["message"].as_str().unwrap();
    assert!(told.contains("brew-incidents"), "{told}");
    assert!(world.lines.alerts("dlq").is_empty());

    world.store.come_back().await;
    assert_eq!(when_idle(&world, &dlq.mapping).await, (6, 6));
    for topic in world.ladder.topics() {
        let expected = if topic == &world.ladder.dlq { 6 } else { 0 };
        assert_eq!(
            world.cluster.records(topic).await.len(),
            expected,
            "{topic}"
        );
    }
}

/// Row 56: the last dead letter, delivered again after each of three restarts.
#[tokio::test(flavor = "multi_thread")]
async fn three_restarts_add_no_incident_and_no_alert() {
    let world = world(3).await;
    for restart in 0..3 {
        // A new group begins at the start of the topic, as one does whose offsets were lost.
        let mapping = reread(&world, &format!("restart-{restart}"));
        assert_eq!(when_idle(&world, &mapping).await, (3, 3));
        mapping.stop(Duration::from_secs(5)).await;
    }
}

/// Row 74: an idle group's offsets expire, and the whole topic is read again.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_old_dead_letters_that_are_read_again_alert_nobody() {
    let world = world(1_000).await;
    let first = reread(&world, "first");
    assert_eq!(when_idle(&world, &first).await, (1_000, 1_000));
    first.stop(Duration::from_secs(5)).await;
    let again = reread(&world, "again");
    assert_eq!(when_idle(&world, &again).await, (1_000, 1_000));
}

/// Maps the dead-letter topic to a new function in a group that has read nothing.
fn reread(world: &World, group: &str) -> Mapping {
    let settings = world.settings("dlq", binaries::dlq(), &[]);
    let mut mapping =
        MappingSettings::new("dlq", world.ladder.dlq.clone(), world.cluster.address());
    mapping.group = format!("{}.{group}", mapping.group);
    let function: Arc<Function> = world.function(settings);
    let reports = Gathered::new();
    Mapping::start(mapping, function, reports.sender()).unwrap()
}
