//! What a function answers: the records that are not done.

use serde::Serialize;

use crate::record::Coordinates;

/// Lambda's partial batch response for Kafka: exactly the records that are not done.
///
/// An empty list says that the whole batch is done. Source: AWS Lambda developer guide, "Kafka batch responses".
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchAnswer {
    batch_item_failures: Vec<BatchItemFailure>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct BatchItemFailure {
    item_identifier: ItemIdentifier,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ItemIdentifier {
    partition: String,
    offset: i64,
}

impl BatchAnswer {
    /// Lists the records that are handed back.
    pub fn handing_back<'a>(records: impl IntoIterator<Item = &'a Coordinates>) -> Self {
        Self {
            batch_item_failures: records
                .into_iter()
                .map(|at| BatchItemFailure {
                    item_identifier: ItemIdentifier {
                        partition: format!("{}-{}", at.topic, at.partition),
                        offset: at.offset.get(),
                    },
                })
                .collect(),
        }
    }

    /// Tells whether the whole batch is done.
    pub const fn is_all_done(&self) -> bool {
        self.batch_item_failures.is_empty()
    }

    /// Returns how many records are handed back.
    pub const fn handed_back(&self) -> usize {
        self.batch_item_failures.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_what_lambda_reads() {
        let at: Coordinates = "some.topic-3/3/42".parse().unwrap();
        assert_eq!(
            serde_json::to_string(&BatchAnswer::handing_back([&at])).unwrap(),
            r#"{"batchItemFailures":[{"itemIdentifier":{"partition":"some.topic-3-3","offset":42}}]}"#,
        );
        assert_eq!(
            serde_json::to_string(&BatchAnswer::default()).unwrap(),
            r#"{"batchItemFailures":[]}"#
        );
    }
}
