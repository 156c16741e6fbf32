//! The topics of the orders pipeline in a demo.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use pipeline::Counting;

use super::super::brokers::Topics;
use crate::topics::Layout;

/// How the topic of orders is called on the screen.
pub(super) const ORDERS: &str = "orders";

/// How the topic of dead orders is called on the screen.
pub(super) const DEAD: &str = "orders.dlq";

/// The two topics.
#[derive(Clone, Debug)]
pub(super) struct OrdersTopics(Counting);

impl Topics for OrdersTopics {
    fn named(prefix: &str) -> anyhow::Result<Self> {
        let topic = |name: &str| format!("{prefix}{name}").parse();
        // How far is counted is said to each function as it starts.
        let counting = Counting::new(topic(ORDERS)?, topic(DEAD)?, NonZeroU32::MIN)?;
        Ok(Self(counting))
    }

    fn layout(&self) -> Layout {
        Layout::of_orders(&self.0)
    }
}

impl OrdersTopics {
    /// Returns the topic of orders.
    pub(super) const fn orders(&self) -> &pipeline::Topic {
        self.0.topic()
    }

    /// Returns the topic of dead orders.
    pub(super) const fn dead(&self) -> &pipeline::Topic {
        self.0.dlq()
    }

    /// Returns the settings that tell the function of them.
    pub(super) fn env(&self) -> [(&'static str, String); 2] {
        [
            ("ORDERS_TOPIC", self.orders().to_string()),
            ("ORDERS_DLQ_TOPIC", self.dead().to_string()),
        ]
    }

    /// Returns the short name of each topic.
    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        let labels = [(self.orders(), ORDERS), (self.dead(), DEAD)];
        labels
            .map(|(topic, label)| (topic.to_string(), label.to_owned()))
            .into()
    }
}

#[cfg(test)]
mod tests {
    use lambda::SettingsReader;

    use super::*;

    #[test]
    fn the_function_reads_the_topics_that_were_named_for_it() {
        for prefix in ["", "demo-1a2b."] {
            let topics = OrdersTopics::named(prefix).unwrap();
            let env: BTreeMap<&str, String> = topics.env().into();
            let env = |name: &str| env.get(name).cloned();
            let mut reader = SettingsReader::new(&env);
            let counting = ::orders::settings::counting(&mut reader);
            let counting = reader.finish(counting).unwrap();
            assert_eq!(counting.topic(), topics.orders());
            assert_eq!(counting.dlq(), topics.dead());
            assert!(topics.orders().as_str().starts_with(prefix));
        }
    }
}
