use std::io::{self, ErrorKind, Write};

use aws::Bucket;
use bytes::Bytes;
use kafka::Producer;
use lambda::{Broker, Objects};
use pipeline::spill::SpilledRecord;
use pipeline::{Headers, Incident, Masker, Outgoing, Record, Timestamp};

use crate::bench::{Bench, DLQ, MAIN, check_store_away, run, run_to, topic};

async fn five() -> (Bench, Vec<String>) {
    let bench = Bench::with(&[]).await;
    let mut keys = Vec::new();
    for (offset, time, class, code) in [
        (
            0,
            "2025-08-21T23:59:59.999Z",
            "transient",
            "provider.timeout",
        ),
        (
            1,
            "2025-08-22T00:00:00.000Z",
            "permanent",
            "provider.declined",
        ),
        (
            2,
            "2025-08-22T12:00:00.000Z",
            "transient",
            "provider.timeout",
        ),
        (3, "2025-08-22T12:00:00.001Z", "odd", "odd"),
        (
            4,
            "2025-08-23T00:00:00.000Z",
            "permanent",
            "payload.invalid",
        ),
    ] {
        keys.push(bench.incident(offset, time, class, code).await);
    }
    (bench, keys)
}

async fn check(bench: &Bench, filters: &[&str], expected: &[i64]) {
    let line = [&["incidents", "--json"], filters].concat();
    let list = bench.run(&line).await.check(0, &[]).json();
    let found = list["incidents"].as_array().unwrap().iter();
    let offsets: Vec<i64> = found
        .map(|incident| incident["dlq_offset"].as_i64().unwrap())
        .collect();
    assert_eq!(offsets, expected, "{filters:?}");
}

#[tokio::test]
async fn the_newest_come_first_and_filters_agree_with_each_other() {
    let (bench, _) = five().await;
    check(&bench, &[], &[4, 3, 2, 1, 0]).await;
    check(&bench, &["--error-class", "transient"], &[2, 0]).await;
    check(&bench, &["--class", "permanent"], &[4, 1]).await;
    check(&bench, &["--error-class", "unknown"], &[3]).await;
    check(&bench, &["--error-code", "provider.timeout"], &[2, 0]).await;
    check(&bench, &["--error-code", "unknown"], &[3]).await;
    check(&bench, &["--since", "2025-08-22T12:00:00Z"], &[4, 3, 2]).await;
    check(&bench, &["--since", "2025-08-22T12:00:00.001Z"], &[4, 3]).await;
    check(
        &bench,
        &["--since", "2025-08-22T02:00:00+02:00"],
        &[4, 3, 2, 1],
    )
    .await;
    check(&bench, &["--since", "1h"], &[]).await;
    check(&bench, &["--limit", "2"], &[4, 3]).await;
    check(&bench, &["--limit", "1", "--class", "transient"], &[2]).await;
    check(&bench, &["--limit", "9"], &[4, 3, 2, 1, 0]).await;
    check(&bench, &["--until", "2025-08-22T12:00:00Z"], &[1, 0]).await;
    let day = [
        "--since",
        "2025-08-22T00:00:00Z",
        "--until",
        "2025-08-23T00:00:00Z",
    ];
    check(&bench, &day, &[3, 2, 1]).await;
    check(&bench, &["--original-topic", MAIN], &[4, 3, 2, 1, 0]).await;
    check(&bench, &["--original-topic", "other"], &[]).await;
    check(&bench, &["--dlq-topic", DLQ], &[4, 3, 2, 1, 0]).await;
    check(&bench, &["--dlq-topic", "other"], &[]).await;
    check(&bench, &["--key", "k-3"], &[3]).await;
}

#[tokio::test]
async fn groups_count_and_tell_their_first_and_last() {
    let (bench, _) = five().await;
    let group = async |line: &[&str]| {
        let line = [&["incidents", "--json", "--group"], line].concat();
        let told = bench.run(&line).await.check(0, &[]).json();
        let groups = told["groups"].as_array().unwrap().iter();
        let told: Vec<String> = groups
            .map(|group| {
                let text = |name: &str| group[name].as_str().unwrap_or("-").to_owned();
                let count = &group["incidents"];
                let (first, last) = (text("first"), text("last"));
                format!(
                    "{} {count} {} {}",
                    text("name"),
                    &first[8..16],
                    &last[8..16]
                )
            })
            .collect();
        told.join("; ")
    };
    assert_eq!(
        group(&["class"]).await,
        "permanent 2 22T00:00 23T00:00; transient 2 21T23:59 22T12:00; odd 1 22T12:00 22T12:00"
    );
    assert_eq!(
        group(&["code", "--class", "permanent"]).await,
        "payload.invalid 1 23T00:00 23T00:00; provider.declined 1 22T00:00 22T00:00"
    );
    assert_eq!(
        group(&["topic", "--key", "k-0"]).await,
        format!("{MAIN} 1 21T23:59 21T23:59")
    );
    let shown = bench.run(&["incidents", "--group", "topic"]).await;
    assert!(
        shown.check(0, &[]).out.contains("ORIGINAL TOPIC"),
        "{shown:?}"
    );
}

