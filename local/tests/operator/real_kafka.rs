//! The commands on a real Apache Kafka: what the embedded broker cannot do.

use std::time::Duration;

use lambda::Objects;
use local::kafka_server::{Artefacts, KafkaServer, KafkaSettings};
use local::mapping::group_of;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use serde_json::{Value, json};

use crate::bench::{Bench, LADDER, MAIN, topic};
use crate::replay_status::check_standing;
use crate::status::{commit, stage};

/// Brings Kafka; `None` where it cannot be had, which is an error in CI.
#[expect(
    clippy::disallowed_methods,
    reason = "tests ask their environment whether they run in CI"
)]
async fn artefacts() -> Option<Artefacts> {
    match Artefacts::provide(|line| println!("{line}")).await {
        Ok(artefacts) => Some(artefacts),
        Err(error) => {
            assert!(
                std::env::var("CI").is_err(),
                "CI tests with Kafka: {error:#}"
            );
            println!("not run: {error:#}");
            None
        }
    }
}

fn changes(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap().iter();
    list.map(|changed| changed["change"].as_str().unwrap())
        .collect()
}

/// A member of main's group; it stays as long as it lives.
fn member(bench: &Bench) -> BaseConsumer {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", &bench.brokers)
        .set("group.id", group_of("payments", &topic(MAIN)))
        .set("auto.offset.reset", "latest")
        .set("enable.auto.commit", "false")
        .create()
        .unwrap();
    consumer.subscribe(&[MAIN]).unwrap();
    while consumer.assignment().unwrap().count() == 0 {
        drop(consumer.poll(Duration::from_millis(100)));
    }
    consumer
}

#[tokio::test]
async fn a_pipeline_is_seeded_watched_replayed_and_cleaned_away() {
    let Some(artefacts) = artefacts().await else {
        return;
    };
    let mut server = KafkaServer::start(artefacts, KafkaSettings::default())
        .await
        .unwrap();
    let bench = Bench::on(server.bootstrap_servers()).await;
    let fresh = bench.run(&["status", "--json"]).await.check(0, &[]).json();
    assert_eq!(stage(&fresh, "main")["exists"], false);

    let create = ["topics", "create", "--partitions", "2"];
    bench.run(&create).await.check(0, &[]);
    // The topic of the groups' offsets is only made now.
    bench.run(&["status"]).await.check(0, &[]);
    bench
        .run(&["seed", "--messages", "2000"])
        .await
        .check(0, &[]);
    commit(&bench.connection(), "payments", MAIN, &[400, 0]);
    bench
        .dead_letters(&[
            ("a", "transient", "provider.timeout"),
            ("b", "permanent", "provider.declined"),
        ])
        .await;
    let status = bench.run(&["status", "--json"]).await.check(0, &[]).json();
    let main = stage(&status, "main");
    assert_eq!(
        (&main["records"], &main["lag"]),
        (&json!(2000), &json!(1600))
    );
    assert_eq!(stage(&status, "dlq")["lag"], 2);

    let since = [
        "replay",
        "--json",
        "--yes",
        "--since",
        "1h",
        "--error-class",
        "transient",
    ];
    let told = bench.run(&since).await.check(0, &[]).json();
    assert_eq!(told["published"], 1);
    let later = ["replay", "--json", "--dry-run", "--until", "1h"];
    assert_eq!(bench.run(&later).await.check(0, &[]).json()["matched"], 0);

    bench
        .bucket()
        .put_new("spill/x.json", b"{}".to_vec())
        .await
        .unwrap();
    let busy = member(&bench);
    let ran = bench.run(&["clean", "--yes", "--json"]).await;
    let group = group_of("payments", &topic(MAIN));
    let told = ran.check(1, &["still have members", &group]).json();
    assert_eq!(
        (&told["topics"], &told["groups"]),
        (&Value::Null, &Value::Null)
    );
    let status = bench.run(&["status", "--json"]).await.json();
    assert_eq!(
        stage(&status, "main")["records"],
        2001,
        "nothing was deleted"
    );
    drop(busy);

    let told = bench.run(&["clean", "--yes", "--json"]).await;
    let told = told.check(0, &[]).json();
    assert_eq!(changes(&told["topics"]), ["deleted"; LADDER.len()]);
    let groups = changes(&told["groups"]);
    assert_eq!((groups[0], groups[4]), ("deleted", "absent"));
    let gone = bench.run(&["status", "--json"]).await.check(0, &[]).json();
    assert_eq!(gone, fresh);
    let again = bench.run(&["clean", "--yes", "--json"]).await;
    assert_eq!(
        changes(&again.check(0, &[]).json()["topics"]),
        ["absent"; 5]
    );
    with_orders(&bench).await;
    after_a_replay(&bench).await;
    server.stop().await;
}

