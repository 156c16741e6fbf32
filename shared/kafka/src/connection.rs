//! Where the brokers are and how they know us.

use std::fmt;

use lambda::SettingsReader;
use pipeline::Timestamp;
use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;

use crate::auth::{Auth, Credentials, CredentialsFault};
use crate::brokers::Brokers;
use crate::client::Context;

/// The brokers and the way in: what every client is made from.
///
/// Its text names both, so that an error says which cluster it is about.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Where a client starts to look for the cluster.
    pub brokers: Brokers,
    /// How it makes itself known.
    pub auth: Auth,
}

impl Connection {
    /// Takes brokers that ask for no authentication.
    pub const fn without_auth(brokers: Brokers) -> Self {
        Self {
            brokers,
            auth: Auth::None,
        }
    }

    /// Reads `KAFKA_BROKERS`, `KAFKA_AUTH`, `KAFKA_SECRET_ARN` and `KAFKA_CA`.
    pub fn read(settings: &mut SettingsReader<'_>) -> Option<Self> {
        let brokers = settings.required("KAFKA_BROKERS", str::parse::<Brokers>);
        let auth = Auth::read(settings);
        Some(Self {
            brokers: brokers?,
            auth: auth?,
        })
    }

    /// Sees to it that a client has what it makes itself known with, now and for the next minutes.
    ///
    /// To be called before a client is made, and again while it is in use: a token lasts for minutes, and the process may have been
    /// frozen since.
    pub(crate) async fn credentials(
        &self,
        now: Timestamp,
    ) -> Result<Credentials, CredentialsFault> {
        self.auth.credentials(now).await
    }

    /// Returns what every client of these brokers is configured with.
    pub(crate) fn client_config(&self, credentials: &Credentials) -> ClientConfig {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", self.brokers.as_str())
            // What stands in the way is often told at this level alone.
            .set_log_level(RDKafkaLogLevel::Info);
        self.auth.configure(credentials, &mut config);
        config
    }

    /// Returns what receives what a client has to say, and hands out tokens to it.
    pub(crate) fn context(&self) -> Context {
        Context::new(&self.auth)
    }
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "brokers {} (auth {})", self.brokers, self.auth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(env: &[(&str, &str)], expected: Result<&str, &str>) {
        let env = |name: &str| {
            let found = env.iter().find(|(set, _)| *set == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let mut settings = SettingsReader::new(&env);
        let connection = Connection::read(&mut settings);
        let read = settings.finish(connection);
        let shown = read.map(|it| it.to_string()).map_err(|it| it.to_string());
        assert_eq!(shown.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn the_text_of_a_connection_names_brokers_and_auth() {
        check(
            &[("KAFKA_BROKERS", "b1:9092, b-2.x_y:1,[::1]:65535")],
            Ok("brokers b1:9092,b-2.x_y:1,[::1]:65535 (auth none)"),
        );
        check(
            &[("KAFKA_BROKERS", "10.0.0.1:9092"), ("KAFKA_AUTH", "none")],
            Ok("brokers 10.0.0.1:9092 (auth none)"),
        );
    }

    #[test]
    fn what_is_no_list_of_brokers_is_refused_by_name() {
        let wrong = |brokers: &str, problem: &str| {
            let expected = format!("wrong settings: KAFKA_BROKERS {problem}");
            check(&[("KAFKA_BROKERS", brokers)], Err(&expected));
        };
        check(&[], Err("wrong settings: KAFKA_BROKERS is not set"));
        wrong("", "is empty");
        wrong("a:1,,b:2", r#"is wrong: a broker in "a:1,,b:2" is empty"#);
        wrong("a:1,", r#"is wrong: a broker in "a:1," is empty"#);
        wrong("a", r#"is wrong: broker "a" is not of the form host:port"#);
        for port in ["", "0", "65536", "-1", "+1", "x", "9092/"] {
            let entry = format!("a:{port}");
            wrong(
                &entry,
                &format!(
                    "is wrong: broker {entry:?} has a port that is not a number from 1 to 65535"
                ),
            );
        }
        for host in ["", "a b", "kafka://a", "[::1", "::1", "ä"] {
            let entry = format!("{host}:1");
            wrong(
                &entry,
                &format!(
                    "is wrong: broker {entry:?} has a host that is neither a name, an IPv4 address nor an IPv6 address in brackets"
                ),
            );
        }
    }

    const SECRET: &str = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:AmazonMSK_u-AbCdEf";

    #[test]
    fn each_way_of_making_oneself_known_is_read_by_its_name() {
        for auth in ["none", "tls", "iam", " tls "] {
            let expected = format!("brokers a:1 (auth {})", auth.trim());
            let env = [("KAFKA_BROKERS", "a:1"), ("KAFKA_AUTH", auth)];
            check(&env, Ok(&expected));
        }
        check(
            &[
                ("KAFKA_BROKERS", "a:1"),
                ("KAFKA_AUTH", "scram"),
                ("KAFKA_SECRET_ARN", SECRET),
            ],
            Ok("brokers a:1 (auth scram)"),
        );
    }

    #[test]
    fn what_is_wrong_with_brokers_mode_secret_and_certificates_is_told_together() {
        check(
            &[("KAFKA_AUTH", "sasl")],
            Err(
                r#"wrong settings: KAFKA_BROKERS is not set; KAFKA_AUTH is wrong: "sasl" is not none, tls, scram or iam"#,
            ),
        );
        check(
            &[("KAFKA_AUTH", "scram"), ("KAFKA_CA", "/nowhere/ca.pem")],
            Err(
                r#"wrong settings: KAFKA_BROKERS is not set; KAFKA_CA is wrong: the file "/nowhere/ca.pem" cannot be read: No such file or directory (os error 2); KAFKA_SECRET_ARN is not set, and with KAFKA_AUTH=scram user and password come from it"#,
            ),
        );
        check(
            &[
                ("KAFKA_BROKERS", "a:1"),
                ("KAFKA_AUTH", "scram"),
                ("KAFKA_SECRET_ARN", "alice:s3cret"),
                ("KAFKA_CA", ""),
            ],
            Err(
                "wrong settings: KAFKA_SECRET_ARN is wrong: it is not of the form arn:aws:secretsmanager:region:account:secret:name; KAFKA_CA is empty",
            ),
        );
    }

    #[test]
    fn a_setting_that_the_mode_has_no_use_for_is_a_problem() {
        for mode in ["none", "tls", "iam"] {
            let expected = format!(
                "wrong settings: KAFKA_SECRET_ARN is set, but KAFKA_AUTH is {mode}: only scram has one"
            );
            let env = [
                ("KAFKA_BROKERS", "a:1"),
                ("KAFKA_AUTH", mode),
                ("KAFKA_SECRET_ARN", SECRET),
            ];
            check(&env, Err(&expected));
        }
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/certificates/ca.pem");
        let env = |mode| {
            [
                ("KAFKA_BROKERS", "a:1"),
                ("KAFKA_AUTH", mode),
                ("KAFKA_CA", file),
            ]
        };
        check(&env("tls"), Ok("brokers a:1 (auth tls)"));
        check(&env("iam"), Ok("brokers a:1 (auth iam)"));
        check(
            &env("none"),
            Err(
                "wrong settings: KAFKA_CA is set, but KAFKA_AUTH is none: then nothing is encrypted",
            ),
        );
    }
}
