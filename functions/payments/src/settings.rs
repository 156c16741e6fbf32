//! The settings of the payments function.

use std::convert::Infallible;
use std::num::{NonZeroU16, NonZeroU32};
use std::path::PathBuf;

use aws::Bucket;
use kafka::Connection;
use lambda::invocation::concurrency;
use lambda::{BatchFailures, SettingsReader, markers};
use pipeline::{Span, Stages, digits};

use crate::asking::{AskFirst, Asking};
use crate::circuit::Circuit;
use crate::token::ConfiguredToken;
use crate::url::GatewayUrl;

/// Everything the payments function is told by its environment.
#[derive(Debug)]
pub struct Settings {
    /// The ladder.
    pub stages: Stages,
    /// Where failed payments are produced.
    pub connection: Connection,
    /// Where a record is kept that no topic takes.
    pub bucket: Bucket,
    /// The provider's address.
    pub gateway_url: GatewayUrl,
    /// How long a whole exchange with the provider may take.
    pub gateway_timeout: Span,
    /// Where the provider's token comes from.
    pub token: ConfiguredToken,
    /// When to ask before charging.
    pub asking: Asking,
    /// The circuit of the main stage; `None` when it is switched off or there is nowhere to send payments on to.
    pub circuit: Option<Circuit>,
    /// How many payments run at once.
    pub concurrency: NonZeroU16,
    /// How an invocation says that records are not done.
    pub batch_failures: BatchFailures,
    /// Where notes on what runs are kept.
    pub marker_dir: PathBuf,
}

impl Settings {
    /// Reads every setting and notes every problem.
    pub fn read(reader: &mut SettingsReader<'_>) -> Option<Self> {
        let stages = reader.stages();
        let connection = Connection::read(reader);
        let bucket = Bucket::read(reader);
        let gateway_url = reader.required("GATEWAY_URL", str::parse::<GatewayUrl>);
        let gateway_timeout = span(reader, "GATEWAY_TIMEOUT", "10s");
        let token = ConfiguredToken::from_settings(reader);
        let first = reader.or_default("ASK_FIRST", AskFirst::Unsure, str::parse);
        let key_lifetime = span(reader, "IDEMPOTENCY_KEY_LIFETIME", "23h");
        let failures = reader.or_default("CIRCUIT_FAILURES", 5, count);
        let open_for = span(reader, "CIRCUIT_OPEN", "10s");
        let width = reader.or_default("CONCURRENCY", NonZeroU16::new(32)?, concurrency);
        let batch_failures = reader.or_default("BATCH_FAILURES", BatchFailures::Raise, str::parse);
        let marker_dir = reader.or_default("MARKER_DIR", PathBuf::from("/tmp"), markers::folder);

        let (stages, open_for) = (stages?, open_for?);
        refuse_unread(reader, &stages);
        let circuit = NonZeroU32::new(failures?)
            .filter(|_| !stages.retries().is_empty())
            .map(|failures| Circuit::new(failures, open_for));
        Some(Self {
            stages,
            connection: connection?,
            bucket: bucket?,
            gateway_url: gateway_url?,
            gateway_timeout: gateway_timeout?,
            token: token?,
            asking: Asking {
                first: first?,
                key_lifetime: key_lifetime?,
            },
            circuit,
            concurrency: width?,
            batch_failures: batch_failures?,
            marker_dir: marker_dir?,
        })
    }
}

/// Notes each retry topic that no function reads, where it is told which are read: `RETRY_PREFIX` before each name of `STAGES`.
///
/// What is forwarded to such a topic would lie there until retention deletes it.
fn refuse_unread(reader: &mut SettingsReader<'_>, stages: &Stages) {
    let text = |text: &str| Ok::<_, Infallible>(text.to_owned());
    let prefix = reader.or_default("RETRY_PREFIX", String::new(), text);
    let names = reader.optional("STAGES", text);
    let (Some(prefix), Some(Some(names))) = (prefix, names) else {
        return;
    };
    for stage in stages.all().filter(|stage| stage.is_retry()) {
        let topic = stage.topic().as_str();
        let name = topic.strip_prefix(prefix.as_str());
        if !name.is_some_and(|name| names.split(',').any(|read| read.trim() == name)) {
            reader.problem(
                "STAGES",
                format_args!("lacks the stage of {topic}, which RETRY_STAGES or DRAIN_STAGES name: nobody would read it"),
            );
        }
    }
}

