//! Offsets on their way to the broker.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use pipeline::{Partition, Topic};
use rdkafka::consumer::{CommitMode, Consumer, StreamConsumer};
use rdkafka::{Offset, TopicPartitionList};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::consumer::{AFTER_TROUBLE, Changes};

/// For each partition, the next offset to read.
pub(super) type Offsets = BTreeMap<Partition, i64>;

/// Offsets to commit, sent one request after the other.
#[derive(Default)]
pub(super) struct Commits {
    due: Offsets,
    /// Counts how often partitions went away.
    era: u64,
    sending: JoinSet<Sent>,
    not_before: Option<Instant>,
}

/// A request that has ended.
pub(super) struct Sent {
    pub(super) offsets: Offsets,
    era: u64,
    pub(super) result: anyhow::Result<()>,
}

impl Commits {
    pub(super) fn add(&mut self, offsets: impl IntoIterator<Item = (Partition, i64)>) {
        self.due.extend(offsets);
    }

    /// Sends no more for partitions that went away.
    pub(super) fn forget(&mut self, partitions: &[Partition]) {
        self.era = self.era.wrapping_add(1);
        self.due
            .retain(|partition, _| !partitions.contains(partition));
    }

    /// Sends what is due, unless a request is under way or has just failed.
    pub(super) fn send(&mut self, consumer: &Arc<StreamConsumer<Changes>>, topic: &Topic) {
        let too_early = self.not_before.is_some_and(|at| Instant::now() < at);
        if self.due.is_empty() || !self.sending.is_empty() || too_early {
            return;
        }
        self.not_before = None;
        let offsets = std::mem::take(&mut self.due);
        let (consumer, topic, era) = (Arc::clone(consumer), topic.clone(), self.era);
        self.sending.spawn_blocking(move || {
            let result = commit(&consumer, &topic, &offsets);
            Sent {
                offsets,
                era,
                result,
            }
        });
    }

    /// Waits for the request that is under way; `None` when there is none.
    pub(super) async fn sent(&mut self) -> Option<Result<Sent, JoinError>> {
        self.sending.join_next().await
    }

    /// Makes offsets that did not arrive due again, after a pause; a later offset that is due covers them.
    ///
    /// Those from before partitions went away are not: they are their new readers' business, or of a topic that is no more.
    pub(super) fn try_again(&mut self, sent: Sent) {
        if sent.era == self.era {
            for (partition, offset) in sent.offsets {
                self.due.entry(partition).or_insert(offset);
            }
        }
        self.not_before = Instant::now().checked_add(AFTER_TROUBLE);
    }

    pub(super) fn are_under_way(&self) -> bool {
        !self.sending.is_empty()
    }

    pub(super) fn are_sent(&self) -> bool {
        self.due.is_empty() && self.sending.is_empty()
    }
}

/// Commits offsets and waits for the broker to have them; blocks.
fn commit(
    consumer: &StreamConsumer<Changes>,
    topic: &Topic,
    offsets: &Offsets,
) -> anyhow::Result<()> {
    let mut list = TopicPartitionList::new();
    for (partition, offset) in offsets {
        list.add_partition_offset(topic.as_str(), partition.get(), Offset::Offset(*offset))?;
    }
    consumer
        .commit(&list, CommitMode::Sync)
        .context("cannot commit offsets")
}
