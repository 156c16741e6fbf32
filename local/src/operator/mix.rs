//! A mix of payments: which kinds, and how many of one for how many of another.

use std::fmt;
use std::str::FromStr;

use crate::provider::Mode;

/// What a seeded record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A payment that the simulated provider treats in this way.
    Payment(Mode),
    /// A value that breaks off in the middle of its JSON.
    BrokenJson,
    /// A payment of a schema version that nobody knows.
    Schema,
}

impl Kind {
    /// Returns every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        Mode::ALL
            .into_iter()
            .map(Self::Payment)
            .chain([Self::BrokenJson, Self::Schema])
    }

    /// Returns the kind as a mix names it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Payment(mode) => mode.as_str(),
            Self::BrokenJson => "broken-json",
            Self::Schema => "schema",
        }
    }

    /// Reads a kind as a mix names it.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::all().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Kinds with their shares, written `ok=7,transient=2,permanent=1`; at least one share is above zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix(Vec<(Kind, u32)>);

/// Says what is wrong with a mix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MixError {
    /// Not of the form `kind=share`.
    #[error("{0:?} is not of the form kind=share, such as ok=7")]
    NoShare(String),
    /// No such kind.
    #[error("{name:?} is none of the kinds {kinds}", name = .0, kinds = kinds())]
    NoKind(String),
    /// The share is not a number.
    #[error("the share {0:?} is not a whole number up to 1000000")]
    NoNumber(String),
    /// A kind stands twice.
    #[error("{0} stands twice")]
    Twice(Kind),
    /// Nothing has a share.
    #[error("no kind has a share above zero")]
    Empty,
}

impl Default for Mix {
    /// Returns `ok=7,transient=2,permanent=1`.
    fn default() -> Self {
        Self(vec![
            (Kind::Payment(Mode::Ok), 7),
            (Kind::Payment(Mode::Transient), 2),
            (Kind::Payment(Mode::Permanent), 1),
        ])
    }
}

impl Mix {
    const MOST: u32 = 1_000_000;

    /// Divides so many records among the kinds as their shares say, to within one record each.
    pub fn divide(&self, records: u32) -> Vec<(Kind, u32)> {
        let whole: u64 = self.0.iter().map(|(_, share)| u64::from(*share)).sum();
        let mut shares_before = 0;
        let mut records_before = 0;
        let mut divided = Vec::new();
        for (kind, share) in &self.0 {
            shares_before = u64::from(*share).saturating_add(shares_before);
            // Rounded sums, not rounded parts: so the parts are right to within one and add up to the whole.
            let upto = u64::from(records)
                .saturating_mul(shares_before)
                .saturating_add(whole >> 1)
                .checked_div(whole)
                .unwrap_or_default();
            let part = upto.saturating_sub(records_before);
            records_before = upto;
            divided.push((*kind, u32::try_from(part).unwrap_or(u32::MAX)));
        }
        divided
    }
}

impl FromStr for Mix {
    type Err = MixError;

    fn from_str(text: &str) -> Result<Self, MixError> {
        let mut shares: Vec<(Kind, u32)> = Vec::new();
        for entry in text.split(',').map(str::trim) {
            let (name, share) = entry
                .split_once('=')
                .ok_or_else(|| MixError::NoShare(entry.to_owned()))?;
            let kind =
                Kind::from_text(name.trim()).ok_or_else(|| MixError::NoKind(name.to_owned()))?;
            let number = share.trim().parse().ok();
            let share = number
                .filter(|number: &u32| *number <= Self::MOST)
                .ok_or_else(|| MixError::NoNumber(share.to_owned()))?;
            if shares.iter().any(|(other, _)| *other == kind) {
                return Err(MixError::Twice(kind));
            }
            shares.push((kind, share));
        }
        if shares.iter().all(|(_, share)| *share == 0) {
            return Err(MixError::Empty);
        }
        Ok(Self(shares))
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (kind, share)) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{kind}={share}")?;
        }
        Ok(())
    }
}

fn kinds() -> String {
    let names: Vec<&str> = Kind::all().map(Kind::as_str).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, records: u32, expected: &[u32]) {
        let mix: Mix = text.parse().unwrap();
        assert_eq!(mix.to_string(), text);
        let parts: Vec<u32> = mix.divide(records).iter().map(|(_, part)| *part).collect();
        assert_eq!(parts, expected, "{records} of {text}");
    }

    #[test]
    fn records_are_divided_as_the_shares_say() {
        check("ok=7,transient=2,permanent=1", 10, &[7, 2, 1]);
        check("ok=7,transient=2,permanent=1", 100, &[70, 20, 10]);
        check("ok=1", 3, &[3]);
        check("ok=0,flap=1", 3, &[0, 3]);
        check("ok=1,broken-json=1", 0, &[0, 0]);
    }

    #[test]
    fn the_parts_add_up_to_the_whole_and_are_right_to_within_one() {
        let mix: Mix =
            "ok=5,transient=3,permanent=1,timeout=1,flap=2,rate-limit=2,broken-json=1,schema=1"
                .parse()
                .unwrap();
        for records in 0..=200 {
            let divided = mix.divide(records);
            let sum: u32 = divided.iter().map(|(_, part)| *part).sum();
            assert_eq!(sum, records);
            for ((_, part), (_, share)) in divided.iter().zip(&mix.0) {
                let exact = f64::from(*share) * f64::from(records) / 16.0;
                assert!((f64::from(*part) - exact).abs() <= 1.0, "{records}");
            }
        }
    }

    #[test]
    fn the_largest_numbers_do_no_harm() {
        let mix: Mix = "ok=1000000,flap=1000000".parse().unwrap();
        let parts = mix.divide(u32::MAX);
        assert_eq!(
            parts.iter().map(|(_, part)| u64::from(*part)).sum::<u64>(),
            u64::from(u32::MAX)
        );
    }

    #[test]
    fn what_is_no_mix_is_refused_by_name() {
        let check = |text: &str, expected: MixError| {
            assert_eq!(text.parse::<Mix>(), Err(expected), "{text:?}");
        };
        check("", MixError::NoShare(String::new()));
        check("ok", MixError::NoShare("ok".to_owned()));
        check("ok=1,", MixError::NoShare(String::new()));
        check("good=1", MixError::NoKind("good".to_owned()));
        check("OK=1", MixError::NoKind("OK".to_owned()));
        check("ok=x", MixError::NoNumber("x".to_owned()));
        check("ok=-1", MixError::NoNumber("-1".to_owned()));
        check("ok=1000001", MixError::NoNumber("1000001".to_owned()));
        check("ok=1,ok=2", MixError::Twice(Kind::Payment(Mode::Ok)));
        check("ok=0", MixError::Empty);
    }

    #[test]
    fn every_kind_comes_back_from_its_text() {
        for kind in Kind::all() {
            assert_eq!(Kind::from_text(kind.as_str()), Some(kind));
        }
    }
}
