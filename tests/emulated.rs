//! The whole pipeline as `cargo local run` drives it from the template: killed, misconfigured, and shared between two.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use local::provider::{Provider, ProviderSettings};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::binaries;
use crate::harness::cluster::Cluster;
use crate::harness::emulator::{Emulator, changed_template};
use crate::harness::ladder::Ladder;
use crate::harness::payment::fresh_ids;
use crate::harness::until;
use crate::harness::world::{PARTITIONS, World};

/// How long a run may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(3);

/// The three stages of the template; `--fast` makes them 1, 2 and 3 s.
pub(crate) const STAGES: [&str; 3] = ["30s", "5m", "1h"];

async fn provider(latency: Duration) -> Provider {
    let settings = ProviderSettings {
        latency,
        ..ProviderSettings::default()
    };
    Provider::start(settings).await.unwrap()
}

/// Fails unless each of these payments was charged once, and no other.
#[track_caller]
pub(crate) fn each_is_charged_once<'a>(
    provider: &Provider,
    ids: impl IntoIterator<Item = &'a String>,
) {
    let charged = provider.charges();
    let wanted: BTreeSet<&String> = ids.into_iter().collect();
    let missing: Vec<_> = wanted
        .iter()
        .filter(|id| !charged.contains_key(**id))
        .collect();
    let too_often: Vec<_> = charged.iter().filter(|(_, times)| **times > 1).collect();
    let strangers: Vec<_> = charged.keys().filter(|id| !wanted.contains(id)).collect();
    assert!(
        missing.is_empty() && too_often.is_empty() && strangers.is_empty(),
        "not charged: {missing:?}; charged too often: {too_often:?}; of nobody: {strangers:?}"
    );
}

/// Returns the first offset that was delivered of each partition of a topic.
fn first_delivered(invocations: &[Value], topic: &str) -> BTreeMap<i64, i64> {
    let mut first = BTreeMap::new();
    for invocation in invocations.iter().filter(|told| told["topic"] == topic) {
        for part in invocation["partitions"].as_array().unwrap() {
            let partition = part["partition"].as_i64().unwrap();
            first
                .entry(partition)
                .or_insert(part["first_offset"].as_i64().unwrap());
        }
    }
    first
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emulator_killed_in_a_batch_goes_on_from_the_committed_offsets_on_kafka() {
    let Some(cluster) = Cluster::kafka().await else {
        return;
    };
    let provider = provider(Duration::from_millis(300)).await;
    let world = World::new(cluster, Ladder::with_delays(&STAGES), &provider.url()).await;
    let main = world.ladder.main.clone();
    let ids = fresh_ids("killed", 2_000);
    world.cluster.pay(&main, &ids, |_| "ok").await;
    let program = TempDir::new().unwrap();
    let own = program.path().join("payments");
    std::fs::copy(binaries::payments(), &own).unwrap();
    let own = format!("PaymentsMain={}", own.display());
    let first = Emulator::start(&world, &["--function", &own]);
    until(
        PATIENCE,
        "a batch is done and others are under way",
        async || {
            let charged = provider.charges().len();
            let told = first.invocations().len();
            if told > 0 && charged > 100 {
                Ok(())
            } else {
                Err(format!("{charged} charged, {told} told: {}", first.notes()))
            }
        },
    )
    .await;
    first.kill().await;
    let group = format!("payments.{main}");
    let committed = world.cluster.committed(&group, &main, PARTITIONS).await;
    until(PATIENCE, "no function outlives it", async || {
        let alive = processes_in(program.path());
        if alive == 0 {
            Ok(())
        } else {
            Err(format!("{alive} processes"))
        }
    })
    .await;
    let charged_before = provider.charges().len();
    assert!(
        charged_before < ids.len(),
        "the kill came too late: {charged_before}"
    );
    let second = Emulator::start(&world, &["--until-idle", "2s"]).ended(PATIENCE);
    let second = second.await.well();
    let resumed = first_delivered(&second.invocations, main.as_str());
    for (partition, committed) in committed {
        assert_eq!(
            resumed.get(&partition.into()),
            Some(&committed.unwrap_or(0)),
            "{partition}"
        );
    }
    each_is_charged_once(&provider, &ids);
}

/// Counts the processes that run a program of a folder.
fn processes_in(folder: &std::path::Path) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap();
    processes
        .filter_map(|process| std::fs::read_link(process.ok()?.path().join("exe")).ok())
        .filter(|program| program.starts_with(folder))
        .count()
}

/// What a payment of each kind comes to.
const MODES: [&str; 4] = ["ok", "flap", "rate-limit", "permanent"];

/// Runs a changed template while the provider is away at first, so that much is handed back and retried.
async fn check_nothing_is_lost(change: impl Fn(&str) -> String, more: &[&str]) -> String {
    let provider = provider(Duration::ZERO).await;
    let ladder = Ladder::with_delays(&STAGES);
    let world = World::new(Cluster::embedded(), ladder, &provider.url()).await;
    let ids = fresh_ids("ignored", 40);
    world
        .cluster
        .pay(&world.ladder.main, &ids, |nth| MODES[nth % 4])
        .await;
    let folder = TempDir::new().unwrap();
    let template = changed_template(folder.path(), change);
    let more = [&["--fast", "--until-idle", "4s"], more].concat();
    let ended = Emulator::of(&template, &world, &more).ended(PATIENCE).await;
    let ended = ended.well();
    let (declined, charged): (Vec<_>, Vec<_>) = ids
        .iter()
        .enumerate()
        .partition(|(nth, _)| MODES[nth % 4] == "permanent");
    each_is_charged_once(&provider, charged.into_iter().map(|(_, id)| id));
    let dead = world.dead().await;
    assert_eq!(
        dead,
        declined.into_iter().map(|(_, id)| id.clone()).collect()
    );
    assert_eq!(world.store.incidents().await.len(), dead.len());
    ended.notes
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_when_report_batch_item_failures_is_taken_out_of_the_template() {
    let without = |template: &str| {
        let kept = template
            .lines()
            .filter(|line| !line.contains("FunctionResponseTypes"));
        kept.collect::<Vec<_>>().join("\n")
    };
    let notes = check_nothing_is_lost(without, &[]).await;
    assert!(
        notes.contains("BATCH_FAILURES"),
        "it says so loudly: {notes}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_in_standard_mode() {
    let longer = |template: &str| template.replace("Timeout: 60", "Timeout: 90");
    let notes = check_nothing_is_lost(longer, &["--parameter", "PollerMode=standard"]).await;
    assert!(!notes.contains("overruled"), "{notes}");
}
