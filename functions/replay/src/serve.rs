//! The way from Lambda's Runtime API to a replay.

use lambda::{Broker, Clock, Deadline, Stop};
use lambda_runtime::{Context, Error};

use crate::dead_letters::DeadLetters;
use crate::run::Replay;

/// Serves replays until the process is told to stop: one invocation at a time.
pub async fn serve<B: Broker, D: DeadLetters, C: Clock>(
    replay: &Replay<B, D, C>,
    stop: Stop,
) -> Result<(), Error> {
    lambda::serve(stop, async |payload: &str, context: &Context| {
        let deadline = Deadline::from_header(context.deadline, replay.now());
        Ok(replay.run(payload, deadline).await?)
    })
    .await
}
