//! A function for tests: does what a script says, one line an invocation, and keeps the events that it was given.
//!
//! `SCRIPT` is a file with a line for each invocation; the last line holds for all that follow. `EVENTS` is a file to which each
//! event is added as a line. It speaks the Runtime API by hand, so that it can answer what no library would.
//!
//! | line | does |
//! |---|---|
//! | `answer TEXT` | answers with the text as it stands |
//! | `error TEXT` | reports an error |
//! | `crash` | ends the process |
//! | `hang` | never answers |
//! | `big N` | answers with N bytes |
//! | `wait MS` | answers nothing to do after so many milliseconds |
//! | `marks` | answers the number of earlier invocations noted in `MARKER_DIR`, as a string |
//! | `child` | answers the id of a child process that lives on |
//! | `child-end` | the same, and then ends |
//! | `env` | answers the whole environment as an object |
//! | `poison P/O LINE` | does what the line says when the event holds offset O of partition P, else answers that all is done |
//! | `init-error TEXT`, `init-crash`, `init-hang` | as its first lines: starts that do not come to an invocation; alone, all starts |

#![expect(
    clippy::zombie_processes,
    clippy::unwrap_used,
    clippy::panic,
    clippy::arithmetic_side_effects,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a function for tests: what fails here fails the test, and ending the process is what it is for"
)]

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, exit};
use std::time::Duration;

fn variable(name: &str) -> Option<String> {
    std::env::vars().find_map(|(found, value)| (found == name).then_some(value))
}

fn words(line: &str) -> (&str, &str) {
    line.split_once(' ').unwrap_or((line, ""))
}

/// Reads a line about a poisoned record: what to do with this event.
fn poisoned<'a>(line: &'a str, event: &str) -> Option<(&'a str, &'a str)> {
    let (place, line) = line.strip_prefix("poison ")?.split_once(' ').unwrap();
    let (partition, offset) = place.split_once('/').unwrap();
    let event: serde_json::Value = serde_json::from_str(event).unwrap();
    let place = |record: &serde_json::Value| {
        let number = |name| record.get(name).unwrap().to_string();
        (number("partition"), number("offset"))
    };
    let place_of_poison = (partition.to_owned(), offset.to_owned());
    let partitions = event.get("records").unwrap().as_object().unwrap().values();
    let mut records = partitions.flat_map(|records| records.as_array().unwrap());
    let holds = records.any(|record| place(record) == place_of_poison);
    Some(if holds { words(line) } else { ("answer", "{}") })
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .unwrap();
    let api = format!(
        "http://{}/2018-06-01/runtime",
        variable("AWS_LAMBDA_RUNTIME_API").unwrap()
    );
    let marks = std::path::Path::new(&variable("MARKER_DIR").unwrap()).join("marks");
    let script = variable("SCRIPT").map_or("answer {}".to_owned(), |file| {
        std::fs::read_to_string(file).unwrap()
    });
    let http = reqwest::Client::new();
    println!("started");
    eprintln!(r#"{{"level":"INFO"}}"#);
    let (starts, invocations): (Vec<&str>, Vec<&str>) =
        script.lines().partition(|line| line.starts_with("init-"));
    // Earlier starts of this sandbox.
    let starts_file = marks.with_file_name("starts");
    let earlier = std::fs::read(&starts_file).unwrap_or_default().len();
    std::fs::write(&starts_file, vec![b'.'; earlier + 1]).unwrap();
    let last_start = starts.last().filter(|_| invocations.is_empty());
    if let Some(line) = starts.get(earlier).or(last_start) {
        match words(line) {
            ("init-error", text) => {
                let report = format!(r#"{{"errorType":"Init","errorMessage":"{text}"}}"#);
                http.post(format!("{api}/init/error"))
                    .body(report)
                    .send()
                    .await
                    .unwrap();
                exit(1);
            }
            ("init-crash", _) => exit(3),
            ("init-hang", _) => std::future::pending().await,
            (word, _) => panic!("no such line: {word}"),
        }
    }
    loop {
        let next = http
            .get(format!("{api}/invocation/next"))
            .send()
            .await
            .unwrap();
        let id = next.headers()["lambda-runtime-aws-request-id"]
            .to_str()
            .unwrap()
            .to_owned();
        let event = next.text().await.unwrap();
        if let Some(file) = variable("EVENTS") {
            let mut file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(file)
                .unwrap();
            file.write_all(format!("{event}\n").as_bytes()).unwrap();
        }
        // Earlier invocations of this sandbox, also by processes that have died since.
        let earlier = std::fs::read(&marks).unwrap_or_default().len();
        std::fs::write(&marks, vec![b'.'; earlier + 1]).unwrap();
        let line = invocations.get(earlier).or(invocations.last()).unwrap();
        let (word, text) = poisoned(line, &event).unwrap_or(words(line));
        let (end, body) = match word {
            "answer" => ("response", text.as_bytes().to_vec()),
            "error" => (
                "error",
                format!(r#"{{"errorType":"Scripted","errorMessage":"{text}"}}"#).into_bytes(),
            ),
            "crash" => exit(7),
            "hang" => std::future::pending().await,
            "big" => ("response", vec![b' '; text.parse().unwrap()]),
            "wait" => {
                tokio::time::sleep(Duration::from_millis(text.parse().unwrap())).await;
                ("response", b"{}".to_vec())
            }
            "marks" => ("response", format!("\"{earlier}\"").into_bytes()),
            "child" | "child-end" => {
                let child = Command::new("sleep").arg("300").spawn().unwrap();
                ("response", child.id().to_string().into_bytes())
            }
            "env" => {
                let env: BTreeMap<String, String> = std::env::vars().collect();
                ("response", serde_json::to_vec(&env).unwrap())
            }
            _ => panic!("no such line: {word}"),
        };
        http.post(format!("{api}/invocation/{id}/{end}"))
            .body(body)
            .send()
            .await
            .unwrap();
        if word == "child-end" {
            exit(0);
        }
    }
}
