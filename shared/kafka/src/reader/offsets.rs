//! Asks the brokers for the partitions of a topic and for their offsets.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use pipeline::{Partition, Topic};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer, StreamConsumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::metadata::MetadataPartition;
use rdkafka::{Offset as NativeOffset, TopicPartitionList};
use tokio::time::Instant;

use crate::auth::Credentials;
use crate::client::{Closing, Context};
use crate::connection::Connection;

/// How long one question may take.
const QUESTION: Duration = Duration::from_secs(4);

/// How long a question is asked again while its answer is an error.
const PATIENCE: Duration = Duration::from_secs(6);

/// How long to wait before asking again.
const AGAIN: Duration = Duration::from_millis(200);

/// How many events a consumer is served at a time.
const SERVED: usize = 100;

/// A consumer that several blocking questions may share.
pub(crate) type Shared<T> = Arc<Closing<T>>;

/// Makes the consumer that reads.
pub(crate) fn committed(
    connection: &Connection,
    credentials: &Credentials,
    context: Context,
) -> KafkaResult<Shared<StreamConsumer<Context>>> {
    let mut config = config(connection, credentials);
    config
        // librdkafka assigns partitions only to a member of a group. It never joins, and never commits.
        .set("group.id", "brew-replay")
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("isolation.level", "read_committed")
        // Records that were deleted while we read are passed over.
        .set("auto.offset.reset", "earliest")
        .set("enable.partition.eof", "true")
        .set("check.crcs", "true")
        .set("fetch.wait.max.ms", "100")
        // A function may have 128 MB in all, and a small record takes far more in the queue than its own bytes.
        .set("queued.min.messages", "1000")
        .set("queued.max.messages.kbytes", "8192")
        .set("fetch.max.bytes", "4194304")
        .set("fetch.queue.backoff.ms", "20");
    let consumer: StreamConsumer<Context> = config.create_with_context(context)?;
    serve(&consumer);
    Ok(Arc::new(Closing::new(consumer)))
}

/// Lets a consumer that has no record yet say what it has to say, the first of which is that it wants a token.
pub(crate) fn serve(consumer: &StreamConsumer<Context>) {
    for _ in 0..SERVED {
        if let Some(Err(error)) = consumer.recv().now_or_never() {
            tracing::debug!(%error, "the consumer reports");
        }
    }
}

/// Makes a consumer that also sees what is not committed yet, to ask it for offsets.
pub(crate) fn uncommitted(
    connection: &Connection,
    credentials: &Credentials,
    context: Context,
) -> KafkaResult<Shared<BaseConsumer<Context>>> {
    let mut config = config(connection, credentials);
    config.set("isolation.level", "read_uncommitted");
    let consumer = config.create_with_context(context)?;
    Ok(serving(consumer))
}

/// Lets a consumer take its token, which it asks for when it is polled: the questions that follow do not poll it.
fn serving(consumer: BaseConsumer<Context>) -> Shared<BaseConsumer<Context>> {
    for _ in 0..SERVED {
        drop(consumer.poll(Duration::ZERO));
    }
    Arc::new(Closing::new(consumer))
}

fn config(connection: &Connection, credentials: &Credentials) -> ClientConfig {
    let mut config = connection.client_config(credentials);
    config
        .set("allow.auto.create.topics", "false")
        .set("socket.timeout.ms", "10000")
        .set("socket.connection.setup.timeout.ms", "4000")
        .set("socket.keepalive.enable", "true")
        .set("reconnect.backoff.ms", "50")
        .set("reconnect.backoff.max.ms", "500");
    config
}

/// Asks on a blocking thread, again and again until there is an answer, or it is hopeless, or the patience is at an end.
async fn ask<T: Send + 'static>(
    question: impl Fn() -> KafkaResult<T> + Clone + Send + 'static,
    is_hopeless: impl Fn() -> bool,
) -> KafkaResult<T> {
    let give_up_at = Instant::now().checked_add(PATIENCE);
    loop {
        let answer = tokio::task::spawn_blocking(question.clone())
            .await
            .unwrap_or(Err(KafkaError::Canceled));
        match answer {
            Err(error) if is_lasting(&error) || is_hopeless() => return Err(error),
            Err(_) if give_up_at.is_some_and(|at| Instant::now() < at) => {
                tokio::time::sleep(AGAIN).await;
            }
            Ok(_) | Err(_) => return answer,
        }
    }
}

