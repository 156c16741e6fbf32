//! `cargo local kafka`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;

use super::signals::told_to_stop;
use super::{Failure, Shell};
use crate::kafka_server::{Artefacts, KAFKA_VERSION, KafkaServer, KafkaSettings};

/// Runs a real Apache Kafka from Maven until Ctrl-C.
///
/// The first time, its jars are brought into the cache folder. Needs java (17 or later), and mvn the first time.
#[derive(Debug, Args)]
pub(crate) struct Kafka {
    /// The port for clients.
    #[arg(long, default_value_t = 9092, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// Where records are kept; a temporary folder, removed at the end, when absent.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// A line for server.properties, such as message.max.bytes=2000000; may be given several times.
    #[arg(long = "property", value_name = "NAME=VALUE", value_parser = property)]
    properties: Vec<(String, String)>,
}

fn property(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        Some(_) | None => Err(format!("{text:?} is not of the form NAME=VALUE")),
    }
}

impl Kafka {
    pub(crate) async fn run(self, shell: &mut Shell<'_>) -> Result<(), Failure> {
        let told = told_to_stop();
        tokio::pin!(told);
        let (say, mut said) = tokio::sync::mpsc::unbounded_channel();
        let settings = KafkaSettings {
            port: Some(self.port),
            data: self.data,
            properties: self.properties.into_iter().collect::<BTreeMap<_, _>>(),
            ..KafkaSettings::default()
        };
        let starting = async move {
            let artefacts = Artefacts::provide(|line| {
                say.send(line.to_owned()).ok();
            })
            .await?;
            say.send(format!("starting Apache Kafka {KAFKA_VERSION}"))
                .ok();
            KafkaServer::start(artefacts, settings).await
        };
        tokio::pin!(starting);
        let mut server = loop {
            tokio::select! {
                biased;
                Some(line) = said.recv() => shell.note(line),
                started = &mut starting => break started?,
                stop = &mut told => return Ok(stop?),
            }
        };
        shell.note(format_args!(
            "Apache Kafka {KAFKA_VERSION} answers on {}, keeps its records and its log in {}; Ctrl-C ends it",
            server.bootstrap_servers(),
            server.data().display(),
        ));
        tokio::select! {
            stop = &mut told => {
                stop?;
                shell.note("stopping Kafka");
            }
            status = server.ended() => {
                return Err(anyhow::anyhow!("Kafka ended by itself: {status}").into());
            }
        }
        server.stop().await;
        Ok(())
    }
}
