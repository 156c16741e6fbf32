//! Processes that are killed, and payments that kill their process.

use std::time::Duration;

use crate::harness::binaries;
use crate::harness::cluster::Cluster;
use crate::harness::gateway::{Gateway, Ruling};
use crate::harness::ladder::Ladder;
use crate::harness::payment::{fresh_ids, id_of};
use crate::harness::world::{Mapped, World};
use crate::harness::{is, until};

const PATIENCE: Duration = Duration::from_mins(1);

/// Makes a pipeline whose main topic has one partition, so that its payments come in one batch.
async fn world(gateway: &Gateway) -> World {
    let ladder = Ladder::with_delays(&["1s"]);
    let cluster = Cluster::embedded();
    for topic in ladder.topics() {
        cluster.create(topic, 1, &[]).await;
    }
    World::bare(cluster, ladder, &gateway.url()).await
}

async fn pay(world: &World, ids: &[String], mode: impl Fn(usize) -> &'static str) {
    world.cluster.pay(&world.ladder.main, ids, mode).await;
}

async fn in_flight(gateway: &Gateway, count: usize) {
    let what = format!("{count} payments are in flight");
    until(PATIENCE, &what, async || is(&gateway.in_flight(), &count)).await;
}

/// Waits until every payment has been charged, each once, and nothing is left to deliver.
async fn all_charged_once(gateway: &Gateway, ids: &[String], mapped: &Mapped) {
    let not_once = || {
        let charges = gateway.charges();
        let not_once = ids.iter().filter_map(|id| {
            let times = charges.get(id).copied().unwrap_or_default();
            (times != 1).then(|| (id.clone(), times))
        });
        not_once.collect::<Vec<_>>()
    };
    until(PATIENCE, "every payment is charged once", async || {
        is(&not_once(), &Vec::new())
    })
    .await;
    let idle = mapped.mapping.idle_for(Duration::from_secs(1));
    tokio::time::timeout(PATIENCE, idle).await.unwrap().unwrap();
    assert_eq!(not_once(), Vec::new());
    assert_eq!(gateway.charges().len(), ids.len());
}

/// Row 63: the provider charged, and the process was killed before it heard of it. The provider here forgets keys at once.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_charged_when_the_process_was_killed_is_not_charged_again() {
    let gateway = Gateway::answering_in(Duration::from_secs(5)).await;
    let world = world(&gateway).await;
    let ids = fresh_ids("killed", 48);
    pay(&world, &ids, |_| "ok").await;
    let settings = world.settings("payments", binaries::payments(), &[]);
    let mapped = world.map(settings, &world.ladder.main);
    in_flight(&gateway, 32).await;
    assert_eq!(mapped.function.kill(), 1);
    gateway.go_by(|_| Ruling::Charge(Duration::ZERO));
    all_charged_once(&gateway, &ids, &mapped).await;
    let asked = gateway.questions();
    assert!(
        ids[..32].iter().all(|id| asked.contains_key(id)),
        "not asked about each: {asked:?}"
    );
    for topic in &world.ladder.topics()[1..] {
        assert!(world.cluster.records(topic).await.is_empty(), "{topic}");
    }
}

/// Row 41, the other side: a kill from outside says nothing about the payments that were in flight.
#[tokio::test(flavor = "multi_thread")]
async fn a_kill_from_outside_condemns_none_of_32_payments_in_flight() {
    let gateway = Gateway::start(|_| Ruling::Ignore).await;
    let world = world(&gateway).await;
    let ids = fresh_ids("in-flight", 32);
    pay(&world, &ids, |_| "ok").await;
    let settings = world.settings("payments", binaries::payments(), &[]);
    let mapped = world.map(settings, &world.ladder.main);
    in_flight(&gateway, 32).await;
    assert_eq!(mapped.function.kill(), 1);
    // From now on they run alone; two more kills hit the first of them.
    for _ in 0..2 {
        in_flight(&gateway, 0).await;
        in_flight(&gateway, 1).await;
        assert_eq!(mapped.function.kill(), 1);
    }
    gateway.go_by(|_| Ruling::Charge(Duration::ZERO));
    all_charged_once(&gateway, &ids, &mapped).await;
    for topic in &world.ladder.topics()[1..] {
        assert!(world.cluster.records(topic).await.is_empty(), "{topic}");
    }
}

/// How a payment harms its process, and what is to come of it.
struct Poison {
    mode: &'static str,
    /// What an invocation may take, in seconds.
    timeout: u64,
    reason: &'static str,
    code: &'static str,
    most_invocations: usize,
}

/// Runs ten payments, one of which is poison.
async fn check(poison: Poison) {
    let gateway = Gateway::answering_in(Duration::from_millis(50)).await;
    let world = world(&gateway).await;
    let ids = fresh_ids(poison.mode, 10);
    pay(
        &world,
        &ids,
        |nth| if nth == 4 { poison.mode } else { "ok" },
    )
    .await;
    let settings = world
        .settings(
            "payments",
            binaries::poisoned_payments(),
            &[("GATEWAY_TIMEOUT", "1s")],
        )
        .with_timeout(Duration::from_secs(poison.timeout));
    let mapped = world.map(settings, &world.ladder.main);
    until(
        Duration::from_secs(150),
        "the poison is in the DLQ",
        async || is(&world.cluster.records(&world.ladder.dlq).await.len(), &1),
    )
    .await;
    let neighbours: Vec<String> = ids
        .iter()
        .enumerate()
        .filter(|(nth, _)| *nth != 4)
        .map(|(_, id)| id.clone())
        .collect();
    all_charged_once(&gateway, &neighbours, &mapped).await;
    let dead = world.cluster.records(&world.ladder.dlq).await;
    assert_eq!(dead.len(), 1);
    assert_eq!(id_of(dead[0].value.as_deref()), ids[4]);
    let header = |name| dead[0].headers.only_text(name);
    assert_eq!(header("dlq-reason"), Some(poison.reason));
    assert_eq!(header("error.code"), Some(poison.code));
    assert_eq!(header("error.class"), Some("permanent"));
    assert!(
        world
            .cluster
            .records(world.ladder.retry(0))
            .await
            .is_empty()
    );
    let invocations = mapped.invocations();
    assert!(invocations <= poison.most_invocations, "{invocations}");
}

/// Row 41: the process aborts.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_aborts_its_process_every_time_is_dead_lettered_as_crashed() {
    check(Poison {
        mode: "abort",
        timeout: 20,
        reason: "crashed",
        code: "handler.crashed",
        most_invocations: 8,
    })
    .await;
}

/// Row 41: the process never gives its thread back and is killed at the deadline.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_loops_for_ever_is_dead_lettered_as_crashed() {
    check(Poison {
        mode: "loop",
        timeout: 8,
        reason: "crashed",
        code: "handler.crashed",
        most_invocations: 8,
    })
    .await;
}

/// Row 41: the handler waits for ever, which the loop around it survives.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_never_comes_back_is_dead_lettered_as_crashed() {
    check(Poison {
        mode: "hang",
        timeout: 8,
        reason: "crashed",
        code: "handler.crashed",
        most_invocations: 8,
    })
    .await;
}

/// A panic is caught and costs nobody an invocation.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_panics_is_dead_lettered_in_its_first_invocation() {
    check(Poison {
        mode: "panic",
        timeout: 20,
        reason: "panic",
        code: "handler.panic",
        most_invocations: 2,
    })
    .await;
}
