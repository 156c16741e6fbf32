//! Where a group begins to read a partition.
//!
//! Source: AWS Lambda developer guide, "Apache Kafka polling and stream starting positions in Lambda". There a mapping that starts at
//! `LATEST` may miss records while it is made or changed. Here the place to begin at is committed the moment the group first has the
//! partition, so that a change of hands before the first answer skips nothing, nor does a lookup by time come out otherwise.
//!
//! What a mapping does when the offset that it goes on at is not there, or the topic is another one than before, that guide does not
//! say. That it begins at the oldest record then, whatever its starting position is, is assumed: nothing is passed over.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use pipeline::Partition;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::{Offset, TopicPartitionList};

use super::consumer::{Changes, offsets_of};
use super::settings::StartingPosition;

/// How long the brokers may take to answer each question.
const LIMIT: Duration = Duration::from_secs(5);

/// For each partition, an offset.
pub(super) type Places = BTreeMap<Partition, i64>;

/// What is known of the offsets that the group has committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Committed {
    /// They hold.
    #[default]
    Holds,
    /// Some may not be there any more.
    MayBeGone,
    /// They are of another topic, which had the same name.
    OfAnotherTopic,
}

/// Where partitions are read from.
#[derive(Debug, Default)]
pub(super) struct Placed {
    /// Every partition.
    pub(super) from: Places,
    /// Those of them for which that was committed.
    pub(super) pins: Places,
    /// Those of them that had committed an offset that is not there any more, and which.
    pub(super) gone: Places,
}

/// Asks the brokers; blocks.
struct Brokers<'a> {
    consumer: &'a BaseConsumer<Changes>,
    list: &'a TopicPartitionList,
}

/// Sets where to read each partition of the list from, and commits that where it is not what the group has committed; blocks.
///
/// That a group begins at the oldest record is not committed: there is none before it.
pub(super) fn place(
    consumer: &BaseConsumer<Changes>,
    start: StartingPosition,
    committed: Committed,
    list: &mut TopicPartitionList,
) -> anyhow::Result<Placed> {
    let mut placed = Placed::default();
    if list.count() == 0 {
        return Ok(placed);
    }
    let asked = list.clone();
    let brokers = Brokers {
        consumer,
        list: &asked,
    };
    match committed {
        Committed::Holds => placed.from = brokers.committed()?,
        Committed::MayBeGone => {
            let (starts, ends) = (brokers.at(Offset::Beginning)?, brokers.at(Offset::End)?);
            for (partition, offset) in brokers.committed()? {
                let start = *starts.get(&partition).context("no start")?;
                let end = *ends.get(&partition).context("no end")?;
                if (start..=end).contains(&offset) {
                    placed.from.insert(partition, offset);
                } else {
                    placed.from.insert(partition, start);
                    placed.pins.insert(partition, start);
                    placed.gone.insert(partition, offset);
                }
            }
        }
        Committed::OfAnotherTopic => {
            placed.from = brokers.at(Offset::Beginning)?;
            placed.pins = placed.from.clone();
        }
    }
    let (at, pinned) = match start {
        StartingPosition::TrimHorizon => (Offset::Beginning, false),
        StartingPosition::Latest => (Offset::End, true),
        StartingPosition::AtTimestamp(time) => (Offset::Offset(time.max(0)), true),
    };
    // Where no record is as young as that time, the group begins at the end.
    for at in [at, Offset::End] {
        let found = brokers.of_those_without(&placed.from, at)?;
        placed.from.extend(&found);
        if pinned {
            placed.pins.extend(&found);
        }
    }
    for element in asked.elements() {
        let (topic, number) = (element.topic(), element.partition());
        let offset = Partition::new(number).and_then(|at| placed.from.get(&at));
        let offset = *offset.with_context(|| format!("partition {number} has no end"))?;
        list.set_partition_offset(topic, number, Offset::Offset(offset))?;
    }
    brokers.commit(&placed.pins)?;
    Ok(placed)
}

impl Brokers<'_> {
    fn committed(&self) -> anyhow::Result<Places> {
        let committed = self.consumer.committed_offsets(self.list.clone(), LIMIT);
        committed
            .map_err(Into::into)
            .and_then(|committed| offsets_of(&committed))
            .context("cannot ask where the group is")
    }

    fn at(&self, at: Offset) -> anyhow::Result<Places> {
        self.of_those_without(&Places::new(), at)
    }

    /// Asks for the offsets of the partitions that are not among the known.
    fn of_those_without(&self, known: &Places, at: Offset) -> anyhow::Result<Places> {
        let mut unknown = TopicPartitionList::new();
        for element in self.list.elements() {
            let partition = Partition::new(element.partition()).context("no such partition")?;
            if !known.contains_key(&partition) {
                unknown.add_partition_offset(element.topic(), element.partition(), at)?;
            }
        }
        if unknown.count() == 0 {
            return Ok(Places::new());
        }
        let found = self.consumer.offsets_for_times(unknown, LIMIT);
        found
            .map_err(Into::into)
            .and_then(|found| offsets_of(&found))
            .context("cannot ask where the group begins")
    }

    fn commit(&self, pins: &Places) -> anyhow::Result<()> {
        let mut pinned = TopicPartitionList::new();
        for element in self.list.elements() {
            let (topic, number) = (element.topic(), element.partition());
            if let Some(offset) = Partition::new(number).and_then(|at| pins.get(&at)) {
                pinned.add_partition_offset(topic, number, Offset::Offset(*offset))?;
            }
        }
        if pinned.count() > 0 {
            self.consumer
                .commit(&pinned, CommitMode::Sync)
                .context("cannot commit where the group begins")?;
        }
        Ok(())
    }
}
