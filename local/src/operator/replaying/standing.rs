//! How a run stands, for people.

use std::fmt;

use replay::Standing;
use serde::Serialize;

use crate::operator::table::{or_dash, table};

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Stood(pub Standing);

impl fmt::Display for Stood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = &self.0;
        let state = match run.state {
            pipeline::replay::RunState::Running => "runs, or was killed",
            pipeline::replay::RunState::Stopped => "stopped before its end",
            pipeline::replay::RunState::Complete => "complete",
        };
        write!(
            f,
            "replay {}: {state}\n{} sent back: {} went through, {} wait, {} are dead again",
            run.replay_id, run.published, run.went_through, run.waiting, run.dead_again
        )?;
        if run.unknown > 0 {
            write!(f, ", of {} it is not known", run.unknown)?;
        }
        if !run.dead.is_empty() {
            let rows = run.dead.iter().map(|dead| {
                vec![
                    or_dash(dead.key.as_ref()),
                    dead.from.clone(),
                    or_dash(dead.at.as_ref()),
                    or_dash(dead.error_code.as_ref()),
                    match dead.incident {
                        Some(_) => "yes".to_owned(),
                        None => "not yet".to_owned(),
                    },
                ]
            });
            let heading = ["dead again", "was", "is", "code", "incident"];
            write!(f, "\n\n{}", table(&heading, &[], rows.collect()))?;
        }
        if !run.waits.is_empty() {
            let rows = run.waits.iter().map(|waits| {
                vec![
                    or_dash(waits.key.as_ref()),
                    waits.from.clone(),
                    waits.at.clone(),
                    or_dash(waits.due.as_ref()),
                ]
            });
            let heading = ["waits", "was", "is", "due"];
            write!(f, "\n\n{}", table(&heading, &[], rows.collect()))?;
        }
        for topic in &run.unsure {
            write!(
                f,
                "\nwhat is done in {topic} is not known: it is not there, no stage here, or the consumer group payments.{topic} has committed nothing"
            )?;
        }
        Ok(())
    }
}
