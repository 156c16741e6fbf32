//! Brokers that are away for a while: records are handed back in time, the log says why, and in the end everything goes through.

use std::time::Duration;

use local::invoke::Invoke;
use tokio::time::Instant;

use crate::harness::cluster::Cluster;
use crate::harness::event::{Sent, event, handed_back};
use crate::harness::gateway::{Gateway, Ruling};
use crate::harness::ladder::Ladder;
use crate::harness::payment::{fresh_ids, payment};
use crate::harness::world::{World, answered};

/// A produce takes at most 5 s in all and 10 s at the very worst; the first answer is held for 1 s, the second for 2 s.
const IN_TIME: Duration = Duration::from_secs(14);

/// Row 52: half of the payments fail and have nowhere to go; the others are charged all the same.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_broker_failed_payments_are_handed_back_until_it_returns() {
    let gateway = Gateway::start(|asked| match asked.mode.as_str() {
        "ok" => Ruling::Charge(Duration::ZERO),
        _ => Ruling::Refuse(503, "down".to_owned()),
    })
    .await;
    let ladder = Ladder::with_delays(&["1h"]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    let function = world.payments(&[]);
    let ids = fresh_ids("away", 10);
    let modes = ["ok", "transient"].into_iter().cycle();
    let records: Vec<Sent> = ids
        .iter()
        .zip(modes)
        .zip(0..)
        .map(|((id, mode), offset)| Sent::new(&world.ladder.main, offset, id, payment(id, mode)))
        .collect();
    let failing = ["0/1", "0/3", "0/5", "0/7", "0/9"].map(str::to_owned);

    world.cluster.with(|mock| mock.broker_down(1).unwrap());
    for _ in 0..2 {
        let started = Instant::now();
        let answer = answered(function.invoke(event(&records)).await);
        let took = started.elapsed();
        assert!(took < IN_TIME, "{took:?}");
        assert!(
            took >= Duration::from_secs(1),
            "the answer is held: {took:?}"
        );
        assert_eq!(handed_back(&answer), failing);
    }
    let logs = world.lines.logs("payments");
    let told = logs.iter().find(|line| {
        line["decision"] == "hand-back" && line["reason"] == "fault" && line["level"] == "WARN"
    });
    let told = told.unwrap_or_else(|| panic!("{logs:#?}"))["message"]
        .as_str()
        .unwrap();
    assert!(told.contains(world.cluster.address()), "{told}");
    assert!(told.contains("auth none"), "{told}");
    assert!(
        told.contains("refused") || told.contains("closed") || told.contains("disconnected"),
        "why is not in: {told}"
    );

    world.cluster.with(|mock| mock.broker_up(1).unwrap());
    let answer = answered(function.invoke(event(&records)).await);
    assert_eq!(handed_back(&answer), Vec::<String>::new());
    let forwarded = world.cluster.records(world.ladder.retry(0)).await;
    assert_eq!(forwarded.len(), 5, "each once");
    let charged = gateway.charges();
    assert_eq!(charged.len(), 5);
    assert!(charged.values().all(|times| *times == 1), "{charged:?}");
}

/// With `raise` the invocation fails by name instead, and what was charged in it is not charged again.
#[tokio::test(flavor = "multi_thread")]
async fn with_raise_the_invocation_fails_and_what_was_done_in_it_is_remembered() {
    use local::invoke::{Fault, Outcome};
    let gateway = Gateway::start(|asked| match asked.mode.as_str() {
        "ok" => Ruling::Charge(Duration::ZERO),
        _ => Ruling::Refuse(503, "down".to_owned()),
    })
    .await;
    let ladder = Ladder::with_delays(&["1h"]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    let function = world.payments(&[("BATCH_FAILURES", "raise")]);
    let ids = fresh_ids("raise", 2);
    let records = [
        Sent::new(&world.ladder.main, 0, &ids[0], payment(&ids[0], "ok")),
        Sent::new(
            &world.ladder.main,
            1,
            &ids[1],
            payment(&ids[1], "transient"),
        ),
    ];
    world.cluster.with(|mock| mock.broker_down(1).unwrap());
    let outcome = function.invoke(event(&records)).await;
    let Outcome::Failed(Fault::Error {
        error_type,
        message,
    }) = outcome
    else {
        panic!("{outcome:?}")
    };
    assert_eq!(error_type, "RecordsHandedBack");
    assert!(message.contains("1 of 2"), "{message}");
    assert!(message.contains(world.cluster.address()), "{message}");
    let logs = world.lines.logs("payments").into_iter();
    let telling: Vec<_> = logs
        .filter(|line| line.to_string().contains("RecordsHandedBack"))
        .collect();
    assert_eq!(telling.len(), 1, "told once: {telling:#?}");
    assert_eq!(telling[0]["level"], "WARN", "nobody has to act on it");
    world.cluster.with(|mock| mock.broker_up(1).unwrap());
    let answer = answered(function.invoke(event(&records)).await);
    assert_eq!(handed_back(&answer), Vec::<String>::new());
    assert_eq!(gateway.posts().get(&ids[0]), Some(&1), "remembered as done");
    assert_eq!(world.cluster.records(world.ladder.retry(0)).await.len(), 1);
}
