//! What has become of a run's payments.

use kafka::Producer;
use lambda::{Broker, Objects};
use pipeline::headers::names;
use pipeline::{Incident, Masker, Outgoing, Record};
use serde_json::{Value, json};

use crate::bench::{Bench, DLQ, LADDER, MAIN, run, topic};
use crate::status::commit;

/// Forwards a record as a function does: same key, same value, `replay.*` carried on.
async fn forward(bench: &Bench, record: &Record, to: &str) {
    let outgoing = Outgoing {
        topic: topic(to),
        key: record.key.clone(),
        value: record.value.clone(),
        headers: record.headers.clone(),
    };
    let producer = Producer::new(bench.connection());
    producer.produce(&outgoing).await.unwrap();
}

async fn status(bench: &Bench, id: &str) -> Value {
    let line = ["replay", "--json", "--status", id];
    bench.run(&line).await.check(0, &[]).json()
}

fn counts(told: &Value) -> [u64; 4] {
    ["published", "went_through", "waiting", "dead_again"].map(|name| told[name].as_u64().unwrap())
}

pub(crate) async fn check_standing(bench: &Bench) {
    let letters = ["a", "b", "c", "d", "e"].map(|key| (key, "transient", "provider.timeout"));
    bench.dead_letters(&letters).await;
    let line = ["replay", "--json", "--yes", "--all"];
    let ran = bench.run(&line).await.check(0, &[]).json();
    let id = ran["replay_id"].as_str().unwrap();

    // Nothing is done yet, and who would do it has committed nothing.
    let told = status(bench, id).await;
    assert_eq!(
        (counts(&told), &told["unsure"]),
        ([5, 0, 0, 0], &json!([MAIN]))
    );
    assert_eq!(
        (&told["unknown"], &told["over"]),
        (&json!(5), &json!(false))
    );
    commit(&bench.connection(), "payments", MAIN, &[0, 0]);
    let told = status(bench, id).await;
    assert_eq!(
        (counts(&told), &told["over"]),
        ([5, 0, 5, 0], &json!(false))
    );
    assert_eq!(told["unsure"], Value::Null);

    // Main is done with all: two went through, two climbed, one died at once; of the two one died later.
    let sent = bench.records(MAIN).await;
    commit(&bench.connection(), "payments", MAIN, &[9, 9]);
    let of = |key: &str| {
        let found = sent
            .iter()
            .find(|record| record.key.as_deref() == Some(key.as_bytes()));
        found.unwrap().clone()
    };
    forward(bench, &of("a"), LADDER[1]).await;
    commit(&bench.connection(), "payments", LADDER[1], &[9, 9]);
    forward(bench, &of("a"), DLQ).await;
    forward(bench, &of("b"), DLQ).await;
    forward(bench, &of("c"), LADDER[3]).await;
    let died = bench.records(DLQ).await;
    let again = |key: &str| {
        let mut found = died.iter().rev();
        let found = found.find(|record| record.key.as_deref() == Some(key.as_bytes()));
        found.unwrap()
    };
    let incident = Incident::of(again("a"), &Masker::default());
    let key = incident.key().to_owned();
    bench.bucket().put_new(&key, incident.json()).await.unwrap();
    let told = status(bench, id).await;
    assert_eq!(
        (counts(&told), &told["over"]),
        ([5, 2, 1, 2], &json!(false))
    );
    let dead = told["dead"].as_array().unwrap();
    let named = |wanted: &str| dead.iter().find(|dead| dead["key"] == wanted).unwrap();
    assert_eq!(named("a")["incident"], key);
    assert_eq!(named("a")["at"], again("a").coordinates.to_string());
    assert_eq!(named("b")["incident"], Value::Null);
    assert_eq!(told["waits"][0]["key"], "c");
    assert!(told["waits"][0]["due"].is_string());

    commit(&bench.connection(), "payments", LADDER[3], &[9, 9]);
    let told = status(bench, id).await;
    assert_eq!((counts(&told), &told["over"]), ([5, 3, 0, 2], &json!(true)));
}

#[tokio::test]
async fn a_run_tells_what_has_become_of_its_payments() {
    let bench = Bench::with(&LADDER).await;
    check_standing(&bench).await;
}

