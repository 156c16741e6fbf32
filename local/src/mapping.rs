//! An event source mapping: reads a topic, invokes a function with batches, and moves the offsets by what it answers.

mod answer;
mod backlog;
mod batch;
mod commits;
mod consumer;
mod invocations;
mod lane;
mod piece;
mod poller;
mod progress;
mod queue;
mod reporter;
mod rules;
mod settings;
mod standing;
mod start;
mod statistics;
mod topic_id;
mod watermarks;

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use self::poller::Poller;
use crate::invoke::Invoke;

pub use self::answer::{Answer, Place};
pub use self::progress::{BatchVerdict, Discard, Portion, Progress, Report};
pub(crate) use self::rules::INVOCATIONS_OF_A_POLLER;
pub use self::settings::{
    Answers, Batching, Bisect, MappingSettings, Pollers, Redelivery, StartingPosition, group_of,
};
pub use self::standing::{HandedBack, InFlight, MostDelivered, Standing};

/// A running mapping; dropping it ends it as a crash would: nothing more is committed.
///
/// Each partition has one invocation at a time, in offset order. Offsets are committed after the answer. Records that are
/// not done are delivered again, after a pause that grows from 100 ms to 1 s, for as long as the settings allow.
#[derive(Debug)]
pub struct Mapping {
    name: Arc<str>,
    standing: watch::Receiver<Standing>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Mapping {
    /// Joins the group and starts to invoke; what it does is told to `reports`.
    pub fn start(
        settings: MappingSettings,
        function: Arc<impl Invoke>,
        reports: UnboundedSender<Report>,
    ) -> anyhow::Result<Self> {
        let name: Arc<str> = settings.name.as_str().into();
        let (told, standing) = watch::channel(Standing::default());
        let (stop, stopped) = watch::channel(false);
        let poller = Poller::new(settings, function, reports, told, stopped)?;
        let mut tasks = JoinSet::new();
        tasks.spawn(poller.run());
        Ok(Self {
            name,
            standing,
            stop,
            tasks,
        })
    }

    /// Returns the mapping's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tells where it stood a moment ago.
    pub fn standing(&self) -> Standing {
        self.standing.borrow().clone()
    }

    /// Tells whether, a moment ago, every record of its partitions had been read and was done.
    ///
    /// A partition that waits for a redelivery is not idle, nor is one whose function runs.
    pub fn is_idle(&self) -> bool {
        self.standing.borrow().idle
    }

    /// Tells when the ends of its partitions were asked for, which were read to; `None` unless the mapping was idle a moment ago.
    pub fn idle_as_of(&self) -> Option<Instant> {
        self.standing.borrow().idle_as_of
    }

    /// Waits until the mapping has been idle for so long without a break; fails when the mapping ends.
    pub async fn idle_for(&self, quiet: Duration) -> anyhow::Result<()> {
        let mut standing = self.standing.clone();
        let ended = || format!("the mapping {} has ended", self.name);
        loop {
            standing
                .wait_for(|now| now.idle)
                .await
                .with_context(ended)?;
            let busy = standing.wait_for(|now| !now.idle);
            match tokio::time::timeout(quiet, busy).await {
                Ok(busy) => {
                    busy.with_context(ended)?;
                }
                Err(_) => return Ok(()),
            }
        }
    }

    /// Ends the mapping: takes no more batches, waits for running invocations for at most `grace`, commits, leaves the group.
    pub async fn stop(mut self, grace: Duration) {
        self.stop.send_replace(true);
        let ended = async { while self.tasks.join_next().await.is_some() {} };
        tokio::time::timeout(grace, ended).await.ok();
    }
}
