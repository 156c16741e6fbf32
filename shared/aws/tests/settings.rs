//! What the bucket and the secrets read of the environment.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::significant_drop_tightening,
    reason = "what fails here is to fail the test"
)]

use aws::{Bucket, Endpoint, Secret};
use lambda::SettingsReader;

fn check(env: &[(&str, &str)], expected: Result<(&str, Option<&str>), &[&str]>) {
    let env = |name: &str| {
        let found = env.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    let mut reader = SettingsReader::new(&env);
    let bucket = Bucket::read(&mut reader);
    match (reader.finish(bucket), expected) {
        (Ok(bucket), Ok((name, endpoint))) => {
            assert_eq!(bucket.name().as_str(), name);
            assert_eq!(bucket.endpoint().map(Endpoint::as_str), endpoint);
        }
        (Err(wrong), Err(names)) => {
            for name in names {
                assert!(wrong.to_string().contains(name), "{wrong}");
            }
        }
        (read, expected) => panic!("{read:?}, not {expected:?}"),
    }
}

#[test]
fn the_bucket_must_be_named_and_the_endpoint_may_be() {
    let (name, endpoint) = ("INCIDENT_BUCKET", "AWS_ENDPOINT_URL_S3");
    check(
        &[(name, "brew-incidents.eu")],
        Ok(("brew-incidents.eu", None)),
    );
    let url = "http://127.0.0.1:9000";
    check(&[(name, "abc"), (endpoint, url)], Ok(("abc", Some(url))));
    check(&[], Err(&["INCIDENT_BUCKET is not set"]));
    check(&[(name, "")], Err(&["INCIDENT_BUCKET is empty"]));
    for wrong in [
        "ab",
        "Incidents",
        "a_b",
        "-abc",
        "abc-",
        "s3://abc",
        "a/b",
        &"x".repeat(64),
    ] {
        check(&[(name, wrong)], Err(&["INCIDENT_BUCKET is wrong"]));
    }
    for wrong in [
        "127.0.0.1:9000",
        "ftp://host",
        "http://",
        "http:///x",
        "http://a b",
        "http://me:pw@host",
    ] {
        check(
            &[(name, "abc"), (endpoint, wrong)],
            Err(&["AWS_ENDPOINT_URL_S3 is wrong"]),
        );
    }
    check(
        &[(name, "A"), (endpoint, "x")],
        Err(&["INCIDENT_BUCKET", "AWS_ENDPOINT_URL_S3"]),
    );
}

#[test]
fn a_secret_is_named_by_its_arn_or_not_at_all() {
    let check = |value: Option<&str>, expected: Option<bool>| {
        let env = |name: &str| {
            (name == "TOKEN_ARN")
                .then(|| value.map(str::to_owned))
                .flatten()
        };
        let mut reader = SettingsReader::new(&env);
        let secret = Secret::read(&mut reader, "TOKEN_ARN", "token");
        assert_eq!(secret.as_ref().map(Option::is_some), expected, "{value:?}");
        assert_eq!(
            reader.finish(secret).is_ok(),
            expected.is_some(),
            "{value:?}"
        );
    };
    check(None, Some(false));
    check(
        Some("arn:aws:secretsmanager:eu-west-1:123456789012:secret:token-AbCdEf"),
        Some(true),
    );
    check(Some("token"), None);
    check(Some(""), None);
}
