//! The replay function's real binary: killed, doubled, planned, and over a hundred thousand dead letters.

use std::collections::BTreeSet;
use std::fs::File;
use std::time::Duration;

use local::lambda_api::Reply;
use nix::sys::signal::Signal;
use pipeline::Topic;
use rdkafka::ClientConfig;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use serde_json::{Value, json};

use crate::harness::bare::Bare;
use crate::harness::binaries;
use crate::harness::cluster::{Cluster, Seed};
use crate::harness::gateway::Gateway;
use crate::harness::ladder::Ladder;
use crate::harness::payment::fresh_ids;
use crate::harness::world::World;
use crate::harness::{is, now_ms, until};

const PATIENCE: Duration = Duration::from_mins(1);
const MINUTE: Duration = Duration::from_mins(1);

const HEADERS: [(&str, Option<&[u8]>); 3] = [
    ("error.class", Some(b"transient")),
    ("error.code", Some(b"provider.unavailable")),
    ("retry.count", Some(b"0")),
];

async fn world(cluster: Cluster, gateway: &str) -> World {
    World::new(cluster, Ladder::with_delays(&[]), gateway).await
}

/// Lets so many payments die; returns their ids.
async fn die(world: &World, count: usize) -> BTreeSet<String> {
    let ids = fresh_ids("dead", count);
    let dlq = &world.ladder.dlq;
    world.cluster.pay_with(dlq, &ids, |_| "ok", &HEADERS).await;
    ids.into_iter().collect()
}

async fn process(world: &World) -> Bare {
    let process = Bare::start(&binaries::replay(), world.env(&[])).await;
    process.ready().await;
    process
}

async fn ask(process: &Bare, payload: &Value, time: Duration) -> Value {
    match process.invoke(payload.to_string().into(), time).await {
        Some(Reply::Answer(answer)) => serde_json::from_slice(&answer).unwrap(),
        other => panic!("{payload}: {other:?}"),
    }
}

/// Goes on by tokens until a run is complete; returns the answers in which it got on.
async fn ask_to_the_end(process: &Bare, payload: Value, time: Duration) -> Vec<Value> {
    let (mut payload, mut time) = (payload, time);
    let mut answers = Vec::new();
    loop {
        let answer = ask(process, &payload, time).await;
        payload = json!({ "resume": answer["resume"] });
        let complete = answer["complete"] == true;
        assert!(complete || answer["stopped"] == "deadline", "{answer}");
        if complete || answer["matched"] != 0 {
            answers.push(answer);
        } else {
            // A machine with other work to do may need more only to begin.
            time += Duration::from_millis(300);
        }
        if complete {
            return answers;
        }
    }
}

fn sum(answers: &[Value], field: &str) -> u64 {
    answers
        .iter()
        .filter_map(|answer| answer[field].as_u64())
        .sum()
}

/// Returns the keys of all that a topic holds, in no order.
async fn keys(world: &World, topic: &Topic) -> Vec<String> {
    let records = world.cluster.records(topic).await.into_iter();
    records
        .map(|record| String::from_utf8(record.key.unwrap().to_vec()).unwrap())
        .collect()
}

/// Makes the lease look as if a minute had passed: its age is what the store's own clock says.
fn age_lease(world: &World) {
    let lease = format!("replays/_lease/{}.json", world.ladder.dlq);
    if let Ok(file) = File::open(world.store.folder().join(lease)) {
        let written = file.metadata().unwrap().modified().unwrap();
        file.set_modified(written - Duration::from_secs(62))
            .unwrap();
    }
}

/// Numbers that look random and are the same in every run.
fn seeded(seed: u64, most: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x ^= x >> 31;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x >> 11) % most
}

/// Rows 80 and 89: `kill -9` in the middle of a replay of 1,000, at 20 points.
#[tokio::test(flavor = "multi_thread")]
async fn a_replay_that_is_killed_anywhere_loses_nothing_and_repeats_at_most_a_chunk() {
    let gateway = Gateway::answering_in(Duration::ZERO).await;
    let mut charged = false;
    for point in 0..20 {
        let world = world(Cluster::embedded(), &gateway.url()).await;
        let ids = die(&world, 1_000).await;
        let mut killed = process(&world).await;
        let payload = json!({ "all": true, "rate_per_second": 1_000 });
        let after = Duration::from_millis(seeded(point + 1, 1_200));
        tokio::select! {
            _ = killed.invoke(payload.to_string().into(), MINUTE) => {}
            () = tokio::time::sleep(after) => killed.signal(Signal::SIGKILL),
        }
        if killed.has_asked().await {
            killed.signal(Signal::SIGKILL);
        }
        killed.ended().await;
        let before = keys(&world, &world.ladder.main).await.len();
        age_lease(&world);
        let second = process(&world).await;
        let payload = json!({ "all": true, "rate_per_second": 0 });
        let answer = ask(&second, &payload, MINUTE).await;
        assert_eq!(answer["complete"], true, "{answer}");
        let back = keys(&world, &world.ladder.main).await;
        let distinct: BTreeSet<String> = back.iter().cloned().collect();
        assert_eq!(distinct, ids, "killed after {after:?}");
        let doubled = back.len() - ids.len();
        assert!(
            doubled <= 500,
            "killed after {after:?}: {doubled} twice, {before} before"
        );
        if doubled > 0 && !charged {
            charged = true;
            check_charged_once(&world, &gateway, &ids).await;
        }
    }
    assert!(charged, "no kill fell between publishing and the ledger");
}

