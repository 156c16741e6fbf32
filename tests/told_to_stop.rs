//! Row 54: what a process that is told to stop, or runs out of time, has not started is handed back, and nothing is lost.

use std::collections::BTreeMap;
use std::time::Duration;

use local::invoke::Invoke;
use local::lambda_api::Reply;
use nix::sys::signal::Signal;
use tokio::time::Instant;

use crate::harness::bare::Bare;
use crate::harness::binaries;
use crate::harness::cluster::Cluster;
use crate::harness::event::{Sent, event, handed_back};
use crate::harness::gateway::Gateway;
use crate::harness::ladder::Ladder;
use crate::harness::payment::{fresh_ids, payment};
use crate::harness::world::{World, answered};
use crate::harness::{is, until};

const PATIENCE: Duration = Duration::from_secs(30);

fn records(world: &World, ids: &[String]) -> Vec<Sent> {
    let ids = ids.iter().zip(0..);
    ids.map(|(id, offset)| Sent::new(&world.ladder.main, offset, id, payment(id, "ok")))
        .collect()
}

/// Checks that each payment is either charged once or handed back, and returns how many are charged.
#[track_caller]
fn account(reply: Option<Reply>, ids: &[String], charges: &BTreeMap<String, usize>) -> usize {
    let Some(Reply::Answer(answer)) = reply else {
        panic!("{reply:?}")
    };
    let back = handed_back(&answer);
    for (nth, id) in ids.iter().enumerate() {
        let is_back = back.contains(&format!("0/{nth}"));
        let times = charges.get(id).copied().unwrap_or_default();
        assert_eq!(times, usize::from(!is_back), "{id}: {back:?} {charges:?}");
    }
    ids.len() - back.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_is_told_to_stop_finishes_what_runs_and_hands_back_the_rest() {
    let gateway = Gateway::answering_in(Duration::from_secs(2)).await;
    let ladder = Ladder::with_delays(&["1h"]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    let env = world.env(&[("CONCURRENCY", "3")]);
    let mut process = Bare::start(&binaries::payments(), env).await;
    process.ready().await;
    let ids = fresh_ids("stopped", 12);
    let (reply, ()) = tokio::join!(
        process.invoke(event(&records(&world, &ids)), PATIENCE),
        async {
            until(PATIENCE, "three payments run", async || {
                is(&gateway.in_flight(), &3)
            })
            .await;
            process.signal(Signal::SIGTERM);
        }
    );
    assert_eq!(account(reply, &ids, &gateway.charges()), 3);
    let (status, log) = process.ended().await;
    assert!(status.success(), "{status}: {log:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invocation_that_runs_out_of_time_answers_before_its_deadline() {
    let gateway = Gateway::answering_in(Duration::from_secs(1)).await;
    let ladder = Ladder::with_delays(&["1h"]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    let env = world.env(&[("CONCURRENCY", "1"), ("GATEWAY_TIMEOUT", "2s")]);
    let process = Bare::start(&binaries::payments(), env).await;
    process.ready().await;
    let ids = fresh_ids("no-time", 12);
    let time = Duration::from_secs(12);
    let started = Instant::now();
    let reply = process.invoke(event(&records(&world, &ids)), time).await;
    let took = started.elapsed();
    assert!(took < time, "{took:?}");
    let charged = account(reply, &ids, &gateway.charges());
    // No call starts with less than 2 s + 5 s left, and each takes one.
    assert!((2..=7).contains(&charged), "{charged}");
}

/// The same through the local tool's sandboxes, which must leave it the time.
#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_is_stopped_lets_its_running_invocation_answer() {
    let gateway = Gateway::answering_in(Duration::from_secs(2)).await;
    let ladder = Ladder::with_delays(&["1h"]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    let function = world.payments(&[("CONCURRENCY", "3")]);
    let ids = fresh_ids("stopped", 12);
    let (outcome, ()) = tokio::join!(function.invoke(event(&records(&world, &ids))), async {
        until(PATIENCE, "three payments run", async || {
            is(&gateway.in_flight(), &3)
        })
        .await;
        function.stop(PATIENCE).await;
    });
    let reply = Some(Reply::Answer(answered(outcome)));
    assert_eq!(account(reply, &ids, &gateway.charges()), 3);
}
