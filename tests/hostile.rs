//! Events as Lambda sends them and as it never should: every good record of a batch is handled.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use local::invoke::Invoke;
use serde_json::{Value, json};

use crate::harness::cluster::Cluster;
use crate::harness::event::handed_back;
use crate::harness::gateway::Gateway;
use crate::harness::ladder::Ladder;
use crate::harness::payment::{fresh_ids, payment};
use crate::harness::world::{World, answered};

/// The bytes of an event as a real Lambda was given it.
const REAL: &str = include_str!("../shared/lambda/fixtures/lambda-kafka-event.json");

/// What becomes of the odd record; good ones beside it are charged in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is a good payment oddly told: charged.
    Charged,
    /// It is in the dead-letter topic.
    DeadLettered,
}

use Fate::{Charged, DeadLettered};

async fn world() -> (Gateway, World) {
    let gateway = Gateway::answering_in(std::time::Duration::ZERO).await;
    let ladder = Ladder::with_delays(&["1h"]);
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    (gateway, world)
}

/// Returns a good record as JSON text.
fn good(topic: &str, offset: i64, id: &str) -> String {
    let record = json!({
        "topic": topic, "partition": 0, "offset": offset, "timestamp": crate::harness::now_ms(),
        "timestampType": "CREATE_TIME", "key": STANDARD.encode(id), "value": STANDARD.encode(payment(id, "ok")),
        "headers": [{"traceparent": [48, 48]}],
    });
    record.to_string()
}

/// Replaces one field of a good payment's record by other text, or takes it away.
fn odd(field: &str, text: Option<&str>) -> Told {
    let (field, text) = (field.to_owned(), text.map(str::to_owned));
    Box::new(move |topic, id| {
        let mut record: Value = serde_json::from_str(&good(topic, 1, id)).unwrap();
        let fields = record.as_object_mut().unwrap();
        fields.remove(&field);
        let rest = record.to_string();
        match &text {
            None => rest,
            Some(text) => format!("{{{},\"{field}\":{text}}}", &rest[1..rest.len() - 1]),
        }
    })
}

/// Gives a record of a topic and a payment's id as JSON text.
type Told = Box<dyn Fn(&str, &str) -> String>;

