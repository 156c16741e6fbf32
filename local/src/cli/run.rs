//! `cargo local run`.

mod arguments;
mod defaults;
mod quiet;
mod screen;
mod watch;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context;
use aws::{BucketName, Endpoint, Keys, Sdk};
use clap::{Args, ValueEnum};
use kafka::Brokers;
use pipeline::Span;

use self::quiet::End;
use self::screen::Screen;
use self::watch::Watch;
use super::signals::Stops;
use super::{Failure, Form, Shell};
use crate::binaries::Binaries;
use crate::function::Program;
use crate::invoke::endpoint::EndpointUrl;
use crate::mapping::Redelivery;
use crate::runner::{Plan, Programs, RunOptions, Speed, opening};
use crate::s3;
use crate::template::Template;

/// Emulates Lambda's event source mappings for a SAM template: reads its topics, invokes its functions, commits their offsets.
///
/// Every function of the template that an MSK or SelfManagedKafka event calls, or an AWS::Lambda::EventSourceMapping of Kafka, runs here: as the COMMAND of --function, at the endpoint
/// of --invoke, or else as the workspace's own program of this name (functions/NAME), which is built first. Its name is that of the
/// template's BuildProperties.Binary, else the last folder of CodeUri.
///
/// A samconfig.toml beside the template gives parameters: the parameter_overrides of its section [local.deploy.parameters]. --parameter wins
/// over them, and they win over the template's defaults.
///
/// A function that runs here has the environment that the template gives it, PATH, HOME, and the variables that Lambda reserves, and
/// nothing else of yours. What flags set wins over the template: --brokers over KAFKA_BROKERS where the function has it, --s3 sets
/// AWS_ENDPOINT_URL_S3, --bucket sets INCIDENT_BUCKET, --fast rewrites RETRY_STAGES; --env wins over everything. With --s3 functions get
/// the credentials of your environment or profile, else those of the local S3 server. KAFKA_BROKERS and the like in your own environment are
/// not looked at. Each sandbox has a folder of its own, which MARKER_DIR and TMPDIR name: it outlives a process, as /tmp does on Lambda, and
/// goes with the run. Where a mapping has no ReportBatchItemFailures, BATCH_FAILURES=report of its function is overruled by raise, loudly:
/// what it hands back would be lost.
///
/// The mappings themselves read brokers that ask for no authentication, whatever SourceAccessConfigurations the template names; functions
/// make themselves known as their KAFKA_AUTH says.
///
/// An endpoint is asked as Lambda's Invoke API, by FunctionName where the template has one, else by the program's name, else by the
/// logical ID; `cargo lambda watch` is one. What runs there has an environment of its own, and 16 minutes for an invocation: `watch` compiles
/// at the first one, and never answers one whose process has died. What did not reach a function, since nobody answers there or the
/// answer is a refusal, is sent again whole, and counts as no retry.
///
/// At a terminal there is a live line for each mapping: topic, lag, records in flight, records handed back and when they come again.
/// A record that is delivered for the fifth time is told as a poison record; on a retry stage only deliveries after its delay count.
///
/// --json prints one line for each invocation once its offsets are committed, or lost to another reader: mapping, function, topic,
/// invocation, partitions (partition, first_offset, last_offset, records, delivery, and committed: the next offset to read, null when it
/// did not move), took_ms, outcome (done, partial, malformed, error, crashed, timed-out, too-large, init, unreachable), answer (the
/// function's JSON, or its text when it is none), error. Everything else is on standard error.
///
/// Ctrl-C ends it: no batch is taken any more, functions are asked to end and killed after 7 seconds, what they answered is committed;
/// exit status 0. A second Ctrl-C ends it at once, with 1. A topic that is deleted and created again meanwhile is told,
/// and the new one is read from its first record. A topic or a broker that is not there is told and waited for; with --until-idle for
/// a minute, then the exit status is 1. A template that cannot be resolved, or a name that it does not have: 2.
#[derive(Args, Debug)]
pub(crate) struct RunCommand {
    /// The SAM template.
    #[arg(long, value_name = "FILE", default_value = "template.yaml")]
    template: PathBuf,
    /// A value for one of the template's parameters; may be given several times.
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = arguments::assignment)]
    parameters: Vec<(String, String)>,
    /// Runs the function of this logical ID as a command: any program that speaks Lambda's Runtime API. It is split as a shell splits
    /// words and runs in the current folder; may be given several times.
    #[arg(long = "function", value_name = "ID=COMMAND", value_parser = arguments::command)]
    functions: Vec<(String, Program)>,
    /// Invokes all other functions at this endpoint, such as http://127.0.0.1:9000 of `cargo lambda watch`.
    #[arg(long, value_name = "URL")]
    invoke: Option<EndpointUrl>,
    /// A variable for every function that runs here, whatever the template says; may be given several times.
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = arguments::variable)]
    env: Vec<(String, String)>,
    /// Brokers of all mappings, and KAFKA_BROKERS of functions that have it, in place of the template's.
    #[arg(long, value_name = "HOST:PORT,…")]
    brokers: Option<Brokers>,
    /// Endpoint of an S3 server: AWS_ENDPOINT_URL_S3 of every function.
    #[arg(long, value_name = "URL")]
    s3: Option<Endpoint>,
    /// INCIDENT_BUCKET of every function.
    #[arg(long, value_name = "NAME")]
    bucket: Option<BucketName>,
    /// Makes retry stages wait 1, 2, 3 … s, in the order of RETRY_STAGES, and their batching windows a tenth of that at most.
    #[arg(long)]
    fast: bool,
    /// What is delivered again after a partial answer, where AWS's words allow both: everything from the lowest listed offset on, or
    /// the listed records.
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    partial_response: PartialResponse,
    /// Ends with exit status 0 once all mappings have been idle for so long at the same time, such as 5s, and the ends of
    /// all partitions were looked up since. A partition that waits for a redelivery is not idle, nor is a function that runs.
    #[arg(long, value_name = "DURATION")]
    until_idle: Option<Span>,
    /// Print one line of JSON for each invocation on standard output, and everything else on standard error.
    #[arg(long)]
    json: bool,
}

