//! The same by a function behind an endpoint.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::post;
use local::http::HttpServer;
use serde_json::{Value, json};

use crate::bench::{Ran, run};

type Calls = Arc<Mutex<(Vec<(String, Value)>, Vec<(u16, Value)>)>>;

struct Function {
    server: HttpServer,
    calls: Calls,
}

impl Function {
    /// Starts an endpoint that gives these answers.
    async fn answering(answers: &[(u16, Value)]) -> Self {
        let mut answers = answers.to_vec();
        answers.reverse();
        let calls: Calls = Arc::new(Mutex::new((Vec::new(), answers)));
        let routes = Router::new()
            .route("/2015-03-31/functions/{name}/invocations", post(invoked))
            .with_state(Arc::clone(&calls));
        let server = HttpServer::start("127.0.0.1:0".parse().unwrap(), routes)
            .await
            .unwrap();
        Self { server, calls }
    }

    async fn run(&self, input: Option<&str>, line: &[&str]) -> Ran {
        let url = self.server.url();
        run(&[], input, &[&["replay", "--invoke", &url], line].concat()).await
    }

    fn calls(&self) -> Vec<(String, Value)> {
        self.calls.lock().unwrap().0.clone()
    }
}

async fn invoked(
    State(calls): State<Calls>,
    Path(name): Path<String>,
    payload: String,
) -> (StatusCode, String) {
    let mut payload: Value = serde_json::from_str(&payload).unwrap();
    // Chosen here for a run that starts, so that it can be asked for though its answer never comes.
    let id = payload.as_object_mut().unwrap().remove("replay_id");
    let starts = payload
        .get("resume")
        .or_else(|| payload.get("status"))
        .is_none();
    assert_eq!(id.is_some(), starts, "{payload}");
    let (status, answer) = {
        let mut calls = calls.lock().unwrap();
        calls.0.push((name, payload));
        calls.1.pop().unwrap()
    };
    (StatusCode::from_u16(status).unwrap(), answer.to_string())
}

fn answer(published: u64, token: Option<&str>, more: &Value) -> (u16, Value) {
    let mut answer = json!({
        "replay_id": "run-1", "dry_run": false, "matched": published, "published": published,
        "skipped": { "max-replays": 0 }, "failed": 0, "by_error_class": { "transient": published },
        "by_error_code": {}, "bytes": 10,
        "oldest": format!("2025-08-23T07:12:2{published}.000Z"), "newest": format!("2025-08-23T07:12:2{published}.000Z"),
        "sample": [format!("dlq/0/{published}")], "complete": token.is_none(),
    });
    if let Some(token) = token {
        answer["resume"] = token.into();
        answer["stopped"] = "deadline".into();
    }
    for (name, value) in more.as_object().unwrap() {
        answer[name] = value.clone();
    }
    (200, answer)
}

#[tokio::test]
async fn a_run_that_takes_several_invocations_is_driven_to_its_end() {
    let function = Function::answering(&[
        answer(5, Some("t-1"), &json!({})),
        answer(2, Some("t-2"), &json!({})),
        answer(7, None, &json!({})),
    ])
    .await;
    let line = ["--all", "--yes", "--json", "--rate-per-second", "9"];
    let told = function.run(None, &line).await.check(0, &[]).json();
    assert_eq!(
        function.calls(),
        [
            (
                "replay".to_owned(),
                json!({ "all": true, "rate_per_second": 9 })
            ),
            (
                "replay".to_owned(),
                json!({ "resume": "t-1", "rate_per_second": 9 })
            ),
            (
                "replay".to_owned(),
                json!({ "resume": "t-2", "rate_per_second": 9 })
            ),
        ]
    );
    assert_eq!(
        (&told["matched"], &told["published"]),
        (&json!(14), &json!(14))
    );
    assert_eq!(
        (&told["bytes"], &told["by_error_class"]["transient"]),
        (&json!(30), &json!(14))
    );
    assert_eq!(told["oldest"], "2025-08-23T07:12:22.000Z");
    assert_eq!(told["newest"], "2025-08-23T07:12:27.000Z");
    assert_eq!(told["sample"], json!(["dlq/0/5", "dlq/0/2", "dlq/0/7"]));
    assert_eq!(
        (&told["complete"], &told["resume"]),
        (&json!(true), &Value::Null)
    );
}

#[tokio::test]
async fn a_dry_run_that_takes_several_invocations_ends_with_one_plan() {
    let dry = |count: u64, token, more: &Value| {
        let (status, mut dry) = answer(0, token, more);
        dry["dry_run"] = true.into();
        dry["to_publish"] = count.into();
        dry["matched"] = count.into();
        (status, dry)
    };
    let function = Function::answering(&[
        dry(4, Some("t-1"), &json!({})),
        dry(3, None, &json!({ "plan": "run-1@abc" })),
        answer(7, None, &json!({})),
    ])
    .await;
    let ran = function
        .run(Some("yes\n"), &["--all", "--function", "mine"])
        .await;
    ran.check(0, &["Type yes to send back these 7: "]);
    let calls = function.calls();
    assert_eq!(calls[1], ("mine".to_owned(), json!({ "resume": "t-1" })));
    assert_eq!(
        calls[2],
        ("mine".to_owned(), json!({ "plan": "run-1@abc" }))
    );
}

