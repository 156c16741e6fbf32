//! Seeding: payments of a mix, the same for the same seed, produced to the main topic.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Context;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use lambda::{Broker, ProduceError};
use pipeline::{Headers, Outgoing, Topic};
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde::Serialize;

use super::mix::{Kind, Mix};
use super::table::table;
use crate::provider::Mode;

/// How many records may be on their way at once.
const UNDER_WAY: usize = 1_000;

/// A version of the schema that nobody knows.
const UNKNOWN_VERSION: u32 = 99;

/// What to seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeding {
    /// How many records.
    pub messages: u32,
    /// Which kinds.
    pub mix: Mix,
    /// What makes these records differ from those of another seed, ids included.
    pub seed: u32,
}

/// One record to seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The key, and the payment's id where the value is a payment.
    pub key: String,
    /// What it is.
    pub kind: Kind,
    /// The value.
    pub value: Bytes,
}

/// What was seeded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Seeded {
    /// The topic.
    pub topic: String,
    /// The seed: with it, and the same number and mix, the same records come again.
    pub seed: u32,
    /// The mix.
    pub mix: String,
    /// How many records were asked for.
    pub messages: u32,
    /// How many the broker has.
    pub produced: u32,
    /// How many the broker refuses.
    pub refused: u32,
    /// How many of each kind the broker has.
    pub by_kind: BTreeMap<&'static str, u32>,
    /// The first key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_key: Option<String>,
    /// The last key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_key: Option<String>,
    /// What stopped it before its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

impl Seeding {
    /// Returns the records, each with a key of its own.
    pub fn seeds(&self) -> Vec<Seed> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(u64::from(self.seed));
        let mut kinds: Vec<Kind> = Vec::new();
        for (kind, part) in self.mix.divide(self.messages) {
            kinds.extend((0..part).map(|_| kind));
        }
        kinds.shuffle(&mut random);
        let numbered = kinds.into_iter().zip(1_u32..);
        numbered
            .map(|(kind, number)| {
                let key = format!("k-{}-{number}", self.seed);
                let amount = random.random_range(100..=1_000_000_u32);
                let value = value(kind, self.seed, number, amount);
                Seed { key, kind, value }
            })
            .collect()
    }

    /// Produces the records, many at a time; ends early when the broker is away or refuses us.
    pub async fn produce(&self, topic: &Topic, broker: &impl Broker) -> Seeded {
        let seeds = self.seeds();
        let mut seeded = Seeded {
            topic: topic.to_string(),
            seed: self.seed,
            mix: self.mix.to_string(),
            messages: self.messages,
            produced: 0,
            refused: 0,
            by_kind: BTreeMap::new(),
            first_key: seeds.first().map(|seed| seed.key.clone()),
            last_key: seeds.last().map(|seed| seed.key.clone()),
            fault: None,
        };
        let produced = stream::iter(seeds).map(|seed| {
            let outgoing = Outgoing {
                topic: topic.clone(),
                key: Some(seed.key.into()),
                value: Some(seed.value),
                headers: Headers::default(),
            };
            async move { (seed.kind, broker.produce(&outgoing).await) }
        });
        let mut produced = std::pin::pin!(produced.buffer_unordered(UNDER_WAY));
        while let Some((kind, result)) = produced.next().await {
            match result {
                Ok(_) => {
                    seeded.produced = seeded.produced.saturating_add(1);
                    let count = seeded.by_kind.entry(kind.as_str()).or_default();
                    *count = count.saturating_add(1);
                }
                Err(ProduceError::Refused(_)) => seeded.refused = seeded.refused.saturating_add(1),
                Err(error @ ProduceError::Fault(_)) => {
                    seeded.fault = Some(error.to_string());
                    broker.give_up();
                    break;
                }
            }
        }
        seeded
    }
}

impl Seeded {
    /// Fails when not all was produced.
    pub fn whole(&self) -> anyhow::Result<()> {
        let Self {
            topic,
            messages,
            produced,
            refused,
            ..
        } = self;
        if let Some(fault) = &self.fault {
            return Err(anyhow::anyhow!("{fault}")).with_context(|| {
                format!("of {messages} payments {produced} are known to be in topic {topic}")
            });
        }
        anyhow::ensure!(
            *refused == 0,
            "the broker refuses {refused} of {messages} payments for topic {topic}"
        );
        Ok(())
    }
}

