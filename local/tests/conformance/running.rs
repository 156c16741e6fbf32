//! A mapping that runs on a broker, for tests that are no rows.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use local::invoke::Invoke;
use local::mapping::{Batching, Mapping, MappingSettings, Progress, Report, Standing};
use pipeline::Topic;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::broker::Broker;

const LIMIT: Duration = Duration::from_secs(30);

/// A mapping, and what it reports.
pub(crate) struct Running {
    pub(crate) mapping: Mapping,
    reports: UnboundedReceiver<Report>,
}

/// Describes a mapping that sends batches of at most so many records at once, and whose group soon sees who comes and goes.
pub(crate) fn settings(broker: &Broker, topic: &Topic, size: usize) -> MappingSettings {
    let mut settings = MappingSettings::new("conformance", topic.clone(), &broker.address);
    settings.batching = Batching {
        size: NonZeroUsize::new(size).unwrap(),
        window: Duration::from_millis(100),
    };
    let often = ("heartbeat.interval.ms".to_owned(), "100".to_owned());
    settings.client.extend([often]);
    settings
}

impl Running {
    pub(crate) fn start(settings: MappingSettings, function: &Arc<impl Invoke>) -> Self {
        let (sender, reports) = unbounded_channel();
        let mapping = Mapping::start(settings, Arc::clone(function), sender).unwrap();
        Self { mapping, reports }
    }

    /// Waits for a report.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Progress) -> bool) -> Progress {
        let waiting = async {
            loop {
                let report = self.reports.recv().await.unwrap();
                if wanted(&report.progress) {
                    return report.progress;
                }
            }
        };
        tokio::time::timeout(LIMIT, waiting).await.unwrap()
    }

    /// Waits until it reads so many partitions.
    pub(crate) async fn until_it_reads(&mut self, partitions: usize) {
        self.until(|step| matches!(step, Progress::Assigned(all) if all.len() == partitions))
            .await;
    }

    /// Waits until it stands like this.
    pub(crate) async fn until_it_stands(&self, wanted: impl Fn(&Standing) -> bool) -> Standing {
        let waiting = async {
            loop {
                let standing = self.mapping.standing();
                if wanted(&standing) {
                    return standing;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let stands = tokio::time::timeout(LIMIT, waiting).await;
        stands.unwrap_or_else(|_| panic!("it stands otherwise: {:?}", self.mapping.standing()))
    }

    /// Waits until everything is done, and ends it.
    pub(crate) async fn drain(self) {
        let idle = self.mapping.idle_for(Duration::from_millis(500));
        tokio::time::timeout(LIMIT, idle).await.unwrap().unwrap();
        self.mapping.stop(Duration::from_secs(10)).await;
    }
}
