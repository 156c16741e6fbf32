//! Kafka authentication for real: TLS, SCRAM-SHA-512 and IAM tokens at an Apache Kafka that asks for them.

use std::sync::Arc;
use std::time::Duration;

use aws::{Keys, Sdk, Secret};
use futures_util::future::join_all;
use kafka::{Auth, ChunkLimit, Connection, Iam, Producer, Reader, Scram, Trust};
use lambda::Broker;
use local::lambda_api::Reply;
use pipeline::{Headers, Outgoing};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::harness::bare::Bare;
use crate::harness::binaries;
use crate::harness::event::{Sent, event, handed_back};
use crate::harness::gateway::{Asked, Gateway, Ruling};
use crate::harness::ladder::Ladder;
use crate::harness::orders;
use crate::harness::payment::{fresh_ids, payment};
use crate::harness::secrets::{ARN, Secrets};
use crate::harness::secured::{ALICE, BOB, CAROL, Secured, Way};
use crate::harness::until;
use crate::harness::world::World;

const PATIENCE: Duration = Duration::from_mins(1);

/// Refuses payments by their mode.
fn rule(asked: &Asked) -> Ruling {
    match asked.mode.as_str() {
        "transient" => Ruling::Refuse(503, "later".to_owned()),
        "permanent" => Ruling::Refuse(402, "no".to_owned()),
        _ => Ruling::Charge(Duration::ZERO),
    }
}

/// Borrows variables as a world takes them.
pub(crate) fn borrowed<'a>(env: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    env.iter().map(|(name, value)| (*name, &**value)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn payments_and_orders_are_forwarded_and_replay_reads_by_every_way_in() {
    let Some(secured) = Secured::start().await else {
        return;
    };
    check_asked_at_once(&secured).await;
    let gateway = Gateway::start(rule).await;
    let secrets = Secrets::with(ALICE.0, ALICE.1).await;
    let ways = [Way::Tls, Way::Scram, Way::Iam];
    join_all(ways.map(|way| check_way_in(&secured, way, &gateway, &secrets))).await;
    // Payments, orders and replay read the secret once each.
    assert_eq!(secrets.readings(), 3);
}

/// A consumer that is asked as soon as it is made has its token: without, its first question goes without an answer for 4 s.
async fn check_asked_at_once(secured: &Secured) {
    let topic = Ladder::with_delays(&[]).dlq;
    secured.cluster().create(&topic, 1, &[]).await;
    let secrets = Secrets::start().await;
    let connection = Connection {
        brokers: secured.address(Way::Iam).parse().unwrap(),
        auth: auth(secured, Way::Iam, &secrets, local::s3::SECRET_KEY),
    };
    let began = Instant::now();
    Reader::open(&connection, &topic).await.unwrap();
    let took = began.elapsed();
    assert!(took < Duration::from_secs(4), "{took:?}");
}

async fn check_way_in(secured: &Secured, way: Way, gateway: &Gateway, secrets: &Secrets) {
    let env = secured.way_in(way, secrets);
    let env = borrowed(&env);
    let ladder = Ladder::with_delays(&["1h"]);
    let world = World::new(secured.cluster(), ladder, &gateway.url()).await;
    let ids = fresh_ids("auth", 40);
    let mode = |nth: usize| if nth < 20 { "transient" } else { "permanent" };
    world.cluster.pay(&world.ladder.main, &ids, mode).await;
    let settings = world.settings("payments", binaries::payments(), &env);
    let one = settings.with_concurrency(std::num::NonZeroUsize::MIN);
    let mapped = world.map(one, &world.ladder.main);
    until(PATIENCE, "every payment is forwarded", async || {
        let retried = world.cluster.records(world.ladder.retry(0)).await.len();
        let dead = world.cluster.records(&world.ladder.dlq).await.len();
        crate::harness::is(&(retried, dead), &(20, 20))
    })
    .await;
    drop(mapped);

    // Longer than a session lasts where the broker limits it: the clients make themselves known again meanwhile.
    let replay = world.settings("replay", binaries::replay(), &env);
    let replay = world.function(replay.with_timeout(PATIENCE));
    let payload = json!({"all": true, "rate_per_second": 4});
    let answer = local::invoke::Invoke::invoke(&*replay, payload.to_string().into()).await;
    let answer: Value = serde_json::from_slice(&crate::harness::world::answered(answer)).unwrap();
    assert_eq!(answer["published"], 20, "{way:?}: {answer}");
    let main = world.cluster.records(&world.ladder.main).await;
    assert_eq!(main.len(), 60, "{way:?}");

    let world = orders::world(secured.cluster(), &[]).await;
    orders::send(&world, &orders::ten()).await;
    let mapped = world.map(orders::settings(&world, &env), &world.ladder.main);
    until(PATIENCE, "the poison is dead-lettered", async || {
        let dead = world.cluster.records(&world.ladder.dlq).await.len();
        crate::harness::is(&dead, &1)
    })
    .await;
    drop(mapped);
}

