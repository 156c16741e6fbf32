//! The broker's `server.properties`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The identity of the one-broker cluster.
pub(super) const CLUSTER_ID: &str = "BrewLocalClusterAAAAAA";

/// The ports of the broker and of its controller.
#[derive(Clone, Debug)]
pub(super) struct Ports {
    pub(super) clients: u16,
    pub(super) controller: u16,
    /// Of the listeners beside the plain one.
    pub(super) more: Vec<(Listener, u16)>,
}

/// A listener for clients beside the plain one; how it is secured is a matter of `server.properties`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Its name in `server.properties`, in capital letters.
    pub name: String,
    /// What is spoken there.
    pub protocol: Protocol,
}

/// What is spoken at a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// TLS.
    Ssl,
    /// TLS, and clients make themselves known.
    SaslSsl,
}

impl Protocol {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ssl => "SSL",
            Self::SaslSsl => "SASL_SSL",
        }
    }
}

impl Ports {
    /// Returns what `write` makes of the listeners for clients, between commas.
    fn listeners(&self, write: impl Fn(&str, &str, u16) -> String) -> String {
        let more = self.more.iter();
        let more =
            more.map(|(listener, port)| write(&listener.name, listener.protocol.as_str(), *port));
        let all: Vec<String> = std::iter::once(write("PLAINTEXT", "PLAINTEXT", self.clients))
            .chain(more)
            .collect();
        all.join(",")
    }
}

pub(super) fn file(data: &Path) -> PathBuf {
    data.join("server.properties")
}

/// Returns the properties of one broker that is its own controller; `over` wins.
pub(super) fn text(ports: &Ports, data: &Path, over: &BTreeMap<String, String>) -> String {
    let controller = ports.controller;
    let addresses = ports.listeners(|name, _, port| format!("{name}://127.0.0.1:{port}"));
    let protocols = ports.listeners(|name, protocol, _| format!("{name}:{protocol}"));
    let mut all: BTreeMap<&str, String> = BTreeMap::from([
        ("process.roles", "broker,controller".to_owned()),
        ("node.id", "1".to_owned()),
        (
            "controller.quorum.voters",
            format!("1@127.0.0.1:{controller}"),
        ),
        ("controller.listener.names", "CONTROLLER".to_owned()),
        (
            "listeners",
            format!("{addresses},CONTROLLER://127.0.0.1:{controller}"),
        ),
        ("advertised.listeners", addresses),
        (
            "listener.security.protocol.map",
            format!("{protocols},CONTROLLER:PLAINTEXT"),
        ),
        ("log.dirs", data.join("records").display().to_string()),
        ("auto.create.topics.enable", "false".to_owned()),
        ("offsets.topic.num.partitions", "4".to_owned()),
        ("offsets.topic.replication.factor", "1".to_owned()),
        ("transaction.state.log.num.partitions", "4".to_owned()),
        ("transaction.state.log.replication.factor", "1".to_owned()),
        ("transaction.state.log.min.isr", "1".to_owned()),
        (
            "share.coordinator.state.topic.num.partitions",
            "1".to_owned(),
        ),
        (
            "share.coordinator.state.topic.replication.factor",
            "1".to_owned(),
        ),
        ("share.coordinator.state.topic.min.isr", "1".to_owned()),
        // A group's first member need not wait for others.
        ("group.initial.rebalance.delay.ms", "0".to_owned()),
    ]);
    all.extend(
        over.iter()
            .map(|(name, value)| (name.as_str(), value.clone())),
    );
    let lines: Vec<String> = all
        .iter()
        .map(|(name, value)| format!("{name}={value}\n"))
        .collect();
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_properties_win_over_ours() {
        let secured = Listener {
            name: "SCRAM".to_owned(),
            protocol: Protocol::SaslSsl,
        };
        let ports = Ports {
            clients: 19092,
            controller: 19093,
            more: vec![(secured, 19094)],
        };
        let over = [
            ("message.max.bytes".to_owned(), "1000".to_owned()),
            (
                "transaction.state.log.num.partitions".to_owned(),
                "1".to_owned(),
            ),
        ]
        .into();
        let text = text(&ports, Path::new("/data"), &over);
        let check = |line: &str, times: usize| {
            assert_eq!(
                text.lines().filter(|found| *found == line).count(),
                times,
                "{line}"
            );
        };
        check("message.max.bytes=1000", 1);
        check("transaction.state.log.num.partitions=1", 1);
        check("transaction.state.log.num.partitions=4", 0);
        check("log.dirs=/data/records", 1);
        check(
            "advertised.listeners=PLAINTEXT://127.0.0.1:19092,SCRAM://127.0.0.1:19094",
            1,
        );
        check(
            "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SCRAM:SASL_SSL,CONTROLLER:PLAINTEXT",
            1,
        );
    }
}
