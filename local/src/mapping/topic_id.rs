//! That a topic was deleted and created again, read from what librdkafka logs.
//!
//! Kafka gives each topic an id of its own. librdkafka follows it, and reads on at the old offset; its Rust bindings tell of the id
//! nowhere else than in this line.

/// What librdkafka must be told to log for that: its setting `debug`.
pub(super) const LOGGED: &str = "topic";

/// The id of a topic that the client has not known before, in base64.
const NONE: &str = "AAAAAAAAAAAAAAAAAAAAAA";

/// Tells whether a line says that a topic of this name is another one than before.
pub(super) fn tells_of_another(line: &str, topic: &str) -> bool {
    let ids = line
        .split_once("Topic ")
        .and_then(|(_, rest)| rest.strip_prefix(topic))
        .and_then(|rest| rest.strip_prefix(" changed id from "))
        .and_then(|ids| ids.split_once(" to "));
    ids.is_some_and(|(from, to)| !from.starts_with(NONE) && !to.starts_with(NONE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: bool) {
        assert_eq!(tells_of_another(line, "a.b"), expected, "{line}");
    }

    #[test]
    fn only_an_id_in_place_of_another_tells_of_a_new_topic_and_only_of_this_name() {
        let prefix = "[thrd:main]: Topic";
        let (one, other) = ("q83vEjRWeJCrze8SNFZ4kA", "EjRWeJCrze8SNFZ4kKvN7w");
        check(
            &format!("{prefix} a.b changed id from {one} to {other}"),
            true,
        );
        check(
            &format!("{prefix} a.b changed id from {NONE} to {one}"),
            false,
        );
        check(
            &format!("{prefix} a.b changed id from {one} to {NONE}"),
            false,
        );
        check(
            &format!("{prefix} a.b.c changed id from {one} to {other}"),
            false,
        );
        check(
            &format!("{prefix} a changed id from {one} to {other}"),
            false,
        );
        check(&format!("{prefix} a.b [0] Leader 1 Epoch 0"), false);
    }
}