/// A payment that went back twice is charged once: the handler asks the provider about replayed payments.
async fn check_charged_once(world: &World, gateway: &Gateway, ids: &BTreeSet<String>) {
    let settings = world.settings("payments", binaries::payments(), &[]);
    let mapped = world.map(settings, &world.ladder.main);
    until(PATIENCE, "every payment is charged", async || {
        let charges = gateway.charges();
        let missing = ids.iter().filter(|id| !charges.contains_key(*id)).count();
        is(&missing, &0)
    })
    .await;
    let idle = mapped.mapping.idle_for(Duration::from_secs(1));
    tokio::time::timeout(PATIENCE, idle).await.unwrap().unwrap();
    let charges = gateway.charges();
    assert!(ids.iter().all(|id| charges[id] == 1));
}

/// Row 77.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_replays_at_once_one_works_and_the_other_says_which() {
    let world = world(Cluster::embedded(), "http://127.0.0.1:1").await;
    let ids = die(&world, 60).await;
    let (first, second) = (process(&world).await, process(&world).await);
    let payload = json!({ "all": true, "rate_per_second": 10 });
    let (answer, ()) = tokio::join!(ask(&first, &payload, MINUTE), async {
        until(PATIENCE, "the first has begun", async || {
            let begun = !world.cluster.records(&world.ladder.main).await.is_empty();
            is(&begun, &true)
        })
        .await;
        let refused = second.invoke(payload.to_string().into(), MINUTE).await;
        let Some(Reply::Error {
            error_type,
            message,
        }) = refused
        else {
            panic!("{refused:?}");
        };
        assert_eq!(error_type, "ReplayBusy");
        let runs = world.store.objects("replays/").await;
        let run = runs.iter().find(|(key, _)| key.ends_with("/run.json"));
        let (_, run) = run.unwrap();
        assert_eq!(run["state"], "running");
        assert!(
            message.contains(run["replay_id"].as_str().unwrap()),
            "{message}"
        );
        // Told to stop it answers at once, and gives its lease back.
        first.signal(Signal::SIGTERM);
    });
    assert_eq!(answer["stopped"], "stop");
    let payload = json!({ "resume": answer["resume"], "rate_per_second": 0 });
    let rest = ask(&second, &payload, MINUTE).await;
    assert_eq!(rest["complete"], true);
    let back = keys(&world, &world.ladder.main).await;
    assert_eq!((back.len(), back.into_iter().collect()), (60, ids));
}

/// Rows 76 and 83, and what transactions leave behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_on_apache_kafka_is_what_was_committed_when_it_was_made() {
    let Some(cluster) = Cluster::kafka().await else {
        return;
    };
    let world = world(cluster, "http://127.0.0.1:1").await;
    aborted(&world);
    let ids = die(&world, 100).await;
    let open = transaction(&world);
    let replay = process(&world).await;
    let dry = ask(&replay, &json!({ "dry_run": true }), MINUTE).await;
    assert_eq!(
        (&dry["to_publish"], &dry["complete"]),
        (&json!(100), &json!(true))
    );
    assert_eq!(
        dry["held_back"],
        json!([format!("{}/0", world.ladder.dlq)]),
        "{dry}"
    );
    open.commit_transaction(PATIENCE).unwrap();
    die(&world, 50).await;
    let payload = json!({ "plan": dry["plan"], "rate_per_second": 0 });
    let run = ask(&replay, &payload, MINUTE).await;
    assert_eq!(
        (&run["matched"], &run["published"], &run["complete"]),
        (&json!(100), &json!(100), &json!(true))
    );
    let back = keys(&world, &world.ladder.main).await;
    assert_eq!((back.len(), back.into_iter().collect()), (100, ids));
    let rest = json!({ "all": true, "rate_per_second": 0 });
    let rest = ask(&replay, &rest, MINUTE).await;
    assert_eq!(
        (&rest["published"], &rest["skipped"]["already-replayed"]),
        (&json!(51), &json!(100))
    );
    assert_eq!(rest.get("held_back"), None);
}

