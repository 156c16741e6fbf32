//! Brokers and topics that are not there.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use kafka::{Brokers, Connection};
use pipeline::Topic;

use super::plan::Plan;
use crate::operator::Cluster;

/// Looks up which brokers and topics of a plan are not there, and says what follows from it.
pub fn away(plan: &Plan) -> impl Future<Output = Vec<String>> + Send + use<> {
    let mut wanted: BTreeMap<String, BTreeSet<Topic>> = BTreeMap::new();
    for (_, mapping) in plan.mappings() {
        let topics = wanted.entry(mapping.brokers.clone()).or_default();
        topics.insert(mapping.topic.clone());
    }
    async {
        let looked_up = wanted
            .into_iter()
            .map(|(brokers, topics)| missing(brokers, topics));
        join_all(looked_up).await.into_iter().flatten().collect()
    }
}

async fn missing(brokers: String, topics: BTreeSet<Topic>) -> Vec<String> {
    let connection = match brokers.parse::<Brokers>() {
        Ok(parsed) => Connection::without_auth(parsed),
        Err(error) => return vec![format!("{brokers}: {error}")],
    };
    match Cluster::new(connection).topics().await {
        Ok(there) => {
            let missing = topics
                .into_iter()
                .filter(|topic| !there.contains_key(topic.as_str()));
            missing
                .map(|topic| {
                    format!(
                        "topic {topic} does not exist; its mapping waits for it (`cargo local topics create --brokers {brokers}` makes the ladder's, with --orders the orders' too)"
                    )
                })
                .collect()
        }
        Err(error) => vec![format!("{error:#}; the mappings go on trying")],
    }
}