fn value(kind: Kind, seed: u32, number: u32, amount: u32) -> Bytes {
    let (mode, schema_version) = match kind {
        Kind::Payment(mode) => (mode, 1),
        Kind::Schema => (Mode::Ok, UNKNOWN_VERSION),
        Kind::BrokenJson => {
            return format!(r#"{{"schema_version":1,"payment_id":"k-{seed}-{number}""#).into();
        }
    };
    let (payment_id, order_id) = (format!("k-{seed}-{number}"), format!("o-{seed}-{number}"));
    // In the order in which people write a payment down.
    format!(
        r#"{{"schema_version":{schema_version},"payment_id":"{payment_id}","order_id":"{order_id}","amount":{amount},"currency":"RUB","metadata":{{"mode":"{mode}"}}}}"#
    )
    .into()
}

impl fmt::Display for Seeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            topic,
            seed,
            produced,
            ..
        } = self;
        write!(f, "{produced} payments to {topic} (seed {seed})")?;
        if self.by_kind.is_empty() {
            return Ok(());
        }
        let rows = self.by_kind.iter();
        let rows = rows.map(|(kind, count)| vec![(*kind).to_owned(), count.to_string()]);
        let table = table(&["kind", "payments"], &[1], rows.collect());
        write!(f, "\n\n{table}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const EVERY_KIND: &str =
        "ok=5,transient=3,permanent=1,timeout=1,flap=2,rate-limit=2,broken-json=1,schema=1";

    fn seeding(messages: u32, seed: u32) -> Seeding {
        Seeding {
            messages,
            mix: EVERY_KIND.parse().unwrap(),
            seed,
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_records_and_another_seed_makes_none_of_them() {
        let first = seeding(160, 7).seeds();
        assert_eq!(first, seeding(160, 7).seeds());
        let keys =
            |seeds: &[Seed]| -> BTreeSet<String> { seeds.iter().map(|s| s.key.clone()).collect() };
        let other = seeding(160, 8).seeds();
        assert_eq!(keys(&first).len(), 160);
        assert!(keys(&first).is_disjoint(&keys(&other)));
        let kinds = |seeds: &[Seed]| -> Vec<Kind> { seeds.iter().map(|s| s.kind).collect() };
        assert_ne!(kinds(&first), kinds(&other), "the order differs too");
    }

    #[test]
    fn the_records_of_a_seed_stay_the_same_from_one_release_to_the_next() {
        let seeds = seeding(16, 42).seeds();
        let first = seeds.first().unwrap();
        assert_eq!(first.key, "k-42-1");
        let shown: Vec<&str> = seeds.iter().map(|seed| seed.kind.as_str()).collect();
        assert_eq!(shown.join(" "), GOLDEN_ORDER);
        let payment = seeds
            .iter()
            .find(|seed| seed.kind == Kind::Payment(Mode::Ok));
        assert_eq!(payment.unwrap().value, GOLDEN_PAYMENT);
    }

    const GOLDEN_ORDER: &str = "broken-json rate-limit ok transient timeout transient ok permanent flap flap schema ok transient ok ok rate-limit";
    const GOLDEN_PAYMENT: &str = r#"{"schema_version":1,"payment_id":"k-42-3","order_id":"o-42-3","amount":588140,"currency":"RUB","metadata":{"mode":"ok"}}"#;

    #[test]
    fn every_value_is_what_its_kind_says() {
        for seed in seeding(160, 1).seeds() {
            let read: Result<serde_json::Value, _> = serde_json::from_slice(&seed.value);
            match seed.kind {
                Kind::BrokenJson => assert!(read.is_err()),
                Kind::Schema => assert_eq!(read.unwrap()["schema_version"], 99),
                Kind::Payment(mode) => {
                    let payment = read.unwrap();
                    assert_eq!(payment["schema_version"], 1);
                    assert_eq!(payment["payment_id"], *seed.key);
                    assert_eq!(payment["metadata"]["mode"], mode.as_str());
                    assert!(payment["amount"].as_i64().unwrap() > 0);
                }
            }
        }
    }
}
