use std::collections::BTreeSet;

use serde_json::json;

use crate::bench::{Bench, LADDER, MAIN, check_brokers_away, run};

#[tokio::test]
async fn payments_of_the_mix_lie_on_main_each_under_a_key_of_its_own() {
    let bench = Bench::with(&LADDER).await;
    let mix = "ok=7,transient=2,permanent=1,broken-json=1,schema=1";
    let line = ["seed", "--messages", "24", "--mix", mix, "--seed", "5"];
    let ran = bench.run(&[&line[..], &["--json"]].concat()).await;
    let told = ran.check(0, &[]).json();
    assert_eq!(
        told,
        json!({
            "topic": MAIN, "seed": 5, "mix": mix, "messages": 24, "produced": 24, "refused": 0,
            "by_kind": {"ok": 14, "transient": 4, "permanent": 2, "broken-json": 2, "schema": 2},
            "first_key": "k-5-1", "last_key": "k-5-24",
        })
    );
    let records = bench.records(MAIN).await;
    let keys: BTreeSet<_> = records.iter().map(|record| record.key.clone()).collect();
    assert_eq!((records.len(), keys.len()), (24, 24));
}

#[tokio::test]
async fn the_same_seed_seeds_the_same_payments() {
    let bench = Bench::with(&LADDER).await;
    let line = ["seed", "--messages", "40", "--seed", "9"];
    bench.run(&line).await.check(0, &[]);
    let first = bench.records(MAIN).await;
    bench.run(&line).await.check(0, &[]);
    let both = bench.records(MAIN).await;
    let values = |records: &[pipeline::Record]| -> BTreeSet<_> {
        records
            .iter()
            .map(|record| (record.key.clone(), record.value.clone()))
            .collect()
    };
    assert_eq!((first.len(), both.len()), (40, 80));
    assert_eq!(values(&first), values(&both));
}

#[tokio::test]
async fn without_a_seed_no_two_runs_share_a_key() {
    let bench = Bench::with(&LADDER).await;
    for _ in 0..2 {
        let ran = bench.run(&["seed", "--messages", "10"]).await;
        assert!(
            ran.check(0, &[])
                .out
                .contains("10 payments to brew.payments.v1")
        );
    }
    let records = bench.records(MAIN).await;
    let keys: BTreeSet<_> = records.iter().map(|record| record.key.clone()).collect();
    assert_eq!(keys.len(), 20);
}

#[tokio::test]
async fn wrong_words_are_wrong_usage_and_named() {
    let check = async |line: &[&str], named: &str| {
        run(&[], None, line).await.check(2, &[named]);
    };
    check(&["seed"], "KAFKA_BROKERS is not set").await;
    check(&["seed", "--brokers", "nowhere"], "nowhere").await;
    check(&["seed", "--messages", "0"], "--messages").await;
    check(&["seed", "--mix", "good=1"], "good").await;
    check(&["seed", "--mix", "ok=0"], "no kind has a share above zero").await;
    check(&["seed", "--seed=-1"], "--seed").await;
}

#[tokio::test]
async fn a_topic_that_is_not_there_is_a_failure_that_names_it() {
    let bench = Bench::with(&[]).await;
    bench.run(&["seed"]).await.check(1, &[MAIN]);
}

#[tokio::test]
async fn brokers_that_are_away_are_named_in_time() {
    let ran = check_brokers_away(&["seed", "--json"]).await;
    assert_eq!(ran.json()["produced"], 0);
}
