//! A function that runs here, or somewhere else.

use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use tokio::sync::mpsc::UnboundedSender;

use super::plan::Programs;
use super::planned::{PlannedFunction, Way};
use crate::function::{Function, FunctionSettings, Line, Program};
use crate::invoke::{Endpoint, Invoke, Outcome};

/// A function of a template, in one of the two ways.
#[derive(Debug)]
pub(super) enum Invokable {
    Here(Function),
    There(Endpoint),
}

impl Invokable {
    /// Prepares a function; no process is started and nothing is sent.
    pub(super) fn new(
        planned: &PlannedFunction,
        programs: &Programs,
        lines: UnboundedSender<Line>,
    ) -> anyhow::Result<Self> {
        let program = match &planned.way {
            Way::Endpoint { url, name } => return Endpoint::new(url, name).map(Self::There),
            Way::Command(program) => program.clone(),
            Way::Package(package) => Program::from(
                programs
                    .get(package)
                    .with_context(|| format!("{package} has not been built"))?
                    .clone(),
            ),
        };
        let settings = FunctionSettings {
            label: planned.id.clone(),
            env: planned.env.clone(),
            overrides: planned.overrides.clone(),
            timeout: planned.timeout,
            memory_mb: planned.memory_mb,
            concurrency: planned.sandboxes,
            ..FunctionSettings::new(&planned.name, program)
        };
        Function::new(settings, None, lines).map(Self::Here)
    }

    /// Ends its processes: asks first, and kills after `grace`.
    pub(super) async fn stop(&self, grace: Duration) {
        match self {
            Self::Here(function) => function.stop(grace).await,
            // What runs there goes on; nobody waits for it.
            Self::There(_) => {}
        }
    }
}

impl Invoke for Invokable {
    async fn invoke(&self, event: Bytes) -> Outcome {
        match self {
            Self::Here(function) => function.invoke(event).await,
            Self::There(endpoint) => endpoint.invoke(event).await,
        }
    }
}
