//! Where a group begins to read a partition that it has committed nothing of.
//!
//! Source: AWS Lambda developer guide, "Apache Kafka polling and stream starting positions in Lambda". There a mapping that starts at
//! `LATEST` may miss records while it is made or changed. Here the place to begin at is committed the moment the group first has the
//! partition, so that a change of hands before the first answer skips nothing, nor does a lookup by time come out otherwise.

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

/// For each partition that the group begins with, where that is.
pub(super) type Pins = BTreeMap<Partition, i64>;

/// Sets where to read each partition of the list from, and commits that where the group has not committed anything; blocks.
///
/// At the oldest record nothing has to be settled: there is none before it.
pub(super) fn place(
    consumer: &BaseConsumer<Changes>,
    start: StartingPosition,
    list: &mut TopicPartitionList,
) -> anyhow::Result<Pins> {
    let from = match start {
        StartingPosition::TrimHorizon => return Ok(Pins::new()),
        StartingPosition::Latest => Offset::End,
        StartingPosition::AtTimestamp(time) => Offset::Offset(time.max(0)),
    };
    let committed = consumer
        .committed_offsets(list.clone(), LIMIT)
        .context("cannot ask where the group is")?;
    let committed = offsets_of(&committed).context("cannot ask where the group is")?;
    let mut pins = Pins::new();
    // Where no record is as young as that time, the group begins at the end.
    for from in [from, Offset::End] {
        let mut unknown = TopicPartitionList::new();
        for element in list.elements() {
            let partition = Partition::new(element.partition()).context("no such partition")?;
            if !committed.contains_key(&partition) && !pins.contains_key(&partition) {
                unknown.add_partition_offset(element.topic(), element.partition(), from)?;
            }
        }
        if unknown.count() > 0 {
            let found = consumer.offsets_for_times(unknown, LIMIT);
            let found = found.context("cannot ask where the group begins")?;
            pins.extend(offsets_of(&found).context("cannot ask where the group begins")?);
        }
    }
    let mut pinned = TopicPartitionList::new();
    for element in list.clone().elements() {
        let (topic, number) = (element.topic(), element.partition());
        let partition = Partition::new(number).context("no such partition")?;
        let own = pins.get(&partition);
        let offset = own.or_else(|| committed.get(&partition));
        let offset = *offset.with_context(|| format!("partition {number} has no end"))?;
        list.set_partition_offset(topic, number, Offset::Offset(offset))?;
        if own.is_some() {
            pinned.add_partition_offset(topic, number, Offset::Offset(offset))?;
        }
    }
    if pinned.count() > 0 {
        consumer
            .commit(&pinned, CommitMode::Sync)
            .context("cannot commit where the group begins")?;
    }
    Ok(pins)
}
