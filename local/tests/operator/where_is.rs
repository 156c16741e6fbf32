use bytes::Bytes;
use kafka::Producer;
use lambda::{Broker, Objects};
use local::provider::{Provider, ProviderSettings};
use pipeline::headers::names;
use pipeline::{Headers, Incident, Masker, Outgoing};
use serde_json::{Value, json};

use crate::bench::{Bench, DLQ, LADDER, MAIN, check_brokers_away, check_store_away, run, topic};
use crate::status::commit;

/// Produces a record of payment k-7 and returns where it is.
async fn put(bench: &Bench, to: &str, key: &str, headers: &[(&str, &str)]) -> String {
    let mut written = Headers::default();
    for (name, value) in headers {
        written.set(name, value);
    }
    let outgoing = Outgoing {
        topic: topic(to),
        key: Some(Bytes::copy_from_slice(key.as_bytes())),
        value: Some(Bytes::from_static(br#"{"payment_id":"k-7","amount":1}"#)),
        headers: written,
    };
    let producer = Producer::new(bench.connection());
    producer.produce(&outgoing).await.unwrap().to_string()
}

async fn look(bench: &Bench, more: &[&str]) -> Value {
    let line = [&["where", "k-7", "--json"], more].concat();
    bench.run(&line).await.check(0, &[]).json()
}

fn states(told: &Value) -> Vec<String> {
    let sightings = told["sightings"].as_array().unwrap().iter();
    sightings
        .map(|sighting| {
            let text = |name: &str| sighting[name].as_str().unwrap();
            format!("{} {}", text("stage"), text("state"))
        })
        .collect()
}

#[tokio::test]
async fn a_payment_is_followed_from_topic_to_topic() {
    let bench = Bench::with(&LADDER).await;
    bench.run(&["seed", "--messages", "20"]).await.check(0, &[]);
    assert_eq!(look(&bench, &[]).await["answer"], "in no topic");

    let first = put(&bench, MAIN, "k-7", &[]).await;
    let told = look(&bench, &[]).await;
    let told = told["answer"].as_str().unwrap();
    assert!(
        told.contains(&first) && told.contains("committed nothing"),
        "{told}"
    );
    commit(&bench.connection(), "payments", MAIN, &[0, 0]);
    let told = look(&bench, &[]).await;
    assert_eq!(told["answer"], format!("waits in {first} for its turn"));

    commit(&bench.connection(), "payments", MAIN, &[100, 100]);
    assert_eq!(look(&bench, &[]).await["answer"], "waits nowhere");
    // The key may be any, and a value tells whose it is.
    let climbed = [
        (names::PREVIOUS_TOPIC, MAIN),
        (names::ERROR_CODE, "provider.timeout"),
    ];
    let hour = put(&bench, LADDER[3], "shop", &climbed).await;
    commit(&bench.connection(), "payments", LADDER[3], &[0, 0]);
    let told = look(&bench, &[]).await;
    let answer = told["answer"].as_str().unwrap();
    assert!(
        answer.starts_with(&format!("waits in {hour} until 2")),
        "{answer}"
    );
    assert_eq!(states(&told), ["main passed", "retry 1h waits"]);
    assert_eq!(
        told["sightings"][1]["headers"]["error.code"],
        "provider.timeout"
    );
    assert!(told["sightings"][1]["due"].is_string());
}

#[tokio::test]
async fn a_dead_letter_is_told_with_its_incident_until_it_goes_back() {
    let bench = Bench::with(&LADDER).await;
    let dead = put(&bench, DLQ, "k-7", &[(names::ERROR_CLASS, "transient")]).await;
    let told = look(&bench, &[]).await;
    assert_eq!(
        told["answer"],
        format!("dead in {dead}, without an incident yet")
    );

    let record = bench.records(DLQ).await.remove(0);
    let incident = Incident::of(&record, &Masker::default());
    let key = incident.key().to_owned();
    bench.bucket().put_new(&key, incident.json()).await.unwrap();
    let told = look(&bench, &[]).await;
    assert_eq!(told["answer"], format!("dead in {dead}, incident {key}"));
    assert_eq!(told["incidents"][0]["object"], key);

    bench
        .run(&["replay", "--key", "k-7", "--yes"])
        .await
        .check(0, &[]);
    commit(&bench.connection(), "payments", MAIN, &[1, 1]);
    let told = look(&bench, &[]).await;
    assert_eq!(told["answer"], "waits nowhere");
    assert_eq!(states(&told), ["dlq replayed", "main passed"]);
    let shown = bench.run(&["where", "k-7"]).await;
    let out = &shown.check(0, &["the provider is not asked"]).out;
    assert!(out.starts_with("waits nowhere\n"), "{out}");
    assert!(out.contains(&format!("replay 1 of {dead}")), "{out}");
}

#[tokio::test]
async fn the_provider_has_the_first_word() {
    let bench = Bench::with(&LADDER).await;
    let provider = Provider::start(ProviderSettings::default()).await.unwrap();
    let url = provider.url();
    let gateway = ["--gateway", url.as_str()];
    let told = look(&bench, &gateway).await;
    assert_eq!(
        (&told["answer"], &told["provider"]),
        (&json!("not charged; in no topic"), &json!("unknown"))
    );
    let body = r#"{"payment_id":"k-7","order_id":"o","amount":1,"currency":"RUB"}"#;
    let charged = reqwest_post(&url, body).await;
    assert!(charged.is_success(), "{charged}");
    let told = look(&bench, &gateway).await;
    assert_eq!(told["answer"], "charged; in no topic");
    let ran = bench
        .run(&["where", "k-7", "--gateway", "http://127.0.0.1:1"])
        .await;
    ran.check(1, &["no answer from the provider at http://127.0.0.1:1/"]);
    assert_eq!(
        ran.out, "in no topic\n",
        "what is known is told all the same"
    );
}

async fn reqwest_post(url: &str, body: &'static str) -> reqwest::StatusCode {
    let client = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .build()
        .unwrap();
    let request = client
        .post(format!("{url}/v1/charges"))
        .header("idempotency-key", "k-7")
        .header("content-type", "application/json")
        .body(body);
    request.send().await.unwrap().status()
}

#[tokio::test]
async fn topics_that_are_not_there_are_told() {
    let bench = Bench::with(&[MAIN, DLQ]).await;
    let told = look(&bench, &[]).await;
    assert_eq!(told["missing"], json!(LADDER[1..4]));
}

#[tokio::test]
async fn wrong_words_are_wrong_usage_and_named() {
    let check = async |line: &[&str], named: &str| {
        run(&[], None, line).await.check(2, &[named]);
    };
    check(&["where"], "<ID>").await;
    check(&["where", "a b"], "visible ASCII").await;
    check(&["where", ".."], "visible ASCII").await;
    check(&["where", "k", "--gateway", "ftp://x"], "--gateway").await;
    check(&["where", "k", "--since", "soon"], "--since").await;
    check(&["where", "k"], "KAFKA_BROKERS").await;
}

#[tokio::test]
async fn what_is_away_is_named_in_time() {
    let ran = check_brokers_away(&["where", "k-7", "--json"]).await;
    assert_eq!(ran.out, "");
    let bench = Bench::with(&LADDER).await;
    check_store_away(&bench, &["where", "k-7", "--json"]).await;
}
