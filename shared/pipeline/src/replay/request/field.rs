//! The names of a payload's fields.

pub(in crate::replay) const FROM_TOPIC: &str = "from_topic";
pub(in crate::replay) const TO_TOPIC: &str = "to_topic";
pub(in crate::replay) const SINCE: &str = "since";
pub(in crate::replay) const UNTIL: &str = "until";
pub(in crate::replay) const ERROR_CLASS: &str = "error_class";
pub(in crate::replay) const ERROR_CODE: &str = "error_code";
pub(in crate::replay) const KEY: &str = "key";
pub(in crate::replay) const ORIGINAL_TOPIC: &str = "original_topic";
pub(in crate::replay) const RECORDS: &str = "records";
pub(in crate::replay) const LIMIT: &str = "limit";
pub(in crate::replay) const RATE: &str = "rate_per_second";
pub(in crate::replay) const DRY_RUN: &str = "dry_run";
pub(in crate::replay) const MAX_REPLAYS: &str = "max_replays";
pub(in crate::replay) const ALL: &str = "all";
pub(in crate::replay) const RESUME: &str = "resume";
pub(in crate::replay) const PLAN: &str = "plan";
pub(in crate::replay) const AGAIN: &str = "again";
pub(in crate::replay) const REPLAY_ID: &str = "replay_id";

/// Every field there is.
pub(in crate::replay) const NAMES: [&str; 18] = [
    FROM_TOPIC,
    TO_TOPIC,
    SINCE,
    UNTIL,
    ERROR_CLASS,
    ERROR_CODE,
    KEY,
    ORIGINAL_TOPIC,
    RECORDS,
    LIMIT,
    RATE,
    DRY_RUN,
    MAX_REPLAYS,
    ALL,
    RESUME,
    PLAN,
    AGAIN,
    REPLAY_ID,
];

/// The fields that say which dead letters are meant.
pub(in crate::replay) const FILTERS: [&str; 7] = [
    SINCE,
    UNTIL,
    ERROR_CLASS,
    ERROR_CODE,
    KEY,
    ORIGINAL_TOPIC,
    RECORDS,
];

/// The fields that a plan keeps, beside the filters.
pub(in crate::replay) const KEPT_BY_PLAN: [&str; 4] = [FROM_TOPIC, TO_TOPIC, MAX_REPLAYS, AGAIN];

/// The fields that a token keeps and that cannot be said again beside it, beside the filters.
pub(in crate::replay) const KEPT_BY_TOKEN: [&str; 3] = [PLAN, AGAIN, REPLAY_ID];
