//! How far the client has read, transaction markers included: from the statistics of librdkafka.

use std::collections::BTreeMap;

use pipeline::Partition;
use serde::Deserialize;

/// How often they are made.
pub(super) const EVERY_MS: &str = "250";

#[derive(Deserialize)]
struct Statistics {
    #[serde(default)]
    topics: BTreeMap<String, TopicStatistics>,
}

#[derive(Deserialize)]
struct TopicStatistics {
    #[serde(default)]
    partitions: BTreeMap<String, PartitionStatistics>,
}

#[derive(Deserialize)]
struct PartitionStatistics {
    partition: i32,
    /// The last end that the client came to; negative where there is none.
    eof_offset: i64,
}

/// Returns, for each partition of a topic whose end the client has come to, where that was.
pub(super) fn ends(statistics: &[u8], topic: &str) -> Vec<(Partition, i64)> {
    let Ok(mut statistics) = serde_json::from_slice::<Statistics>(statistics) else {
        return Vec::new();
    };
    let topic = statistics.topics.remove(topic);
    let partitions = topic.into_iter().flat_map(|topic| topic.partitions);
    let ends = partitions.filter_map(|(_, at)| {
        let partition = Partition::new(at.partition)?;
        (at.eof_offset >= 0).then_some((partition, at.eof_offset))
    });
    ends.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_those_of_the_topics_own_partitions_that_were_read_to_the_end() {
        let statistics = r#"{"name": "x", "topics": {
            "a": {"topic": "a", "partitions": {
                "-1": {"partition": -1, "eof_offset": -1001},
                "0": {"partition": 0, "eof_offset": 7, "next_offset": 7},
                "1": {"partition": 1, "eof_offset": -1001}}},
            "b": {"topic": "b", "partitions": {"0": {"partition": 0, "eof_offset": 3}}}}}"#;
        let first = Partition::new(0).unwrap();
        assert_eq!(ends(statistics.as_bytes(), "a"), [(first, 7)]);
        assert_eq!(ends(statistics.as_bytes(), "c"), []);
        assert_eq!(ends(b"no json", "a"), []);
    }
}
