//! Ten thousand payments on Apache Kafka, driven by two emulators of which one is killed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use local::provider::{Provider, ProviderSettings};
use pipeline::Record;
use tokio::time::Instant;

use crate::emulated::{STAGES, each_is_charged_once};
use crate::harness::cluster::Cluster;
use crate::harness::emulator::Emulator;
use crate::harness::ladder::Ladder;
use crate::harness::payment::{fresh_ids, id_of};
use crate::harness::world::World;
use crate::harness::{is, until};

const PAYMENTS: usize = 10_000;

/// How long they may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(5);

/// The delay of the shortest retry stage under `--fast`.
const DELAY_MS: i64 = 1_000;

/// How late a retry may start under load: a tenth of the delay for the batching window, the longest pause before a redelivery (1 s),
/// and what a batch of this stage takes while the machine is busy.
const LATE_MS: i64 = 100 + 1_000 + 6_000;

/// How long the broker waits for a member that died: the mapping's `session.timeout.ms`, and the rebalance.
const TAKE_OVER_MS: i64 = 10_000 + 3_000;

/// What becomes of one payment in ten: one is declined, one fails twice and is charged then.
fn mode(nth: usize) -> &'static str {
    match nth % 10 {
        0 => "permanent",
        1 => "flap",
        _ => "ok",
    }
}

/// Returns a number of these, as many hundredths of the way from the least to the most.
fn percentile(sorted: &[i64], hundredths: usize) -> i64 {
    sorted[(sorted.len() - 1) * hundredths / 100]
}

/// Returns the payments of a mode; their number in the list decides.
fn of_mode<'a>(ids: &'a [String], wanted: &'static str) -> impl Iterator<Item = &'a String> {
    let wanted = move |(nth, _): &(usize, &'a String)| mode(*nth) == wanted;
    ids.iter().enumerate().filter(wanted).map(|(_, id)| id)
}

/// Returns how late each of these payments was tried again on the first retry stage, in milliseconds, sorted: from when it was due to when it failed there again.
fn lateness(first: &[Record], second: &[Record], of: &[String]) -> Vec<i64> {
    let of: BTreeSet<&String> = of.iter().collect();
    let mut due: BTreeMap<String, i64> = BTreeMap::new();
    for record in first {
        // A killed emulator may leave two copies of a record; the earlier one may have been tried.
        let at = record.timestamp.millis() + DELAY_MS;
        let earliest = due.entry(id_of(record.value.as_deref())).or_insert(at);
        *earliest = at.min(*earliest);
    }
    let mut late: Vec<i64> = second
        .iter()
        .filter(|record| of.contains(&id_of(record.value.as_deref())))
        .map(|record| {
            let failed: jiff::Timestamp = record
                .headers
                .text("error.timestamp")
                .unwrap()
                .parse()
                .unwrap();
            failed.as_millisecond() - due[&id_of(record.value.as_deref())]
        })
        .collect();
    late.sort_unstable();
    late
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_payments_drain_while_one_of_two_emulators_is_killed_on_kafka() {
    let Some(cluster) = Cluster::kafka().await else {
        return;
    };
    let provider = Provider::start(ProviderSettings::default()).await.unwrap();
    let world = World::new(cluster, Ladder::with_delays(&STAGES), &provider.url()).await;
    let ids = fresh_ids("load", PAYMENTS);
    let (before, after) = ids.split_at(PAYMENTS / 2);
    let main = &world.ladder.main;
    let one = Emulator::start(&world, &["--fast"]);
    let other = Emulator::start(&world, &["--fast", "--until-idle", "12s"]);
    let started = Instant::now();
    world.cluster.pay(main, before, mode).await;
    until(PATIENCE, "both emulators have delivered", async || {
        let (first, second) = (one.invocations().len(), other.invocations().len());
        if first > 0 && second > 0 {
            Ok(())
        } else {
            Err(format!(
                "{first} and {second} invocations; {}; {}",
                one.notes(),
                other.notes()
            ))
        }
    })
    .await;
    one.kill().await;
    let to_charge = of_mode(before, "ok").count() + of_mode(before, "flap").count();
    until(PATIENCE, "the other has taken over", async || {
        is(&provider.charges().len(), &to_charge)
    })
    .await;
    world.cluster.pay(main, after, mode).await;
    other.ended(PATIENCE).await.well();
    let took = started.elapsed();
    each_is_charged_once(&provider, of_mode(&ids, "ok").chain(of_mode(&ids, "flap")));
    let dead = world.dead().await;
    assert_eq!(dead, of_mode(&ids, "permanent").cloned().collect());
    let first = world.cluster.records(world.ladder.retry(0)).await;
    let second = world.cluster.records(world.ladder.retry(1)).await;
    for (which, ids, limit) in [
        ("during", before, LATE_MS + TAKE_OVER_MS),
        ("after", after, LATE_MS),
    ] {
        let late = lateness(&first, &second, ids);
        let (median, most) = (percentile(&late, 50), percentile(&late, 99));
        let told = format!(
            "{} retries {which} the take-over start late by {median} ms (median), {most} ms (99th percentile)",
            late.len()
        );
        eprintln!("{told}; {PAYMENTS} payments took {took:?}");
        assert!(late[0] >= 0, "a retry came {} ms early", -late[0]);
        assert!(most <= limit, "{told}, not {limit}");
    }
}
