//! The event source mapping on an embedded broker, with functions of real processes; what answers mean is in `tests/conformance`.

use std::sync::Arc;
use std::time::Duration;

use local::function::Function;
use local::mapping::{
    Answers, BatchVerdict, Mapping, MappingSettings, Progress, Redelivery, Report, StartingPosition,
};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::types::{RDKafkaApiKey, RDKafkaRespErr};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::scripted::{Scripted, sandboxes, scripted, scripted_with};
use crate::topic::{OneTopic, one_topic};
use crate::wire::{self, RawRecord};

const LIMIT: Duration = Duration::from_mins(1);

/// A mapping that runs, and what it reports.
struct Running {
    mapping: Mapping,
    reports: UnboundedReceiver<Report>,
}

fn start(settings: MappingSettings, function: &Arc<Function>) -> Running {
    let (sender, reports) = unbounded_channel();
    let mapping = Mapping::start(settings, Arc::clone(function), sender).unwrap();
    Running { mapping, reports }
}

impl Running {
    /// Waits until everything is done, ends the mapping, and returns what it reported.
    async fn drain(mut self) -> Vec<Progress> {
        let idle = self.mapping.idle_for(Duration::from_millis(500));
        tokio::time::timeout(LIMIT, idle).await.unwrap().unwrap();
        self.mapping.stop(Duration::from_secs(10)).await;
        let mut progress = Vec::new();
        while let Ok(report) = self.reports.try_recv() {
            progress.push(report.progress);
        }
        progress
    }

    /// Waits for a report.
    async fn until(&mut self, wanted: impl Fn(&Progress) -> bool) -> Progress {
        let waiting = async {
            loop {
                let report = self.reports.recv().await.unwrap();
                if wanted(&report.progress) {
                    return report.progress;
                }
            }
        };
        tokio::time::timeout(LIMIT, waiting).await.unwrap()
    }
}

/// Runs a mapping of five records on one partition until all is done, and checks what was delivered and committed.
async fn check(
    script: &[&str],
    answers: Answers,
    expected: &[&[i64]],
) -> (OneTopic, Scripted, Vec<Progress>) {
    let topic = one_topic(1);
    let scripted = scripted(script);
    topic.fill(0, 5).await;
    let settings = MappingSettings {
        answers,
        ..topic.mapping(5)
    };
    let progress = start(settings, &scripted.function).drain().await;
    let delivered = scripted.deliveries();
    let expected: Vec<_> = expected
        .iter()
        .map(|offsets| vec![(0, offsets.to_vec())])
        .collect();
    assert_eq!(delivered, expected, "{script:?} {answers:?}");
    assert_eq!(topic.committed(0), Some(5), "{script:?}");
    (topic, scripted, progress)
}

const RESUME: Answers = Answers::Reported(Redelivery::Resume);
const ALL: &[i64] = &[0, 1, 2, 3, 4];

const FAILS_3: &str = r#"answer {"batchItemFailures":[{"itemIdentifier":{"partition":"some.topic-3-0","offset":3}}]}"#;

#[tokio::test]
async fn a_batch_that_is_done_is_committed_and_not_delivered_again() {
    let (_, _, progress) = check(&["answer {\"batchItemFailures\":[]}"], RESUME, &[ALL]).await;
    let answered = progress.iter().any(|progress| {
        matches!(
            progress,
            Progress::Answered {
                verdict: BatchVerdict::AllDone,
                ..
            }
        )
    });
    assert!(answered);
}

