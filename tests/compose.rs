//! `docker-compose.yml` without a container engine: the image's own set-up program reads its environment, the broker that comes out runs,
//! and the script makes the topics on it.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use local::kafka_server::{Artefacts, KAFKA_VERSION};
use local::s3::{ACCESS_KEY, SECRET_KEY};
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::harness::binaries;
use crate::harness::not_run;

/// The ports that the file gives to the broker's three listeners.
const LISTENERS: [&str; 3] = ["29093", "19092", "9092"];

fn file(path: &str) -> String {
    fs::read_to_string(binaries::workspace().join(path)).unwrap()
}

/// Returns the `name: value` lines of the file whose name starts like this.
fn environment(prefix: &str) -> BTreeMap<String, String> {
    let text = file("docker-compose.yml");
    let pairs = text.lines().filter_map(|line| line.trim().split_once(": "));
    pairs
        .filter(|(name, _)| name.starts_with(prefix))
        .map(|(name, value)| (name.to_owned(), value.trim_matches('"').to_owned()))
        .collect()
}

fn free_port() -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port().to_string()
}

/// Runs a broker of the file's settings, with ports of its own; returns it and where it answers inside the container.
async fn broker(artefacts: &Artefacts, folder: &Path) -> (Child, String) {
    let ports: Vec<String> = LISTENERS.iter().map(|_| free_port()).collect();
    let moved = |value: &String| {
        let on_this_machine = value.replace("kafka:", "127.0.0.1:");
        let ports = LISTENERS.iter().zip(&ports);
        ports.fold(on_this_machine, |text, (theirs, ours)| {
            text.replace(&format!(":{theirs}"), &format!(":{ours}"))
        })
    };
    let env: BTreeMap<String, String> = environment("KAFKA_")
        .iter()
        .map(|(name, value)| (name.clone(), moved(value)))
        .collect();
    let (given, made) = (folder.join("given"), folder.join("made"));
    for folder in [&given, &made] {
        fs::create_dir(folder).unwrap();
    }
    for default in ["server.properties", "log4j2.yaml", "tools-log4j2.yaml"] {
        fs::write(given.join(default), "").unwrap();
    }
    let set_up = Command::new("java")
        .args([
            "-cp",
            &artefacts.class_path(),
            "kafka.docker.KafkaDockerWrapper",
            "setup",
        ])
        .arg("--default-configs-dir")
        .arg(&given)
        .arg("--mounted-configs-dir")
        .arg(folder.join("none"))
        .arg("--final-configs-dir")
        .arg(&made)
        .envs(&env)
        .envs(environment("CLUSTER_ID"))
        .env("KAFKA_LOG_DIRS", folder.join("records"))
        .output();
    let set_up = set_up.await.unwrap();
    assert!(
        set_up.status.success(),
        "{}",
        String::from_utf8_lossy(&set_up.stderr)
    );
    let broker = Command::new("java")
        .args(["-Xmx512m", "-cp", &artefacts.class_path(), "kafka.Kafka"])
        .arg(made.join("server.properties"))
        .stdin(Stdio::null())
        .stdout(fs::File::create(folder.join("kafka.log")).unwrap())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .spawn();
    (broker.unwrap(), format!("127.0.0.1:{}", ports[1]))
}

/// Runs the script that makes the topics, with the image's tool from Maven's jars.
async fn make_topics(artefacts: &Artefacts, folder: &Path, brokers: &str) {
    let tools = folder.join("bin");
    fs::create_dir(&tools).unwrap();
    let tool = tools.join("kafka-topics.sh");
    let class_path = artefacts.class_path();
    let text = format!(
        "#!/bin/sh\nexec java -cp '{class_path}' org.apache.kafka.tools.TopicCommand \"$@\"\n"
    );
    fs::write(&tool, text).unwrap();
    fs::set_permissions(&tool, Permissions::from_mode(0o755)).unwrap();
    let mark = folder.join("mark");
    let path = std::env::var_os("PATH").unwrap().into_string().unwrap();
    let made = Command::new(binaries::workspace().join("local/compose/topics.sh"))
        .arg(brokers)
        .arg(&mark)
        .env("PATH", format!("{}:{path}", tools.display()))
        .output();
    let made = tokio::time::timeout(Duration::from_mins(2), made);
    let made = made.await.unwrap().unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    assert!(mark.exists());
}

#[tokio::test]
async fn compose_starts_kafka_with_the_topics_that_the_tool_would_make() {
    let artefacts = match Artefacts::provide(|what| eprintln!("{what}")).await {
        Ok(artefacts) => artefacts,
        Err(error) => return not_run("Java, and once Maven", &error),
    };
    let folder = TempDir::new().unwrap();
    let (_broker, brokers) = broker(&artefacts, folder.path()).await;
    make_topics(&artefacts, folder.path(), &brokers).await;
    let told = Command::new(binaries::local())
        .args([
            "topics",
            "create",
            "--orders",
            "--json",
            "--partitions",
            "4",
            "--brokers",
            &brokers,
        ])
        .output();
    let told = told.await.unwrap();
    assert!(
        told.status.success(),
        "{}",
        String::from_utf8_lossy(&told.stderr)
    );
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let topics = told["topics"].as_array().unwrap();
    assert_eq!(topics.len(), 7, "{topics:?}");
    for topic in topics {
        assert_eq!(topic["change"], "existed", "{topic}");
        assert_eq!(topic.get("warnings"), None, "{topic}");
    }
}

#[test]
fn compose_agrees_with_the_tool_and_leaves_the_port_of_watch_alone() {
    let text = file("docker-compose.yml");
    assert!(text.contains(&format!("image: apache/kafka:{KAFKA_VERSION}\n")));
    let minio = environment("MINIO_ROOT_");
    assert_eq!(minio["MINIO_ROOT_USER"], ACCESS_KEY);
    assert_eq!(minio["MINIO_ROOT_PASSWORD"], SECRET_KEY);
    let published = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- \"127.0.0.1:"));
    let published: Vec<&str> = published
        .map(|port| port.split_once(':').unwrap().0)
        .collect();
    assert_eq!(published, ["9092", "9100", "9101"]);
    let env = file("local/compose/functions.env");
    for line in [
        "KAFKA_BROKERS=127.0.0.1:9092".to_owned(),
        "AWS_ENDPOINT_URL_S3=http://127.0.0.1:9100".to_owned(),
        format!("AWS_ACCESS_KEY_ID={ACCESS_KEY}"),
        format!("AWS_SECRET_ACCESS_KEY={SECRET_KEY}"),
    ] {
        assert!(env.lines().any(|found| found == line), "{line}");
    }
    let bucket = env
        .lines()
        .find_map(|line| line.strip_prefix("INCIDENT_BUCKET="))
        .unwrap();
    assert!(text.contains(&format!("brew/{bucket}\"]")));
}