/// Keeps the incident of a record as `dlq` does.
async fn keep(bench: &Bench, record: &Record) -> String {
    let incident = Incident::of(record, &Masker::default());
    let key = incident.key().to_owned();
    bench.bucket().put_new(&key, incident.json()).await.unwrap();
    key
}

#[tokio::test]
async fn a_payload_is_fetched_from_the_place_that_the_incident_names() {
    let bench = Bench::with(&[DLQ]).await;
    let producer = Producer::new(bench.connection());
    for value in [&b"caf\xc3\xa9 \x1b[2J"[..], &b"\xff\x00"[..]] {
        let outgoing = Outgoing {
            topic: topic(DLQ),
            key: Some(Bytes::from_static(b"k")),
            value: Some(Bytes::from_static(value)),
            headers: Headers::default(),
        };
        producer.produce(&outgoing).await.unwrap();
    }
    let records = bench.records(DLQ).await;
    let shown = |key: String, form: &'static [&'static str]| {
        let bench = &bench;
        async move {
            let line = [&["incidents", "--show", &key, "--payload"], form].concat();
            bench.run(&line).await
        }
    };
    let text = keep(&bench, &records[0]).await;
    let bytes = keep(&bench, &records[1]).await;
    let told = shown(text.clone(), &["--json"]).await.check(0, &[]).json();
    assert_eq!(told["payload"]["text"], "caf\u{e9} \u{1b}[2J");
    let told = shown(text, &[]).await;
    assert!(
        told.check(0, &[])
            .out
            .contains("payload: caf\u{e9} \\u{1b}[2J")
    );
    let told = shown(bytes, &["--json"]).await.check(0, &[]).json();
    assert_eq!(told["payload"]["base64"], "/wA=");

    // Another record stands in the place of one that died in a topic of the same name, and another has no place any more.
    let mut before = records[0].clone();
    before.timestamp = before.timestamp.plus_millis(-1);
    let before = keep(&bench, &before).await;
    let ran = shown(before, &["--json"]).await;
    ran.check(1, &["the record is gone", "made anew"]);
    assert_eq!(ran.json()["dlq_topic"], DLQ);
    let mut gone = records[0].clone();
    gone.coordinates = format!("{DLQ}/0/99").parse().unwrap();
    let gone = keep(&bench, &gone).await;
    shown(gone, &[])
        .await
        .check(1, &["the record is gone", "holds nothing"]);
    bench
        .run(&["incidents", "--payload"])
        .await
        .check(2, &["--show"]);
}

#[tokio::test]
async fn a_spilled_record_is_fetched_from_the_bucket() {
    let bench = Bench::with(&[]).await;
    let spilled = SpilledRecord {
        source: format!("{MAIN}/0/7").parse().unwrap(),
        timestamp: Timestamp::from_rfc3339("2025-08-23T07:12:21.805Z").unwrap(),
        outgoing: Outgoing {
            topic: topic(DLQ),
            key: None,
            value: Some(Bytes::from_static(b"much")),
            headers: Headers::default(),
        },
    };
    let incident = Incident::of_spilled(
        &spilled.outgoing,
        &spilled.source,
        spilled.timestamp,
        &spilled.key(),
        &Masker::default(),
    );
    let (bucket, key) = (bench.bucket(), incident.key().to_owned());
    bucket.put_new(&key, incident.json()).await.unwrap();
    let line = ["incidents", "--json", "--payload", "--show", &key];
    bench.run(&line).await.check(1, &["gone", "spill/"]);
    let object = spilled.json();
    bucket.put_new(&spilled.key(), object).await.unwrap();
    let told = bench.run(&line).await.check(0, &[]).json();
    assert_eq!(told["payload"]["text"], "much");
}

#[tokio::test]
async fn a_limit_says_when_it_leaves_some_out() {
    let (bench, _) = five().await;
    for (limit, more) in [("4", true), ("5", false)] {
        let ran = bench.run(&["incidents", "--json", "--limit", limit]).await;
        assert_eq!(ran.json()["more"], more, "{limit}");
        assert_eq!(ran.notes.contains("there are more"), more, "{limit}");
    }
}

