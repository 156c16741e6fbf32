//! `cargo local status`.

use clap::Args;

use super::endpoints::{bucket_if_named, connection, read};
use super::{BrokersFlag, BucketFlags, Failure, Form, Shell};
use crate::operator::{Cluster, Status, status};

/// Shows what the topics hold, how far each stage has come, and how many incidents there are.
///
/// The stages come from MAIN_TOPIC, RETRY_STAGES, DRAIN_STAGES and DLQ_TOPIC; the lag is that of the consumer group of each
/// stage's mapping, FUNCTION.TOPIC. What is missing is shown as missing; without a bucket the incidents are left out.
#[derive(Args, Debug)]
pub(crate) struct StatusCommand {
    #[command(flatten)]
    brokers: BrokersFlag,
    #[command(flatten)]
    bucket: BucketFlags,
    #[command(flatten)]
    form: Form,
}

impl StatusCommand {
    pub(crate) async fn run(self, shell: &mut Shell<'_>) -> Result<(), Failure> {
        let (connection, bucket, stages) =
            read(shell.env, &self.brokers, &self.bucket, |reader| {
                let read = (connection(reader), bucket_if_named(reader), reader.stages());
                Some((read.0?, read.1?, read.2?))
            })?;
        let cluster = Cluster::new(connection);
        let count = async {
            match &bucket {
                Some(bucket) => status::incidents(bucket).await.map(Some),
                None => Ok(None),
            }
        };
        let (of_stages, of_incidents) = tokio::join!(status::stages(&cluster, &stages), count);
        if bucket.is_none() {
            shell.note(
                "incidents are not counted: no bucket is named (--bucket or INCIDENT_BUCKET)",
            );
        }
        let mut faults = Vec::new();
        let shown = Status {
            stages: of_stages.map_err(|error| faults.push(error)).ok(),
            incidents: of_incidents.unwrap_or_else(|error| {
                faults.push(error);
                None
            }),
        };
        if self.form.json || shown != Status::default() {
            shell.print(self.form, &shown)?;
        }
        all_well(&faults)
    }
}

/// Fails when anything did, and tells of all of it.
pub(super) fn all_well(faults: &[anyhow::Error]) -> Result<(), Failure> {
    let told: Vec<String> = faults.iter().map(|fault| format!("{fault:#}")).collect();
    if told.is_empty() {
        Ok(())
    } else {
        Err(Failure::Failed(anyhow::anyhow!(told.join("; "))))
    }
}
