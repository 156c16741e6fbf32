//! The orders that are sent, one of which is none.

use bytes::Bytes;
use pipeline::{Offset, Partition};

/// An order, and where it comes to lie: its customer decides on the partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// The customer, which is the record's key.
    pub(super) customer: &'static str,
    /// What was ordered.
    pub(super) value: Bytes,
    /// The partition.
    pub(super) partition: i32,
    /// The offset there.
    pub(super) offset: i64,
}

/// Where the order lies that nobody can read, and how it is written: as an older shop did.
const POISON: (i32, i64, &str) = (0, 3, "o-104;tea;2");

/// The orders that lie there before anything runs. The customer whose order is poison has another one behind it.
const FIRST: [(&str, i32, i64); 8] = [
    ("c-2", 0, 0),
    ("c-4", 0, 1),
    ("c-8", 0, 2),
    ("c-9", 0, 3),
    ("c-9", 0, 4),
    ("c-1", 1, 0),
    ("c-3", 1, 1),
    ("c-5", 1, 2),
];

/// The orders that arrive while one partition stands still.
const LATER: [(&str, i32, i64); 5] = [
    ("c-2", 0, 5),
    ("c-4", 0, 6),
    ("c-8", 0, 7),
    ("c-1", 1, 3),
    ("c-3", 1, 4),
];

/// The partition that the poison holds.
pub(super) const HELD: Partition = Partition::FIRST;

impl Order {
    /// Returns the orders that lie there before anything runs.
    pub(super) fn first() -> Vec<Self> {
        FIRST.map(Self::of).to_vec()
    }

    /// Returns the orders that arrive while one partition stands still.
    pub(super) fn later() -> Vec<Self> {
        LATER.map(Self::of).to_vec()
    }

    fn of((customer, partition, offset): (&'static str, i32, i64)) -> Self {
        let (held, poison, value) = POISON;
        let value = if (partition, offset) == (held, poison) {
            value.to_owned()
        } else {
            let order =
                serde_json::json!({"customer": customer, "lines": [{"sku": "tea", "count": 2}]});
            order.to_string()
        };
        Self {
            customer,
            value: value.into(),
            partition,
            offset,
        }
    }
}

/// Returns the offset of the order that nobody can read.
pub(super) fn poison() -> Offset {
    let (_, offset, _) = POISON;
    Offset::new(offset).unwrap_or(Offset::FIRST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_one_can_be_read() {
        let all: Vec<Order> = [Order::first(), Order::later()].concat();
        let unreadable = all
            .iter()
            .filter(|order| ::orders::Order::decode(Some(&order.value)).is_err());
        let places: Vec<(i32, i64)> = unreadable
            .map(|order| (order.partition, order.offset))
            .collect();
        assert_eq!(places, [(HELD.get(), poison().get())]);
    }
}
