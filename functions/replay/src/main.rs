//! The `replay` function.

use std::process::ExitCode;

use kafka::{Connection, Producer};
use lambda::{SettingsReader, Stop, SystemClock};
use replay::{KafkaTopics, Replay, Settings};

#[tokio::main]
async fn main() -> ExitCode {
    lambda::start(
        read,
        async |(connection, settings): (Connection, Settings), stop: Stop| {
            let broker = Producer::new(connection.clone());
            let topics = KafkaTopics::new(connection);
            let replay = Replay::new(settings, broker, topics, SystemClock, stop.clone());
            replay::serve(&replay, stop).await
        },
    )
    .await
}

fn read(reader: &mut SettingsReader<'_>) -> Option<(Connection, Settings)> {
    let (connection, settings) = (Connection::read(reader), Settings::read(reader));
    connection.zip(settings)
}
