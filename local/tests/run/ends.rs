//! How a run ends.

use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::time::Instant;

use crate::bench::{Bench, PATIENCE, REPORTS, Running, Scripted, program};

/// Starts a run whose function never answers, and waits until it is at work.
async fn hanging(event: &str, more: &[&str]) -> (Bench, Running) {
    let function = Scripted {
        id: "Main",
        topic: "orders",
        event,
        script: &["hang"],
    };
    let bench = Bench::new(1, &[function]);
    bench.fill("orders", 3).await;
    let running = if more.is_empty() {
        bench.run(&["Main"], &[])
    } else {
        bench.start(more)
    };
    running.until_said("Main[0] | started").await;
    at_work(&bench).await;
    (bench, running)
}

async fn at_work(bench: &Bench) {
    let given = async {
        while bench.delivered("Main", "orders").is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, given).await.unwrap();
}

async fn check_stops(signal: Signal) {
    let (bench, running) = hanging(REPORTS, &[]).await;
    let told = Instant::now();
    running.signal(signal);
    let ended = running.ended().await;
    ended.check(0, &[]);
    assert!(told.elapsed() < Duration::from_secs(10), "{ended:?}");
    assert!(ended.out.join("\n").contains("CRASHED"), "{ended:?}");
    assert_eq!(bench.committed("Main", "orders"), None);
}

#[tokio::test]
async fn told_to_stop_it_ends_well_and_commits_nothing_that_was_not_answered() {
    check_stops(Signal::SIGINT).await;
    check_stops(Signal::SIGTERM).await;
}

/// A command whose program does not hear when it is asked to end.
fn deaf(bench: &Bench) -> String {
    let file = bench.file("deaf.sh");
    let script = format!("trap '' TERM\nexec {}\n", program().display());
    std::fs::write(&file, script).unwrap();
    format!("--function=Main=sh {}", file.display())
}

async fn start_deaf() -> (Bench, Running) {
    let function = Scripted {
        id: "Main",
        topic: "orders",
        event: REPORTS,
        script: &["hang"],
    };
    let bench = Bench::new(1, &[function]);
    bench.fill("orders", 3).await;
    let running = bench.start(&[&deaf(&bench)]);
    at_work(&bench).await;
    (bench, running)
}

#[tokio::test]
async fn a_function_that_does_not_listen_is_killed_within_ten_seconds() {
    let (_bench, running) = start_deaf().await;
    let told = Instant::now();
    running.signal(Signal::SIGINT);
    let ended = running.ended().await;
    ended.check(0, &[]);
    let took = told.elapsed();
    assert!(took > Duration::from_secs(5), "{took:?}");
    assert!(took < Duration::from_secs(12), "{took:?}");
}

#[tokio::test]
async fn told_twice_it_ends_at_once() {
    let (_bench, running) = start_deaf().await;
    let told = Instant::now();
    running.signal(Signal::SIGINT);
    running.until_said("stopping").await;
    running.signal(Signal::SIGINT);
    running.ended().await.check(1, &["broken off"]);
    assert!(told.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn what_is_answered_while_it_stops_is_committed() {
    let function = Scripted {
        id: "Main",
        topic: "orders",
        event: REPORTS,
        script: &["wait 2000"],
    };
    let bench = Bench::new(1, &[function]);
    bench.fill("orders", 3).await;
    // It does not hear SIGTERM either, so that it goes on to its answer as a function does that has nothing to hand back.
    let running = bench.start(&[&deaf(&bench), "--json"]);
    at_work(&bench).await;
    running.signal(Signal::SIGTERM);
    let ended = running.ended().await;
    let lines = ended.check(0, &[]).json();
    assert_eq!(lines[0]["outcome"], "done");
    assert_eq!(lines[0]["partitions"][0]["committed"], 3);
    assert_eq!(bench.committed("Main", "orders"), Some(3));
}

#[tokio::test]
async fn killed_it_takes_its_functions_and_what_they_started_along() {
    let function = Scripted {
        id: "Main",
        topic: "orders",
        event: REPORTS,
        script: &["hang"],
    };
    let bench = Bench::new(1, &[function]);
    bench.fill("orders", 3).await;
    let parent = bench.file("parent.sh");
    let pids = bench.file("pids");
    let script = format!(
        "{} & echo $! >{pids}; echo $$ >>{pids}; wait\n",
        program().display(),
        pids = pids.display()
    );
    std::fs::write(&parent, script).unwrap();
    let running = bench.start(&[&format!("--function=Main=sh {}", parent.display())]);
    at_work(&bench).await;
    running.signal(Signal::SIGKILL);
    let pids = std::fs::read_to_string(pids).unwrap();
    for pid in pids.lines() {
        let pid = Pid::from_raw(pid.parse().unwrap());
        let gone = async {
            while kill(pid, None).is_ok() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let gone = tokio::time::timeout(Duration::from_secs(20), gone).await;
        assert!(gone.is_ok(), "{pid} lives");
    }
}

#[tokio::test]
async fn a_topic_that_is_not_there_is_told_and_waited_for() {
    let function = |topic| Scripted {
        id: "Main",
        topic,
        event: REPORTS,
        script: &["answer {}"],
    };
    let bench = Bench::new(1, &[function("orders")]);
    let template = std::fs::read_to_string(bench.file("template.yaml")).unwrap();
    let elsewhere = template.replace("[orders]", "[not.there]");
    std::fs::write(bench.file("template.yaml"), elsewhere).unwrap();
    let running = bench.run(&["Main"], &["--json"]);
    running.until_said("topic not.there does not exist").await;
    running.until_said("cargo local topics create").await;
    running.signal(Signal::SIGINT);
    running.ended().await.check(0, &[]);
}

#[tokio::test]
async fn brokers_that_are_away_are_told_and_waited_for() {
    let function = Scripted {
        id: "Main",
        topic: "orders",
        event: REPORTS,
        script: &["answer {}"],
    };
    let bench = Bench::new(1, &[function]);
    let words = ["--brokers", "127.0.0.1:1", "--until-idle", "1s", "--json"];
    let running = bench.run(&["Main"], &words);
    running.until_said("the mappings go on trying").await;
    running.signal(Signal::SIGTERM);
    let ended = running.ended().await;
    ended.check(0, &["127.0.0.1:1", "Main.Records: "]);
    let trouble = "AllBrokersDown";
    assert_eq!(ended.err.matches(trouble).count(), 1, "{}", ended.err);
}
