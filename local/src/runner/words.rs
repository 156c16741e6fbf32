//! What is told of a run, in words.

use std::fmt::Write;
use std::time::Duration;

use pipeline::Partition;
use tokio::time::Instant;

use super::invocation::{InvocationLine, OutcomeWord};
use crate::mapping::{Discard, Standing};

/// Returns the summary of an invocation, on one line.
pub(super) fn summary(line: &InvocationLine) -> String {
    let mut text = format!("{} #{}: ", line.mapping, line.invocation);
    let topic = &line.topic;
    for (index, part) in line.partitions.iter().enumerate() {
        let separator = if index == 0 { "" } else { ", " };
        let (partition, first, last) = (part.partition, part.first_offset, part.last_offset);
        write!(text, "{separator}{topic}-{partition} {first}").ok();
        if last != first {
            write!(text, "–{last}").ok();
        }
        if part.delivery > 1 {
            write!(text, " (delivery {})", part.delivery).ok();
        }
    }
    let took = seconds(Duration::from_millis(line.took_ms));
    write!(text, ": {} in {took}", outcome(line)).ok();
    for part in &line.partitions {
        if let Some(committed) = part.committed {
            write!(text, ", {topic}-{} committed {committed}", part.partition).ok();
        }
    }
    if let Some(error) = &line.error {
        write!(text, ": {}", on_one_line(error)).ok();
    }
    text
}

fn outcome(line: &InvocationLine) -> String {
    match line.outcome {
        OutcomeWord::Done => "done".to_owned(),
        OutcomeWord::Partial => {
            let records: usize = line.partitions.iter().map(|part| part.records).sum();
            format!("{} of {records} handed back", line.handed_back)
        }
        OutcomeWord::Malformed => "MALFORMED ANSWER".to_owned(),
        OutcomeWord::Error => "FUNCTION ERROR".to_owned(),
        OutcomeWord::Crashed => "CRASHED".to_owned(),
        OutcomeWord::TimedOut => "TIMED OUT".to_owned(),
        OutcomeWord::TooLarge => "ANSWER TOO LARGE".to_owned(),
        OutcomeWord::Init => "NOT STARTED".to_owned(),
        OutcomeWord::Unreachable => "NOT INVOKED".to_owned(),
    }
}

/// Says why a record is gone.
pub(super) const fn discarded(reason: Discard) -> &'static str {
    match reason {
        Discard::TooLarge => "it alone is larger than an event may be",
        Discard::RetriesExhausted => "it was not done within MaximumRetryAttempts",
        Discard::TooOld => "it is older than MaximumRecordAgeInSeconds",
    }
}

/// Says which partitions of a topic are read.
pub(super) fn reads(topic: &str, partitions: &[Partition]) -> String {
    let names: Vec<String> = partitions
        .iter()
        .map(|partition| format!("{topic}-{partition}"))
        .collect();
    match names.len() {
        0 => format!("reads no partition of {topic} now"),
        1..=8 => format!("reads {}", names.join(", ")),
        many => format!("reads {many} partitions of {topic}"),
    }
}

/// Returns the live line of a mapping: topic, lag, in flight, handed back, waiting until.
pub fn live_line(topic: &str, standing: &Standing, now: Instant) -> String {
    let lag = standing
        .lag
        .map_or_else(|| "?".to_owned(), |lag| lag.to_string());
    let mut text = format!("{topic}  lag {lag}");
    if standing.partitions.is_empty() {
        text.push_str("  no partitions");
    }
    if let Some(running) = &standing.in_flight {
        let (records, invocations) = (running.records, running.invocations);
        let since = seconds(running.elapsed(now));
        write!(text, "  in flight {records} in {invocations} for {since}").ok();
    }
    if let Some(back) = &standing.handed_back {
        let left = seconds(back.until.saturating_duration_since(now));
        write!(text, "  handed back {}, again in {left}", back.records).ok();
    }
    if standing.idle {
        text.push_str("  idle");
    }
    text
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// Returns a text without line ends and other control characters.
fn on_one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::{HandedBack, InFlight};

    fn check(standing: &Standing, expected: &str) {
        let now = Instant::now();
        assert_eq!(live_line("orders", standing, now), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_live_line_tells_of_lag_of_what_runs_and_of_what_waits() {
        check(&Standing::default(), "orders  lag ?  no partitions");
        let began = Instant::now();
        tokio::time::advance(Duration::from_millis(1_500)).await;
        let partitions = vec![Partition::FIRST];
        let busy = Standing {
            partitions: partitions.clone(),
            lag: Some(12),
            in_flight: Some(InFlight {
                invocations: 2,
                records: 7,
                since: began,
            }),
            handed_back: Some(HandedBack {
                records: 3,
                until: began + Duration::from_secs(2),
            }),
            ..Standing::default()
        };
        check(
            &busy,
            "orders  lag 12  in flight 7 in 2 for 1.5 s  handed back 3, again in 0.5 s",
        );
        let idle = Standing {
            partitions,
            lag: Some(0),
            idle: true,
            ..Standing::default()
        };
        check(&idle, "orders  lag 0  idle");
    }

    #[test]
    fn many_partitions_are_counted_and_few_are_named() {
        let of = |many: i32| -> Vec<Partition> { (0..many).filter_map(Partition::new).collect() };
        assert_eq!(reads("t", &of(0)), "reads no partition of t now");
        assert_eq!(reads("t", &of(2)), "reads t-0, t-1");
        assert_eq!(reads("t", &of(9)), "reads 9 partitions of t");
    }
}