#[tokio::test]
async fn what_a_limit_or_a_fault_has_ended_is_not_driven_on() {
    for (stopped, status) in [("limit", 0), ("broker", 1), ("lease", 1), ("stop", 1)] {
        let mut more = json!({ "stopped": stopped });
        if matches!(stopped, "broker" | "lease") {
            more["fault"] = "away".into();
        }
        let function = Function::answering(&[answer(1, Some("t-1"), &more)]).await;
        let ran = function.run(None, &["--all", "--yes"]).await;
        let url = function.server.url();
        let command = format!("go on with: cargo local replay --invoke {url} --resume t-1");
        assert!(ran.check(status, &[]).out.contains(&command), "{ran:?}");
    }
}

#[tokio::test]
async fn a_failure_on_the_way_tells_how_to_go_on() {
    let busy = json!({ "errorType": "ReplayBusy", "errorMessage": "replay run-2 works on dlq" });
    let function = Function::answering(&[answer(1, Some("t-1"), &json!({})), (500, busy)]).await;
    let ran = function.run(None, &["--all", "--yes", "--json"]).await;
    ran.check(
        1,
        &["ReplayBusy: replay run-2 works on dlq", "--resume t-1"],
    );
    assert_eq!(ran.out, "");
}

#[tokio::test]
async fn what_the_function_refuses_is_wrong_usage() {
    let invalid = json!({ "errorType": "InvalidReplay", "errorMessage": "limit is not" });
    let function = Function::answering(&[(500, invalid), (200, json!({ "odd": 1 }))]).await;
    let ran = function.run(None, &["--limit", "0", "--yes"]).await;
    ran.check(2, &["InvalidReplay: limit is not"]);
    let ran = function.run(None, &["--all", "--yes"]).await;
    ran.check(1, &["is no answer of a replay"]);
}

#[tokio::test]
async fn a_status_is_asked_of_the_function_too() {
    let standing = json!({
        "replay_id": "run-1", "state": "complete", "published": 3, "dead_again": 1, "waiting": 1,
        "went_through": 1, "over": false,
        "dead": [{ "key": "k", "from": "dlq/0/1", "at": "dlq/0/9", "error_code": "provider.declined" }],
        "waits": [{ "from": "dlq/0/2", "at": "retry/0/1", "due": "2025-08-23T07:12:22.000Z" }],
    });
    let function = Function::answering(&[(200, standing)]).await;
    let ran = function.run(None, &["--status", "run-1"]).await;
    assert_eq!(function.calls()[0].1, json!({ "status": "run-1" }));
    for text in [
        "1 went through, 1 wait, 1 are dead again",
        "dlq/0/9",
        "retry/0/1",
    ] {
        assert!(ran.check(0, &[]).out.contains(text), "{text}: {ran:?}");
    }
}

#[tokio::test]
async fn a_function_elsewhere_has_brokers_and_a_bucket_of_its_own() {
    for beside in ["--brokers", "--s3", "--bucket"] {
        let line = ["replay", "--invoke", "http://127.0.0.1:1", beside, "x"];
        run(&[], None, &line).await.check(2, &[beside, "--invoke"]);
    }
    let nobody = ["replay", "--invoke", "http://127.0.0.1:1", "--all", "--yes"];
    run(&[], None, &nobody)
        .await
        .check(1, &["http://127.0.0.1:1"]);
}

/// A rate below one for an invocation's time, or a function with little of it: the same token comes back.
#[tokio::test]
async fn an_invocation_that_brought_nothing_is_not_followed_at_once() {
    let same = answer(0, Some("t-1"), &json!({}));
    let function = Function::answering(&[same.clone(), same, answer(7, None, &json!({}))]).await;
    let began = tokio::time::Instant::now();
    let ran = function.run(None, &["--all", "--yes"]).await;
    ran.check(0, &[]);
    assert!(began.elapsed() >= std::time::Duration::from_secs(1));
}

#[tokio::test]
async fn what_the_places_asked_for_do_not_hold_is_told_and_is_no_success() {
    let missing = json!({ "missing": ["dlq/0/9"] });
    let more = json!({ "missing": ["dlq/0/12"] });
    let function =
        Function::answering(&[answer(1, Some("t-1"), &missing), answer(1, None, &more)]).await;
    let ran = function
        .run(None, &["--records", "dlq/0/1,dlq/0/9", "--yes"])
        .await;
    ran.check(1, &["2 of the places asked for hold no dead letter"]);
    assert!(
        ran.out
            .contains("there is no dead letter at dlq/0/9, dlq/0/12"),
        "{ran:?}"
    );
}
