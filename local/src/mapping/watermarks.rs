//! How far the group has come, and where its partitions end: asked of the brokers about once a second.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pipeline::{Partition, Topic};
use rdkafka::consumer::{Consumer, StreamConsumer};
use rdkafka::{Offset, TopicPartitionList};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::consumer::{Changes, offsets_of};

/// How long lies between two lookups.
const EVERY: Duration = Duration::from_secs(1);

/// How long lies between two lookups when someone waits for the next one.
const SOON: Duration = Duration::from_millis(100);

/// How long the brokers may take to answer.
const LIMIT: Duration = Duration::from_secs(2);

/// What was last looked up, and the lookup that is under way.
#[derive(Default)]
pub(super) struct Watermarks {
    partitions: BTreeMap<Partition, Watermark>,
    looking: JoinSet<Option<BTreeMap<Partition, Watermark>>>,
    /// When the last lookup began.
    asked: Option<Instant>,
}

/// Whether someone waits for the next lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Urgency {
    /// Nobody does.
    None,
    /// It tells whether the mapping is idle.
    Awaited,
}

/// The ends of partitions, and when they were asked for.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) asked: Instant,
    pub(super) ends: Vec<(Partition, i64)>,
}

/// Where a partition stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Watermark {
    /// The next offset that the group reads.
    next: i64,
    end: i64,
}

impl Watermarks {
    /// Looks the partitions up, unless that is under way or was done just now.
    pub(super) fn look_up(
        &mut self,
        consumer: &Arc<StreamConsumer<Changes>>,
        topic: &Topic,
        partitions: &[Partition],
        urgency: Urgency,
    ) {
        let now = Instant::now();
        let pause = match urgency {
            Urgency::None => EVERY,
            Urgency::Awaited => SOON,
        };
        let last = self.asked;
        let too_early = last.is_some_and(|at| now.saturating_duration_since(at) < pause);
        if partitions.is_empty() || !self.looking.is_empty() || too_early {
            return;
        }
        self.asked = Some(now);
        let (consumer, topic) = (Arc::clone(consumer), topic.clone());
        let partitions = partitions.to_vec();
        // What cannot be looked up keeps its old value: the reader tells of brokers that are away.
        self.looking
            .spawn_blocking(move || look_up(&consumer, &topic, &partitions).ok());
    }

    /// Waits for the lookup that is under way and takes it in; `None` when there is none.
    pub(super) async fn looked_up(&mut self) -> Option<Ends> {
        let looked_up = self.looking.join_next().await?;
        let asked = self.asked?;
        let mut ends = Vec::new();
        if let Ok(Some(partitions)) = looked_up {
            ends.extend(partitions.iter().map(|(at, mark)| (*at, mark.end)));
            self.partitions = partitions;
        }
        Some(Ends { asked, ends })
    }

    /// Forgets what was looked up: it is of another topic.
    pub(super) fn forget(&mut self) {
        self.partitions.clear();
    }

    /// Notes what was committed since.
    pub(super) fn committed(&mut self, partition: Partition, offset: i64) {
        if let Some(watermark) = self.partitions.get_mut(&partition) {
            watermark.next = watermark.next.max(offset);
        }
    }

    /// Returns how many offsets of the partitions lie between what is committed and the end; `None` while one is not known.
    pub(super) fn lag(&self, partitions: &[Partition]) -> Option<u64> {
        let mut lag: u64 = 0;
        for partition in partitions {
            let Watermark { next, end } = self.partitions.get(partition)?;
            let left = u64::try_from(end.saturating_sub(*next)).unwrap_or(0);
            lag = lag.saturating_add(left);
        }
        Some(lag)
    }
}

/// Asks the brokers; blocks. What was committed is asked for first: the lag is never told too small.
fn look_up(
    consumer: &StreamConsumer<Changes>,
    topic: &Topic,
    partitions: &[Partition],
) -> anyhow::Result<BTreeMap<Partition, Watermark>> {
    let list = |offset: Offset| -> anyhow::Result<TopicPartitionList> {
        let mut list = TopicPartitionList::new();
        for partition in partitions {
            list.add_partition_offset(topic.as_str(), partition.get(), offset)?;
        }
        Ok(list)
    };
    let mut committed = offsets_of(&consumer.committed_offsets(list(Offset::Invalid)?, LIMIT)?)?;
    if committed.len() < partitions.len() {
        let starts = consumer.offsets_for_times(list(Offset::Beginning)?, LIMIT)?;
        for (partition, start) in offsets_of(&starts)? {
            committed.entry(partition).or_insert(start);
        }
    }
    let ends = offsets_of(&consumer.offsets_for_times(list(Offset::End)?, LIMIT)?)?;
    let watermark = |(partition, end): (Partition, i64)| {
        let next = *committed.get(&partition)?;
        Some((partition, Watermark { next, end }))
    };
    Ok(ends.into_iter().filter_map(watermark).collect())
}
