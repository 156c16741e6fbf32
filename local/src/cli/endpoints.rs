//! Where a command finds Kafka, S3 and the topics: flags that take the place of variables.

use aws::{Bucket, Endpoint, Keys, Sdk};
use clap::Args;
use kafka::Connection;
use lambda::SettingsReader;

use super::failure::Failure;
use super::shell::Env;
use crate::s3;
use crate::topics::Layout;

/// The brokers.
#[derive(Args, Clone, Debug, Default)]
pub struct BrokersFlag {
    /// Brokers to start from; KAFKA_BROKERS when absent.
    #[arg(long, value_name = "HOST:PORT,…")]
    pub brokers: Option<String>,
}

/// The bucket.
#[derive(Args, Clone, Debug, Default)]
pub struct BucketFlags {
    /// Endpoint of an S3 server; AWS_ENDPOINT_URL_S3 when absent, and AWS itself without both.
    #[arg(long, value_name = "URL")]
    pub s3: Option<String>,
    /// Bucket with the incidents; INCIDENT_BUCKET when absent.
    #[arg(long, value_name = "NAME")]
    pub bucket: Option<String>,
}

/// The pipelines.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct PipelineFlags {
    /// Do so for the orders pipeline too: ORDERS_TOPIC and ORDERS_DLQ_TOPIC.
    #[arg(long)]
    pub orders: bool,
}

impl PipelineFlags {
    /// Reads the topics of each pipeline, as its functions read them.
    pub(crate) fn layouts(self, reader: &mut SettingsReader<'_>) -> Option<Vec<Layout>> {
        let ladder = reader.stages();
        let orders = if self.orders {
            Some(Layout::of_orders(&orders::settings::counting(reader)?))
        } else {
            None
        };
        Some(
            [Layout::of_ladder(&ladder?)]
                .into_iter()
                .chain(orders)
                .collect(),
        )
    }
}

/// Reads settings from flags and, where a flag is absent, from the environment, as the functions read them.
pub(crate) fn read<T>(
    env: &Env<'_>,
    brokers: &BrokersFlag,
    bucket: &BucketFlags,
    read: impl FnOnce(&mut SettingsReader<'_>) -> Option<T>,
) -> Result<T, Failure> {
    let env = |name: &str| {
        let flag = match name {
            "KAFKA_BROKERS" => &brokers.brokers,
            "AWS_ENDPOINT_URL_S3" => &bucket.s3,
            "INCIDENT_BUCKET" => &bucket.bucket,
            _ => &None,
        };
        flag.clone().or_else(|| env(name))
    };
    let mut reader = SettingsReader::new(&env);
    let settings = read(&mut reader);
    reader.finish(settings).map_err(|wrong| {
        Failure::Usage(format!(
            "{wrong} (--brokers, --s3 and --bucket stand for KAFKA_BROKERS, AWS_ENDPOINT_URL_S3 and INCIDENT_BUCKET)"
        ))
    })
}

/// Reads the way to the brokers.
pub(crate) fn connection(reader: &mut SettingsReader<'_>) -> Option<Connection> {
    Connection::read(reader)
}

/// Reads the way to the bucket; a server of one's own takes the credentials of the environment or a profile, else the local pair.
pub(crate) fn bucket(reader: &mut SettingsReader<'_>) -> Option<Bucket> {
    let named = bucket_if_named(reader);
    if matches!(named, Some(None)) {
        reader.problem("INCIDENT_BUCKET", "is not set");
    }
    named?
}

/// Reads the bucket and its endpoint where there is one: `Some(None)` when none is named.
#[expect(
    clippy::option_option,
    reason = "the outer level says whether reading worked, the inner one whether it is set"
)]
pub(crate) fn bucket_if_named(reader: &mut SettingsReader<'_>) -> Option<Option<Bucket>> {
    let name = reader.optional("INCIDENT_BUCKET", str::parse);
    let endpoint = reader.optional("AWS_ENDPOINT_URL_S3", str::parse::<Endpoint>);
    let endpoint = endpoint?;
    let local = endpoint.is_some();
    let sdk = Sdk::new(endpoint);
    let sdk = if local {
        sdk.or_keys(Keys {
            id: s3::ACCESS_KEY.to_owned(),
            secret: s3::SECRET_KEY.to_owned(),
        })
    } else {
        sdk
    };
    Some(name?.map(|name| Bucket::new(name, sdk)))
}
