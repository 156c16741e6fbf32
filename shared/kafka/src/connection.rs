//! Where the brokers are and how they know us.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use lambda::SettingsReader;
use pipeline::digits;
use rdkafka::ClientConfig;

/// The brokers and the way in: what every client is made from.
///
/// Its text names both, so that an error says which cluster it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Where a client starts to look for the cluster.
    pub brokers: Brokers,
    /// How it makes itself known.
    pub auth: Auth,
}

/// A list of `host:port`, separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brokers(String);

/// How a client makes itself known to the brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Auth {
    /// It does not, and nothing is encrypted: for brokers inside one's own network.
    None,
}

/// Names what is wrong with a list of brokers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokersError {
    /// Nothing between two commas.
    #[error("a broker in {0:?} is empty")]
    Empty(String),
    /// Not of the form `host:port`.
    #[error("broker {0:?} is not of the form host:port")]
    NotHostPort(String),
    /// The host has a character that no host has.
    #[error(
        "broker {0:?} has a host that is neither a name, an IPv4 address nor an IPv6 address in brackets"
    )]
    Host(String),
    /// The port is not a number from 1 to 65535.
    #[error("broker {0:?} has a port that is not a number from 1 to 65535")]
    Port(String),
}

impl Connection {
    /// Takes brokers that ask for no authentication.
    pub const fn without_auth(brokers: Brokers) -> Self {
        Self {
            brokers,
            auth: Auth::None,
        }
    }

    /// Reads `KAFKA_BROKERS` and `KAFKA_AUTH`.
    pub fn read(settings: &mut SettingsReader<'_>) -> Option<Self> {
        let brokers = settings.required("KAFKA_BROKERS", str::parse::<Brokers>);
        let auth = settings.or_default("KAFKA_AUTH", Auth::None, auth);
        Some(Self {
            brokers: brokers?,
            auth: auth?,
        })
    }

    /// Returns what every client of these brokers is configured with.
    pub(crate) fn client_config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.brokers.0);
        match self.auth {
            Auth::None => config.set("security.protocol", "plaintext"),
        };
        config
    }
}

impl fmt::Display for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "brokers {} (auth {})", self.brokers, self.auth)
    }
}

impl fmt::Display for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
        }
    }
}

fn auth(name: &str) -> Result<Auth, String> {
    match name.trim() {
        "none" => Ok(Auth::None),
        known @ ("tls" | "scram" | "iam") => Err(format!(
            "{known} is not supported by this build, only none is"
        )),
        other => Err(format!("{other:?} is not none, tls, scram or iam")),
    }
}

impl Brokers {
    /// Returns the list as `host:port,host:port`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Brokers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Brokers {
    type Err = BrokersError;

    fn from_str(list: &str) -> Result<Self, BrokersError> {
        let brokers: Result<Vec<&str>, BrokersError> = list
            .split(',')
            .map(|entry| broker(list, entry.trim()))
            .collect();
        Ok(Self(brokers?.join(",")))
    }
}

fn broker<'a>(list: &str, entry: &'a str) -> Result<&'a str, BrokersError> {
    if entry.is_empty() {
        return Err(BrokersError::Empty(list.to_owned()));
    }
    let Some((host, port)) = entry.rsplit_once(':') else {
        return Err(BrokersError::NotHostPort(entry.to_owned()));
    };
    if !is_host(host) {
        return Err(BrokersError::Host(entry.to_owned()));
    }
    match digits(port).map(str::parse::<u16>) {
        Some(Ok(1..)) => Ok(entry),
        Some(Ok(_) | Err(_)) | None => Err(BrokersError::Port(entry.to_owned())),
    }
}

fn is_host(host: &str) -> bool {
    if let Some(bracketed) = host.strip_prefix('[') {
        let address = bracketed.strip_suffix(']');
        return address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !host.is_empty() && host.bytes().all(legal)
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

    #[test]
    fn an_auth_that_this_build_lacks_is_told_from_one_that_does_not_exist() {
        for auth in ["tls", "scram", "iam"] {
            let expected = format!(
                "wrong settings: KAFKA_AUTH is wrong: {auth} is not supported by this build, only none is"
            );
            check(
                &[("KAFKA_BROKERS", "a:1"), ("KAFKA_AUTH", auth)],
                Err(&expected),
            );
        }
        check(
            &[("KAFKA_AUTH", "sasl")],
            Err(
                r#"wrong settings: KAFKA_BROKERS is not set; KAFKA_AUTH is wrong: "sasl" is not none, tls, scram or iam"#,
            ),
        );
    }
}
