//! The settings of the dlq function.

use std::num::NonZeroU16;

use aws::{Bucket, Secret};
use lambda::invocation::concurrency;
use lambda::{BatchFailures, SettingsReader};

use crate::webhook::{Webhook, WebhookUrl};

/// Everything the dlq function is told by its environment.
#[derive(Debug)]
pub struct Settings {
    /// Where incidents lie.
    pub bucket: Bucket,
    /// Where alerts are posted; `None` when nowhere.
    pub webhook: Option<Webhook>,
    /// How many dead letters are recorded at once.
    pub concurrency: NonZeroU16,
    /// How an invocation says that records are not done.
    pub batch_failures: BatchFailures,
}

impl Settings {
    /// Reads every setting and notes every problem.
    pub fn read(reader: &mut SettingsReader<'_>) -> Option<Self> {
        let bucket = Bucket::read(reader);
        let webhook = webhook(reader);
        let concurrency = reader.or_default("CONCURRENCY", NonZeroU16::new(32)?, concurrency);
        let batch_failures = reader.or_default("BATCH_FAILURES", BatchFailures::Raise, str::parse);
        Some(Self {
            bucket: bucket?,
            webhook: webhook?,
            concurrency: concurrency?,
            batch_failures: batch_failures?,
        })
    }
}

#[expect(
    clippy::option_option,
    reason = "the outer level says whether reading worked, the inner one whether it is set"
)]
fn webhook(reader: &mut SettingsReader<'_>) -> Option<Option<Webhook>> {
    let fixed = reader.optional("ALERT_WEBHOOK_URL", str::parse::<WebhookUrl>);
    let secret = Secret::read(reader, "ALERT_WEBHOOK_SECRET_ARN", "url");
    match (fixed?, secret?) {
        (None, None) => Some(None),
        (Some(url), None) => Some(Some(Webhook::fixed(url))),
        (None, Some(secret)) => Some(Some(Webhook::secret(secret))),
        (Some(_), Some(_)) => {
            reader.problem(
                "ALERT_WEBHOOK_URL",
                "is set beside ALERT_WEBHOOK_SECRET_ARN: set one of them",
            );
            None
        }
    }
}
