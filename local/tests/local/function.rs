//! Sandboxes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use local::function::{Function, FunctionSettings, Program, Stream};
use local::invoke::{Fault, Invoke, Outcome};
use tokio::time::Instant;

use crate::scripted::{Scripted, sandboxes, scripted, scripted_with};

const EVENT: Bytes = Bytes::from_static(b"{}");

/// Invokes a function with a script as often as there are expected outcomes.
async fn check(script: &[&str], expected: &[Outcome]) -> Scripted {
    let scripted = scripted(script);
    for outcome in expected {
        assert_eq!(
            scripted.function.invoke(EVENT).await,
            *outcome,
            "{script:?}"
        );
    }
    scripted
}

fn answered(text: &'static str) -> Outcome {
    Outcome::Answered(Bytes::from_static(text.as_bytes()))
}

fn crash(outcome: Outcome) -> String {
    let Outcome::Failed(Fault::Crashed(how)) = outcome else {
        panic!("{outcome:?}");
    };
    how
}

async fn init_fault(scripted: &Scripted) -> String {
    let outcome = scripted.function.invoke(EVENT).await;
    let Outcome::Failed(Fault::Init(problem)) = outcome else {
        panic!("{outcome:?}");
    };
    problem
}

#[tokio::test]
async fn an_answer_comes_back_byte_for_byte() {
    for text in [
        "answer {\"a\":1}",
        "answer not json",
        "answer ",
        "answer null",
    ] {
        let expected = answered(text.strip_prefix("answer ").unwrap());
        check(&[text], &[expected]).await;
    }
}

#[tokio::test]
async fn an_error_that_the_function_reports_is_no_crash_and_keeps_the_process() {
    let error = Outcome::Failed(Fault::Error {
        error_type: "Scripted".to_owned(),
        message: "no luck".to_owned(),
    });
    let mut scripted = check(&["error no luck", "answer 2"], &[error, answered("2")]).await;
    scripted.function.stop(Duration::from_secs(2)).await;
    let mut starts = 0;
    while let Ok(line) = scripted.lines.try_recv() {
        starts += i32::from(line.text == "started");
    }
    assert_eq!(starts, 1);
}

#[tokio::test]
async fn a_process_that_ends_midway_has_crashed_and_the_next_one_finds_its_directory() {
    let scripted = check(&["crash", "crash", "marks"], &[]).await;
    for _ in 0..2 {
        let how = crash(scripted.function.invoke(EVENT).await);
        assert!(how.contains('7'), "{how}");
    }
    assert_eq!(scripted.function.invoke(EVENT).await, answered("\"2\""));
}

#[tokio::test]
async fn a_process_is_killed_at_its_deadline_and_started_again() {
    let limit = Duration::from_millis(700);
    let scripted = scripted_with(&["hang", "marks"], |settings| settings.with_timeout(limit));
    // Starting the process does not count.
    let started = Instant::now();
    assert_eq!(
        scripted.function.invoke(EVENT).await,
        Outcome::Failed(Fault::TimedOut(limit))
    );
    assert!(started.elapsed() >= limit);
    assert_eq!(scripted.function.invoke(EVENT).await, answered("\"1\""));
}

