//! A record on its way to a topic.

use bytes::Bytes;

use crate::headers::Headers;
use crate::record::Topic;

/// What is to be produced: the same key and value bytes as were read, and the headers that tell why it moves.
///
/// It names neither partition (chosen by the key, as the Java client would) nor time (now, when it is produced).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Where it goes.
    pub topic: Topic,
    /// The key; null and empty stay distinct.
    pub key: Option<Bytes>,
    /// The value; null stays null.
    pub value: Option<Bytes>,
    /// All headers, in order.
    pub headers: Headers,
}