/// Tells whether asking again cannot help.
pub(crate) fn is_lasting(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(
            RDKafkaErrorCode::TopicAuthorizationFailed
                | RDKafkaErrorCode::ClusterAuthorizationFailed
                | RDKafkaErrorCode::UnknownTopicOrPartition
                | RDKafkaErrorCode::UnknownTopic
                | RDKafkaErrorCode::UnknownPartition
                | RDKafkaErrorCode::InvalidTopic
        )
    )
}

/// Returns the partitions of a topic; none when there is no such topic.
pub(crate) async fn partitions(
    consumer: &Shared<StreamConsumer<Context>>,
    context: &Context,
    topic: &Topic,
) -> KafkaResult<Vec<Partition>> {
    let asked = Arc::clone(consumer);
    let topic = topic.clone();
    let question = move || {
        let metadata = asked.fetch_metadata(Some(topic.as_str()), QUESTION)?;
        let Some(found) = metadata.topics().first() else {
            return Ok(Vec::new());
        };
        if let Some(error) = found.error() {
            return Err(KafkaError::MetadataFetch(error.into()));
        }
        let numbers = found.partitions().iter().map(MetadataPartition::id);
        Ok(numbers.filter_map(Partition::new).collect())
    };
    let is_hopeless = || {
        serve(consumer);
        context.trouble.is_lasting()
    };
    let found = ask(question, is_hopeless).await;
    match found {
        Err(error) if is_missing(&error) => Ok(Vec::new()),
        Ok(_) | Err(_) => found,
    }
}

/// Tells whether an error says that there is no such topic.
pub(crate) fn is_missing(error: &KafkaError) -> bool {
    matches!(
        error.rdkafka_error_code(),
        Some(
            RDKafkaErrorCode::UnknownTopicOrPartition
                | RDKafkaErrorCode::UnknownTopic
                | RDKafkaErrorCode::UnknownPartition
        )
    )
}

/// Returns an offset of each partition: the first, the last (in the consumer's isolation), or the first of a time.
///
/// An answer of −1 means that there is none.
pub(crate) async fn offsets<C>(
    consumer: &Shared<C>,
    topic: &Topic,
    partitions: &[Partition],
    wanted: NativeOffset,
) -> KafkaResult<Vec<(Partition, i64)>>
where
    C: Consumer<Context> + Send + Sync + 'static,
{
    if partitions.is_empty() {
        return Ok(Vec::new());
    }
    let consumer = Arc::clone(consumer);
    let topic = topic.clone();
    let partitions = partitions.to_vec();
    let question = move || {
        let mut list = TopicPartitionList::with_capacity(partitions.len());
        for partition in &partitions {
            list.add_partition_offset(topic.as_str(), partition.get(), wanted)?;
        }
        let found = consumer.offsets_for_times(list, QUESTION)?;
        let mut offsets = Vec::with_capacity(partitions.len());
        for element in found.elements() {
            element.error()?;
            if let Some(partition) = Partition::new(element.partition()) {
                offsets.push((partition, element.offset().to_raw().unwrap_or(-1)));
            }
        }
        Ok(offsets)
    };
    ask(question, || false).await
}

/// Returns what a consumer group has committed for each partition; −1 where it has not.
pub(crate) async fn of_group(
    connection: &Connection,
    credentials: &Credentials,
    context: Context,
    group: &str,
    topic: &Topic,
    partitions: &[Partition],
) -> KafkaResult<Vec<(Partition, i64)>> {
    if partitions.is_empty() {
        return Ok(Vec::new());
    }
    let mut config = config(connection, credentials);
    // It asks on behalf of the group, joins nothing and commits nothing.
    config
        .set("group.id", group)
        .set("enable.auto.commit", "false");
    let consumer = serving(config.create_with_context(context)?);
    let topic = topic.clone();
    let partitions = partitions.to_vec();
    let question = move || {
        let mut list = TopicPartitionList::with_capacity(partitions.len());
        for partition in &partitions {
            list.add_partition_offset(topic.as_str(), partition.get(), NativeOffset::Invalid)?;
        }
        let committed = consumer.committed_offsets(list, QUESTION)?;
        let mut offsets = Vec::with_capacity(partitions.len());
        for element in committed.elements() {
            element.error()?;
            if let Some(partition) = Partition::new(element.partition()) {
                offsets.push((partition, element.offset().to_raw().unwrap_or(-1)));
            }
        }
        Ok(offsets)
    };
    ask(question, || false).await
}
