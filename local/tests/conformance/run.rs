//! Running a row.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use lambda::{Clock, SystemClock};
use local::mapping::{
    Answers, Batching, Mapping, MappingSettings, Pollers, Progress, Report, StartingPosition,
};
use pipeline::Topic;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::Instant;

use crate::broker::{Broker, Offsets};
use crate::findings::Findings;
use crate::row::{Row, Start};
use crate::scripted::scripted_with;

/// How long a row may take until everything is done.
const LIMIT: Duration = Duration::from_secs(40);

/// How many rows run at once.
const AT_ONCE: usize = 12;

/// Runs rows and fails with all that came out otherwise.
pub(crate) async fn check(rows: &[Row]) {
    let Some(broker) = Broker::find().await else {
        return;
    };
    let cases = rows
        .iter()
        .flat_map(|row| row.answers.iter().map(move |answers| (row, *answers)));
    let ran: Vec<Result<(), String>> = futures_util::stream::iter(cases)
        .map(|(row, answers)| run(&broker, row, answers))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let failures: Vec<String> = ran.into_iter().filter_map(Result::err).collect();
    assert!(
        failures.is_empty(),
        "{} rows came out otherwise:\n\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// A mapping that runs, and what it has reported.
struct Running {
    mapping: Mapping,
    reports: UnboundedReceiver<Report>,
    progress: Vec<(Instant, Progress)>,
}

async fn run(broker: &Broker, row: &Row, answers: Answers) -> Result<(), String> {
    let fails = |why: String| format!("{}, {answers:?}: {why}\n{row:#?}\n", row.name);
    let topic = broker.topic(row.partitions()).await;
    let settings = settings(broker, &topic, row, answers);
    let group = settings.group.clone();
    let mut done = offsets(row.mapping.group);
    if !done.is_empty() {
        broker.commit(&group, &topic, &done);
    }
    let mut ends = broker.produce(&topic, row.records).await;
    let script: Vec<String> = row
        .function
        .script
        .iter()
        .map(|line| written_out(line, &topic))
        .collect();
    let script: Vec<&str> = script.iter().map(String::as_str).collect();
    let scripted = scripted_with(&script, |function| {
        let mut function = function
            .with_timeout(row.function.timeout)
            .with_concurrency(NonZeroUsize::new(row.function.sandboxes).unwrap());
        function.init_timeout = row.function.init_timeout;
        function
    });

    let (sender, reports) = unbounded_channel();
    let began = Instant::now();
    let mapping = Mapping::start(settings, Arc::clone(&scripted.function), sender);
    let mut running = Running {
        mapping: mapping.unwrap(),
        reports,
        progress: Vec::new(),
    };
    let mut sent = None;
    let went = async {
        running.until_assigned().await;
        running.until(&ends, &mut done).await;
        for records in row.later {
            sent = sent.or(Some(Instant::now()));
            ends.extend(broker.produce(&topic, records).await);
            running.until(&ends, &mut done).await;
        }
        // Nothing may follow.
        let quiet = running.mapping.idle_for(Duration::from_millis(200));
        quiet.await.unwrap();
    };
    let in_time = tokio::time::timeout(LIMIT, went).await.is_ok();
    let standing = running.mapping.standing();
    let Running {
        mapping,
        mut reports,
        mut progress,
    } = running;
    mapping.stop(Duration::from_secs(5)).await;
    while let Ok(report) = reports.try_recv() {
        progress.push((Instant::now(), report.progress));
    }
    let committed = broker.committed(&group, &topic, row.partitions());
    broker.delete(&topic).await;

    let told: Vec<String> = progress
        .iter()
        .map(|(at, step)| format!("{:?} {step:?}", at.duration_since(began)))
        .collect();
    let steps: Vec<Progress> = progress.iter().map(|(_, step)| step.clone()).collect();
    let mut found = Findings::of(&steps, scripted.deliveries(), &committed);
    let mut expected = Findings::expected(row);
    if row.function.sandboxes > 1 {
        found.deliveries.sort();
        expected.deliveries.sort();
    }
    if row.at_once.is_none() {
        found.at_once = None;
    }
    if found != expected {
        return Err(fails(format!("found {found:#?}\nafter {told:#?}")));
    }
    if !in_time {
        return Err(fails(format!(
            "it was not done after {LIMIT:?}, with {standing:?}: {told:#?}"
        )));
    }
    let first = progress
        .iter()
        .find(|(_, step)| matches!(step, Progress::Delivered { .. }));
    if let (Some(least), Some(sent), Some((first, _))) = (row.not_before, sent, first)
        && first.duration_since(sent) < least
    {
        let early = first.duration_since(sent);
        return Err(fails(format!("the first invocation came after {early:?}")));
    }
    Ok(())
}

fn settings(broker: &Broker, topic: &Topic, row: &Row, answers: Answers) -> MappingSettings {
    let of = &row.mapping;
    let now = SystemClock.now().millis();
    MappingSettings {
        start: match of.start {
            Start::TrimHorizon => StartingPosition::TrimHorizon,
            Start::Latest => StartingPosition::Latest,
            Start::SecondsAgo(age) => StartingPosition::AtTimestamp(now - age * 1_000),
        },
        batching: Batching {
            size: NonZeroUsize::new(of.size).unwrap(),
            window: of.window,
        },
        pollers: of.pollers.map_or(Pollers::Standard, |pollers| {
            Pollers::Provisioned(NonZeroUsize::new(pollers).unwrap())
        }),
        answers,
        bisect: of.bisect,
        retries: of.retries,
        max_age: of.max_age,
        ..MappingSettings::new("conformance", topic.clone(), &broker.address)
    }
}

impl Running {
    async fn next(&mut self) -> Progress {
        let report = self.reports.recv().await.unwrap();
        self.progress
            .push((Instant::now(), report.progress.clone()));
        report.progress
    }

    async fn until_assigned(&mut self) {
        while !matches!(self.next().await, Progress::Assigned(_)) {}
    }

    /// Waits until the group has committed the ends of all partitions.
    async fn until(&mut self, ends: &Offsets, done: &mut Offsets) {
        while ends.iter().any(|(at, end)| done.get(at) != Some(end)) {
            if let Progress::Committed { partition, offset } = self.next().await {
                done.insert(partition.get(), offset.get());
            }
        }
    }
}

/// Reads `0:3 1:5`.
fn offsets(text: &str) -> Offsets {
    let place = |place: &str| {
        let (partition, offset) = place.split_once(':').unwrap();
        (partition.parse().unwrap(), offset.parse().unwrap())
    };
    text.split_whitespace().map(place).collect()
}

/// Writes a line of a script out: with the topic, and partial answers in full.
fn written_out(line: &str, topic: &Topic) -> String {
    let line = line.replace("TOPIC", topic.as_str());
    let Some(places) = line.strip_prefix("fails ") else {
        return line;
    };
    let failures: Vec<String> = places
        .split(' ')
        .map(|place| {
            let (partition, offset) = place.split_once('/').unwrap();
            format!(
                r#"{{"itemIdentifier":{{"partition":"{topic}-{partition}","offset":{offset}}}}}"#
            )
        })
        .collect();
    format!(r#"answer {{"batchItemFailures":[{}]}}"#, failures.join(","))
}