/// Who reads `orders`, and how far, is not what the payments' ladder tells.
#[tokio::test]
async fn a_run_to_a_topic_that_is_no_stage_does_not_claim_that_anything_went_through() {
    let bench = Bench::with(&[&LADDER[..], &["orders", "orders.dlq"]].concat()).await;
    let mut env = bench.env();
    env.push(("REPLAY_TARGETS", format!("{MAIN},orders")));
    bench
        .dead_letters_in(
            "orders.dlq",
            &[
                ("a", "transient", "provider.timeout"),
                ("b", "permanent", "payload.malformed"),
            ],
        )
        .await;
    let line = [
        "replay",
        "--json",
        "--yes",
        "--all",
        "--from-topic",
        "orders.dlq",
        "--to-topic",
        "orders",
    ];
    let ran = run(&env, None, &line).await.check(0, &[]).json();
    assert_eq!(ran["published"], 2);
    let id = ran["replay_id"].as_str().unwrap();
    let told = status(&bench, id).await;
    assert_eq!((counts(&told), &told["unknown"]), ([2, 0, 0, 0], &json!(2)));
    assert_eq!(
        (&told["over"], &told["unsure"]),
        (&json!(false), &json!(["orders"]))
    );
    // What is dead again is known all the same.
    let sent = bench.records("orders").await;
    forward(&bench, &sent[0], "orders.dlq").await;
    let told = status(&bench, id).await;
    assert_eq!((counts(&told), &told["unknown"]), ([2, 0, 0, 1], &json!(1)));
}

#[tokio::test]
async fn a_partition_of_which_nothing_is_committed_has_nothing_done() {
    let bench = Bench::with(&LADDER).await;
    let letters = ["a", "b", "c", "d", "e"].map(|key| (key, "transient", "provider.timeout"));
    bench.dead_letters(&letters).await;
    let line = ["replay", "--json", "--yes", "--all"];
    let ran = bench.run(&line).await.check(0, &[]).json();
    let id = ran["replay_id"].as_str().unwrap();
    commit(&bench.connection(), "payments", MAIN, &[9]);
    let sent = bench.records(MAIN).await;
    let first = sent
        .iter()
        .filter(|record| record.coordinates.partition.get() == 0);
    let done = u64::try_from(first.count()).unwrap();
    assert!((1..5).contains(&done), "{done}");
    let told = status(&bench, id).await;
    assert_eq!(
        (counts(&told), &told["over"]),
        ([5, done, 5 - done, 0], &json!(false))
    );
}

#[tokio::test]
async fn an_incident_counts_also_when_its_dead_letter_is_gone() {
    let bench = Bench::with(&LADDER).await;
    bench
        .dead_letters(&[("a", "transient", "provider.timeout")])
        .await;
    let line = ["replay", "--json", "--yes", "--all"];
    let ran = bench.run(&line).await.check(0, &[]).json();
    let id = ran["replay_id"].as_str().unwrap();
    let mut record = bench.records(MAIN).await.remove(0);
    record.coordinates = format!("{DLQ}/0/77").parse().unwrap();
    let incident = Incident::of(&record, &Masker::default());
    let key = incident.key().to_owned();
    bench.bucket().put_new(&key, incident.json()).await.unwrap();
    let told = status(&bench, id).await;
    assert_eq!(counts(&told), [1, 0, 0, 1]);
    assert_eq!(told["dead"][0]["incident"], key);
    // One of another run does not count.
    record.headers.set(names::REPLAY_ID, "other");
    record.coordinates = format!("{DLQ}/0/78").parse().unwrap();
    let other = Incident::of(&record, &Masker::default());
    let key = other.key().to_owned();
    bench.bucket().put_new(&key, other.json()).await.unwrap();
    assert_eq!(counts(&status(&bench, id).await), [1, 0, 0, 1]);
}

#[tokio::test]
async fn a_run_that_is_not_known_is_named() {
    let bench = Bench::with(&LADDER).await;
    let check = async |id: &str, named: &str| {
        let line = ["replay", "--json", "--status", id];
        bench.run(&line).await.check(2, &[named]);
    };
    check("run-1", "there is no replays/run-1/run.json").await;
    check("../x", "status is not the replay_id of a run").await;
    check("", "status is not the replay_id of a run").await;
    let beside = ["replay", "--status", "run-1", "--all"];
    bench.run(&beside).await.check(2, &["--all"]);
}