/// Begins a transaction with one dead letter in partition 0.
fn transaction(world: &World) -> BaseProducer {
    let dlq = world.ladder.dlq.as_str();
    let producer: BaseProducer = ClientConfig::new()
        .set("bootstrap.servers", world.cluster.address())
        .set("transactional.id", dlq)
        .create()
        .unwrap();
    producer.init_transactions(PATIENCE).unwrap();
    producer.begin_transaction().unwrap();
    let record = BaseRecord::to(dlq).partition(0).key("open").payload("{}");
    producer.send(record).map_err(|(error, _)| error).unwrap();
    producer.flush(PATIENCE).unwrap();
    producer
}

fn aborted(world: &World) {
    transaction(world).abort_transaction(PATIENCE).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_dead_letters_on_apache_kafka_go_back_in_bounded_memory() {
    const COUNT: usize = 100_000;
    let Some(cluster) = Cluster::kafka().await else {
        return;
    };
    let world = world(cluster, "http://127.0.0.1:1").await;
    die(&world, COUNT).await;
    let replay = process(&world).await;
    // Far less time than a function would get, and less than this machine needs for all.
    let mut work = Duration::from_secs(2);
    let dry = loop {
        // A dry run stops reading 1.5 s before its deadline.
        let time = Duration::from_millis(1_500) + work;
        let dry = ask_to_the_end(&replay, json!({ "dry_run": true }), time).await;
        if dry.len() > 1 {
            break dry;
        }
        work /= 2;
    };
    assert_eq!(sum(&dry, "to_publish"), 100_000);
    let (last, before) = dry.split_last().unwrap();
    assert!(before.iter().all(|answer| answer.get("plan").is_none()));
    die(&world, 10).await;
    let payload = json!({ "plan": last["plan"], "rate_per_second": 0 });
    // A run stops sending 8 s before its deadline, and sends more slowly than a dry run reads.
    let time = Duration::from_secs(8) + work * 2;
    let run = ask_to_the_end(&replay, payload, time).await;
    assert!(run.len() > 1, "{run:?}");
    assert_eq!(
        (sum(&run, "matched"), sum(&run, "published")),
        (100_000, 100_000)
    );
    let run_record = format!("replays/{}/run.json", run[0]["replay_id"].as_str().unwrap());
    let (_, record) = &world.store.objects(&run_record).await[0];
    assert_eq!(
        (&record["state"], &record["counts"]["published"]),
        (&json!("complete"), &json!(100_000))
    );
    // The ledger of it all is read, and spares it all.
    let again = json!({ "all": true, "rate_per_second": 0 });
    let again = ask_to_the_end(&replay, again, MINUTE).await;
    assert_eq!(sum(&again, "published"), 10);
    let peak = replay.peak_kib();
    assert!(peak < 150 * 1_024, "{peak} KiB");
    eprintln!(
        "{} and {} invocations, at most {peak} KiB",
        dry.len(),
        run.len()
    );
    let back = keys(&world, &world.ladder.main).await;
    assert_eq!(back.len(), COUNT + 10);
}

/// What the template's schedule asks for, as it stands there: first that of everything, then that of transient ones alone.
fn watches() -> Vec<&'static str> {
    let lines = include_str!("../template.yaml").lines();
    let watches = lines.filter_map(|line| line.trim().strip_prefix("- '{\"dry_run\""));
    let watches: Vec<&str> = watches.collect();
    assert_eq!(watches.len(), 2, "{watches:?}");
    watches
}

#[tokio::test(flavor = "multi_thread")]
async fn the_watch_over_old_dead_letters_tells_cloudwatch_how_old_the_oldest_is() {
    const DAY_MS: i64 = 86_400_000;
    let world = world(Cluster::embedded(), "http://127.0.0.1:1").await;
    for (class, days) in [("permanent", 9), ("transient", 6), ("transient", 8)] {
        let dead = Seed {
            value: Some(b"{}"),
            headers: &[("error.class", Some(class.as_bytes()))],
            timestamp: Some(now_ms() - days * DAY_MS),
            ..Seed::default()
        };
        world.cluster.produce(&world.ladder.dlq, &[dead]).await;
    }
    let mut replay = process(&world).await;
    for watch in watches() {
        let payload = format!("{{\"dry_run\"{}", watch.trim_end_matches('\''));
        ask(&replay, &payload.parse().unwrap(), MINUTE).await;
    }
    replay.signal(Signal::SIGKILL);
    let (_, log) = replay.ended().await;
    let lines = log.iter().filter_map(|line| line.parse::<Value>().ok());
    let told: Vec<[Option<i64>; 2]> = lines
        .filter(|line| line["_aws"].is_object())
        .map(|line| {
            ["UnreplayedTransientAge", "UnreplayedOtherAge"]
                .map(|age| Some(line[age][0].as_i64()? / DAY_MS))
        })
        .collect();
    assert_eq!(told, [[Some(8), Some(9)], [Some(8), None]], "{log:?}");
}
