use super::*;

const LADDER: &str = "r1=30s,r2=5m";

/// Reads the ladder, a number that must be there and one that has a default; returns what is wrong with them.
fn problems(env: &[(&str, &str)]) -> Option<String> {
    let env = |name: &str| {
        env.iter()
            .find(|(set, _)| *set == name)
            .map(|(_, value)| (*value).to_owned())
    };
    let mut reader = SettingsReader::new(&env);
    let stages = reader.stages();
    let needed = reader.required("NEEDED", str::parse::<u8>);
    let number = reader.or_default("NUMBER", 7, str::parse::<u8>);
    let read = (|| Some((stages?, needed?, number?)))();
    reader.finish(read).err().map(|error| error.to_string())
}

fn check(env: &[(&str, &str)], named: &[&str]) {
    let problems = problems(env).unwrap_or_default();
    for name in named {
        assert!(problems.contains(name), "{name} in {problems:?}");
    }
    assert_eq!(problems.is_empty(), named.is_empty(), "{problems:?}");
    assert_eq!(
        problems.matches("; ").count(),
        named.len().saturating_sub(1),
        "{problems:?}"
    );
}

#[test]
fn the_defaults_hold_where_nothing_is_set() {
    check(&[("NEEDED", "1")], &[]);
}

#[test]
fn every_wrong_setting_is_named_at_once() {
    check(
        &[
            ("MAIN_TOPIC", "a b"),
            ("RETRY_STAGES", "r1"),
            ("DRAIN_STAGES", "r2=0s"),
            ("DLQ_TOPIC", ".."),
            ("NUMBER", "256"),
        ],
        &[
            "MAIN_TOPIC is wrong",
            "RETRY_STAGES is wrong",
            "DRAIN_STAGES is wrong",
            "DLQ_TOPIC is wrong",
            "NEEDED is not set",
            "NUMBER is wrong",
        ],
    );
}

#[test]
fn row_45_an_empty_topic_is_wrong_and_an_empty_ladder_is_not() {
    check(
        &[("NEEDED", "1"), ("DLQ_TOPIC", "")],
        &["DLQ_TOPIC is empty"],
    );
    check(
        &[("NEEDED", "1"), ("MAIN_TOPIC", " ")],
        &["MAIN_TOPIC is empty"],
    );
    check(
        &[("NEEDED", ""), ("NUMBER", "")],
        &["NEEDED is empty", "NUMBER is empty"],
    );
    check(
        &[("NEEDED", "1"), ("RETRY_STAGES", ""), ("DRAIN_STAGES", "")],
        &[],
    );
}

#[test]
fn row_46_a_topic_that_stands_twice_is_refused_by_name() {
    for (main, dlq) in [("r1", "dlq"), ("main", "r2"), ("main", "main")] {
        let env = [
            ("NEEDED", "1"),
            ("MAIN_TOPIC", main),
            ("RETRY_STAGES", LADDER),
            ("DLQ_TOPIC", dlq),
        ];
        check(&env, &["RETRY_STAGES is wrong"]);
    }
    check(
        &[("NEEDED", "1"), ("RETRY_STAGES", "r1=30s,r1=5m")],
        &["r1"],
    );
    check(
        &[
            ("NEEDED", "1"),
            ("RETRY_STAGES", LADDER),
            ("DRAIN_STAGES", "r1=1h"),
        ],
        &["r1"],
    );
}

#[test]
fn a_value_that_is_not_utf8_is_a_problem_and_no_panic() {
    check(
        &[("NEEDED", "\u{FFFD}1"), ("RETRY_STAGES", "r\u{FFFD}=1s")],
        &["NEEDED is not UTF-8", "RETRY_STAGES is not UTF-8"],
    );
}

#[test]
fn the_environment_of_the_process_is_read_by_name() {
    let env = environment();
    assert!(env("PATH").is_some());
    assert_eq!(env("NO_SUCH_NAME_IS_SET_ANYWHERE"), None);
}

#[test]
fn a_setting_that_two_parts_read_is_told_once() {
    let env = |_: &str| Some("x".to_owned());
    let mut reader = SettingsReader::new(&env);
    for _ in 0..2 {
        assert_eq!(reader.optional("SHARED", str::parse::<u8>), None);
    }
    let wrong = reader.finish(None::<()>).unwrap_err().to_string();
    assert_eq!(wrong.matches("SHARED").count(), 1, "{wrong}");
}
