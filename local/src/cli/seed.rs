//! `cargo local seed`.

use clap::Args;
use kafka::Producer;

use super::endpoints::{connection, read};
use super::{BrokersFlag, BucketFlags, Failure, Form, Shell};
use crate::operator::{Mix, Seeding};

/// Produces payments of a mix of kinds to the main topic.
///
/// The topic is MAIN_TOPIC. Kinds are the provider simulator's modes ok, transient, permanent, timeout, flap and rate-limit, and
/// broken-json and schema (a version that nobody knows). Each payment has a key of its own, its id. The same seed, mix and
/// number make the same payments; seeding them twice shows that nothing is charged twice.
#[derive(Args, Debug)]
pub(crate) struct SeedCommand {
    #[command(flatten)]
    brokers: BrokersFlag,
    /// How many payments.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    messages: u32,
    /// Which kinds, and how many of one for how many of another.
    #[arg(long, value_name = "KIND=SHARE,…", default_value_t)]
    mix: Mix,
    /// What makes these payments differ from others; a number that is not used yet when absent.
    #[arg(long, value_name = "S")]
    seed: Option<u32>,
    #[command(flatten)]
    form: Form,
}

impl SeedCommand {
    pub(crate) async fn run(self, shell: &mut Shell<'_>) -> Result<(), Failure> {
        let (connection, topic) = read(
            shell.env,
            &self.brokers,
            &BucketFlags::default(),
            |reader| {
                let (connection, stages) = (connection(reader), reader.stages());
                Some((connection?, stages?.main().topic().clone()))
            },
        )?;
        let seeding = Seeding {
            messages: self.messages,
            mix: self.mix,
            seed: self.seed.unwrap_or_else(rand::random),
        };
        let seeded = seeding.produce(&topic, &Producer::new(connection)).await;
        shell.print(self.form, &seeded)?;
        Ok(seeded.whole()?)
    }
}
