//! The `replay` function.

use std::process::ExitCode;

use aws::Bucket;
use kafka::{Connection, Producer};
use lambda::{Metrics, SettingsReader, Stop, SystemClock};
use replay::{KafkaTopics, Replay, Settings};

#[tokio::main]
async fn main() -> ExitCode {
    lambda::start(
        read,
        async |(connection, bucket, settings): (Connection, Bucket, Settings),
               stop: Stop,
               metrics: Metrics| {
            let checks = replay::checks(&connection, &bucket, &settings);
            let broker = Producer::new(connection.clone());
            let topics = KafkaTopics::new(connection);
            let replay = Replay::new(settings, broker, topics, bucket, SystemClock, stop.clone());
            replay::serve(&replay, &checks, stop, &metrics).await
        },
    )
    .await
}

fn read(reader: &mut SettingsReader<'_>) -> Option<(Connection, Bucket, Settings)> {
    let (connection, bucket) = (Connection::read(reader), Bucket::read(reader));
    let settings = Settings::read(reader);
    Some((connection?, bucket?, settings?))
}
