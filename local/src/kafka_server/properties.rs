//! The broker's `server.properties`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The identity of the one-broker cluster.
pub(super) const CLUSTER_ID: &str = "BrewLocalClusterAAAAAA";

/// The ports of the broker and of its controller.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ports {
    pub(super) clients: u16,
    pub(super) controller: u16,
}

pub(super) fn file(data: &Path) -> PathBuf {
    data.join("server.properties")
}

/// Returns the properties of one broker that is its own controller; `over` wins.
pub(super) fn text(ports: Ports, data: &Path, over: &BTreeMap<String, String>) -> String {
    let Ports {
        clients,
        controller,
    } = ports;
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
            format!("PLAINTEXT://127.0.0.1:{clients},CONTROLLER://127.0.0.1:{controller}"),
        ),
        (
            "advertised.listeners",
            format!("PLAINTEXT://127.0.0.1:{clients}"),
        ),
        (
            "listener.security.protocol.map",
            "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT".to_owned(),
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
        let ports = Ports {
            clients: 19092,
            controller: 19093,
        };
        let over = [
            ("message.max.bytes".to_owned(), "1000".to_owned()),
            (
                "transaction.state.log.num.partitions".to_owned(),
                "1".to_owned(),
            ),
        ]
        .into();
        let text = text(ports, Path::new("/data"), &over);
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
        check("advertised.listeners=PLAINTEXT://127.0.0.1:19092", 1);
    }
}
