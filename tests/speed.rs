//! How long a batch takes: a slow provider, one that hangs, one that refuses.

use std::sync::Arc;
use std::time::Duration;

use local::function::Function;
use local::invoke::Invoke;
use tokio::time::Instant;

use crate::harness::cluster::Cluster;
use crate::harness::event::{Sent, event, handed_back};
use crate::harness::gateway::{Gateway, Ruling};
use crate::harness::ladder::Ladder;
use crate::harness::payment::{fresh_ids, payment};
use crate::harness::world::{World, answered};

async fn world(gateway: &Gateway) -> World {
    let ladder = Ladder::with_delays(&["1h"]);
    World::new(Cluster::embedded(), ladder, &gateway.url()).await
}

/// Runs a batch of payments, all of which must be done, and returns how long it took.
async fn run(world: &World, function: &Arc<Function>, ids: &[String], first: i64) -> Duration {
    let records = ids
        .iter()
        .zip(first..)
        .map(|(id, offset)| Sent::new(&world.ladder.main, offset, id, payment(id, "ok")));
    let event = event(&records.collect::<Vec<_>>());
    let started = Instant::now();
    let answer = answered(function.invoke(event).await);
    let took = started.elapsed();
    assert_eq!(handed_back(&answer), Vec::<String>::new());
    took
}

/// Returns how many records of the retry topic have this error code.
async fn failed_with(world: &World, code: &str) -> usize {
    let records = world.cluster.records(world.ladder.retry(0)).await;
    let with_code = records
        .iter()
        .filter(|record| record.headers.only_text("error.code") == Some(code));
    with_code.count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_payments_at_a_provider_that_takes_200_ms_take_less_than_two_seconds() {
    let gateway = Gateway::answering_in(Duration::from_millis(200)).await;
    let world = world(&gateway).await;
    let function = world.payments(&[]);
    run(&world, &function, &fresh_ids("warm", 4), 0).await;
    let ids = fresh_ids("fast", 100);
    let took = run(&world, &function, &ids, 4).await;
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(gateway.charges().len(), 104);
    assert_eq!(gateway.most_in_flight(), 32, "CONCURRENCY is used and kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_hangs_does_not_slow_main_to_one_timeout_per_payment() {
    let gateway = Gateway::start(|_| Ruling::Ignore).await;
    let world = world(&gateway).await;
    let function = world.payments(&[("GATEWAY_TIMEOUT", "1s"), ("CONCURRENCY", "5")]);
    let took = run(&world, &function, &fresh_ids("hangs", 100), 0).await;
    // Without a circuit it would be 20 s.
    assert!(took < Duration::from_secs(8), "{took:?}");
    let called = gateway.posts().len();
    assert!((5..=10).contains(&called), "{called} calls");
    assert_eq!(failed_with(&world, "provider.timeout").await, called);
    assert_eq!(
        failed_with(&world, "provider.circuit_open").await,
        100 - called
    );
}

/// Only timeouts open the circuit: a provider that refuses is asked for every payment.
#[tokio::test(flavor = "multi_thread")]
async fn payments_of_a_provider_that_refuses_all_get_an_honest_first_call() {
    let refuse = |_: &_| Ruling::Refuse(503, "maintenance".to_owned());
    let gateway = Gateway::start(refuse).await;
    let world = world(&gateway).await;
    let ids = fresh_ids("refused", 100);
    run(&world, &world.payments(&[]), &ids, 0).await;
    let once = ids.iter().map(|id| (id.clone(), 1)).collect();
    assert_eq!(gateway.posts(), once);
    assert_eq!(failed_with(&world, "provider.unavailable").await, 100);
}

/// With the provider back, one probe closes the circuit and payments are charged on main again.
#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_back_is_called_again() {
    let gateway = Gateway::start(|_| Ruling::Ignore).await;
    let world = world(&gateway).await;
    let settings = [("GATEWAY_TIMEOUT", "500ms"), ("CIRCUIT_OPEN", "1s")];
    let function = world.payments(&settings);
    run(&world, &function, &fresh_ids("away", 10), 0).await;
    gateway.go_by(|_| Ruling::Charge(Duration::ZERO));
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    run(&world, &function, &fresh_ids("probe", 1), 10).await;
    let ids = fresh_ids("back", 10);
    run(&world, &function, &ids, 11).await;
    let charged = gateway.charges();
    assert!(ids.iter().all(|id| charged.contains_key(id)), "{charged:?}");
}
