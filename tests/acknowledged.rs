//! Row 49: no answer goes before the broker's acknowledgement, and a lost acknowledgement is a failure.

use std::time::Duration;

use local::function::Function;
use local::invoke::Invoke;
use tokio::time::Instant;

use crate::harness::cluster::Cluster;
use crate::harness::event::{Sent, event, handed_back};
use crate::harness::gateway::{Gateway, Ruling};
use crate::harness::ladder::Ladder;
use crate::harness::payment::{fresh_id, payment};
use crate::harness::world::{World, answered};

/// Makes the broker answer everything so much later.
fn delay_answers(world: &World, delay: Duration) {
    world
        .cluster
        .with(move |mock| mock.broker_round_trip_time(1, delay).unwrap());
}

async fn forward(
    world: &World,
    function: &Function,
    offset: i64,
    id: &str,
) -> (Vec<String>, Duration) {
    let record = Sent::new(&world.ladder.main, offset, id, payment(id, "transient"));
    let started = Instant::now();
    let answer = answered(function.invoke(event(&[record])).await);
    (handed_back(&answer), started.elapsed())
}

async fn copies(world: &World, id: &str) -> usize {
    let topic = world.ladder.retry(0);
    world.cluster.records_of(topic, id.as_bytes()).await.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_waits_for_the_acknowledgement_and_a_lost_one_is_reported() {
    let unavailable = |_: &_| Ruling::Refuse(503, "down".to_owned());
    let gateway = Gateway::start(unavailable).await;
    let ladder = Ladder::with_delays(&["1h"]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    let function = world.payments(&[]);
    let [warm, slow, lost] = ["warm", "slow", "lost"].map(fresh_id);
    let (back, _) = forward(&world, &function, 0, &warm).await;
    assert_eq!(back, Vec::<String>::new());

    delay_answers(&world, Duration::from_secs(3));
    let (back, took) = forward(&world, &function, 1, &slow).await;
    assert_eq!(back, Vec::<String>::new());
    assert!(
        took >= Duration::from_secs(3),
        "the answer went first: {took:?}"
    );

    delay_answers(&world, Duration::from_mins(10));
    let (back, took) = forward(&world, &function, 2, &lost).await;
    assert_eq!(back, ["0/2"], "it is not known to be produced");
    assert!(took < Duration::from_secs(15), "{took:?}");

    delay_answers(&world, Duration::ZERO);
    assert_eq!(copies(&world, &slow).await, 1);
    assert_eq!(
        copies(&world, &lost).await,
        1,
        "only the acknowledgement was lost"
    );
    let (back, _) = forward(&world, &function, 2, &lost).await;
    assert_eq!(back, Vec::<String>::new());
    assert_eq!(copies(&world, &lost).await, 2, "at most two copies");
}
