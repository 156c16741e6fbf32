//! Where the brokers are.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use pipeline::digits;

/// A list of `host:port`, separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brokers(String);

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
