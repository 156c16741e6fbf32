//! Where failed payments end: every permanent failure on every stage, and the last stage's transient ones.

use local::invoke::Invoke;

use crate::harness::cluster::Cluster;
use crate::harness::event::{Sent, event, handed_back};
use crate::harness::gateway::{Gateway, Ruling};
use crate::harness::ladder::Ladder;
use crate::harness::payment::{fresh_ids, payment};
use crate::harness::world::{World, answered};

/// What a payment's mode or value makes of it: its value, and what stands in the dead letter.
struct Case {
    value: Option<Vec<u8>>,
    code: &'static str,
    reason: &'static str,
}

fn cases(id: &str) -> Vec<Case> {
    let case = |value: Option<Vec<u8>>, code, reason| Case {
        value,
        code,
        reason,
    };
    let text = |text: &str| Some(text.as_bytes().to_vec());
    vec![
        case(
            Some(payment(id, "declined")),
            "provider.declined",
            "declined",
        ),
        case(
            Some(payment(id, "rejected")),
            "provider.rejected",
            "validation",
        ),
        case(text("{"), "payload.malformed", "json"),
        case(text(""), "payload.malformed", "json"),
        case(Some(vec![0xff, 0x00]), "payload.malformed", "json"),
        case(
            text(r#"{"schema_version":2}"#),
            "payload.schema_version",
            "schema-version",
        ),
        case(
            Some(
                String::from_utf8(payment(id, "ok"))
                    .unwrap()
                    .replace("1250", "0")
                    .into_bytes(),
            ),
            "payload.invalid",
            "validation",
        ),
        // Row 21: a tombstone.
        case(None, "payload.invalid", "validation"),
    ]
}

async fn gateway() -> Gateway {
    Gateway::start(|asked| match asked.mode.as_str() {
        "declined" => Ruling::Refuse(402, "no funds".to_owned()),
        "rejected" => Ruling::Refuse(422, "no such currency".to_owned()),
        _ => Ruling::Refuse(503, "down".to_owned()),
    })
    .await
}

/// Rows 42 and 64: on main and on each stage, exactly one dead letter, whose reason is its own even on the last stage; rows 21, 27
/// and 28: null values and null keys too, and two failures of one key both.
#[tokio::test(flavor = "multi_thread")]
async fn a_permanent_failure_on_any_stage_is_one_dead_letter_with_its_own_reason() {
    let gateway = gateway().await;
    let ladder = Ladder::with_delays(&["1ms", "2ms", "3ms"]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    let function = world.payments(&[]);
    for (position, stage) in world.ladder.stages().into_iter().enumerate() {
        let id = fresh_ids("permanent", 1).remove(0);
        for (nth, case) in cases(&id).into_iter().enumerate() {
            for key in [Some(id.clone().into_bytes()), None] {
                let before = world.cluster.records(&world.ladder.dlq).await;
                let offset = i64::try_from(before.len()).unwrap();
                let record = Sent {
                    key: key.clone(),
                    value: case.value.clone(),
                    ..Sent::new(stage, offset, "", Vec::new())
                };
                let answer = answered(function.invoke(event(&[record])).await);
                assert_eq!(handed_back(&answer), Vec::<String>::new());
                let mut dead = world.cluster.records(&world.ladder.dlq).await;
                dead.retain(|record| !before.contains(record));
                let [dead] = dead.as_slice() else {
                    panic!("{stage}, case {nth}: {} dead letters", dead.len())
                };
                assert_eq!(dead.key.as_deref(), key.as_deref());
                assert_eq!(dead.value.as_deref(), case.value.as_deref());
                let text = |name| dead.headers.only_text(name);
                assert_eq!(text("error.code"), Some(case.code), "{stage}, case {nth}");
                assert_eq!(text("dlq-reason"), Some(case.reason), "{stage}, case {nth}");
                assert_eq!(text("error.class"), Some("permanent"));
                assert_eq!(text("retry.count"), Some(position.to_string().as_str()));
                assert_eq!(text("previous.topic"), Some(stage.as_str()));
            }
        }
    }
    for (retry, _) in &world.ladder.retries {
        assert!(world.cluster.records(retry).await.is_empty(), "{retry}");
    }
}

/// Row 43: the last stage's failures go to the dead-letter topic; with no retry stage at all that is main's.
#[tokio::test(flavor = "multi_thread")]
async fn a_transient_failure_on_the_last_stage_is_dead_lettered_as_exhausted() {
    let gateway = gateway().await;
    for delays in [vec![], vec!["1ms"], vec!["1ms", "2ms", "3ms"]] {
        let ladder = Ladder::with_delays(&delays);
        let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
        let function = world.payments(&[]);
        let stages = world.ladder.stages();
        let last = stages[delays.len()];
        let id = fresh_ids("exhausted", 1).remove(0);
        let record = Sent::new(last, 0, &id, payment(&id, "transient"));
        let answer = answered(function.invoke(event(&[record])).await);
        assert_eq!(handed_back(&answer), Vec::<String>::new());
        let dead = world.cluster.records(&world.ladder.dlq).await;
        let [dead] = dead.as_slice() else {
            panic!("{} dead letters", dead.len())
        };
        let text = |name| dead.headers.only_text(name);
        assert_eq!(dead.key.as_deref(), Some(id.as_bytes()));
        assert_eq!(text("dlq-reason"), Some("exhausted"));
        assert_eq!(text("error.class"), Some("transient"));
        assert_eq!(text("retry.count"), Some(delays.len().to_string().as_str()));
    }
}
