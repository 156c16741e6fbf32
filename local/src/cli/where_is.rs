//! `cargo local where`.

use clap::Args;
use lambda::{Clock, SystemClock};
use pipeline::Timestamp;
use pipeline::replay::moment::moment;

use super::endpoints::{bucket_if_named, connection, read};
use super::status::all_well;
use super::{BrokersFlag, BucketFlags, Failure, Form, Shell};
use crate::operator::whereabouts::{Provider, Search, find};

/// Tells where a payment is: the topics that it is in or passed through, its incidents, and what the provider says.
///
/// Reads each topic of the ladder once, from beginning to end: MAIN_TOPIC, RETRY_STAGES, DRAIN_STAGES and DLQ_TOPIC. A payment is found by its
/// id in the value or as the key. What a stage has done is known from the consumer group of its mapping, payments.TOPIC.
#[derive(Args, Debug)]
pub(crate) struct WhereCommand {
    /// The payment's id.
    #[arg(value_name = "ID", value_parser = payment)]
    payment: String,
    #[command(flatten)]
    brokers: BrokersFlag,
    #[command(flatten)]
    bucket: BucketFlags,
    /// The payment provider; GATEWAY_URL when absent. GATEWAY_TOKEN is sent to it.
    #[arg(long, value_name = "URL")]
    gateway: Option<String>,
    /// Leaves out records and incidents before then: 1h, 24h, 7d ago, or RFC 3339.
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    #[command(flatten)]
    form: Form,
}

impl WhereCommand {
    pub(crate) async fn run(self, shell: &mut Shell<'_>) -> Result<(), Failure> {
        let token = (shell.env)("GATEWAY_TOKEN");
        let gateway = self.gateway.clone();
        let gateway = gateway.or_else(|| (shell.env)("GATEWAY_URL"));
        let provider = gateway.map(|url| Provider::new(&url, token)).transpose();
        let provider =
            provider.map_err(|why| Failure::Usage(format!("--gateway or GATEWAY_URL {why}")))?;
        let (connection, bucket, stages) =
            read(shell.env, &self.brokers, &self.bucket, |reader| {
                let read = (connection(reader), bucket_if_named(reader), reader.stages());
                Some((read.0?, read.1?, read.2?))
            })?;
        if bucket.is_none() {
            shell.note(
                "incidents are not looked for: no bucket is named (--bucket or INCIDENT_BUCKET)",
            );
        }
        if provider.is_none() {
            shell.note("the provider is not asked: no address is named (--gateway or GATEWAY_URL)");
        }
        let (found, faults) = find(&Search {
            payment: &self.payment,
            stages: &stages,
            connection: &connection,
            bucket: bucket.as_ref(),
            provider: provider.as_ref(),
            since: self.since,
        })
        .await?;
        shell.print(self.form, &found)?;
        all_well(&faults)
    }
}

fn payment(text: &str) -> Result<String, &'static str> {
    let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    if visible && (1..=128).contains(&text.len()) && text != "." && text != ".." {
        Ok(text.to_owned())
    } else {
        Err("an id is 1 to 128 visible ASCII characters, and neither . nor ..")
    }
}

fn time(text: &str) -> Result<Timestamp, &'static str> {
    moment(text, SystemClock.now())
        .ok_or("it is neither a span ago, such as 1h, 24h or 7d, nor an RFC 3339 time")
}
