//! What the demo seeds: payments of every mode, and values that are no payments.

use std::fmt;
use std::num::NonZeroUsize;

use bytes::Bytes;
use serde_json::json;

use crate::provider::Mode;

/// One record to seed; its key is the payment's id, and no other has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed {
    /// The key and, where the value is a payment, its id.
    pub key: String,
    /// What it is.
    pub kind: Kind,
    /// The value.
    pub value: Bytes,
}

/// What a seeded record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A payment that the provider treats in this way.
    Payment(Mode),
    /// Half a JSON object.
    BrokenJson,
    /// A payment of a schema version that nobody knows yet.
    UnknownSchema,
}

impl Kind {
    /// The mix, over and over; its first eight are one of each.
    const CYCLE: [Self; 15] = [
        Self::Payment(Mode::Ok),
        Self::Payment(Mode::Transient),
        Self::Payment(Mode::Permanent),
        Self::Payment(Mode::Timeout),
        Self::Payment(Mode::Flap),
        Self::Payment(Mode::RateLimit),
        Self::BrokenJson,
        Self::UnknownSchema,
        Self::Payment(Mode::Ok),
        Self::Payment(Mode::Transient),
        Self::Payment(Mode::Ok),
        Self::Payment(Mode::Flap),
        Self::Payment(Mode::Ok),
        Self::Payment(Mode::Transient),
        Self::Payment(Mode::Ok),
    ];

    /// How many kinds there are: a demo that shows all of them seeds at least so many records.
    pub const COUNT: u16 = 8;

    /// Tells whether the provider charges it, sooner or later.
    pub const fn is_chargeable(self) -> bool {
        match self {
            Self::Payment(
                Mode::Ok | Mode::Transient | Mode::Timeout | Mode::Flap | Mode::RateLimit,
            ) => true,
            Self::Payment(Mode::Permanent) | Self::BrokenJson | Self::UnknownSchema => false,
        }
    }

    /// Returns the kind as the demo shows it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Payment(mode) => mode.as_str(),
            Self::BrokenJson => "broken JSON",
            Self::UnknownSchema => "unknown schema",
        }
    }

    fn value(self, number: usize) -> Bytes {
        let (mode, schema_version) = match self {
            Self::Payment(mode) => (mode, 1),
            Self::BrokenJson => {
                return format!(r#"{{"schema_version":1,"payment_id":"k-{number}""#).into();
            }
            Self::UnknownSchema => (Mode::Ok, 99),
        };
        let payment = json!({
            "schema_version": schema_version,
            "payment_id": format!("k-{number}"),
            "order_id": format!("o-{number}"),
            "amount": number.saturating_mul(125),
            "currency": "RUB",
            "metadata": { "mode": mode.as_str() },
        });
        payment.to_string().into()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Returns so many records, `k-1` to `k-N`; the same for the same number.
pub fn seeds(count: NonZeroUsize) -> Vec<Seed> {
    (1..=count.get())
        .zip(Kind::CYCLE.into_iter().cycle())
        .map(|(number, kind)| Seed {
            key: format!("k-{number}"),
            kind,
            value: kind.value(number),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    fn kinds(count: usize) -> BTreeMap<Kind, usize> {
        let seeds = seeds(count.try_into().unwrap());
        let of_kind = |kind| seeds.iter().filter(|seed| seed.kind == kind).count();
        let kinds = seeds.iter().map(|seed| (seed.kind, of_kind(seed.kind)));
        kinds.collect()
    }

    #[test]
    fn the_smallest_demo_shows_every_kind_and_no_smaller_one_does() {
        let count = usize::from(Kind::COUNT);
        assert_eq!(kinds(count).len(), count);
        assert_eq!(kinds(100).len(), count);
        assert!(kinds(count - 1).len() < count);
    }

    #[test]
    fn sixty_records_hang_too_few_calls_to_open_the_circuit() {
        let kinds = kinds(60);
        assert_eq!(kinds.values().sum::<usize>(), 60);
        assert_eq!(kinds[&Kind::Payment(Mode::Timeout)], 4);
    }

    #[test]
    fn every_key_is_its_own_and_every_value_is_what_its_kind_says() {
        let seeds = seeds(60.try_into().unwrap());
        let keys: BTreeSet<&str> = seeds.iter().map(|seed| seed.key.as_str()).collect();
        assert_eq!(keys.len(), 60);
        for seed in &seeds {
            let read: Result<serde_json::Value, _> = serde_json::from_slice(&seed.value);
            match seed.kind {
                Kind::BrokenJson => assert!(read.is_err()),
                Kind::UnknownSchema => assert_eq!(read.unwrap()["schema_version"], 99),
                Kind::Payment(mode) => {
                    let payment = read.unwrap();
                    assert_eq!(payment["payment_id"], *seed.key);
                    assert_eq!(payment["metadata"]["mode"], mode.as_str());
                    assert_eq!(payment["schema_version"], 1);
                    assert!(payment["amount"].as_i64().unwrap() > 0);
                }
            }
        }
    }
}
