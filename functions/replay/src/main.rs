//! The `replay` function.

use std::process::ExitCode;

use kafka::{Connection, Producer};
use lambda::{SettingsReader, Stop, SystemClock};
use replay::{KafkaTopics, Replay, Settings};

#[tokio::main]
async fn main() -> ExitCode {
    let env = lambda::settings::environment();
    lambda::log::init(env("RUST_LOG").as_deref());
    let mut reader = SettingsReader::new(&env);
    let (connection, settings) = (Connection::read(&mut reader), Settings::read(&mut reader));
    let (connection, settings) = match reader.finish(connection.zip(settings)) {
        Ok(read) => read,
        Err(wrong) => {
            tracing::error!("{wrong}");
            return ExitCode::FAILURE;
        }
    };
    let (broker, stop) = (Producer::new(connection.clone()), Stop::default());
    let topics = KafkaTopics::new(connection);
    let replay = Replay::new(settings, broker, topics, SystemClock, stop.clone());
    match replay::serve(&replay, stop).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("the runtime ended: {error}");
            ExitCode::FAILURE
        }
    }
}
