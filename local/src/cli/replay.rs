//! `cargo local replay`.

use std::pin::pin;

use clap::Args;
use lambda::Stop;
use replay::{ReplayError, Settings, SourceError};
use tracing::instrument::WithSubscriber;

use super::endpoints::{bucket, connection, read};
use super::signals::told_to_stop;
use super::warnings::Warnings;
use super::{BrokersFlag, BucketFlags, Failure, Form, Shell};
use crate::operator::Asked;

/// Sends dead letters back to the main topic, as the function `replay` does.
///
/// Look first: --dry-run counts what would go and publishes nothing; --plan then sends back exactly that. A real run needs a filter, a limit or --all. Topics and what is
/// allowed come from MAIN_TOPIC, RETRY_STAGES, DLQ_TOPIC and REPLAY_TARGETS. Ctrl-C ends it with a token to go on with.
#[derive(Args, Debug)]
pub(crate) struct ReplayCommand {
    #[command(flatten)]
    brokers: BrokersFlag,
    #[command(flatten)]
    bucket: BucketFlags,
    /// Where to read; DLQ_TOPIC when absent.
    #[arg(long, value_name = "TOPIC")]
    from_topic: Option<String>,
    /// Where to send; MAIN_TOPIC when absent.
    #[arg(long, value_name = "TOPIC")]
    to_topic: Option<String>,
    /// Dead since then: 1h, 24h, 7d ago, or RFC 3339.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Dead before then.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Of this error class: transient, permanent or unknown.
    #[arg(long, value_name = "CLASS")]
    error_class: Option<String>,
    /// Of this error code, such as provider.timeout.
    #[arg(long, value_name = "CODE")]
    error_code: Option<String>,
    /// With this key.
    #[arg(long, value_name = "TEXT")]
    key: Option<String>,
    /// First read from this topic.
    #[arg(long, value_name = "TOPIC")]
    original_topic: Option<String>,
    /// Exactly these dead letters; may be given several times.
    #[arg(long, value_name = "TOPIC/PARTITION/OFFSET,…", value_delimiter = ',')]
    records: Vec<String>,
    /// At most so many.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    limit: Option<String>,
    /// At most so fast; 0 sets no limit. [default: 100]
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    rate_per_second: Option<String>,
    /// Counts what would go, and publishes nothing.
    #[arg(long)]
    dry_run: bool,
    /// Runs exactly what a dry run saw.
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// A payment that was replayed so often stays put. [default: 3]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    max_replays: Option<String>,
    /// Also what an earlier run has already published.
    #[arg(long)]
    again: bool,
    /// Everything: needed for a real run without filter, records or limit.
    #[arg(long)]
    all: bool,
    /// Goes on with an unfinished run.
    #[arg(long, value_name = "TOKEN")]
    resume: Option<String>,
    #[command(flatten)]
    form: Form,
}

impl ReplayCommand {
    pub(crate) async fn run(self, shell: &mut Shell<'_>) -> Result<(), Failure> {
        let (connection, bucket, settings) =
            read(shell.env, &self.brokers, &self.bucket, |reader| {
                let (connection, bucket) = (connection(reader), bucket(reader));
                let settings = Settings::read(reader);
                Some((connection?, bucket?, settings?))
            })?;
        let form = self.form;
        let asked = self.asked();
        let stop = Stop::default();
        let warnings = Warnings::default();
        let run = asked.run(settings, connection, bucket, stop.clone());
        let mut run = pin!(run.with_subscriber(warnings.subscriber()));
        let ended = tokio::select! {
            ended = &mut run => ended,
            told = told_to_stop() => {
                told?;
                shell.note("stopping: what is under way ends first");
                stop.stop();
                run.await
            }
        };
        for warning in warnings.take() {
            shell.note(format_args!("warning: {}", warning.trim()));
        }
        let replayed = ended.map_err(|error| failure(&error))?;
        shell.print(form, &replayed)?;
        Ok(replayed.whole()?)
    }

    /// Returns the payload that the function would be invoked with.
    fn asked(self) -> Asked {
        Asked::default()
            .text("from_topic", self.from_topic)
            .text("to_topic", self.to_topic)
            .text("since", self.since)
            .text("until", self.until)
            .text("error_class", self.error_class)
            .text("error_code", self.error_code)
            .text("key", self.key)
            .text("original_topic", self.original_topic)
            .list("records", self.records)
            .number("limit", self.limit)
            .number("rate_per_second", self.rate_per_second)
            .flag("dry_run", self.dry_run)
            .text("plan", self.plan)
            .number("max_replays", self.max_replays)
            .flag("again", self.again)
            .flag("all", self.all)
            .text("resume", self.resume)
    }
}

fn failure(error: &ReplayError) -> Failure {
    let told = format!("{}: {error}", error.error_type());
    match error {
        ReplayError::Invalid(_) => Failure::Usage(told),
        ReplayError::Source(SourceError::NoSuchTopic(_) | SourceError::Fault(_))
        | ReplayError::Busy { .. }
        | ReplayError::Plan(_)
        | ReplayError::Store(_) => Failure::Failed(anyhow::anyhow!(told)),
    }
}
