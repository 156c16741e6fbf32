//! `cargo local clean`.

use anyhow::Context;
use clap::Args;

use super::endpoints::{PipelineFlags, bucket, connection, read};
use super::status::all_well;
use super::{BrokersFlag, BucketFlags, Failure, Form, Person, Shell};
use crate::admin::Admin;
use crate::operator::{Cleaned, Cluster, Scope};

/// Deletes the topics of the configured stages, the groups of their mappings, and the pipeline's objects.
///
/// The stages come from MAIN_TOPIC, RETRY_STAGES, DRAIN_STAGES and DLQ_TOPIC. Of the bucket go the objects under incidents/, spill/
/// and replays/ and no others. Asks before it deletes.
#[derive(Args, Debug)]
pub(crate) struct CleanCommand {
    #[command(flatten)]
    brokers: BrokersFlag,
    #[command(flatten)]
    bucket: BucketFlags,
    #[command(flatten)]
    pipelines: PipelineFlags,
    /// Does not ask.
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    form: Form,
}

impl CleanCommand {
    pub(crate) async fn run(self, shell: &mut Shell<'_>) -> Result<(), Failure> {
        let pipelines = self.pipelines;
        let (connection, bucket, layouts) =
            read(shell.env, &self.brokers, &self.bucket, |reader| {
                let (connection, bucket) = (connection(reader), bucket(reader));
                let layouts = pipelines.layouts(reader);
                Some((connection?, bucket?, layouts?))
            })?;
        let scope = Scope {
            layouts: &layouts,
            brokers: connection.brokers.as_str(),
            bucket: &bucket,
        };
        if !self.yes {
            confirm(shell, &scope)?;
        }
        // The administration is patient; whether anyone is there is found out sooner so.
        let cluster = Cluster::new(connection.clone());
        cluster.topics().await?;
        let admin = Admin::new(connection.brokers.as_str(), &[].into())?;
        let (cleaned, faults) = Cleaned::clean(&cluster, &admin, &scope).await;
        shell.print(self.form, &cleaned)?;
        all_well(&faults)
    }
}

/// Asks whoever sits at the terminal; where nobody does it refuses.
fn confirm(shell: &mut Shell<'_>, scope: &Scope<'_>) -> Result<(), Failure> {
    let Person::Present(person) = &mut shell.person else {
        return Err(Failure::Usage(
            "there is no terminal to ask on: --yes deletes without asking".to_owned(),
        ));
    };
    shell.notes.line(scope).ok();
    shell.notes.text("Type yes to go on: ").ok();
    let mut answer = String::new();
    person
        .read_line(&mut answer)
        .context("cannot read the answer")?;
    if answer.trim().eq_ignore_ascii_case("yes") {
        Ok(())
    } else {
        Err(Failure::Failed(anyhow::anyhow!("nothing was deleted")))
    }
}
