//! A record as the consumer gives it.

use bytes::Bytes;
use pipeline::{Coordinates, Offset, Partition, Record, Timestamp, Topic};
use rdkafka::Message;
use rdkafka::message::BorrowedMessage;

use super::chunk::{Read, Unreadable};
use crate::headers;

/// Copies a record out of the consumer; `None` for coordinates that no record has.
pub(crate) fn read(topic: &Topic, message: &BorrowedMessage<'_>) -> Option<Read> {
    let coordinates = Coordinates {
        topic: topic.clone(),
        partition: Partition::new(message.partition())?,
        offset: Offset::new(message.offset())?,
    };
    let millis = message.timestamp().to_millis();
    let timestamp = millis.map_or(Timestamp::NONE, Timestamp::from_millis);
    Some(match headers::from_native(message.headers()) {
        Ok(headers) => Read::Record(Record {
            coordinates,
            timestamp,
            key: message.key().map(Bytes::copy_from_slice),
            value: message.payload().map(Bytes::copy_from_slice),
            headers,
        }),
        Err(why) => Read::Unreadable(Unreadable {
            coordinates,
            timestamp,
            why,
        }),
    })
}
