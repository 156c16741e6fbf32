//! What is delivered, and what is told of it.

use serde_json::{Value, json};

use crate::bench::{Bench, Ended, REPORTS, Scripted};

const FAILS_1: &str =
    r#"answer {"batchItemFailures":[{"itemIdentifier":{"partition":"orders-0","offset":1}}]}"#;

/// Returns a failure of the offsets 1 and 3.
const FAILS_1_AND_3: &str = concat!(
    r#"answer {"batchItemFailures":[{"itemIdentifier":{"partition":"orders-0","offset":1}},"#,
    r#"{"itemIdentifier":{"partition":"orders-0","offset":3}}]}"#
);

/// Runs five records of one partition until all is idle.
async fn run(event: &str, script: &[&str], more: &[&str]) -> (Bench, Ended) {
    let function = Scripted {
        id: "Main",
        topic: "orders",
        event,
        script,
    };
    let bench = Bench::new(1, &[function]);
    bench.fill("orders", 5).await;
    let more = [&["--until-idle", "1500ms"], more].concat();
    let ended = bench.run(&["Main"], &more).ended().await;
    ended.check(0, &[]);
    (bench, ended)
}

fn words<'a>(lines: &'a [Value], field: &str) -> Vec<&'a Value> {
    lines.iter().map(|line| &line[field]).collect()
}

#[tokio::test]
async fn each_invocation_is_one_line_of_json_and_all_else_goes_to_standard_error() {
    let (bench, ended) = run(
        REPORTS,
        &[FAILS_1, "error no luck", "answer {}"],
        &["--json"],
    )
    .await;
    let lines = ended.json();
    assert_eq!(words(&lines, "outcome"), ["partial", "error", "done"]);
    let first = &lines[0];
    assert!(first["took_ms"].is_u64());
    let expected = json!({
        "mapping": "Main.Records", "function": "Main", "topic": "orders", "invocation": 1,
        "partitions": [{"partition": 0, "first_offset": 0, "last_offset": 4, "records": 5, "delivery": 1, "committed": 1}],
        "took_ms": first["took_ms"], "outcome": "partial",
        "answer": {"batchItemFailures": [{"itemIdentifier": {"partition": "orders-0", "offset": 1}}]},
    });
    assert_eq!(first, &expected);
    assert_eq!(lines[1]["error"], "the function failed: Scripted: no luck");
    let part = |line: &Value| line["partitions"][0].clone();
    assert_eq!(part(&lines[1])["committed"], Value::Null);
    assert_eq!(
        part(&lines[2]),
        json!({"partition": 0, "first_offset": 1, "last_offset": 4, "records": 4, "delivery": 3, "committed": 5})
    );
    assert_eq!(bench.committed("Main", "orders"), Some(5));
    ended.check(
        0,
        &[
            "template template.yaml",
            "function Main runs as",
            "mapping Main.Records: topic orders",
            "Main[0] | started",
        ],
    );
}

#[tokio::test]
async fn without_json_there_are_plain_lines_and_nothing_on_standard_error() {
    let (_, ended) = run(REPORTS, &["crash", "answer {}"], &[]).await;
    assert_eq!(ended.err, "");
    let text = ended.out.join("\n");
    for words in [
        "Main.Records: reads orders-0",
        "Main.Records #1: orders-0 0–4: CRASHED",
        "exit status: 7",
        "Main.Records #2: orders-0 0–4 (delivery 2): done",
        "orders-0 committed 5",
        "Main[0] | started",
    ] {
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[tokio::test]
async fn a_partial_answer_resumes_at_its_lowest_offset_unless_only_the_items_are_asked_for() {
    let script = [FAILS_1_AND_3, "answer {}"];
    let all = vec![0, 1, 2, 3, 4];
    let (bench, _) = run(REPORTS, &script, &[]).await;
    assert_eq!(
        bench.delivered("Main", "orders"),
        [all.clone(), vec![1, 2, 3, 4]]
    );
    let items = ["--partial-response", "items"];
    let (bench, _) = run(REPORTS, &script, &items).await;
    assert_eq!(bench.delivered("Main", "orders"), [all, vec![1, 3]]);
}

#[tokio::test]
async fn without_report_batch_item_failures_an_answer_is_ignored_and_its_failures_are_told() {
    let (bench, ended) = run("", &[FAILS_1, "answer {}"], &["--json"]).await;
    assert_eq!(bench.delivered("Main", "orders").len(), 1);
    assert_eq!(words(&ended.json(), "outcome"), ["done"]);
    ended.check(0, &["answers ignored", "COUNT AS DONE"]);
}

#[tokio::test]
async fn records_past_finite_retries_are_discarded_loudly() {
    let finite = format!("{REPORTS}\n            MaximumRetryAttempts: 1");
    let (bench, ended) = run(&finite, &["error no", "error no", "answer {}"], &["--json"]).await;
    assert_eq!(bench.committed("Main", "orders"), Some(5));
    ended.check(
        0,
        &[
            "note: ",
            "DISCARDING after 1 retries",
            "DISCARDED offset 0 of orders-0",
        ],
    );
}

#[tokio::test]
async fn a_record_that_comes_for_the_fifth_time_is_told_once_as_poison() {
    let mut script = vec![FAILS_1; 7];
    script.push("answer {}");
    let (_, ended) = run(REPORTS, &script, &["--json"]).await;
    let poison = "offset 1 of orders-0 delivered 5 times: poison record";
    assert_eq!(ended.err.matches(poison).count(), 1, "{}", ended.err);
    assert_eq!(
        ended.err.matches("poison record").count(),
        1,
        "{}",
        ended.err
    );
}

#[tokio::test]
async fn functions_with_a_topic_each_run_together() {
    let function = |id, topic, script| Scripted {
        id,
        topic,
        event: REPORTS,
        script,
    };
    let slow: &[&str] = &["wait 3000"];
    let bench = Bench::new(
        1,
        &[
            function("Main", "orders", slow),
            function("Other", "others", &["answer {}"]),
        ],
    );
    bench.fill("orders", 2).await;
    bench.fill("others", 3).await;
    let words = ["--until-idle", "1500ms", "--json"];
    let ended = bench.run(&["Main", "Other"], &words).ended().await;
    let lines = ended.check(0, &["Other[0] | started"]).json();
    let of = |line: &Value| (line["function"].clone(), line["topic"].clone());
    let told: Vec<_> = lines.iter().map(of).collect();
    // The one that takes long is done later, and until then nothing is idle.
    assert_eq!(
        told,
        [
            (json!("Other"), json!("others")),
            (json!("Main"), json!("orders"))
        ]
    );
    let committed = (
        bench.committed("Main", "orders"),
        bench.committed("Other", "others"),
    );
    assert_eq!(committed, (Some(2), Some(3)));
}
