//! Where a replay is run: by the function's own library in this process, or by the function behind an endpoint.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use aws::Bucket;
use bytes::Bytes;
use indicatif::ProgressBar;
use kafka::{Connection, Producer};
use lambda::{Broker, Clock, Deadline, ProduceError, Stop, SystemClock};
use pipeline::replay::Invoker;
use pipeline::{Coordinates, Outgoing};
use replay::{KafkaTopics, Replay, ReplayError, Settings, SourceError, Standing};
use serde::de::DeserializeOwned;
use serde_json::json;

use super::{Asked, Replayed};
use crate::invoke::{Endpoint, Fault, Invoke, Outcome};

/// How long a replay may take here, in milliseconds: nobody ends it but the operator.
const UNLIMITED_MS: u64 = 999_999_999_999;

/// Where a replay is run.
#[derive(Debug)]
pub enum Place {
    /// In this process.
    Here(Box<Here>),
    /// By a function.
    There(There),
}

/// The function's library in this process.
#[derive(Debug)]
pub struct Here {
    replay: Replay<Counted, KafkaTopics, Bucket, SystemClock>,
    bar: Arc<Mutex<ProgressBar>>,
    stop: Stop,
}

/// A function that is invoked.
#[derive(Debug)]
pub struct There(pub Endpoint);

/// Why there is no answer.
#[derive(Debug)]
pub enum Refusal {
    /// What was asked makes no sense.
    Wrong(String),
    /// Something kept it from being done.
    Failed(anyhow::Error),
}

/// Counts what is sent on a bar.
struct Counted {
    producer: Producer,
    bar: Arc<Mutex<ProgressBar>>,
}

impl Broker for Counted {
    async fn produce(&self, outgoing: &Outgoing) -> Result<Coordinates, ProduceError> {
        let produced = self.producer.produce(outgoing).await;
        if produced.is_ok() {
            self.bar
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .inc(1);
        }
        produced
    }

    fn give_up(&self) {
        self.producer.give_up();
    }
}

impl Place {
    /// Ends a run in this process after what is under way; a function elsewhere hears nothing of it.
    pub fn stop(&self) {
        match self {
            Self::Here(here) => here.stop.stop(),
            Self::There(_) => {}
        }
    }

    /// Does what is asked for in one invocation; the bar counts what is sent.
    pub async fn run(&self, asked: Asked, bar: &ProgressBar) -> Result<Replayed, Refusal> {
        match self {
            Self::Here(here) => {
                let invoker = Invoker {
                    caller: Some("cargo local replay".to_owned()),
                    request_id: None,
                };
                let shown = bar.clone();
                *here.bar.lock().unwrap_or_else(PoisonError::into_inner) = shown;
                let payload = asked.payload();
                let run = Box::pin(here.replay.run(&payload, invoker, unlimited()));
                Ok(run.await?.into())
            }
            Self::There(there) => {
                let replayed: Replayed = there.invoke(asked.payload()).await?;
                bar.inc(replayed.answer.published);
                Ok(replayed)
            }
        }
    }

    /// Asks how a run stands.
    pub async fn standing(&self, replay_id: &str) -> Result<Standing, Refusal> {
        match self {
            Self::Here(here) => {
                let asked = json!({ "status": replay_id }).to_string();
                let replay_id = replay::standing::asked(&asked).map_err(ReplayError::from)?;
                let replay_id = replay_id.unwrap_or_default();
                let standing = Box::pin(here.replay.standing(&replay_id, unlimited()));
                Ok(standing.await?)
            }
            Self::There(there) => {
                there
                    .invoke(json!({ "status": replay_id }).to_string())
                    .await
            }
        }
    }
}

impl Here {
    /// Joins what the function works with.
    pub fn new(settings: Settings, connection: Connection, bucket: Bucket) -> Self {
        let (bar, stop) = (Arc::new(Mutex::new(ProgressBar::hidden())), Stop::default());
        let broker = Counted {
            producer: Producer::new(connection.clone()),
            bar: Arc::clone(&bar),
        };
        let topics = KafkaTopics::new(connection);
        let replay = Replay::new(settings, broker, topics, bucket, SystemClock, stop.clone());
        Self { replay, bar, stop }
    }
}

impl There {
    async fn invoke<T: DeserializeOwned>(&self, payload: String) -> Result<T, Refusal> {
        match self.0.invoke(Bytes::from(payload)).await {
            Outcome::Answered(body) => {
                let address = self.0.address();
                let answer = serde_json::from_slice(&body);
                let answer = answer
                    .with_context(|| format!("what {address} answered is no answer of a replay"));
                Ok(answer?)
            }
            Outcome::Failed(Fault::Error {
                error_type,
                message,
            }) => {
                let told = format!("{error_type}: {message}");
                Err(match error_type.as_str() {
                    "InvalidReplay" => Refusal::Wrong(told),
                    _ => Refusal::Failed(anyhow::anyhow!(told)),
                })
            }
            Outcome::Failed(fault) => Err(Refusal::Failed(fault.into())),
        }
    }
}

fn unlimited() -> Deadline {
    Deadline::from_header(UNLIMITED_MS, SystemClock.now())
}

impl From<anyhow::Error> for Refusal {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<ReplayError> for Refusal {
    fn from(error: ReplayError) -> Self {
        let told = format!("{}: {error}", error.error_type());
        match error {
            ReplayError::Invalid(_) => Self::Wrong(told),
            ReplayError::Source(SourceError::NoSuchTopic(_) | SourceError::Fault(_))
            | ReplayError::Busy { .. }
            | ReplayError::Plan(_)
            | ReplayError::Store(_) => Self::Failed(anyhow::anyhow!(told)),
        }
    }
}

impl fmt::Debug for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counted").finish_non_exhaustive()
    }
}