#[tokio::test]
async fn the_table_tells_what_died_where_and_why() {
    let (bench, _) = five().await;
    let ran = bench
        .run(&["incidents", "--limit", "1", "--class", "transient"])
        .await;
    for word in [
        "2025-08-22T12:00:00.000Z",
        "transient",
        "provider.timeout",
        "exhausted",
        &format!("{MAIN}/0/14"),
        "k-2",
        &format!("{DLQ}/0/2"),
        "3",
    ] {
        assert!(ran.check(0, &[]).out.contains(word), "{word}: {ran:?}");
    }
}

#[tokio::test]
async fn one_is_shown_whole_by_its_key_or_by_its_dead_letter() {
    let (bench, keys) = five().await;
    let place = format!("{DLQ}/0/1");
    for name in [keys[1].as_str(), &place] {
        let shown = bench.run(&["incidents", "--json", "--show", name]).await;
        let shown = shown.check(0, &[]).json();
        assert_eq!(shown["object"], keys[1]);
        assert_eq!(shown["error_code"], "provider.declined");
        let text = bench.run(&["incidents", "--show", name]).await;
        assert!(text.check(0, &[]).out.contains("\"payload_bytes\": 2"));
        assert!(!text.out.contains('\u{1b}'), "{text:?}");
    }
    let gone = format!("{DLQ}/0/99");
    for name in ["incidents/none.json", &gone] {
        let ran = bench.run(&["incidents", "--show", name]).await;
        ran.check(1, &[name, "brew-incidents"]);
    }
}

#[tokio::test]
async fn a_spilled_payload_cannot_be_shown() {
    let (bench, _) = five().await;
    let ran = bench.run(&["incidents", "--show", "spill/x.json"]).await;
    ran.check(2, &["spill/x.json"]);
}

#[tokio::test]
async fn what_a_check_of_a_function_leaves_is_no_incident() {
    let (bench, _) = five().await;
    let bucket: Bucket = bench.bucket();
    let key = "incidents/_check.json";
    bucket.put_new(key, b"{}".to_vec()).await.unwrap();
    check(&bench, &[], &[4, 3, 2, 1, 0]).await;
    let ran = bench.run(&["incidents"]).await;
    assert!(!ran.check(0, &[]).out.contains("_check"), "{ran:?}");
}

#[tokio::test]
async fn an_object_that_is_no_incident_hides_no_other() {
    let (bench, _) = five().await;
    let bucket: Bucket = bench.bucket();
    let key = "incidents/dt=2025-08-22/error_class=transient/x-0-0-1.json";
    bucket.put_new(key, b"not JSON".to_vec()).await.unwrap();
    check(&bench, &[], &[4, 3, 2, 1, 0]).await;
    let ran = bench.run(&["incidents"]).await;
    ran.check(0, &["x-0-0-1.json is no incident"]);
}

#[tokio::test]
async fn none_is_said_to_be_none() {
    let bench = Bench::with(&[]).await;
    check(&bench, &[], &[]).await;
    let ran = bench.run(&["incidents"]).await;
    assert_eq!(ran.check(0, &[]).out, "no incidents\n");
}

#[tokio::test]
async fn wrong_words_are_wrong_usage_and_named() {
    let check = async |line: &[&str], named: &str| {
        run(&[], None, line).await.check(2, &[named]);
    };
    check(&["incidents"], "INCIDENT_BUCKET is not set").await;
    check(&["incidents", "--bucket", "A B"], "INCIDENT_BUCKET").await;
    check(&["incidents", "--error-class", "bad"], "--error-class").await;
    check(&["incidents", "--error-code", "bad"], "provider.timeout").await;
    check(&["incidents", "--since", "yesterday"], "--since").await;
    check(&["incidents", "--limit", "0"], "--limit").await;
    check(&["incidents", "--until", "later"], "--until").await;
    check(&["incidents", "--group", "colour"], "--group").await;
    let nothing = [
        "incidents",
        "--bucket",
        "bbb",
        "--since",
        "1h",
        "--until",
        "2h",
    ];
    check(&nothing, "--since is not before --until").await;
    check(
        &["incidents", "--show", "incidents/x", "--limit", "1"],
        "--limit",
    )
    .await;
}

#[tokio::test]
async fn a_store_that_is_away_is_named_in_time() {
    let bench = Bench::with(&[]).await;
    let ran = check_store_away(&bench, &["incidents", "--json"]).await;
    assert_eq!(ran.out, "");
}

#[tokio::test]
async fn a_reader_that_closes_the_pipe_is_no_failure() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Err(ErrorKind::BrokenPipe.into())
        }
    }
    let (bench, _) = five().await;
    let mut notes = Vec::new();
    let line = ["incidents"];
    let status = run_to(&bench.env(), None, &line, &mut Closed, &mut notes).await;
    assert_eq!((status, notes), (0, Vec::new()));
}