fn variants() -> Vec<(Told, Fate)> {
    let field = |name: &str, text: Option<&str>, fate| (odd(name, text), fate);
    let raw = |text: &str| -> (Told, Fate) {
        let text = text.to_owned();
        (Box::new(move |_, _| text.clone()), DeadLettered)
    };
    let nested = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let mut variants = vec![
        // Rows 10 to 13 and 65: headers in every form that was ever seen, and worse.
        field("headers", None, Charged),
        field("headers", Some("null"), Charged),
        field("headers", Some("{}"), Charged),
        field("headers", Some("7"), Charged),
        field("headers", Some(r#"[{"traceparent":[48]},{}]"#), Charged),
        field("headers", Some(r#"[{"a":null}]"#), Charged),
        field("headers", Some(r#"[{"a":"YQ=="}]"#), Charged),
        field("headers", Some(r#"[{"a":[104,105,45,-61,-85]}]"#), Charged),
        field("headers", Some(r#"[{"a":[195,171]}]"#), Charged),
        field(
            "headers",
            Some(r#"[{"a":[999]},{"b":[1.5]},7,null]"#),
            Charged,
        ),
        field("headers", Some(r#"[{"\ud800":[49]}]"#), Charged),
        field("headers", Some(&format!(r#"[{{"a":{nested}}}]"#)), Charged),
        // Row 36 and 33: times.
        field("timestamp", None, Charged),
        field("timestamp", Some("null"), Charged),
        field("timestamp", Some("-1"), Charged),
        field("timestamp", Some("0"), Charged),
        field("timestamp", Some("1755933141855875"), Charged),
        field("timestamp", Some("1e400"), Charged),
        field("timestamp", Some("\"yesterday\""), Charged),
        field("timestampType", Some("7"), Charged),
        // Fields of the future and of nobody.
        field("leaderEpoch", Some("5"), Charged),
        field("anything", Some(&nested), Charged),
        // Keys and places.
        field("key", None, Charged),
        field("key", Some("null"), Charged),
        field("key", Some("\"\""), Charged),
        field("topic", None, Charged),
        field("partition", Some("null"), Charged),
        field("partition", Some("\"x\""), Charged),
        field("key", Some("\"?\""), DeadLettered),
        // Row 21 and what a value must not be.
        field("value", None, DeadLettered),
        field("value", Some("null"), DeadLettered),
        field("value", Some("\"\""), DeadLettered),
        field("value", Some("\"no base64!\""), DeadLettered),
        field("value", Some("{\"schema_version\":1}"), DeadLettered),
        field("value", Some("\"/w==\""), DeadLettered),
    ];
    // Row 65: what is not even an object.
    variants.extend(
        [
            "null",
            "7",
            "true",
            "[]",
            "{}",
            r#""text""#,
            r#""\ud800""#,
            &nested,
        ]
        .map(raw),
    );
    variants
}

#[tokio::test(flavor = "multi_thread")]
async fn thirty_and_more_hostile_records_cost_only_themselves() {
    let (gateway, world) = world().await;
    let function = world.payments(&[]);
    let variants = variants();
    assert!(variants.len() >= 30);
    let main = &world.ladder.main;
    let mut dead = 0;
    for (odd, fate) in variants {
        let ids = fresh_ids("hostile", 3);
        let odd = odd(main.as_str(), &ids[1]);
        let shown: String = odd.chars().take(300).collect();
        let records = [
            good(main.as_str(), 0, &ids[0]),
            odd,
            good(main.as_str(), 2, &ids[2]),
        ];
        let event = format!(
            r#"{{"eventSource":"aws:kafka","records":{{"{main}-0":[{}]}}}}"#,
            records.join(",")
        );
        let answer = answered(function.invoke(event.into()).await);
        assert_eq!(handed_back(&answer), Vec::<String>::new(), "{shown}");
        let charged = gateway.charges();
        let times = |id: &String| charged.get(id).copied().unwrap_or_default();
        assert_eq!((times(&ids[0]), times(&ids[2])), (1, 1), "{shown}");
        assert_eq!(times(&ids[1]), usize::from(fate == Charged), "{shown}");
        dead += usize::from(fate == DeadLettered);
        assert_eq!(
            world.cluster.records(&world.ladder.dlq).await.len(),
            dead,
            "{shown}"
        );
    }
}

/// Real bytes: signed header bytes, `{}` for a null header, an absent key, timestamp −1, two partitions; a good payment is put beside them.
#[tokio::test(flavor = "multi_thread")]
async fn the_bytes_of_a_real_event_are_read_and_its_good_payment_is_charged() {
    let gateway = Gateway::answering_in(std::time::Duration::ZERO).await;
    let mut ladder = Ladder::with_delays(&["1h"]);
    ladder.main = "brew.payments.v1".parse().unwrap();
    let world = World::new(Cluster::embedded(), ladder, &gateway.url()).await;
    let function = world.payments(&[]);
    let ids = fresh_ids("real", 2);
    let mut event: Value = serde_json::from_str(REAL).unwrap();
    for (partition, id) in ids.iter().enumerate() {
        let list = &mut event["records"][format!("brew.payments.v1-{partition}")];
        let mut record: Value = serde_json::from_str(&good("brew.payments.v1", 20, id)).unwrap();
        record["partition"] = json!(partition);
        list.as_array_mut().unwrap().push(record);
    }
    let answer = answered(function.invoke(event.to_string().into()).await);
    assert_eq!(handed_back(&answer), Vec::<String>::new());
    let once = ids.iter().map(|id| (id.clone(), 1)).collect();
    assert_eq!(gateway.charges(), once);

    // Its own three are no payments: each is in the dead-letter topic with its bytes.
    let dead = world.cluster.records(&world.ladder.dlq).await;
    assert_eq!(dead.len(), 3);
    let of = |partition: &str, offset: &str| {
        let found = dead.iter().find(|record| {
            record.headers.only_text("original.partition") == Some(partition)
                && record.headers.only_text("original.offset") == Some(offset)
        });
        found.unwrap()
    };
    let first = of("0", "14");
    assert_eq!(first.headers.only_text("greeting"), Some("hi-ë"), "row 12");
    assert_eq!(first.key.as_deref(), Some(b"k-7".as_slice()));
    assert_eq!(of("0", "15").key, None, "an absent key is null");
    let last = of("1", "0");
    assert_eq!(
        last.key.as_deref(),
        Some(b"".as_slice()),
        "an empty key is a key"
    );
    assert_eq!(last.value, None);
    let twice: Vec<_> = last
        .headers
        .iter()
        .filter(|header| header.name == "twice")
        .map(|header| header.value.as_deref().unwrap())
        .collect();
    assert_eq!(twice, [b"1".as_slice(), &[0xff, 0, 127, 128]]);
}

/// Row 71: both sources, with and without an ARN; an event of nobody fails by name instead of losing anything.
#[tokio::test(flavor = "multi_thread")]
async fn events_of_both_sources_are_read_and_what_is_no_event_is_refused() {
    use local::invoke::{Fault, Outcome};
    let (gateway, world) = world().await;
    let function = world.payments(&[]);
    let main = &world.ladder.main;
    let source = [
        r#""eventSource":"aws:kafka","eventSourceArn":"arn:aws:kafka:eu-central-1:1:cluster/a/b""#,
        r#""eventSource":"SelfManagedKafka""#,
        r#""eventSource":"aws:kafka""#,
    ];
    for source in source {
        let id = fresh_ids("source", 1).remove(0);
        let record = good(main.as_str(), 0, &id);
        let event = format!(r#"{{{source},"records":{{"{main}-0":[{record}]}}}}"#);
        let answer = answered(function.invoke(event.into()).await);
        assert_eq!(handed_back(&answer), Vec::<String>::new(), "{source}");
        assert_eq!(gateway.charges().get(&id), Some(&1), "{source}");
    }
    for event in [
        r#"{"Records":[]}"#,
        r#"{"eventSource":"aws:kafka"}"#,
        "[]",
        "null",
        "7",
    ] {
        let outcome = function.invoke(event.into()).await;
        let Outcome::Failed(Fault::Error { error_type, .. }) = &outcome else {
            panic!("{event}: {outcome:?}")
        };
        assert_eq!(error_type, "InvalidEvent", "{event}");
    }
}
