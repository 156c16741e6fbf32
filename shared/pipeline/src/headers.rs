//! Record headers as they stand on the wire, and the names that are ours.

use bytes::Bytes;

/// One header: a name and a value that may be null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The name.
    pub name: String,
    /// The value's bytes; `None` is Kafka's null.
    pub value: Option<Bytes>,
}

/// A list of headers in order, duplicates included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers(Vec<Header>);

/// The names that this pipeline writes, in the order in which a forward writes them.
pub mod names {
    /// `transient` or `permanent`.
    pub const ERROR_CLASS: &str = "error.class";
    /// A code of the closed set.
    pub const ERROR_CODE: &str = "error.code";
    /// One masked line of at most 1,024 bytes.
    pub const ERROR_MESSAGE: &str = "error.message";
    /// When it failed, RFC 3339.
    pub const ERROR_TIMESTAMP: &str = "error.timestamp";
    /// Retry topics entered so far.
    pub const RETRY_COUNT: &str = "retry.count";
    /// The topic it failed on.
    pub const PREVIOUS_TOPIC: &str = "previous.topic";
    /// The topic it was first read from.
    pub const ORIGINAL_TOPIC: &str = "original.topic";
    /// The partition it was first read from.
    pub const ORIGINAL_PARTITION: &str = "original.partition";
    /// The offset it was first read at.
    pub const ORIGINAL_OFFSET: &str = "original.offset";
    /// The first record's time in milliseconds.
    pub const ORIGINAL_TIMESTAMP: &str = "original.timestamp";
    /// Why it is in the dead-letter topic.
    pub const DLQ_REASON: &str = "dlq-reason";
    /// Coordinates of the dead letter that was replayed.
    pub const REPLAY_FROM_DLQ: &str = "replay.from-dlq";
    /// When it was replayed, RFC 3339.
    pub const REPLAY_TIMESTAMP: &str = "replay.timestamp";
    /// The run that replayed it.
    pub const REPLAY_ID: &str = "replay.id";
    /// How often it has been replayed.
    pub const REPLAY_COUNT: &str = "replay.count";

    /// Every name above, in the order in which a forward writes them.
    pub const ALL: [&str; 15] = [
        ERROR_CLASS,
        ERROR_CODE,
        ERROR_MESSAGE,
        ERROR_TIMESTAMP,
        RETRY_COUNT,
        PREVIOUS_TOPIC,
        ORIGINAL_TOPIC,
        ORIGINAL_PARTITION,
        ORIGINAL_OFFSET,
        ORIGINAL_TIMESTAMP,
        DLQ_REASON,
        REPLAY_FROM_DLQ,
        REPLAY_TIMESTAMP,
        REPLAY_ID,
        REPLAY_COUNT,
    ];

    /// The names that replay writes and a forward carries on.
    pub const REPLAY: [&str; 4] = [REPLAY_FROM_DLQ, REPLAY_TIMESTAMP, REPLAY_ID, REPLAY_COUNT];
}

impl Headers {
    /// Takes headers in their order.
    pub const fn new(headers: Vec<Header>) -> Self {
        Self(headers)
    }

    /// Walks over the headers in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Header> {
        self.0.iter()
    }

    /// Returns how many there are, duplicates counted.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Tells whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a header at the end.
    pub fn push(&mut self, name: &str, value: Option<Bytes>) {
        self.0.push(Header {
            name: name.to_owned(),
            value,
        });
    }

    /// Returns the last header of this name: of duplicates the last counts.
    pub fn last(&self, name: &str) -> Option<&Header> {
        self.0.iter().rev().find(|header| header.name == name)
    }

    /// Returns the last value of this name as text; `None` when it is absent, null or not UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        std::str::from_utf8(self.last(name)?.value.as_deref()?).ok()
    }

    /// Returns the value of this name as text when the name stands exactly once.
    pub fn only_text(&self, name: &str) -> Option<&str> {
        let mut of_name = self.0.iter().filter(|header| header.name == name);
        let only = of_name.next()?;
        if of_name.next().is_some() {
            return None;
        }
        std::str::from_utf8(only.value.as_deref()?).ok()
    }

    /// Puts a text value where the first header of this name stands and takes its duplicates away, or adds it at the end.
    pub fn set(&mut self, name: &str, value: &str) {
        let value = Some(Bytes::copy_from_slice(value.as_bytes()));
        let mut seen = false;
        self.0.retain(|header| {
            let keep = header.name != name || !seen;
            seen |= header.name == name;
            keep
        });
        match self.0.iter_mut().find(|header| header.name == name) {
            Some(header) => header.value = value,
            None => self.push(name, value),
        }
    }

    /// Takes every header of this name away.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|header| header.name != name);
    }

    /// Returns the headers whose names are not ours, in order.
    pub fn foreign(&self) -> Self {
        Self(
            self.0
                .iter()
                .filter(|header| !names::ALL.contains(&header.name.as_str()))
                .cloned()
                .collect(),
        )
    }
}

impl<'a> IntoIterator for &'a Headers {
    type Item = &'a Header;
    type IntoIter = std::slice::Iter<'a, Header>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<Header> for Headers {
    fn from_iter<I: IntoIterator<Item = Header>>(headers: I) -> Self {
        Self(headers.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn headers(list: &[(&str, Option<&'static str>)]) -> Headers {
        list.iter()
            .map(|(name, value)| Header {
                name: (*name).to_owned(),
                value: value.map(|value| Bytes::from_static(value.as_bytes())),
            })
            .collect()
    }

    #[test]
    fn our_names_are_distinct_lower_case_and_in_nobody_elses_name_space() {
        let distinct: HashSet<_> = names::ALL.into_iter().collect();
        assert_eq!(distinct.len(), names::ALL.len());
        for name in names::ALL {
            assert_eq!(name, name.to_lowercase());
            for reserved in [
                "traceparent",
                "tracestate",
                "baggage",
                "x-",
                "kafka_",
                "spring_",
                "ce_",
                "__",
            ] {
                assert!(!name.starts_with(reserved), "{name}");
            }
        }
    }

    #[test]
    fn of_duplicates_the_last_counts_and_only_text_wants_one() {
        let list = headers(&[("a", Some("1")), ("b", None), ("a", Some("2"))]);
        assert_eq!(list.text("a"), Some("2"));
        assert_eq!(list.only_text("a"), None);
        assert_eq!(list.only_text("b"), None);
        assert_eq!(list.text("c"), None);
    }

    #[test]
    fn setting_replaces_the_first_in_place_and_takes_the_others_away() {
        let check = |before: &[(&str, Option<&'static str>)],
                     after: &[(&str, Option<&'static str>)]| {
            let mut list = headers(before);
            list.set("a", "new");
            assert_eq!(list, headers(after));
        };
        check(&[], &[("a", Some("new"))]);
        check(&[("b", None)], &[("b", None), ("a", Some("new"))]);
        check(
            &[("b", Some("1")), ("a", None), ("c", None), ("a", Some("2"))],
            &[("b", Some("1")), ("a", Some("new")), ("c", None)],
        );
    }

    #[test]
    fn foreign_headers_keep_their_order_duplicates_and_nulls() {
        let list = headers(&[
            ("x", Some("1")),
            ("error.code", Some("y")),
            ("x", None),
            ("Error.Code", Some("z")),
        ]);
        assert_eq!(
            list.foreign(),
            headers(&[("x", Some("1")), ("x", None), ("Error.Code", Some("z"))])
        );
    }
}