fn span(reader: &mut SettingsReader<'_>, name: &str, default: &str) -> Option<Span> {
    match reader.optional(name, str::parse::<Span>)? {
        Some(span) => Some(span),
        None => default.parse().ok(),
    }
}

/// Reads a whole number that may be 0.
fn count(text: &str) -> Result<u32, &'static str> {
    digits(text)
        .and_then(|digits| digits.parse().ok())
        .ok_or("not a whole number from 0 to 4294967295")
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIRED: [(&str, &str); 3] = [
        ("KAFKA_BROKERS", "127.0.0.1:9092"),
        ("INCIDENT_BUCKET", "brew-incidents"),
        ("GATEWAY_URL", "http://127.0.0.1:8080"),
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
    fn what_is_not_set_has_the_contracts_defaults() {
        let settings = read(&[]).unwrap();
        assert_eq!(settings.gateway_timeout.to_string(), "10s");
        assert_eq!(settings.asking.key_lifetime.to_string(), "23h");
        assert_eq!(settings.asking.first, AskFirst::Unsure);
        let five = Circuit::new(NonZeroU32::new(5).unwrap(), "10s".parse().unwrap());
        assert_eq!(settings.circuit, Some(five));
        assert_eq!(settings.concurrency.get(), 32);
        assert_eq!(settings.batch_failures, BatchFailures::Raise);
        assert_eq!(settings.marker_dir, PathBuf::from("/tmp"));
        assert_eq!(settings.stages.retries().len(), 3);
        assert!(matches!(
            settings.token,
            ConfiguredToken::Fixed(crate::FixedToken(None))
        ));
    }

    #[test]
    fn without_a_retry_stage_or_with_no_failures_there_is_no_circuit() {
        let circuit = |settings: &[(&str, &str)]| read(settings).unwrap().circuit;
        assert_eq!(circuit(&[("CIRCUIT_FAILURES", "0")]), None);
        assert_eq!(circuit(&[("RETRY_STAGES", "")]), None);
        assert!(circuit(&[("CIRCUIT_FAILURES", "1"), ("CIRCUIT_OPEN", "1ms")]).is_some());
    }

    #[test]
    fn a_retry_topic_that_no_function_reads_is_refused_where_that_is_known() {
        let prefix = ("RETRY_PREFIX", "brew.payments.retry.");
        for (settings, unread) in [
            (&[prefix][..], &[][..]),
            (&[prefix, ("STAGES", "30s,5m,1h")], &[]),
            (&[prefix, ("STAGES", "1h, 5m ,30s,24h")], &[]),
            (&[prefix, ("STAGES", "none"), ("RETRY_STAGES", "")], &[]),
            (&[prefix, ("STAGES", "30s,5m")], &["retry.1h"]),
            (
                &[prefix, ("STAGES", "none")],
                &["retry.30s", "retry.5m", "retry.1h"],
            ),
            (
                &[prefix, ("STAGES", "30s,5m,1h"), ("DRAIN_STAGES", "a.2h=2h")],
                &["a.2h"],
            ),
            (
                &[("RETRY_STAGES", "a=1s,bb=2s"), ("STAGES", "a,b")],
                &["bb"],
            ),
        ] {
            let wrong = read(settings).err().unwrap_or_default();
            assert_eq!(
                wrong.matches("STAGES lacks").count(),
                unread.len(),
                "{settings:?}: {wrong}"
            );
            for topic in unread {
                assert!(wrong.contains(topic), "{settings:?}: {wrong}");
            }
        }
    }

    #[test]
    fn the_token_is_fixed_or_a_secret_and_never_shown() {
        let settings = read(&[("GATEWAY_TOKEN", "s3cret")]).unwrap();
        assert!(!format!("{settings:?}").contains("s3cret"));
        let masked = settings.token.masker().line("a s3cret b");
        assert!(
            masked.starts_with("a ") && !masked.contains("s3cret"),
            "{masked}"
        );
        let arn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:gateway-AbCdEf";
        let settings = read(&[("GATEWAY_TOKEN_SECRET_ARN", arn)]).unwrap();
        assert!(matches!(settings.token, ConfiguredToken::Secret(_)));
        let both = [
            ("GATEWAY_TOKEN", "s3cret"),
            ("GATEWAY_TOKEN_SECRET_ARN", arn),
        ];
        let wrong = read(&both).unwrap_err();
        assert!(
            wrong.contains("GATEWAY_TOKEN is set beside GATEWAY_TOKEN_SECRET_ARN"),
            "{wrong}"
        );
        assert!(!wrong.contains("s3cret"), "{wrong}");
    }

    #[test]
    fn each_wrong_setting_is_refused_by_name() {
        for (name, value) in [
            ("KAFKA_BROKERS", "nowhere"),
            ("KAFKA_AUTH", "magic"),
            ("MAIN_TOPIC", "a b"),
            ("DLQ_TOPIC", ""),
            ("DLQ_TOPIC", "brew.payments.v1"),
            ("RETRY_STAGES", "a=0s"),
            ("BATCH_FAILURES", "ignore"),
            ("CONCURRENCY", "0"),
            ("CONCURRENCY", "-1"),
            ("CONCURRENCY", "1001"),
            ("GATEWAY_URL", "provider"),
            ("GATEWAY_URL", ""),
            ("GATEWAY_URL", "http://u:p@a"),
            ("GATEWAY_TOKEN", ""),
            ("GATEWAY_TOKEN", "a b"),
            ("GATEWAY_TOKEN_SECRET_ARN", "gateway"),
            ("GATEWAY_TIMEOUT", "10"),
            ("GATEWAY_TIMEOUT", "0s"),
            ("IDEMPOTENCY_KEY_LIFETIME", "1 day"),
            ("ASK_FIRST", "never"),
            ("CIRCUIT_FAILURES", "-1"),
            ("CIRCUIT_FAILURES", "+1"),
            ("CIRCUIT_FAILURES", "five"),
            ("CIRCUIT_OPEN", ""),
            ("INCIDENT_BUCKET", "A B"),
            ("MARKER_DIR", ""),
        ] {
            let wrong = read(&[(name, value)]).unwrap_err();
            let named = wrong.contains(&format!("{name} is "))
                || value == "brew.payments.v1" && wrong.contains("DLQ_TOPIC");
            assert!(named, "{name}={value}: {wrong}");
        }
    }

    #[test]
    fn all_wrong_settings_are_told_together() {
        let wrong = read(&[
            ("KAFKA_BROKERS", ""),
            ("RETRY_STAGES", "a"),
            ("GATEWAY_URL", "ftp://a"),
            ("GATEWAY_TIMEOUT", "x"),
            ("GATEWAY_TOKEN", "a b"),
            ("ASK_FIRST", "x"),
            ("CIRCUIT_FAILURES", "x"),
            ("CONCURRENCY", "x"),
            ("INCIDENT_BUCKET", ""),
        ])
        .unwrap_err();
        for name in [
            "KAFKA_BROKERS",
            "RETRY_STAGES",
            "GATEWAY_URL",
            "GATEWAY_TIMEOUT",
            "GATEWAY_TOKEN",
            "ASK_FIRST",
            "CIRCUIT_FAILURES",
            "CONCURRENCY",
            "INCIDENT_BUCKET",
        ] {
            assert!(wrong.contains(name), "{name}: {wrong}");
        }
        assert!(!wrong.contains("a b"), "{wrong}");
    }
}
