//! A real Apache Kafka broker on this machine, from Maven's artefacts.

mod artefacts;
mod properties;
mod supervised;

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use tokio::process::Command;
use tokio::time::Instant;

use self::properties::Ports;
use self::supervised::Supervised;
use crate::folder::Folder;

pub use self::artefacts::{Artefacts, KAFKA_VERSION};
pub use self::properties::{Listener, Protocol};

/// How long a broker may take to answer after its start.
const START_LIMIT: Duration = Duration::from_mins(1);

/// How the broker starts.
#[derive(Clone, Debug, Default)]
pub struct KafkaSettings {
    /// The port for clients; a free one when absent.
    pub port: Option<u16>,
    /// Where its records are kept; a temporary folder, removed with the server, when absent.
    pub data: Option<PathBuf>,
    /// Lines of `server.properties` that win over ours, such as `message.max.bytes`.
    pub properties: BTreeMap<String, String>,
    /// Listeners for clients beside the plain one, on free ports.
    pub listeners: Vec<Listener>,
    /// Users that SCRAM-SHA-512 knows, once the data folder is new.
    pub users: Vec<User>,
    /// A folder with classes that the broker is to find.
    pub classes: Option<PathBuf>,
}

/// A user that a broker knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name, without characters that are special to Kafka's list of them.
    pub name: String,
    /// The password, without such characters.
    pub password: String,
}

/// One Kafka broker in `KRaft` combined mode, as a process of its own; dropping it kills it.
///
/// The process does not outlive this one, however it ends.
#[derive(Debug)]
pub struct KafkaServer {
    artefacts: Artefacts,
    ports: Ports,
    data: Folder,
    /// Keeps others out of the folder.
    _lock: File,
    users: Vec<User>,
    classes: Option<PathBuf>,
    process: Option<Supervised>,
}

impl KafkaServer {
    /// Starts a broker and waits until it answers; formats its data folder when it is new.
    pub async fn start(artefacts: Artefacts, settings: KafkaSettings) -> anyhow::Result<Self> {
        if let Some(port) = settings.port {
            // Otherwise whoever answers there would be taken for this server.
            TcpListener::bind((Ipv4Addr::LOCALHOST, port))
                .with_context(|| format!("port {port} cannot be used"))?;
        }
        let data = Folder::make(settings.data, "kafka")?;
        let lock = lock(data.path())?;
        let ports = Ports {
            clients: settings.port.map_or_else(free_port, Ok)?,
            controller: free_port()?,
            more: settings
                .listeners
                .into_iter()
                .map(|listener| Ok((listener, free_port()?)))
                .collect::<anyhow::Result<_>>()?,
        };
        let text = properties::text(&ports, data.path(), &settings.properties);
        tokio::fs::write(properties::file(data.path()), text)
            .await
            .with_context(|| format!("cannot write {}", properties::file(data.path()).display()))?;
        let mut server = Self {
            artefacts,
            ports,
            data,
            _lock: lock,
            users: settings.users,
            classes: settings.classes,
            process: None,
        };
        server.format().await?;
        server.restart().await?;
        Ok(server)
    }

    /// Returns host and port for clients.
    pub fn bootstrap_servers(&self) -> String {
        format!("127.0.0.1:{}", self.ports.clients)
    }

    /// Returns host and port of a listener beside the plain one.
    pub fn address_of(&self, listener: &str) -> Option<String> {
        let mut more = self.ports.more.iter();
        let (_, port) = more.find(|(other, _)| other.name == listener)?;
        Some(format!("127.0.0.1:{port}"))
    }

    /// Returns the folder that holds its records, its properties and its log.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    /// Starts it again on the same port with what it had; one that runs is killed first.
    pub async fn restart(&mut self) -> anyhow::Result<()> {
        self.kill().await;
        let log = self.log_file();
        let mut process = Supervised::start(
            "java",
            [
                "-Xmx512m".to_owned(),
                "-cp".to_owned(),
                self.class_path(),
                "kafka.Kafka".to_owned(),
                properties::file(self.data()).display().to_string(),
            ],
            &log,
        )?;
        self.wait_until_it_answers(&mut process).await?;
        self.process = Some(process);
        Ok(())
    }

