use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use serde_json::json;

use crate::bench::{Bench, DLQ, LADDER, MAIN, check_brokers_away, run};

async fn four() -> Bench {
    let bench = Bench::with(&LADDER).await;
    bench
        .dead_letters(&[
            ("a", "transient", "provider.timeout"),
            ("b", "permanent", "provider.declined"),
            ("c", "transient", "provider.unavailable"),
            ("d", "transient", "provider.timeout"),
        ])
        .await;
    bench
}

#[tokio::test]
async fn a_dry_run_counts_and_the_real_run_sends_back_just_that() {
    let bench = four().await;
    let dry = [
        "replay",
        "--json",
        "--error-class",
        "transient",
        "--dry-run",
    ];
    let told = bench.run(&dry).await.check(0, &[]).json();
    assert_eq!(
        (&told["matched"], &told["to_publish"]),
        (&json!(3), &json!(3))
    );
    assert_eq!(told["complete"], true);
    assert!(bench.records(MAIN).await.is_empty());

    let real = [&dry[..4], &["--yes"]].concat();
    let told = bench.run(&real).await.check(0, &[]).json();
    assert_eq!(
        (&told["matched"], &told["published"]),
        (&json!(3), &json!(3))
    );
    let mut keys: Vec<String> = Vec::new();
    for record in bench.records(MAIN).await {
        assert_eq!(record.headers.text("replay.id"), told["replay_id"].as_str());
        assert_eq!(record.headers.text("retry.count"), Some("0"));
        keys.push(String::from_utf8(record.key.unwrap().to_vec()).unwrap());
    }
    keys.sort();
    assert_eq!(keys, ["a", "c", "d"]);
}

#[tokio::test]
async fn every_filter_reaches_the_function() {
    let bench = four().await;
    let records = format!("{DLQ}/0/0,{DLQ}/1/0");
    for (filter, matched) in [
        (vec!["--error-code", "provider.timeout"], 2),
        (vec!["--key", "b"], 1),
        (vec!["--original-topic", "other"], 0),
        (vec!["--since", "1h"], 4),
        (vec!["--until", "1h"], 0),
        (vec!["--from-topic", MAIN, "--to-topic", MAIN, "--all"], -1),
        (vec!["--max-replays", "1", "--rate-per-second", "0"], 4),
        (vec!["--limit", "2"], 2),
        (vec!["--records", &records], 2),
    ] {
        let line = [&["replay", "--json", "--dry-run"], &filter[..]].concat();
        let ran = bench.run(&line).await;
        if matched < 0 {
            ran.check(2, &["to_topic is the same as from_topic"]);
        } else {
            assert_eq!(ran.check(0, &[]).json()["matched"], matched, "{filter:?}");
        }
    }
}

#[tokio::test]
async fn a_limit_ends_with_a_token_that_goes_on() {
    let bench = four().await;
    let told = bench
        .run(&["replay", "--json", "--yes", "--limit", "3"])
        .await;
    let told = told.check(0, &[]).json();
    assert_eq!(
        (&told["published"], &told["stopped"]),
        (&json!(3), &json!("limit"))
    );
    let token = told["resume"].as_str().unwrap();
    let shown = bench.run(&["replay", "--resume", token]).await;
    let mut lines = shown.check(0, &[]).out.lines().map(str::trim);
    let complete = lines.find(|line| line.starts_with("complete"));
    assert!(complete.unwrap().ends_with(" yes"), "{shown:?}");
    assert_eq!(bench.records(MAIN).await.len(), 4);
}

#[tokio::test]
async fn the_table_shows_counts_and_the_token_whole() {
    let bench = four().await;
    let ran = bench.run(&["replay", "--dry-run", "--limit", "1"]).await;
    let out = &ran.check(0, &[]).out;
    for word in [
        "(dry run)",
        "to publish",
        "no (limit)",
        "go on with: cargo local replay --resume ",
    ] {
        assert!(out.contains(word), "{word}: {out}");
    }
    let nothing = bench.run(&["replay", "--dry-run", "--key", "nobody"]).await;
    assert!(nothing.check(0, &[]).out.contains("nothing matched"));
}

#[tokio::test]
async fn nothing_is_replayed_unless_something_is_selected() {
    let bench = four().await;
    bench
        .run(&["replay", "--yes"])
        .await
        .check(2, &["InvalidReplay", "all is not true"]);
    assert!(bench.records(MAIN).await.is_empty());
    let told = bench.run(&["replay", "--yes", "--all", "--json"]).await;
    assert_eq!(told.check(0, &[]).json()["published"], 4);
}

