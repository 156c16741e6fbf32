//! `cargo local demo death-cycle`.

use clap::Args;

use super::{all_right, told};
use crate::cli::signals::told_to_stop;
use crate::cli::{Failure, Form, Shell};
use crate::demo::Screen;
use crate::demo::death_cycle::{self, DeathCycleSettings};

/// Tells how one record that nobody can read stops its partition for good, and how one commit frees it.
///
/// The real programs of orders and dlq run as processes. At first the function of orders is told to count further than anybody waits,
/// so that nothing is dead-lettered: the same offset is delivered again and again, its partition stands still and its lag grows. Then
/// it starts again as it is: the third failure is dead-lettered, and the offset moves past it.
///
/// Exit status 0 when all of that was seen; else 1, and what is missing is said.
///
/// --json prints one line: orders (orders sent, the poison one included), handled (different orders handled), poison_partition and
/// poison_offset, recognised (what was told when it was recognised), deliveries_before and deliveries_after (how often it was delivered
/// before and after dead-lettering was switched on), committed_before and committed_after, lag_before and lag_after (of its partition),
/// other_lag (of the other partition meanwhile), dead_letters, incidents, alerts.
#[derive(Debug, Args)]
pub(super) struct DeathCycle {
    /// Run on these brokers instead of the embedded one; topics and groups have names of their own and are deleted at the end.
    #[arg(long, value_name = "HOST:PORT,…")]
    brokers: Option<kafka::Brokers>,
    #[command(flatten)]
    form: Form,
}

impl DeathCycle {
    pub(super) async fn run(self, shell: &mut Shell<'_>) -> Result<(), Failure> {
        let settings = DeathCycleSettings {
            brokers: self.brokers,
        };
        let json = self.form.json;
        let tell =
            async |screen: &Screen| death_cycle::run(&settings, screen, told_to_stop()).await;
        let seen = told(shell, json, tell).await?;
        if json {
            shell.out.json(&seen)?;
        }
        all_right(&seen.problems())
    }
}