/// What is delivered again after a partial answer.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum PartialResponse {
    #[default]
    Resume,
    Items,
}

impl RunCommand {
    pub(crate) async fn run(self, shell: &mut Shell<'_>) -> Result<(), Failure> {
        let mut stops = Stops::listen()?;
        for (id, program) in &self.functions {
            arguments::find(id, program, (shell.env)("PATH").as_deref())?;
        }
        let until_idle = self.until_idle;
        let form = Form { json: self.json };
        let template = self.template.clone();
        let plan = self.plan().await?;
        let mut screen = Screen::new(shell, form);
        for line in opening(&template.display().to_string(), &plan) {
            screen.note(&line)?;
        }
        for note in &plan.notes {
            screen.loud(&format!("note: {note}"))?;
        }
        let programs = tokio::select! {
            programs = build(&plan) => programs?,
            () = stops.told() => return Ok(()),
        };
        let mut watch = Watch::start(&plan, &programs, until_idle)?;
        let end = watch.follow(&mut screen, &mut stops).await?;
        match end {
            End::Idle | End::Told => watch.stop(&mut screen, &mut stops).await,
            End::NeverJoined(why) => {
                watch.stop(&mut screen, &mut stops).await?;
                Err(anyhow::anyhow!(why).into())
            }
        }
    }

    /// Reads the template and decides what runs.
    async fn plan(self) -> Result<Plan, Failure> {
        let commands = arguments::once("--function", self.functions)?;
        let env = arguments::once("--env", self.env)?;
        let given = arguments::once("--parameter", self.parameters)?;
        let mut set = BTreeMap::new();
        let mut credentials = BTreeMap::new();
        if let Some(endpoint) = self.s3 {
            set.insert("AWS_ENDPOINT_URL_S3".to_owned(), endpoint.to_string());
            credentials = credentials_for(endpoint).await?;
        }
        if let Some(bucket) = self.bucket {
            set.insert("INCIDENT_BUCKET".to_owned(), bucket.to_string());
        }
        let options = RunOptions {
            commands,
            invoke: self.invoke,
            brokers: self.brokers,
            set,
            env,
            credentials,
            speed: if self.fast { Speed::Fast } else { Speed::Real },
            redelivery: match self.partial_response {
                PartialResponse::Resume => Redelivery::Resume,
                PartialResponse::Items => Redelivery::Items,
            },
        };
        let name = self.template.display().to_string();
        let text = std::fs::read(&self.template)
            .map_err(|error| Failure::Usage(format!("cannot read {name}: {error}")))?;
        let mut parameters = defaults::beside(&self.template)?;
        parameters.extend(given);
        let template = Template::read(&name, &text, &options.of_template(parameters))
            .map_err(|error| Failure::Usage(error.to_string()))?;
        if template.functions.is_empty() {
            return Err(Failure::Usage(format!(
                "{name} has no function that a Kafka mapping calls"
            )));
        }
        Plan::new(template, &options, Binaries::is_package)
            .map_err(|error| Failure::Usage(error.to_string()))
    }
}

/// Returns what functions reach a server of one's own with: credentials of the environment or a profile, else the local pair.
async fn credentials_for(endpoint: Endpoint) -> anyhow::Result<BTreeMap<String, String>> {
    let sdk = Sdk::new(Some(endpoint)).or_keys(Keys {
        id: s3::ACCESS_KEY.to_owned(),
        secret: s3::SECRET_KEY.to_owned(),
    });
    let found = sdk
        .credentials()
        .await
        .context("the functions need credentials for --s3")?;
    let named = found
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value));
    Ok(named.collect())
}

/// Builds the workspace's own programs that are needed.
async fn build(plan: &Plan) -> anyhow::Result<Programs> {
    let packages: Vec<&str> = plan.packages().into_iter().collect();
    if packages.is_empty() {
        return Ok(Programs::new());
    }
    let binaries = Binaries::build(&packages).await?;
    let found = packages
        .iter()
        .map(|package| Ok(((*package).to_owned(), binaries.find(package)?)));
    found.collect()
}
