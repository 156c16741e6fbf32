//! A broker, a template, scripts for its functions, and the program under test.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use local::binaries::Binaries;
use local::broker::EmbeddedBroker;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pipeline::Topic;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

/// How long anything may take on a machine that does much else.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// A broker and a folder with a template and the scripts of its functions.
pub(crate) struct Bench {
    broker: EmbeddedBroker,
    pub(crate) folder: TempDir,
}

/// A function of the template: its logical ID, its topic, what its event says more, and its script.
pub(crate) struct Scripted<'a> {
    pub(crate) id: &'a str,
    pub(crate) topic: &'a str,
    pub(crate) event: &'a str,
    pub(crate) script: &'a [&'a str],
}

/// What an event says that can be told of partial failures.
pub(crate) const REPORTS: &str = "FunctionResponseTypes: [ReportBatchItemFailures]
            ProvisionedPollerConfig: {MinimumPollers: 1}";

/// The program under test while it runs; dropping it kills it.
pub(crate) struct Running {
    process: Child,
    out: Lines,
    err: Lines,
    readers: JoinSet<()>,
}

type Lines = Arc<Mutex<Vec<String>>>;

/// How it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) out: Vec<String>,
    pub(crate) err: String,
}

impl Bench {
    /// Starts a broker with topics of so many partitions, and writes a template of these functions.
    pub(crate) fn new(partitions: i32, functions: &[Scripted<'_>]) -> Self {
        let broker = EmbeddedBroker::start(1).unwrap();
        let topics: Vec<Topic> = functions.iter().map(|f| f.topic.parse().unwrap()).collect();
        broker.create_topics(&topics, partitions).unwrap();
        let bench = Self {
            broker,
            folder: TempDir::new().unwrap(),
        };
        let mut template = "Transform: AWS::Serverless-2016-10-31\nResources:\n".to_owned();
        for function in functions {
            template.push_str(&bench.resource(function));
            std::fs::write(
                bench.file(&format!("{}.script", function.id)),
                function.script.join("\n"),
            )
            .unwrap();
        }
        std::fs::write(bench.file("template.yaml"), template).unwrap();
        bench
    }

    fn resource(&self, function: &Scripted<'_>) -> String {
        let Scripted {
            id, topic, event, ..
        } = function;
        let (brokers, folder) = (self.brokers(), self.folder.path().display());
        format!(
            "  {id}:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: the-{id}
      Timeout: 30
      MemorySize: 256
      Environment:
        Variables:
          SCRIPT: {folder}/{id}.script
          EVENTS: {folder}/{id}.events
          GREETING: hello
      Events:
        Records:
          Type: SelfManagedKafka
          Properties:
            KafkaBootstrapServers: ['{brokers}']
            Topics: [{topic}]
            StartingPosition: TRIM_HORIZON
            BatchSize: 10
            {event}
"
        )
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn brokers(&self) -> &str {
        self.broker.bootstrap_servers()
    }

    /// Produces so many records to the first partition of a topic.
    pub(crate) async fn fill(&self, topic: &str, records: usize) {
        let producer: FutureProducer = ClientConfig::new()
            .set("bootstrap.servers", self.brokers())
            .create()
            .unwrap();
        for number in 0..records {
            let value = number.to_string();
            let record = FutureRecord::<(), _>::to(topic)
                .payload(&value)
                .partition(0);
            let sent = producer.send(record, PATIENCE).await;
            sent.map_err(|(error, _)| error).unwrap();
        }
    }

    /// Returns what a function's group has committed for the first partition of a topic.
    pub(crate) fn committed(&self, id: &str, topic: &str) -> Option<i64> {
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", self.brokers())
            .set("group.id", format!("{id}.{topic}"))
            .create()
            .unwrap();
        let mut list = TopicPartitionList::new();
        list.add_partition(topic, 0);
        let committed = consumer.committed_offsets(list, PATIENCE).unwrap();
        let Offset::Offset(offset) = committed.elements()[0].offset() else {
            return None;
        };
        Some(offset)
    }

    /// Returns the offsets of each event that a function was given, of the first partition.
    pub(crate) fn delivered(&self, id: &str, topic: &str) -> Vec<Vec<i64>> {
        let events = std::fs::read_to_string(self.file(&format!("{id}.events")));
        let offsets = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap();
            let records = event["records"][format!("{topic}-0")].as_array().cloned();
            let records = records.unwrap_or_default().into_iter();
            records
                .map(|record| record["offset"].as_i64().unwrap())
                .collect()
        };
        events.unwrap_or_default().lines().map(offsets).collect()
    }

    /// Runs the template with every function of these IDs as the scripted program.
    pub(crate) fn run(&self, ids: &[&str], more: &[&str]) -> Running {
        let commands = ids
            .iter()
            .map(|id| format!("--function={id}={}", program().display()));
        let more = more.iter().map(|word| (*word).to_owned());
        let words: Vec<String> = commands.chain(more).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.start(&words)
    }

    /// Runs the template with a command line of these words, in a folder of its own and without credentials.
    pub(crate) fn start(&self, words: &[&str]) -> Running {
        self.start_in(&[], words)
    }

    /// Runs the template with a command line of these words, and these variables more.
    pub(crate) fn start_in(&self, env: &[(&str, &str)], words: &[&str]) -> Running {
        let mut command = Command::new(env!("CARGO_BIN_EXE_local"));
        command
            .arg("run")
            .args(words)
            .current_dir(self.folder.path())
            .env("LEAKED", "not for functions")
            .env("KAFKA_BROKERS", "127.0.0.1:1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"] {
            command.env_remove(name);
        }
        command.envs(env.iter().copied());
        let mut process = command.spawn().unwrap();
        let (out, err) = (Lines::default(), Lines::default());
        let mut readers = JoinSet::new();
        readers.spawn(gather(process.stdout.take().unwrap(), Arc::clone(&out)));
        readers.spawn(gather(process.stderr.take().unwrap(), Arc::clone(&err)));
        Running {
            process,
            out,
            err,
            readers,
        }
    }
}

impl Running {
    /// Waits until a line of either stream holds these words.
    pub(crate) async fn until_said(&self, words: &str) {
        let said = async {
            while !self.everything().contains(words) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        let said = tokio::time::timeout(PATIENCE, said).await;
        assert!(
            said.is_ok(),
            "{words:?} was not said: {}",
            self.everything()
        );
    }

    fn everything(&self) -> String {
        let mut text = String::new();
        for line in self
            .out
            .lock()
            .unwrap()
            .iter()
            .chain(&*self.err.lock().unwrap())
        {
            writeln!(text, "{line}").unwrap();
        }
        text
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = i32::try_from(self.process.id().unwrap()).unwrap();
        kill(Pid::from_raw(id), signal).unwrap();
    }

    /// Waits until it ends.
    pub(crate) async fn ended(mut self) -> Ended {
        let ended = async {
            let status = self.process.wait().await.unwrap();
            while self.readers.join_next().await.is_some() {}
            status
        };
        let status = tokio::time::timeout(PATIENCE, ended).await;
        let status = status.unwrap_or_else(|_| panic!("it runs on: {}", self.everything()));
        let out = self.out.lock().unwrap().clone();
        let err = self.err.lock().unwrap().join("\n");
        Ended { status, out, err }
    }
}

impl Ended {
    /// Checks the exit status and what was said on standard error.
    #[track_caller]
    pub(crate) fn check(&self, status: i32, words: &[&str]) -> &Self {
        assert_eq!(self.status.code(), Some(status), "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word:?} is not in {self:?}");
        }
        self
    }

    /// Returns the lines of JSON that standard output holds, and nothing else.
    #[track_caller]
    pub(crate) fn json(&self) -> Vec<Value> {
        let line = |line: &String| serde_json::from_str(line).unwrap();
        self.out.iter().map(line).collect()
    }
}

/// The scripted function, in a folder of its own beside the test's.
pub(crate) fn program() -> PathBuf {
    Binaries::beside()
        .unwrap()
        .find("examples/scripted")
        .unwrap()
}

async fn gather(from: impl AsyncRead + Unpin, to: Lines) {
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        to.lock().unwrap().push(line);
    }
}
