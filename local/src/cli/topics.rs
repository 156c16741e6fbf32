//! `cargo local topics`.

use std::fmt;

use clap::{Args, Subcommand};
use lambda::SettingsReader;
use serde::Serialize;

use super::endpoints::{PipelineFlags, read};
use super::{BrokersFlag, BucketFlags, Failure, Form, Shell};
use crate::admin::Admin;
use crate::topics::{self, Changed};

/// Creates or deletes the topics of the configured stages.
///
/// The stages come from MAIN_TOPIC, RETRY_STAGES, DRAIN_STAGES and DLQ_TOPIC, as the functions read them.
#[derive(Debug, Args)]
pub(crate) struct Topics {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Creates the topics that are missing, and checks those that exist.
    ///
    /// Retry topics and the dead-letter topic take records 64 KiB larger than main, and may not be compacted.
    Create {
        #[command(flatten)]
        brokers: BrokersFlag,
        #[command(flatten)]
        pipelines: PipelineFlags,
        /// How many partitions each new topic has.
        #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(i32).range(1..))]
        partitions: i32,
        #[command(flatten)]
        form: Form,
    },
    /// Deletes the topics with everything in them.
    Delete {
        #[command(flatten)]
        brokers: BrokersFlag,
        #[command(flatten)]
        pipelines: PipelineFlags,
        #[command(flatten)]
        form: Form,
    },
}

/// What became of each topic.
#[derive(Serialize)]
struct Report {
    topics: Vec<Changed>,
}

impl Topics {
    pub(crate) async fn run(self, shell: &mut Shell<'_>) -> Result<(), Failure> {
        let (brokers, pipelines, form) = match &self.action {
            Action::Create {
                brokers,
                pipelines,
                form,
                ..
            }
            | Action::Delete {
                brokers,
                pipelines,
                form,
            } => (brokers, *pipelines, *form),
        };
        let settings = |reader: &mut SettingsReader<'_>| {
            let brokers = reader.required("KAFKA_BROKERS", str::parse::<String>);
            let layouts = pipelines.layouts(reader);
            Some((brokers?, layouts?))
        };
        let (brokers, layouts) = read(shell.env, brokers, &BucketFlags::default(), settings)?;
        let admin = Admin::new(&brokers, &[].into())?;
        let mut topics = Vec::new();
        for layout in &layouts {
            topics.extend(match self.action {
                Action::Create { partitions, .. } => {
                    topics::create(&admin, layout, partitions).await?
                }
                Action::Delete { .. } => topics::delete(&admin, layout).await?,
            });
        }
        for topic in &topics {
            for warning in &topic.warnings {
                shell.note(format_args!("warning: {}: {warning}", topic.name));
            }
        }
        shell.print(form, &Report { topics })?;
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.topics.iter();
        let lines: Vec<String> = lines
            .map(|topic| format!("{}: {}", topic.name, topic.change))
            .collect();
        f.write_str(&lines.join("\n"))
    }
}