/// The topics of the orders pipeline come and go beside the ladder's, when they are asked for.
async fn with_orders(bench: &Bench) {
    let create = [
        "topics",
        "create",
        "--partitions",
        "2",
        "--orders",
        "--json",
    ];
    let created = bench.run(&create).await.check(0, &[]).json();
    let topics = created["topics"].as_array().unwrap();
    let names: Vec<&str> = topics
        .iter()
        .map(|topic| topic["name"].as_str().unwrap())
        .collect();
    assert_eq!(names[..5], LADDER);
    assert_eq!(names[5..], ["orders", "orders.dlq"]);
    let again = bench.run(&create).await.check(0, &[]).json();
    assert_eq!(changes(&again["topics"]), ["existed"; 7]);
    let without = ["topics", "delete", "--json"];
    let deleted = bench.run(&without).await.check(0, &[]).json();
    assert_eq!(changes(&deleted["topics"]), ["deleted"; 5]);
    let clean = ["clean", "--yes", "--orders", "--json"];
    let told = bench.run(&clean).await.check(0, &[]).json();
    assert_eq!(changes(&told["topics"])[5..], ["deleted"; 2]);
    assert_eq!(changes(&told["groups"]), ["absent"; 7]);
    let names: Vec<&str> = told["groups"].as_array().unwrap()[5..]
        .iter()
        .map(|group| group["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["orders.orders", "dlq.orders.dlq"]);
    let delete = ["topics", "delete", "--orders", "--json"];
    let told = bench.run(&delete).await.check(0, &[]).json();
    assert_eq!(changes(&told["topics"]), ["absent"; 7]);
}

/// A run's payments are accounted for, and one of them is found.
async fn after_a_replay(bench: &Bench) {
    let create = ["topics", "create", "--partitions", "2"];
    bench.run(&create).await.check(0, &[]);
    check_standing(bench).await;
    let told = bench.run(&["where", "a", "--json"]).await;
    let told = told.check(0, &[]).json();
    let answer = told["answer"].as_str().unwrap();
    assert!(answer.starts_with("dead in brew.payments.dlq/"), "{told}");
    let stages = told["sightings"].as_array().unwrap().iter();
    let stages: Vec<&str> = stages
        .map(|sighting| sighting["stage"].as_str().unwrap())
        .collect();
    assert_eq!(stages, ["dlq", "main", "retry 30s", "dlq"]);

    // The topic is made anew, and what its offsets meant is not what they mean now.
    let incident = told["incidents"][0]["object"].as_str().unwrap();
    let show = ["incidents", "--json", "--payload", "--show", incident];
    let shown = bench.run(&show).await.check(0, &[]).json();
    assert_eq!(shown["payload"]["text"], "{}");
    bench.run(&["topics", "delete"]).await.check(0, &[]);
    bench.run(&create).await.check(0, &[]);
    bench.run(&show).await.check(1, &["the record is gone"]);
    let letters = ["f", "g", "h", "i", "j", "k", "l", "m", "n", "o"];
    let letters = letters.map(|key| (key, "transient", "provider.timeout"));
    bench.dead_letters(&letters).await;
    bench.run(&show).await.check(1, &["the record is gone"]);
}
