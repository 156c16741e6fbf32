//! What CloudWatch is told of invocations of the real binary: a mixed batch, and a wait that is no fault.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::time::Duration;

use local::invoke::Invoke;
use pipeline::Topic;
use serde_json::Value;

use crate::harness::binaries;
use crate::harness::cluster::Cluster;
use crate::harness::event::{Sent, event, handed_back};
use crate::harness::gateway::{Gateway, Ruling};
use crate::harness::ladder::Ladder;
use crate::harness::payment::{fresh_ids, payment};
use crate::harness::world::{World, answered};

async fn world() -> (Gateway, World) {
    let gateway = Gateway::start(|asked| match asked.mode.as_str() {
        "ok" => Ruling::Charge(Duration::ZERO),
        "permanent" => Ruling::Refuse(402, "declined".to_owned()),
        _ => Ruling::Refuse(503, "down".to_owned()),
    })
    .await;
    let ladder = Ladder::with_delays(&["1h"]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    (gateway, world)
}

/// Returns the lines among a function's logs that are metrics.
fn lines(world: &World) -> Vec<Value> {
    let mut logs = world.lines.logs("payments");
    logs.retain(|line| line["_aws"].is_object());
    logs
}

/// Returns every count that lines tell, as `Name` or `Name by what`, after a look at the lines themselves.
fn counts(lines: &[Value]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for line in lines {
        let [directive] = line["_aws"]["CloudWatchMetrics"]
            .as_array()
            .unwrap()
            .as_slice()
        else {
            panic!("{line}")
        };
        assert_eq!(directive["Namespace"], "BrewPayments");
        assert_eq!(line["Function"], "payments");
        for metric in directive["Metrics"].as_array().unwrap() {
            let name = metric["Name"].as_str().unwrap();
            if metric["Unit"] != "Count" {
                continue;
            }
            let by = ["Reason", "ErrorCode"].map(|by| line[by].as_str());
            let words: Vec<&str> = [Some(name)].into_iter().chain(by).flatten().collect();
            counts.insert(words.join(" "), line[name].as_u64().unwrap());
        }
    }
    counts
}

#[track_caller]
fn assert_counts(lines: &[Value], expected: &[(&str, u64)]) {
    let expected = expected.iter();
    let expected: BTreeMap<String, u64> = expected
        .map(|(name, many)| ((*name).to_owned(), *many))
        .collect();
    assert_eq!(counts(lines), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mixed_batch_is_told_to_cloudwatch_by_what_became_of_each_record() {
    let (_gateway, world) = world().await;
    let function = world.payments(&[]);
    let strange: Topic = "strange".parse().unwrap();
    let ids = fresh_ids("counted", 6);
    let main = &world.ladder.main;
    let sent = |topic, nth: usize, key, mode| {
        let offset = i64::try_from(nth).unwrap();
        Sent::new(topic, offset, key, payment(&ids[nth], mode))
    };
    let records = [
        sent(main, 0, &ids[0], "ok"),
        sent(main, 1, &ids[1], "ok"),
        sent(main, 2, &ids[2], "transient"),
        sent(main, 3, &ids[3], "permanent"),
        // No stage reads this topic, and the second record waits for the first.
        sent(&strange, 4, "one-key", "ok"),
        sent(&strange, 5, "one-key", "ok"),
    ];
    let answer = answered(function.invoke(event(&records)).await);
    assert_eq!(handed_back(&answer), ["0/4", "0/5"]);
    let lines = lines(&world);
    assert_counts(
        &lines,
        &[
            ("RecordsDone", 2),
            ("RecordsForwarded", 1),
            ("RecordsDeadLettered", 1),
            ("RecordsFaulted", 1),
            ("RecordsWaiting", 1),
            ("Failures next-retry provider.unavailable", 1),
            ("Failures permanent provider.declined", 1),
        ],
    );
    let charges = lines[0]["ChargeLatency"].as_array().unwrap();
    assert_eq!(charges.len(), 4);
    let ages = lines[0]["Lateness"].as_array().unwrap();
    assert_eq!(ages.len(), 4, "what no stage reads is late for nothing");
    let text = serde_json::to_string(&lines).unwrap();
    for id in &ids {
        assert!(!text.contains(id), "{text}");
    }
    let logs = world.lines.logs("payments");
    assert!(logs.iter().any(|line| line["message"] == "batch"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_fails_its_invocation_is_no_fault_in_the_metrics() {
    let (_gateway, world) = world().await;
    let more = [("GATEWAY_TIMEOUT", "1s"), ("BATCH_FAILURES", "raise")];
    let settings = world
        .settings("payments", binaries::payments(), &more)
        .with_concurrency(NonZeroUsize::MIN)
        .with_timeout(Duration::from_secs(7));
    let function = world.function(settings);
    let ids = fresh_ids("waiting", 1);
    let record = Sent::new(world.ladder.retry(0), 0, &ids[0], payment(&ids[0], "ok"));
    let outcome = function.invoke(event(&[record])).await;
    assert!(matches!(outcome, local::invoke::Outcome::Failed(_)));
    let lines = lines(&world);
    assert_counts(&lines, &[("RecordsWaiting", 1)]);
    assert_eq!(lines[0]["hand_backs"]["not-due"], 1);
    let logs = world.lines.logs("payments");
    let told = logs.iter().find(|line| line["reason"] == "not-due");
    assert_eq!(told.unwrap()["level"], "INFO", "nobody has to act on it");
}
