//! A real Apache Kafka: that it starts, keeps what it has, and ends; and topics and the mapping on it.

use std::time::Duration;

use lambda::{Clock, SystemClock};
use local::admin::{Admin, Change};
use local::kafka_server::{Artefacts, KafkaServer, KafkaSettings};
use local::mapping::{Batching, Mapping, MappingSettings};
use local::topics::{self, Layout};
use pipeline::stages::RetryTopic;
use pipeline::{Counting, Stages, Topic};
use rdkafka::producer::FutureRecord;
use tokio::sync::mpsc::unbounded_channel;

use crate::scripted::{sandboxes, scripted};
use crate::topic::{committed, produce};

/// Brings Kafka; `None` where it cannot be had, which is an error in CI.
#[expect(
    clippy::disallowed_methods,
    reason = "tests ask their environment whether they run in CI"
)]
async fn artefacts() -> Option<Artefacts> {
    match Artefacts::provide(|line| println!("{line}")).await {
        Ok(artefacts) => Some(artefacts),
        Err(error) => {
            assert!(
                std::env::var("CI").is_err(),
                "CI tests with Kafka: {error:#}"
            );
            println!("not run: {error:#}");
            None
        }
    }
}

fn ladder() -> Stages {
    let now = SystemClock.now().millis();
    let topic = |name: &str| -> Topic { format!("{name}.{now}").parse().unwrap() };
    let retry = RetryTopic {
        topic: topic("retry"),
        delay: "1s".parse().unwrap(),
    };
    Stages::new(topic("main"), &[retry], &[], topic("dlq")).unwrap()
}

fn changes(changed: &[topics::Changed]) -> Vec<Change> {
    changed.iter().map(|changed| changed.change).collect()
}

#[tokio::test]
async fn topics_are_created_with_room_for_headers_checked_and_deleted_and_records_outlive_a_killed_broker()
 {
    let Some(artefacts) = artefacts().await else {
        return;
    };
    let settings = KafkaSettings {
        properties: [("message.max.bytes".to_owned(), "2000000".to_owned())].into(),
        ..KafkaSettings::default()
    };
    let mut server = KafkaServer::start(artefacts, settings).await.unwrap();
    let brokers = server.bootstrap_servers();
    let admin = Admin::new(&brokers, &[].into()).unwrap();
    let stages = ladder();
    let layout = Layout::of_ladder(&stages);
    let created = topics::create(&admin, &layout, 2).await.unwrap();
    assert_eq!(changes(&created), [Change::Created; 3]);
    let config = admin.config(stages.dlq()).await.unwrap();
    assert_eq!(config["max.message.bytes"], "2065536");
    assert_eq!(config["cleanup.policy"], "delete");
    let again = topics::create(&admin, &layout, 3).await.unwrap();
    assert_eq!(changes(&again), [Change::Existed; 3]);
    assert_eq!(again[0].warnings, ["it has 2 partitions, not 3"]);

    let main = stages.main().topic();
    for partition in [0, 1, 1] {
        let record = FutureRecord::<(), _>::to(main.as_str()).payload("x");
        produce(&brokers, record.partition(partition)).await;
    }
    server.kill().await;
    server.restart().await.unwrap();
    assert_eq!(server.bootstrap_servers(), brokers);

    let scripted = scripted(&["error once", "answer {}"]);
    let mut settings = MappingSettings::new("scripted", main.clone(), &brokers);
    settings.batching = Batching {
        size: sandboxes(10),
        window: Duration::from_millis(100),
    };
    let (reports, _reports) = unbounded_channel();
    let mapping = Mapping::start(settings, scripted.function.clone(), reports).unwrap();
    let idle = mapping.idle_for(Duration::from_secs(1));
    tokio::time::timeout(Duration::from_mins(1), idle)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(committed(&brokers, main, 0), Some(1));
    assert_eq!(committed(&brokers, main, 1), Some(2));
    let group = local::mapping::group_of("scripted", main);
    assert!(
        admin
            .delete_group(&group)
            .await
            .unwrap_err()
            .to_string()
            .contains("members")
    );
    mapping.stop(Duration::from_secs(10)).await;
    assert_eq!(admin.delete_group(&group).await.unwrap(), Change::Deleted);
    assert_eq!(admin.delete_group(&group).await.unwrap(), Change::Absent);

    let deleted = topics::delete(&admin, &layout).await.unwrap();
    assert_eq!(changes(&deleted), [Change::Deleted; 3]);
    let deleted = topics::delete(&admin, &layout).await.unwrap();
    assert_eq!(changes(&deleted), [Change::Absent; 3]);
    server.stop().await;
}

#[tokio::test]
async fn a_dead_letter_topic_that_is_compacted_is_refused() {
    let Some(artefacts) = artefacts().await else {
        return;
    };
    // Topics that are made here are compacted when nothing else is said.
    let settings = KafkaSettings {
        properties: [
            ("log.cleanup.policy", "compact"),
            ("auto.create.topics.enable", "true"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
        ..KafkaSettings::default()
    };
    let server = KafkaServer::start(artefacts, settings).await.unwrap();
    let brokers = server.bootstrap_servers();
    let stages = ladder();
    let record = FutureRecord::<(), _>::to(stages.dlq().as_str()).payload("x");
    let keyed = FutureRecord {
        key: Some(&()),
        ..record
    };
    produce(&brokers, keyed).await;
    let admin = Admin::new(&brokers, &[].into()).unwrap();
    let orders = format!("orders.{}", SystemClock.now().millis());
    let orders = Counting::new(
        orders.parse().unwrap(),
        stages.dlq().clone(),
        3.try_into().unwrap(),
    );
    for layout in [
        Layout::of_ladder(&stages),
        Layout::of_orders(&orders.unwrap()),
    ] {
        let refused = topics::create(&admin, &layout, 1).await.unwrap_err();
        assert!(refused.to_string().contains("is compacted"), "{refused:#}");
    }
}