#[tokio::test]
async fn the_pause_before_a_redelivery_grows_to_1_s_and_starts_anew_after_progress() {
    let script = [
        "error",
        "error",
        "error",
        "error",
        "error",
        FAILS_3,
        "error",
        "answer {}",
    ];
    let resumed: &[i64] = &[3, 4];
    let (_, _, progress) = check(
        &script,
        RESUME,
        &[ALL, ALL, ALL, ALL, ALL, ALL, resumed, resumed],
    )
    .await;
    let pauses: Vec<u128> = progress
        .iter()
        .filter_map(|progress| {
            if let Progress::Waiting { pause, .. } = progress {
                Some(pause.as_millis())
            } else {
                None
            }
        })
        .collect();
    assert_eq!(pauses, [100, 200, 400, 800, 1_000, 100, 200]);
    let deliveries: Vec<u32> = progress
        .iter()
        .filter_map(|progress| {
            if let Progress::Delivered { parts, .. } = progress {
                Some(parts[0].delivery)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(deliveries, [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[tokio::test]
async fn nothing_is_committed_before_the_answer_and_what_was_not_is_delivered_to_the_next_mapping()
{
    let topic = one_topic(1);
    let hanging = scripted(&["hang"]);
    topic.fill(0, 3).await;
    let mut running = start(topic.mapping(5), &hanging.function);
    running
        .until(|progress| matches!(progress, Progress::Delivered { .. }))
        .await;
    assert!(!running.mapping.is_idle());
    assert_eq!(topic.committed(0), None);
    // As a crash of the emulator would end it.
    drop(running);
    let scripted = scripted(&["answer {}"]);
    start(topic.mapping(5), &scripted.function).drain().await;
    assert_eq!(scripted.deliveries(), [[(0, vec![0, 1, 2])]]);
    assert_eq!(topic.committed(0), Some(3));
}

#[tokio::test]
async fn batches_of_a_partition_follow_each_other_and_are_no_larger_than_said() {
    let topic = one_topic(1);
    let scripted = scripted(&["wait 50"]);
    topic.fill(0, 7).await;
    start(topic.mapping(3), &scripted.function).drain().await;
    let expected = [
        vec![(0, vec![0, 1, 2])],
        vec![(0, vec![3, 4, 5])],
        vec![(0, vec![6])],
    ];
    assert_eq!(scripted.deliveries(), expected);
}

/// More than are taken in at once, and more than may wait.
#[tokio::test]
async fn not_one_of_many_records_is_passed_over() {
    let topic = one_topic(1);
    let scripted = scripted(&["answer {}"]);
    topic.fill(0, 2_500).await;
    start(topic.mapping(400), &scripted.function).drain().await;
    let deliveries = scripted.deliveries().concat();
    let offsets: Vec<i64> = deliveries
        .into_iter()
        .flat_map(|(_, offsets)| offsets)
        .collect();
    assert_eq!(offsets, (0..2_500).collect::<Vec<i64>>());
}

#[tokio::test]
async fn a_partition_that_waits_does_not_hold_up_another() {
    let topic = one_topic(2);
    let scripted = scripted_with(&["wait 1000"], |settings| {
        settings.with_concurrency(sandboxes(2))
    });
    topic.fill(0, 2).await;
    topic.fill(1, 1).await;
    let progress = start(topic.mapping(1), &scripted.function).drain().await;
    let mut steps = Vec::new();
    for progress in &progress {
        if let Progress::Delivered { invocation, .. } = progress {
            steps.push((*invocation, "delivered"));
        } else if let Progress::Answered { invocation, .. } = progress {
            steps.push((*invocation, "answered"));
        }
    }
    // Both partitions are under way before either is done; the second batch of a partition waits for its first.
    assert_eq!(steps[..2], [(1, "delivered"), (2, "delivered")]);
    assert_eq!(steps[2].1, "answered");
    assert_eq!(steps.len(), 6);
    assert_eq!((topic.committed(0), topic.committed(1)), (Some(2), Some(1)));
}

#[tokio::test]
async fn an_event_stays_below_6_mb_and_a_record_that_alone_is_above_is_passed_over_loudly() {
    let topic = one_topic(1);
    let scripted = scripted(&["answer {}"]);
    // The byte 0x80 stands as `-128,`: two of the first kind fit into one event, and the second kind into none.
    for bytes in [500_000, 500_000, 500_000, 1_300_000] {
        let value = vec![0x80_u8; bytes];
        let header = Header {
            key: "h",
            value: Some(&value),
        };
        topic
            .produce(b"x", OwnedHeaders::new().insert(header))
            .await;
    }
    let progress = start(topic.mapping(10), &scripted.function).drain().await;
    let discarded = progress.iter().find_map(|progress| {
        if let Progress::Discarded { record, .. } = progress {
            Some(record.offset.get())
        } else {
            None
        }
    });
    assert_eq!(discarded, Some(3));
    assert_eq!(
        scripted.deliveries(),
        [vec![(0, vec![0, 1])], vec![(0, vec![2])]]
    );
    assert_eq!(topic.committed(0), Some(4));
}

#[tokio::test]
async fn headers_that_cannot_be_read_do_not_end_the_emulator() {
    let topic = one_topic(1);
    let scripted = scripted(&["answer {}"]);
    let hostile = RawRecord {
        key: b"k",
        value: b"v",
        headers: &[
            (b"good", b"1"),
            (b"\xff\xfe", b"2"),
            ("имя".as_bytes(), b"3"),
        ],
        attributes: 0,
    };
    wire::write(topic.brokers(), topic.topic.as_str(), &hostile);
    topic.fill(0, 1).await;
    let progress = start(topic.mapping(1), &scripted.function).drain().await;
    let record = &scripted.events()[0]["records"]["some.topic-3-0"][0];
    let expected = serde_json::json!([{"good": [49]}, {}, {"имя": [51]}]);
    assert_eq!(record["headers"], expected);
    let lost = progress.iter().find_map(|progress| {
        if let Progress::HeadersLost { record, headers } = progress {
            Some((record.to_string(), *headers))
        } else {
            None
        }
    });
    assert_eq!(lost, Some(("some.topic-3/0/0".to_owned(), 1)));
    assert_eq!(topic.committed(0), Some(2));
}

#[tokio::test]
async fn two_mappings_share_the_partitions_and_one_takes_over_when_the_other_is_gone() {
    let topic = one_topic(2);
    let scripted = scripted_with(&["wait 400"], |settings| {
        settings.with_concurrency(sandboxes(4))
    });
    let mut first = start(topic.mapping(2), &scripted.function);
    let both = |progress: &Progress| matches!(progress, Progress::Assigned(all) if all.len() == 2);
    first.until(both).await;
    // So many that reading stands still when the partitions change hands.
    topic.fill(0, 60).await;
    topic.fill(1, 60).await;
    let mut second = start(topic.mapping(2), &scripted.function);
    let one = |progress: &Progress| matches!(progress, Progress::Assigned(one) if one.len() == 1);
    second.until(one).await;
    let delivered = |progress: &Progress| matches!(progress, Progress::Delivered { .. });
    second.until(delivered).await;
    first.until(one).await;
    drop(second);
    first.until(both).await;
    first.drain().await;
    for partition in 0..2 {
        assert_eq!(topic.committed(partition), Some(60));
        let deliveries = scripted.deliveries().concat();
        let offsets = deliveries
            .iter()
            .filter(|(at, _)| *at == i64::from(partition))
            .flat_map(|(_, offsets)| offsets);
        let offsets: std::collections::BTreeSet<i64> = offsets.copied().collect();
        assert_eq!(offsets, (0..60).collect());
    }
}

#[tokio::test]
async fn a_mapping_that_cannot_ask_where_to_begin_says_so_and_begins_there_later() {
    let topic = one_topic(1);
    let scripted = scripted(&["answer {}"]);
    topic.fill(0, 3).await;
    topic
        .broker
        .with(|cluster| {
            let refused = RDKafkaRespErr::RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
            cluster.request_errors(RDKafkaApiKey::ListOffsets, &[refused]);
        })
        .unwrap();
    let settings = MappingSettings {
        start: StartingPosition::Latest,
        ..topic.mapping(5)
    };
    let mut running = start(settings, &scripted.function);
    let trouble = running
        .until(|progress| matches!(progress, Progress::Trouble(_)))
        .await;
    let Progress::Trouble(text) = trouble else {
        unreachable!()
    };
    assert!(text.contains("cannot ask where the group begins"), "{text}");
    running
        .until(
            |progress| matches!(progress, Progress::Committed { offset, .. } if offset.get() == 3),
        )
        .await;
    topic.fill(0, 2).await;
    running.drain().await;
    assert_eq!(scripted.deliveries(), [[(0, vec![3, 4])]]);
    assert_eq!(topic.committed(0), Some(5));
}

#[tokio::test]
async fn the_lag_is_told_on_an_embedded_broker_too() {
    let topic = one_topic(2);
    let scripted = scripted(&["hang"]);
    topic.fill(0, 3).await;
    topic.fill(1, 4).await;
    let running = start(topic.mapping(5), &scripted.function);
    let told = async {
        while running.mapping.standing().lag != Some(7) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LIMIT, told).await.unwrap();
}
