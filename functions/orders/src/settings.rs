//! The settings of the orders function.

use std::num::NonZeroU32;
use std::path::PathBuf;

use aws::Bucket;
use kafka::Connection;
use lambda::{BatchFailures, SettingsReader, markers};
use pipeline::{Counting, digits};

/// Everything the orders function is told by its environment.
#[derive(Debug)]
pub struct Settings {
    /// What is read, where dead letters go, and how often a record may fail.
    pub counting: Counting,
    /// Where dead letters are produced.
    pub connection: Connection,
    /// Where a record is kept that no topic takes.
    pub bucket: Bucket,
    /// How an invocation says that records are not done.
    pub batch_failures: BatchFailures,
    /// Where notes on what runs are kept.
    pub marker_dir: PathBuf,
}

impl Settings {
    /// Reads every setting and notes every problem.
    pub fn read(reader: &mut SettingsReader<'_>) -> Option<Self> {
        let counting = counting(reader);
        let connection = Connection::read(reader);
        let bucket = Bucket::read(reader);
        let batch_failures = reader.or_default("BATCH_FAILURES", BatchFailures::Raise, str::parse);
        let marker_dir = reader.or_default("MARKER_DIR", PathBuf::from("/tmp"), markers::folder);
        Some(Self {
            counting: counting?,
            connection: connection?,
            bucket: bucket?,
            batch_failures: batch_failures?,
            marker_dir: marker_dir?,
        })
    }
}

/// Reads `ORDERS_TOPIC`, `ORDERS_DLQ_TOPIC` and `MAX_FAILS`.
pub fn counting(reader: &mut SettingsReader<'_>) -> Option<Counting> {
    let topic = reader.topic("ORDERS_TOPIC", "orders");
    let dlq = reader.topic("ORDERS_DLQ_TOPIC", "orders.dlq");
    let max_fails = reader.or_default("MAX_FAILS", NonZeroU32::new(3)?, max_fails);
    match Counting::new(topic?, dlq?, max_fails?) {
        Ok(counting) => Some(counting),
        Err(same) => {
            reader.problem("ORDERS_DLQ_TOPIC", format_args!("is wrong: {same}"));
            None
        }
    }
}

/// Reads a whole number above zero.
fn max_fails(text: &str) -> Result<NonZeroU32, &'static str> {
    digits(text)
        .and_then(|digits| digits.parse().ok())
        .ok_or("not a whole number from 1 to 4294967295")
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIRED: [(&str, &str); 2] = [
        ("KAFKA_BROKERS", "127.0.0.1:9092"),
        ("INCIDENT_BUCKET", "brew-incidents"),
    ];

    /// Reads the required settings and these, the later of a name counting.
    fn read(settings: &[(&str, &str)]) -> Result<Settings, String> {
        let env = |name: &str| {
            let all = REQUIRED.iter().chain(settings);
            all.rev()
                .find(|(set, _)| *set == name)
                .map(|(_, value)| (*value).to_owned())
        };
        let mut reader = SettingsReader::new(&env);
        let settings = Settings::read(&mut reader);
        reader.finish(settings).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn what_is_not_set_has_its_default() {
        let settings = read(&[]).unwrap();
        assert_eq!(settings.counting.topic().as_str(), "orders");
        assert_eq!(settings.counting.dlq().as_str(), "orders.dlq");
        assert_eq!(settings.counting.max_fails().get(), 3);
        assert_eq!(settings.batch_failures, BatchFailures::Raise);
        assert_eq!(settings.marker_dir, PathBuf::from("/tmp"));
    }

    #[test]
    fn what_is_set_counts() {
        let settings = read(&[
            ("ORDERS_TOPIC", "a"),
            ("ORDERS_DLQ_TOPIC", "b"),
            ("MAX_FAILS", "1"),
            ("BATCH_FAILURES", "report"),
        ])
        .unwrap();
        assert_eq!(settings.counting.topic().as_str(), "a");
        assert_eq!(settings.counting.dlq().as_str(), "b");
        assert_eq!(settings.counting.max_fails(), NonZeroU32::MIN);
        assert_eq!(settings.batch_failures, BatchFailures::Report);
    }

    #[test]
    fn each_wrong_setting_is_refused_by_name() {
        for (name, value) in [
            ("KAFKA_BROKERS", "nowhere"),
            ("KAFKA_AUTH", "magic"),
            ("ORDERS_TOPIC", "a b"),
            ("ORDERS_TOPIC", ""),
            ("ORDERS_DLQ_TOPIC", ""),
            ("ORDERS_DLQ_TOPIC", "orders"),
            ("MAX_FAILS", "0"),
            ("MAX_FAILS", "-1"),
            ("MAX_FAILS", "+3"),
            ("MAX_FAILS", "three"),
            ("MAX_FAILS", "4294967296"),
            ("MAX_FAILS", ""),
            ("BATCH_FAILURES", "ignore"),
            ("INCIDENT_BUCKET", "A B"),
            ("MARKER_DIR", ""),
        ] {
            let wrong = read(&[(name, value)]).unwrap_err();
            assert!(
                wrong.contains(&format!("{name} is ")),
                "{name}={value}: {wrong}"
            );
        }
    }

    #[test]
    fn all_wrong_settings_are_told_together() {
        let wrong = read(&[
            ("KAFKA_BROKERS", ""),
            ("ORDERS_TOPIC", "a b"),
            ("ORDERS_DLQ_TOPIC", ""),
            ("MAX_FAILS", "0"),
            ("INCIDENT_BUCKET", ""),
            ("BATCH_FAILURES", "x"),
            ("MARKER_DIR", "relative"),
        ])
        .unwrap_err();
        for name in [
            "KAFKA_BROKERS",
            "ORDERS_TOPIC",
            "ORDERS_DLQ_TOPIC",
            "MAX_FAILS",
            "INCIDENT_BUCKET",
            "BATCH_FAILURES",
            "MARKER_DIR",
        ] {
            assert!(wrong.contains(name), "{name}: {wrong}");
        }
    }
}