#[tokio::test]
async fn an_answer_of_more_than_6_mb_counts_as_none() {
    check(
        &["big 6291456", "big 6291457", "answer 3"],
        &[
            Outcome::Answered(vec![b' '; 6_291_456].into()),
            Outcome::Failed(Fault::AnswerTooLarge),
            answered("3"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_function_that_does_not_start_says_why() {
    let problem = init_fault(&scripted(&["init-error KAFKA_BROKERS is not set"])).await;
    assert_eq!(problem, "Init: KAFKA_BROKERS is not set");
    let problem = init_fault(&scripted(&["init-crash"])).await;
    assert!(problem.contains("exit status: 3"), "{problem}");
    let hanging = scripted_with(&["init-hang"], |mut settings| {
        settings.init_timeout = Duration::from_millis(300);
        settings.with_timeout(Duration::from_millis(400))
    });
    let problem = init_fault(&hanging).await;
    assert!(
        problem.contains("within 0.3 s, nor within 0.4 s"),
        "{problem}"
    );
    let nowhere = FunctionSettings::new("nowhere", PathBuf::from("/no/such/program"));
    let (lines, _) = tokio::sync::mpsc::unbounded_channel();
    let nowhere = Function::new(nowhere, None, lines).unwrap();
    let outcome = nowhere.invoke(EVENT).await;
    let Outcome::Failed(Fault::Init(problem)) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(problem.contains("/no/such/program"), "{problem}");
}

#[tokio::test]
async fn a_function_inherits_path_and_home_and_nothing_else() {
    let scripted = scripted_with(&["env"], |settings| {
        settings.with_env([("GATEWAY_URL", "http://x"), ("AWS_REGION", "not-this")])
    });
    let Outcome::Answered(env) = scripted.function.invoke(EVENT).await else {
        panic!("it answers");
    };
    let env: BTreeMap<String, String> = serde_json::from_slice(&env).unwrap();
    let names: Vec<&str> = env.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "AWS_ACCESS_KEY_ID",
            "AWS_DEFAULT_REGION",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
            "AWS_LAMBDA_FUNCTION_NAME",
            "AWS_LAMBDA_FUNCTION_VERSION",
            "AWS_LAMBDA_INITIALIZATION_TYPE",
            "AWS_LAMBDA_LOG_GROUP_NAME",
            "AWS_LAMBDA_LOG_STREAM_NAME",
            "AWS_LAMBDA_RUNTIME_API",
            "AWS_REGION",
            "AWS_SECRET_ACCESS_KEY",
            "EVENTS",
            "GATEWAY_URL",
            "HOME",
            "LANG",
            "MARKER_DIR",
            "PATH",
            "SCRIPT",
            "TMPDIR",
            "TZ",
        ]
    );
    assert_eq!(env["AWS_REGION"], "us-east-1");
    assert_eq!(env["GATEWAY_URL"], "http://x");
    assert!(env["MARKER_DIR"].ends_with("scripted/0"));
}

#[tokio::test]
async fn invocations_run_at_once_up_to_the_number_of_sandboxes_each_in_its_own_directory() {
    let scripted = scripted_with(&["wait 1000"], |settings| {
        settings.with_concurrency(sandboxes(2))
    });
    // Both are warm before time is taken.
    futures_util::future::join(
        scripted.function.invoke(EVENT),
        scripted.function.invoke(EVENT),
    )
    .await;
    let started = Instant::now();
    let invoke = || scripted.function.invoke(EVENT);
    futures_util::future::join3(invoke(), invoke(), invoke()).await;
    let took = started.elapsed();
    assert!(took >= Duration::from_secs(2), "{took:?}");
    assert_eq!(scripted.events().len(), 5);
}

#[tokio::test]
async fn an_init_that_takes_too_long_is_started_again_in_the_time_of_the_invocation() {
    let limit = Duration::from_secs(4);
    let mut slow = scripted_with(&["init-hang", "hang"], |mut settings| {
        settings.init_timeout = Duration::from_millis(300);
        settings.with_timeout(limit)
    });
    let started = Instant::now();
    let outcome = slow.function.invoke(EVENT).await;
    assert_eq!(outcome, Outcome::Failed(Fault::TimedOut(limit)));
    // The second start is not added to the invocation's time.
    let took = started.elapsed();
    assert!(took < limit + Duration::from_millis(600), "{took:?}");
    let mut told = Vec::new();
    while let Ok(line) = slow.lines.try_recv() {
        told.push(line.text);
    }
    let told = told.iter().any(|line| {
        line.starts_with("init took more than 0.3 s; it is started again, now in the time")
    });
    assert!(told);
}

#[tokio::test]
async fn nothing_that_a_process_started_outlives_it() {
    for ends in ["child\ncrash\nanswer 3", "child-end\nanswer 3"] {
        let scripted = scripted(&[ends]);
        let Outcome::Answered(child) = scripted.function.invoke(EVENT).await else {
            panic!("it answers with its child");
        };
        let child = PathBuf::from("/proc").join(std::str::from_utf8(&child).unwrap());
        let is_alive = || {
            let status = std::fs::read_to_string(child.join("status")).unwrap_or_default();
            !status.is_empty() && !status.contains("State:\tZ")
        };
        let ended = async {
            scripted.function.invoke(EVENT).await;
            while is_alive() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let ended = tokio::time::timeout(Duration::from_secs(5), ended).await;
        assert!(ended.is_ok(), "{ends:?}");
        assert_eq!(scripted.function.invoke(EVENT).await, answered("3"));
    }
}

#[tokio::test]
async fn a_line_without_end_comes_in_pieces() {
    let program = Program {
        file: PathBuf::from("sh"),
        arguments: ["-c", "head -c 600000 /dev/zero | tr '\\0' x; exit 3"]
            .map(str::to_owned)
            .to_vec(),
    };
    let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel();
    let function = Function::new(FunctionSettings::new("flood", program), None, sender).unwrap();
    function.invoke(EVENT).await;
    let mut pieces = Vec::new();
    while let Ok(line) = lines.try_recv() {
        pieces.push(line.text.len());
    }
    assert_eq!(pieces, [262_144, 262_144, 75_712]);
}

#[tokio::test]
async fn killed_from_outside_an_invocation_ends_as_a_crash() {
    let scripted = scripted(&["hang", "answer 2"]);
    let function = scripted.function.clone();
    let killer = async {
        while scripted.events().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(function.kill(), 1);
    };
    let (outcome, ()) = futures_util::future::join(scripted.function.invoke(EVENT), killer).await;
    let how = crash(outcome);
    assert!(how.contains("signal: 9"), "{how}");
    assert_eq!(scripted.function.invoke(EVENT).await, answered("2"));
}

#[tokio::test]
async fn an_invocation_that_is_given_up_frees_its_sandbox() {
    let scripted = scripted(&["hang", "answer 2"]);
    let limit = Duration::from_secs(5);
    let given_up = tokio::time::timeout(limit, async {
        tokio::select! {
            outcome = scripted.function.invoke(EVENT) => panic!("{outcome:?}"),
            () = async {
                while scripted.events().is_empty() {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            } => {}
        }
    });
    given_up.await.unwrap();
    assert_eq!(scripted.function.invoke(EVENT).await, answered("2"));
}

#[tokio::test]
async fn lines_tell_their_function_and_stream_and_no_invocation_is_taken_after_a_stop() {
    let mut scripted = check(&["answer 1"], &[answered("1")]).await;
    scripted.function.stop(Duration::from_secs(5)).await;
    let mut lines = Vec::new();
    while let Ok(line) = scripted.lines.try_recv() {
        assert_eq!((&*line.function, line.sandbox), ("scripted", 0));
        lines.push((line.stream, line.text));
    }
    lines.sort_by_key(|(stream, _)| *stream == Stream::Err);
    let expected = [
        (Stream::Out, "started".to_owned()),
        (Stream::Err, "{\"level\":\"INFO\"}".to_owned()),
    ];
    assert_eq!(lines, expected);
    assert!(init_fault(&scripted).await.contains("stopped"));
}