    /// Shuts it down in order, and kills it after 20 s.
    pub async fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            process.stop(Duration::from_secs(20)).await;
        }
    }

    /// Kills it at once, as a power failure would, and waits until it is gone.
    pub async fn kill(&mut self) {
        if let Some(process) = self.process.take() {
            process.kill().await;
        }
    }

    /// Waits until its process ends by itself, and says how.
    pub async fn ended(&mut self) -> String {
        match &mut self.process {
            Some(process) => process.ended().await,
            None => "it does not run".to_owned(),
        }
    }

    fn class_path(&self) -> String {
        let jars = self.artefacts.class_path();
        match &self.classes {
            Some(classes) => format!("{jars}:{}", classes.display()),
            None => jars,
        }
    }

    fn log_file(&self) -> PathBuf {
        self.data().join("kafka.log")
    }

    /// Gives a new data folder its identity.
    async fn format(&self) -> anyhow::Result<()> {
        if self.data().join("records").join("meta.properties").exists() {
            return Ok(());
        }
        let output = Command::new("java")
            .args([
                "-cp",
                &self.artefacts.class_path(),
                "kafka.tools.StorageTool",
            ])
            .args(["format", "--cluster-id", properties::CLUSTER_ID, "--config"])
            .arg(properties::file(self.data()))
            .args(self.users.iter().flat_map(|User { name, password }| {
                let user = format!("SCRAM-SHA-512=[name={name},password={password}]");
                ["--add-scram".to_owned(), user]
            }))
            .kill_on_drop(true)
            .output()
            .await
            .context("cannot run java, which Kafka needs (version 17 or later)")?;
        if !output.status.success() {
            bail!(
                "Kafka cannot format {}: {}",
                self.data().display(),
                last_lines(&String::from_utf8_lossy(&output.stderr))
            );
        }
        Ok(())
    }

    async fn wait_until_it_answers(&self, process: &mut Supervised) -> anyhow::Result<()> {
        let started = Instant::now();
        let brokers = self.bootstrap_servers();
        loop {
            if answers(&brokers).await {
                return Ok(());
            }
            let problem = tokio::select! {
                status = process.ended() => format!("Kafka ended ({status})"),
                () = tokio::time::sleep(Duration::from_millis(200)) => {
                    if started.elapsed() < START_LIMIT {
                        continue;
                    }
                    format!("Kafka does not answer on {brokers}")
                }
            };
            let log = tokio::fs::read_to_string(self.log_file()).await;
            bail!(
                "{problem}; its log ends with: {}",
                last_lines(&log.unwrap_or_default())
            );
        }
    }
}

/// Asks a broker for its metadata, which it answers as soon as it is registered with its controller.
async fn answers(brokers: &str) -> bool {
    use rdkafka::consumer::{BaseConsumer, Consumer};
    let brokers = brokers.to_owned();
    let asked = tokio::task::spawn_blocking(move || {
        let consumer: BaseConsumer = rdkafka::ClientConfig::new()
            .set("bootstrap.servers", brokers)
            .create()
            .ok()?;
        let metadata = consumer.fetch_metadata(None, Duration::from_secs(2)).ok()?;
        (!metadata.brokers().is_empty()).then_some(())
    });
    matches!(asked.await, Ok(Some(())))
}

/// Takes a data folder for this process, for as long as the file is open; an error says that another one has it.
fn lock(data: &Path) -> anyhow::Result<File> {
    let path = data.join("lock");
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            bail!("a Kafka that runs keeps its records in {}", data.display())
        }
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}

fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("there is no free port")?;
    Ok(listener.local_addr()?.port())
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(8);
    lines.get(from..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_folder_is_one_servers_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = lock(folder.path()).unwrap();
        let refused = lock(folder.path()).unwrap_err().to_string();
        let path = folder.path().display().to_string();
        assert!(
            refused.contains("a Kafka that runs") && refused.contains(&path),
            "{refused}"
        );
        drop(first);
        lock(folder.path()).unwrap();
    }
}
