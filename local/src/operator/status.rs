//! The state of a pipeline: what its topics hold, how far each stage has come, and how many incidents there are.

use std::collections::BTreeMap;
use std::fmt;

use aws::Bucket;
use futures_util::future::try_join_all;
use pipeline::{Offset, Partition, Span, Stage, Stages, Topic};
use serde::Serialize;

use super::cluster::Cluster;
use super::table::table;
use crate::mapping::group_of;

/// The state of a pipeline; what could not be asked for is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Every topic in the order of the ladder, the dead-letter topic last.
    pub stages: Option<Vec<StageStatus>>,
    /// How many incidents there are, by error class.
    pub incidents: Option<BTreeMap<String, u64>>,
}

/// The state of one stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageStatus {
    /// The stage, such as `retry 30s`.
    pub stage: String,
    /// The topic that it reads.
    pub topic: String,
    /// Whether the topic exists.
    pub exists: bool,
    /// How many records the topic holds.
    pub records: i64,
    /// The consumer group of its mapping.
    pub group: String,
    /// Whether the group has committed anything; one that has not starts at the oldest record.
    pub committed: bool,
    /// How many records are not done yet.
    pub lag: i64,
    /// The same by partition.
    pub partitions: Vec<PartitionStatus>,
}

/// The state of one partition of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartitionStatus {
    /// The partition.
    pub partition: i32,
    /// The first offset that it still has.
    pub start: i64,
    /// The offset that its next record gets.
    pub end: i64,
    /// The offset that the group has committed.
    pub committed: Option<i64>,
    /// How many records are not done yet.
    pub lag: i64,
}

/// Asks the brokers for the state of every stage.
pub async fn stages(cluster: &Cluster, stages: &Stages) -> anyhow::Result<Vec<StageStatus>> {
    let topics = cluster.topics().await?;
    let all = stages
        .all()
        .map(|stage| (name_of(stage), "payments", stage.topic()))
        .chain([("dlq".to_owned(), "dlq", stages.dlq())]);
    let asked = all.map(|(stage, function, topic)| {
        let partitions = topics.get(topic.as_str());
        async move {
            let group = group_of(function, topic);
            match partitions {
                Some(partitions) => present(cluster, stage, topic, group, partitions).await,
                None => Ok(missing(stage, topic, group)),
            }
        }
    });
    try_join_all(asked).await
}

/// Counts the incidents of a bucket by the class that their keys name.
pub async fn incidents(bucket: &Bucket) -> anyhow::Result<BTreeMap<String, u64>> {
    let mut classes = BTreeMap::new();
    for object in bucket.list(super::incident_list::DAYS).await? {
        let class = super::incident_list::class_of(&object.key).unwrap_or("unknown");
        let count: &mut u64 = classes.entry(class.to_owned()).or_default();
        *count = count.saturating_add(1);
    }
    Ok(classes)
}

async fn present(
    cluster: &Cluster,
    stage: String,
    topic: &Topic,
    group: String,
    partitions: &[Partition],
) -> anyhow::Result<StageStatus> {
    let offsets = cluster.offsets(topic, partitions).await?;
    let committed = cluster.committed(&group, topic, partitions).await?;
    let partitions = offsets.partitions.iter().map(|(partition, (start, end))| {
        let committed = committed.get(partition).copied();
        partition_status(*partition, *start, *end, committed)
    });
    let partitions: Vec<PartitionStatus> = partitions.collect();
    let lags = partitions.iter().map(|partition| partition.lag);
    Ok(StageStatus {
        stage,
        topic: topic.to_string(),
        exists: true,
        records: offsets.records(),
        group,
        committed: !committed.is_empty(),
        lag: lags.fold(0, i64::saturating_add),
        partitions,
    })
}

fn missing(stage: String, topic: &Topic, group: String) -> StageStatus {
    StageStatus {
        stage,
        topic: topic.to_string(),
        exists: false,
        records: 0,
        group,
        committed: false,
        lag: 0,
        partitions: Vec::new(),
    }
}

fn partition_status(
    partition: Partition,
    start: Offset,
    end: Offset,
    committed: Option<Offset>,
) -> PartitionStatus {
    // A group without an offset starts at the oldest record, and so does one whose records were deleted.
    let next = committed.map_or(start, |committed| committed.max(start));
    PartitionStatus {
        partition: partition.get(),
        start: start.get(),
        end: end.get(),
        committed: committed.map(Offset::get),
        lag: end.get().saturating_sub(next.get()).max(0),
    }
}

fn name_of(stage: &Stage) -> String {
    match Span::from_millis(stage.delay_ms()) {
        Some(delay) => format!("retry {delay}"),
        None => "main".to_owned(),
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(stages) = &self.stages {
            let heading = ["stage", "topic", "records", "lag", "group", "end offsets"];
            let rows = stages.iter().map(StageStatus::row).collect();
            parts.push(table(&heading, &[2, 3], rows));
        }
        match &self.incidents {
            Some(classes) if classes.is_empty() => parts.push("no incidents".to_owned()),
            Some(classes) => {
                let rows = classes.iter();
                let rows = rows.map(|(class, count)| vec![class.clone(), count.to_string()]);
                parts.push(table(&["class", "incidents"], &[1], rows.collect()));
            }
            None => {}
        }
        f.write_str(&parts.join("\n\n"))
    }
}

impl StageStatus {
    fn row(&self) -> Vec<String> {
        let (stage, topic) = (self.stage.clone(), self.topic.clone());
        if !self.exists {
            let none = || "-".to_owned();
            return vec![stage, topic, "missing".to_owned(), none(), none(), none()];
        }
        let group = if self.committed {
            self.group.clone()
        } else {
            format!("{} (nothing committed)", self.group)
        };
        let ends = self.partitions.iter();
        let ends: Vec<String> = ends
            .map(|partition| format!("{}:{}", partition.partition, partition.end))
            .collect();
        vec![
            stage,
            topic,
            self.records.to_string(),
            self.lag.to_string(),
            group,
            ends.join(" "),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(number: i64) -> Offset {
        Offset::new(number).unwrap()
    }

    fn check(start: i64, end: i64, committed: Option<i64>, lag: i64) {
        let status = partition_status(
            Partition::FIRST,
            offset(start),
            offset(end),
            committed.map(offset),
        );
        assert_eq!(status.lag, lag, "{start}..{end}, {committed:?}");
    }

    #[test]
    fn the_lag_is_what_is_not_done_and_still_there() {
        check(0, 10, Some(4), 6);
        check(0, 10, Some(10), 0);
        check(0, 10, None, 10);
        check(3, 10, None, 7);
        check(3, 10, Some(1), 7);
        check(0, 0, None, 0);
        // A topic that was deleted and created again has less than its group remembers.
        check(0, 2, Some(9), 0);
    }
}
