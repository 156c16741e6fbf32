//! A person is shown what would go, and asked.

use crate::bench::{Bench, LADDER, MAIN, Ran, run};

async fn three() -> Bench {
    let bench = Bench::with(&LADDER).await;
    bench
        .dead_letters(&[
            ("a", "transient", "provider.timeout"),
            ("b", "permanent", "provider.declined"),
            ("c", "transient", "provider.unavailable"),
        ])
        .await;
    bench
}

async fn ask(bench: &Bench, typed: &str, line: &[&str]) -> Ran {
    run(&bench.env(), Some(typed), &[&["replay"], line].concat()).await
}

#[tokio::test]
async fn whoever_says_yes_gets_exactly_what_was_shown() {
    let bench = three().await;
    let line = ["--error-class", "transient", "--json"];
    let ran = ask(&bench, "yes\n", &line).await;
    let shown = [
        "(dry run)",
        "transient 2",
        "provider.timeout 1, provider.unavailable 1",
        "oldest",
        "sample",
        "Type yes to send back these 2: ",
    ];
    let told = ran.check(0, &shown).json();
    assert_eq!(told["published"], 2);
    assert_eq!(bench.records(MAIN).await.len(), 2);
    let run = format!("replays/{}/run.json", told["replay_id"].as_str().unwrap());
    let run = bench.bucket().get(&run).await.unwrap().unwrap();
    let run: serde_json::Value = serde_json::from_slice(&run.body).unwrap();
    assert!(run["plan"].is_string(), "{run}");
}

#[tokio::test]
async fn whoever_says_anything_else_sends_nothing() {
    let bench = three().await;
    for typed in ["", "\n", "y\n", "no\n"] {
        let ran = ask(&bench, typed, &["--all"]).await;
        ran.check(1, &["nothing was sent back", "cargo local replay --plan "]);
        assert_eq!(ran.out, "", "{typed:?}");
    }
    assert!(bench.records(MAIN).await.is_empty());
}

#[tokio::test]
async fn nobody_is_asked_about_nothing_or_about_what_is_refused() {
    let bench = three().await;
    let ran = ask(&bench, "yes\n", &["--key", "nobody"]).await;
    ran.check(0, &["there is nothing to send back"]);
    let ran = ask(&bench, "yes\n", &[]).await;
    ran.check(2, &["all is not true"]);
    assert!(!ran.notes.contains("Type yes"), "{ran:?}");
    assert!(bench.records(MAIN).await.is_empty());
}

#[tokio::test]
async fn where_nobody_can_be_asked_yes_must_be_said_before() {
    let bench = three().await;
    bench
        .run(&["replay", "--all"])
        .await
        .check(2, &["no terminal", "--yes", "--dry-run"]);
    assert!(bench.records(MAIN).await.is_empty());
}

#[tokio::test]
async fn a_limit_and_a_rate_hold_for_what_was_shown_too() {
    let bench = three().await;
    let line = ["--limit", "2", "--rate-per-second", "0", "--json"];
    let told = ask(&bench, "yes\n", &line).await.check(0, &[]).json();
    assert_eq!(
        (&told["published"], &told["complete"]),
        (&2.into(), &true.into())
    );
    let told = ask(&bench, "yes\n", &line).await.check(0, &[]).json();
    assert_eq!(
        (&told["published"], &told["complete"]),
        (&1.into(), &true.into())
    );
    assert_eq!(bench.records(MAIN).await.len(), 3);
}
