//! The way from Lambda's Runtime API to a replay.

use lambda::{Broker, Checked, Checks, Clock, Deadline, Metrics, Stop};
use lambda_runtime::{Context, Error};

use pipeline::Masker;
use pipeline::replay::{Answer, Invoker};
use serde::Serialize;

use crate::check;
use crate::dead_letters::DeadLetters;
use crate::error::ReplayError;
use crate::measured::measured;
use crate::run::Replay;
use crate::standing::{self, Standing};
use crate::store::Store;

/// Serves replays until the process is told to stop: one invocation at a time.
pub async fn serve<B: Broker, D: DeadLetters, S: Store, C: Clock>(
    replay: &Replay<B, D, S, C>,
    checks: &Checks,
    stop: Stop,
    metrics: &Metrics,
) -> Result<(), Error> {
    lambda::serve(stop, async |payload: &str, context: &Context| {
        let deadline = Deadline::from_header(context.deadline, replay.now());
        if check::asked(payload).map_err(ReplayError::from)? {
            let checked = checks.run(deadline.left(replay.now())).await;
            return Ok(Told::Check(checked));
        }
        if let Some(replay_id) = standing::asked(payload).map_err(ReplayError::from)? {
            let standing = replay.standing(&replay_id, deadline).await?;
            return Ok(Told::Standing(Box::new(standing)));
        }
        let result = replay.run(payload, invoker(context), deadline).await;
        let now = replay.now();
        metrics.write(&measured(&result, now), now);
        Ok(Told::Answer(Box::new(result?)))
    })
    .await
}

/// What an invocation is told.
#[derive(Serialize)]
#[serde(untagged)]
enum Told {
    /// What a run did.
    Answer(Box<Answer>),
    /// How a run stands.
    Standing(Box<Standing>),
    /// What the function can reach.
    Check(Checked),
}

/// Tells who invokes us: Lambda itself names only identities of Cognito's; others may name themselves in the client context.
fn invoker(context: &Context) -> Invoker {
    let identity = context.identity.as_ref();
    let named = context.client_context.as_ref();
    let named = named.and_then(|client| client.custom.get("caller"));
    Invoker {
        caller: identity
            .map(|identity| identity.identity_id.clone())
            .or_else(|| named.map(|name| Masker::default().line(name))),
        request_id: Some(context.request_id.clone()).filter(|id| !id.is_empty()),
    }
}
