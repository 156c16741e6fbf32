use lambda::Objects;
use serde_json::json;

use crate::bench::{BUCKET, Bench, LADDER, MAIN, check_brokers_away, check_store_away, run};

/// Three objects of the pipeline and two of others.
async fn filled() -> Bench {
    let bench = Bench::with(&LADDER).await;
    bench
        .incident(0, "2025-08-22T12:00:00Z", "transient", "provider.timeout")
        .await;
    for key in [
        "spill/a.json",
        "replays/b.json",
        "reports/c.json",
        "incidents.txt",
    ] {
        bench.bucket().put_new(key, b"{}".to_vec()).await.unwrap();
    }
    bench
}

async fn left(bench: &Bench) -> Vec<String> {
    let listed = bench.bucket().list("").await.unwrap();
    listed.into_iter().map(|object| object.key).collect()
}

/// The embedded broker has no topic administration: what becomes of topics and groups is tested on a real one.
#[tokio::test]
async fn of_the_bucket_goes_what_is_the_pipeline_s_and_nothing_else() {
    let bench = filled().await;
    let ran = bench.run(&["clean", "--yes", "--json"]).await;
    assert_eq!(
        ran.json()["objects"],
        json!({"incidents/": 1, "spill/": 1, "replays/": 1})
    );
    assert_eq!(left(&bench).await, ["incidents.txt", "reports/c.json"]);
    ran.check(1, &["which groups there are"]);
}

#[tokio::test]
async fn a_person_is_told_what_goes_and_asked() {
    let bench = filled().await;
    for answer in ["", "\n", "no\n", "y\n", "yess\n"] {
        let ran = run(&bench.env(), Some(answer), &["clean"]).await;
        ran.check(
            1,
            &[
                MAIN,
                "brew.payments.dlq",
                BUCKET,
                "spill/",
                "Type yes",
                "nothing was deleted",
            ],
        );
        assert_eq!(ran.out, "");
    }
    assert_eq!(left(&bench).await.len(), 5);
    for answer in ["yes\n", "YES \n"] {
        let ran = run(&bench.env(), Some(answer), &["clean"]).await;
        assert!(!ran.notes.contains("nothing was deleted"), "{ran:?}");
    }
    assert_eq!(left(&bench).await.len(), 2);
}

#[tokio::test]
async fn the_orders_pipeline_goes_only_when_it_is_asked_for() {
    let bench = filled().await;
    for (line, named) in [(&["clean"][..], false), (&["clean", "--orders"], true)] {
        let ran = run(&bench.env(), Some("no\n"), line).await;
        ran.check(1, &["nothing was deleted"]);
        assert_eq!(ran.notes.contains(" orders, orders.dlq "), named, "{ran:?}");
    }
}

#[tokio::test]
async fn where_nobody_can_be_asked_it_refuses() {
    let bench = filled().await;
    bench.run(&["clean"]).await.check(2, &["--yes"]);
    assert_eq!(left(&bench).await.len(), 5);
}

#[tokio::test]
async fn wrong_settings_are_named_before_anyone_is_asked() {
    let ran = run(&[], Some("yes\n"), &["clean"]).await;
    ran.check(2, &["KAFKA_BROKERS", "INCIDENT_BUCKET"]);
    assert!(!ran.notes.contains("Type yes"));
    let same = [("ORDERS_TOPIC", "orders.dlq".to_owned())];
    let ran = run(&same, Some("yes\n"), &["clean", "--orders"]).await;
    ran.check(2, &["KAFKA_BROKERS", "ORDERS_DLQ_TOPIC"]);
}

#[tokio::test]
async fn brokers_that_are_away_are_named_in_time_and_nothing_is_deleted() {
    check_brokers_away(&["clean", "--yes", "--json"]).await;
}

#[tokio::test]
async fn a_store_that_is_away_is_named() {
    let bench = Bench::with(&[]).await;
    let told = check_store_away(&bench, &["clean", "--yes", "--json"])
        .await
        .json();
    assert_eq!(told["objects"], json!(null));
}