/// What goes wrong by one way in.
struct Wrong {
    what: &'static str,
    connection: Connection,
    /// What the error must say, beside brokers and mode.
    words: &'static str,
}

/// Reaches AWS at a server of the test, with these keys.
fn sdk(url: &str, secret: &str) -> Sdk {
    let keys = Keys {
        id: local::s3::ACCESS_KEY.to_owned(),
        secret: secret.to_owned(),
    };
    Sdk::new(Some(url.parse().unwrap())).or_keys(keys)
}

/// Returns a way to make oneself known; tokens are signed with these keys.
fn auth(secured: &Secured, way: Way, secrets: &Secrets, key: &str) -> Auth {
    let trust = || Trust::read_file(&secured.ca()).unwrap();
    match way {
        Way::Plain => Auth::None,
        Way::Tls => Auth::Tls(trust()),
        Way::Scram => {
            let secret = Secret::new(ARN.parse().unwrap(), "password", sdk(&secrets.url(), key));
            Auth::Scram(Arc::new(Scram::new(secret, trust())))
        }
        Way::Iam => Auth::Iam(Arc::new(Iam::new(sdk("http://127.0.0.1:1", key), trust()))),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_wrong_way_in_is_told_within_ten_seconds_with_what_to_look_at() {
    let Some(secured) = Secured::start().await else {
        return;
    };
    let right = Secrets::with(ALICE.0, ALICE.1).await;
    let wrong_password = Secrets::with(ALICE.0, "wr0ng-s3cret").await;
    let nobody = Secrets::with("mallory", "mallorys-s3cret").await;
    let enough = Secrets::with(CAROL.0, CAROL.1).await;
    let no_rights = Secrets::with(BOB.0, BOB.1).await;
    let closed = Secrets::start().await;
    let topic = &Ladder::with_delays(&[]).main;
    secured.cluster().create(topic, 1, &[]).await;
    let key = local::s3::SECRET_KEY;
    let wrong = |what, listener: Way, auth: Auth, words| {
        let brokers = secured.address(listener).parse().unwrap();
        Wrong {
            what,
            connection: Connection { brokers, auth },
            words,
        }
    };
    let by = |way: Way| auth(&secured, way, &right, key);
    let with = |secrets: &Secrets| auth(&secured, Way::Scram, secrets, key);
    let certificate = "certificate is signed by no authority of KAFKA_CA";
    let other = Trust::read_file(&secured.other_ca()).unwrap();
    let forged = auth(&secured, Way::Iam, &right, "an0ther-s3cret");
    let no_tls = "the broker seems to speak no TLS on this port";
    let tls = "the broker seems to speak TLS on this port";
    let way = "offers another way to make oneself known";
    let secret = "look at the secret of KAFKA_SECRET_ARN";
    let mut cases = vec![
        wrong(
            "an unknown authority",
            Way::Tls,
            Auth::Tls(other),
            certificate,
        ),
        wrong(
            "none of the system",
            Way::Tls,
            Auth::Tls(Trust::System),
            certificate,
        ),
        wrong("TLS at a plain listener", Way::Plain, by(Way::Tls), no_tls),
        wrong(
            "SCRAM at a plain listener",
            Way::Plain,
            by(Way::Scram),
            no_tls,
        ),
        wrong("nothing at a TLS listener", Way::Tls, by(Way::Plain), tls),
        wrong(
            "nothing at a SCRAM listener",
            Way::Scram,
            by(Way::Plain),
            tls,
        ),
        wrong(
            "TLS at a SCRAM listener",
            Way::Scram,
            by(Way::Tls),
            "want to know who we are",
        ),
        wrong("SCRAM at a TLS listener", Way::Tls, by(Way::Scram), way),
        wrong(
            "SCRAM at the listener for IAM",
            Way::Iam,
            by(Way::Scram),
            way,
        ),
        wrong("IAM at a SCRAM listener", Way::Scram, by(Way::Iam), way),
        wrong("a forged token", Way::Iam, forged, "kafka-cluster:Connect"),
        wrong(
            "a wrong password",
            Way::Scram,
            with(&wrong_password),
            secret,
        ),
        wrong("an unknown user", Way::Scram, with(&nobody), secret),
        wrong(
            "no permission",
            Way::Scram,
            with(&no_rights),
            "look at its ACLs",
        ),
        wrong(
            "no secret",
            Way::Scram,
            with(&closed),
            "AccessDeniedException (HTTP 400)",
        ),
    ];
    check_enough(&secured, &auth(&secured, Way::Scram, &enough, key)).await;
    let elsewhere = secured.address(Way::Tls).replace("127.0.0.1", "localhost");
    cases.push(Wrong {
        what: "another host than the certificate names",
        connection: Connection {
            brokers: elsewhere.parse().unwrap(),
            auth: by(Way::Tls),
        },
        words: "does not name the host in KAFKA_BROKERS",
    });
    let told = join_all(cases.iter().map(|wrong| async {
        let sender = Producer::new(wrong.connection.clone());
        let record = Outgoing {
            topic: topic.clone(),
            key: None,
            value: None,
            headers: Headers::default(),
        };
        let (produced, read) = tokio::join!(
            told(wrong, "producing", sender.produce(&record)),
            told(wrong, "reading", Reader::open(&wrong.connection, topic)),
        );
        produced.into_iter().chain(read).collect::<Vec<String>>()
    }));
    let problems: Vec<String> = told.await.into_iter().flatten().collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert_eq!(secured.cluster().records(topic).await, []);
}

/// To write takes the permission to write, and to read takes that to read: none for the cluster and none for a group.
async fn check_enough(secured: &Secured, auth: &Auth) {
    let connection = Connection {
        brokers: secured.address(Way::Scram).parse().unwrap(),
        auth: auth.clone(),
    };
    let topic = Ladder::with_delays(&[]).dlq;
    secured.cluster().create(&topic, 1, &[]).await;
    secured.allow(CAROL.0, &["Write"], &topic);
    let record = Outgoing {
        topic: topic.clone(),
        key: None,
        value: None,
        headers: Headers::default(),
    };
    let sender = Producer::new(connection.clone());
    sender.produce(&record).await.unwrap();
    secured.allow(CAROL.0, &["Read"], &topic);
    let mut reader = Reader::open(&connection, &topic).await.unwrap();
    let limit = ChunkLimit {
        records: 1,
        bytes: 1,
    };
    let chunk = reader.next_chunk(limit, std::future::pending()).await;
    assert_eq!(chunk.unwrap().records.len(), 1);
}

/// Returns what is wrong with how a failure is told.
async fn told<T, E: std::fmt::Display>(
    wrong: &Wrong,
    doing: &str,
    does: impl Future<Output = Result<T, E>>,
) -> Option<String> {
    let began = Instant::now();
    let result = does.await;
    let took = began.elapsed();
    let told = match result {
        Ok(_) => "it works".to_owned(),
        Err(error) => error.to_string(),
    };
    let names = wrong.connection.to_string();
    let right = took < Duration::from_secs(10)
        && told.contains(wrong.words)
        && told.contains(&names)
        && !told.contains("s3cret");
    let line = format!("{}, {doing}, {took:?}: {told}", wrong.what);
    eprintln!("{line}");
    (!right).then_some(line)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_handed_back_while_the_password_is_wrong_and_forwarded_once_the_secret_is_right()
 {
    let Some(secured) = Secured::start().await else {
        return;
    };
    let gateway = Gateway::start(rule).await;
    let secrets = Secrets::with(ALICE.0, "0ld-s3cret").await;
    let env = secured.way_in(Way::Scram, &secrets);
    let world = World::new(
        secured.cluster(),
        Ladder::with_delays(&["1h"]),
        &gateway.url(),
    )
    .await;
    let env = world.env(&borrowed(&env));
    let mut process = Bare::start(&binaries::payments(), env).await;
    process.ready().await;
    let ids = fresh_ids("rotated", 20);
    let records = (0..)
        .zip(&ids)
        .map(|(offset, id)| Sent::new(&world.ladder.main, offset, id, payment(id, "transient")));
    let event = event(&records.collect::<Vec<Sent>>());
    let first = invoke(&process, event.clone()).await;
    assert_eq!(handed_back(&first).len(), 20);
    // Where many fail at once, one reads the secret again for all.
    let readings = secrets.readings();
    assert!((2..=4).contains(&readings), "{readings}");

    secrets.change(ALICE.0, ALICE.1);
    let second = invoke(&process, event).await;
    assert_eq!(handed_back(&second), [""; 0]);
    let forwarded = world.cluster.records(world.ladder.retry(0)).await;
    assert_eq!(forwarded.len(), 20);
    assert!(secrets.readings() <= readings + 2);

    process.signal(nix::sys::signal::Signal::SIGTERM);
    let (_, log) = process.ended().await;
    let log = log.join("\n");
    assert!(
        log.contains("look at the secret of KAFKA_SECRET_ARN"),
        "{log}"
    );
    assert!(!log.contains("s3cret"), "{log}");
    assert!(!secured.log().contains("s3cret"));
}

async fn invoke(process: &Bare, event: bytes::Bytes) -> bytes::Bytes {
    match process.invoke(event, PATIENCE).await {
        Some(Reply::Answer(answer)) => answer,
        other => panic!("{other:?}"),
    }
}
