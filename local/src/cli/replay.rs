//! `cargo local replay`.

mod flow;

use aws::Sdk;
use clap::Args;
use replay::Settings;

use self::flow::Flow;
use super::endpoints::{bucket, connection, read};
use super::{BrokersFlag, BucketFlags, Failure, Form, Shell};
use crate::invoke::Endpoint;
use crate::invoke::endpoint::EndpointUrl;
use crate::operator::replaying::{Asked, Here, Place, Refusal, Stood, There};

/// Sends dead letters back to the main topic, as the function `replay` does.
///
/// It looks first, as --dry-run does, shows what would go, asks, and then sends back exactly that. --yes does not ask; neither do --plan and --resume. A real run
/// needs a filter, a limit or --all. Topics and what is allowed come from MAIN_TOPIC, RETRY_STAGES, DLQ_TOPIC and REPLAY_TARGETS. Ctrl-C ends it after what is
/// under way, and it says how to go on. --status tells what has become of a run's payments.
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[derive(Args, Clone, Debug)]
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
    /// Sends back without asking.
    #[arg(long)]
    yes: bool,
    /// Tells which payments of a run are dead again and which still wait; the rest went through.
    #[arg(long, value_name = "REPLAY_ID", conflicts_with_all = ["from_topic", "to_topic", "since", "until", "error_class", "error_code", "key", "original_topic", "records", "limit", "rate_per_second", "dry_run", "plan", "max_replays", "again", "all", "resume", "yes"])]
    status: Option<String>,
    /// Lets the function behind a Lambda endpoint do it, such as that of cargo lambda watch.
    #[arg(long, value_name = "URL", conflicts_with_all = ["brokers", "s3", "bucket"])]
    invoke: Option<EndpointUrl>,
    /// The function's name there; without --invoke, a function on AWS Lambda. [default: replay]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["brokers", "s3", "bucket"])]
    function: Option<String>,
    #[command(flatten)]
    form: Form,
}

impl ReplayCommand {
    pub(crate) async fn run(mut self, shell: &mut Shell<'_>) -> Result<(), Failure> {
        let place = self.place(shell).await?;
        let (form, yes, flags) = (self.form, self.yes, self.flags());
        if let Some(replay_id) = self.status.take() {
            let standing = place.standing(&replay_id).await?;
            return Ok(shell.print(form, &Stood(standing))?);
        }
        // Whoever names a plan or a token has seen what it stands for.
        let seen = self.dry_run || self.plan.is_some() || self.resume.is_some();
        let asked = self.asked();
        let mut flow = Flow::new(&place, shell, flags);
        let (asked, total) = if seen || yes {
            (asked, None)
        } else {
            match flow.confirm(&asked).await? {
                Some((asked, total)) => (asked, Some(total)),
                None => return Ok(()),
            }
        };
        let replayed = flow.run(&asked, total).await?;
        shell.print(form, &replayed)?;
        Ok(replayed.whole()?)
    }

    /// Finds out where to run it.
    async fn place(&self, shell: &Shell<'_>) -> Result<Place, Failure> {
        if let Some(url) = &self.invoke {
            let function = self.function.as_deref().unwrap_or("replay");
            return Ok(Place::There(There(Endpoint::new(url, function)?)));
        }
        if let Some(function) = &self.function {
            let sdk = Sdk::new(None);
            let url = match (shell.env)("AWS_ENDPOINT_URL_LAMBDA") {
                Some(url) => url,
                None => match sdk.region().await {
                    Some(region) => format!("https://lambda.{region}.amazonaws.com"),
                    None => return Err(Failure::Usage("--function without --invoke is AWS Lambda, but no region is set: AWS_REGION, or one in the profile".to_owned())),
                },
            };
            let url: EndpointUrl = url
                .parse()
                .map_err(|error| Failure::Usage(format!("AWS_ENDPOINT_URL_LAMBDA: {error}")))?;
            let endpoint = Endpoint::new(&url, function)?.signed_by(sdk);
            return Ok(Place::There(There(endpoint)));
        }
        let (connection, bucket, settings) =
            read(shell.env, &self.brokers, &self.bucket, |reader| {
                let (connection, bucket) = (connection(reader), bucket(reader));
                let settings = Settings::read(reader);
                Some((connection?, bucket?, settings?))
            })?;
        Ok(Place::Here(Box::new(Here::new(
            settings, connection, bucket,
        ))))
    }

    /// Returns the flags that lead to the same place once more, each after a space.
    fn flags(&self) -> String {
        let invoke = self.invoke.as_ref().map(ToString::to_string);
        let flags = [
            ("--brokers", &self.brokers.brokers),
            ("--s3", &self.bucket.s3),
            ("--bucket", &self.bucket.bucket),
            ("--invoke", &invoke),
            ("--function", &self.function),
        ];
        let given = flags.iter().filter_map(|(name, value)| {
            let value = value.as_deref()?;
            Some(format!(" {name} {}", shell_words::quote(value)))
        });
        given.collect()
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

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Wrong(why) => Self::Usage(why),
            Refusal::Failed(error) => Self::Failed(error),
        }
    }
}
