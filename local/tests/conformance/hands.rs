//! Partitions that change hands.