#[tokio::test]
async fn wrong_fields_are_refused_in_the_function_s_own_words() {
    let bench = four().await;
    let check = async |line: &[&str], words: &[&str]| {
        let ran = bench
            .run(&[&["replay", "--json", "--yes"], line].concat())
            .await;
        ran.check(2, words);
        assert_eq!(ran.out, "");
        assert!(!ran.notes.contains("warning:"), "{}", ran.notes);
    };
    check(
        &["--limit", "0"],
        &["limit is not a whole number above zero"],
    )
    .await;
    check(&["--limit", "-1"], &["limit is not"]).await;
    check(&["--limit", "1.5"], &["limit is not"]).await;
    check(&["--limit", "many"], &["limit is not"]).await;
    check(
        &[
            "--rate-per-second",
            "-1",
            "--error-class",
            "bad",
            "--since",
            "x",
        ],
        &[
            "rate_per_second is below zero",
            "error_class is none of",
            "since is neither",
        ],
    )
    .await;
    check(&["--all", "--to-topic", "elsewhere"], &["REPLAY_TARGETS"]).await;
    check(&["--plan", "x"], &["plan is not <replay_id>@<sha256>"]).await;
    check(&["--resume", "x"], &["resume is no token"]).await;
    check(&["--records", "x"], &["records has 1 of 1"]).await;
    check(&["--unknown"], &["--unknown"]).await;
    run(&[], None, &["replay", "--yes", "--all"])
        .await
        .check(2, &["KAFKA_BROKERS"]);
    assert!(bench.records(MAIN).await.is_empty());
}

#[tokio::test]
async fn a_dead_letter_that_the_broker_refuses_is_named_and_a_failure() {
    let bench = four().await;
    let too_large = RDKafkaRespErr::RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE;
    let refusals = move |cluster: &local::broker::Cluster| {
        cluster.request_errors(RDKafkaApiKey::Produce, &[too_large; 2]);
    };
    bench.embedded.as_ref().unwrap().with(refusals).unwrap();
    let ran = bench
        .run(&["replay", "--json", "--yes", "--key", "a"])
        .await;
    ran.check(
        1,
        &[
            "the broker refuses a dead letter",
            DLQ,
            "refuses 1 dead letters",
        ],
    );
    let told = ran.json();
    assert_eq!(
        (&told["failed"], &told["published"]),
        (&json!(1), &json!(0))
    );
}

#[tokio::test]
async fn a_topic_that_is_not_there_is_named() {
    let bench = Bench::with(&[MAIN]).await;
    bench
        .run(&["replay", "--yes", "--all"])
        .await
        .check(1, &[DLQ]);
}

#[tokio::test]
async fn brokers_that_are_away_are_named_in_time() {
    let ran = check_brokers_away(&["replay", "--yes", "--all", "--json"]).await;
    assert_eq!(ran.out, "");
}

#[tokio::test]
async fn a_plan_sends_back_what_was_seen_and_a_second_run_what_is_missing() {
    let bench = four().await;
    let dry = [
        "replay",
        "--json",
        "--dry-run",
        "--error-class",
        "transient",
    ];
    let told = bench.run(&dry).await.check(0, &[]).json();
    let plan = told["plan"].as_str().unwrap();
    let shown = bench.run(&["replay", "--dry-run", "--all"]).await;
    assert!(
        shown
            .out
            .contains("send back exactly these with: cargo local replay --plan ")
    );
    let told = bench
        .run(&["replay", "--json", "--plan", plan])
        .await
        .json();
    assert_eq!(told["published"], 3);
    let rest = bench
        .run(&["replay", "--json", "--yes", "--all"])
        .await
        .json();
    let skipped = &rest["skipped"]["already-replayed"];
    assert_eq!((&rest["published"], skipped), (&json!(1), &json!(3)));
    let again = bench
        .run(&["replay", "--json", "--yes", "--all", "--again"])
        .await;
    assert_eq!(again.json()["published"], 4);
}

#[tokio::test]
async fn a_plan_that_is_not_there_is_a_failure() {
    let bench = four().await;
    let plan = format!("run-1@{}", "0123456789abcdef".repeat(4));
    let ran = bench.run(&["replay", "--plan", &plan]).await;
    ran.check(
        1,
        &["PlanMismatch", "replays/run-1/plan.json", "no such plan"],
    );
}
