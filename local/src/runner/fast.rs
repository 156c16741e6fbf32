//! `--fast`: a ladder with delays of seconds.

use std::collections::BTreeMap;

use pipeline::{Span, Topic};

/// The ladder of functions that are told of none.
pub(super) const DEFAULT_LADDER: &str =
    "brew.payments.retry.30s=30s,brew.payments.retry.5m=5m,brew.payments.retry.1h=1h";

/// Gives the n-th entry of a list `topic=delay,…` a delay of n seconds; what is no such list is told.
pub(super) fn faster(stages: &str) -> Result<String, String> {
    if stages.trim().is_empty() {
        return Ok(stages.to_owned());
    }
    let entries: Result<Vec<String>, String> = stages
        .split(',')
        .zip(1_i64..)
        .map(|(entry, seconds)| {
            let (topic, _) = entry
                .split_once('=')
                .ok_or_else(|| format!("{entry:?} is not of the form topic=delay"))?;
            Ok(format!("{}={seconds}s", topic.trim()))
        })
        .collect();
    Ok(entries?.join(","))
}

/// Returns the delay of each topic in a list `topic=delay,…`; entries that are no such thing are left out.
pub(super) fn delays(stages: &str) -> BTreeMap<Topic, Span> {
    stages
        .split(',')
        .filter_map(|entry| {
            let (topic, delay) = entry.split_once('=')?;
            Some((topic.trim().parse().ok()?, delay.trim().parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use lambda::SettingsReader;

    use super::*;

    #[test]
    fn the_nth_stage_is_due_after_n_seconds() {
        let check = |stages: &str, expected: &str| {
            assert_eq!(faster(stages).as_deref(), Ok(expected), "{stages}");
        };
        check(
            DEFAULT_LADDER,
            "brew.payments.retry.30s=1s,brew.payments.retry.5m=2s,brew.payments.retry.1h=3s",
        );
        check("a=1h", "a=1s");
        check(" a = 1h , b=2h,c=3h,d=4h", "a=1s,b=2s,c=3s,d=4s");
        check("", "");
        check(" ", " ");
    }

    #[test]
    fn what_is_no_list_of_stages_is_told() {
        let problem = faster("a=1h,b").unwrap_err();
        assert_eq!(problem, r#""b" is not of the form topic=delay"#);
    }

    #[test]
    fn delays_are_read_by_topic_and_what_is_none_is_left_out() {
        let delays = delays("a=1s, b = 90s ,c,d=x,!=1s");
        let read: Vec<_> = delays
            .iter()
            .map(|(topic, delay)| (topic.as_str(), delay.millis()))
            .collect();
        assert_eq!(read, [("a", 1_000), ("b", 90_000)]);
    }

    #[test]
    fn the_default_is_that_of_the_functions() {
        let read = |ladder: Option<&str>| {
            let env = |name: &str| (name == "RETRY_STAGES").then(|| ladder.map(str::to_owned))?;
            SettingsReader::new(&env).stages().unwrap()
        };
        assert_eq!(read(Some(DEFAULT_LADDER)), read(None));
    }
}
