//! A template's functions and their mappings, run together on this machine.
//!
//! [`Plan`] decides from the template and the command line what runs and how; [`Runner`] runs it; [`Chronicle`] makes lines for
//! people and for programs of what happens.

mod away;
mod chronicle;
mod environment;
mod fast;
mod invocation;
mod invokable;
mod opening;
mod options;
mod plan;
mod planned;
mod planning;
pub(crate) mod poison;
mod words;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join, join_all};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

use self::invokable::Invokable;
use crate::function::Line;
use crate::mapping::{Mapping, Report};

pub use self::away::away;
pub use self::chronicle::{Chronicle, Told};
pub use self::invocation::InvocationLine;
pub use self::opening::opening;
pub use self::options::{RunOptions, Speed};
pub use self::plan::{Plan, PlanError, Programs};
pub use self::planned::{PlannedFunction, Way};
pub use self::words::live_line;

/// How much longer a mapping may take than its function: what was answered is still committed.
const TO_COMMIT: Duration = Duration::from_secs(2);

/// Functions and mappings that run; dropping it ends them as a crash would.
#[derive(Debug)]
pub struct Runner {
    functions: Vec<Arc<Invokable>>,
    mappings: Vec<Mapping>,
}

/// Where functions and mappings tell what they do.
#[derive(Clone, Debug)]
pub struct Wires {
    /// Lines that the functions' processes write.
    pub lines: UnboundedSender<Line>,
    /// Steps of the mappings.
    pub reports: UnboundedSender<Report>,
}

impl Runner {
    /// Starts everything: mappings join their groups, and a process is started at a function's first invocation.
    pub fn start(plan: &Plan, programs: &Programs, wires: &Wires) -> anyhow::Result<Self> {
        let mut runner = Self {
            functions: Vec::new(),
            mappings: Vec::new(),
        };
        for planned in &plan.functions {
            let function = Arc::new(Invokable::new(planned, programs, wires.lines.clone())?);
            for mapping in &planned.mappings {
                runner.mappings.push(Mapping::start(
                    mapping.clone(),
                    Arc::clone(&function),
                    wires.reports.clone(),
                )?);
            }
            runner.functions.push(function);
        }
        Ok(runner)
    }

    /// Returns the mappings, in the order of the template.
    pub fn mappings(&self) -> &[Mapping] {
        &self.mappings
    }

    /// Tells whether every mapping was idle a moment ago.
    pub fn is_idle(&self) -> bool {
        self.mappings.iter().all(Mapping::is_idle)
    }

    /// Tells as of when every mapping is known to have been idle; `None` unless each of them was a moment ago.
    pub fn idle_as_of(&self) -> Option<Instant> {
        let mut as_of = Instant::now();
        for mapping in &self.mappings {
            as_of = as_of.min(mapping.idle_as_of()?);
        }
        Some(as_of)
    }

    /// Ends everything: no batch is taken any more, functions are asked to end and killed after `grace`, what they answered is
    /// committed, and the groups are left.
    pub async fn stop(self, grace: Duration) {
        let functions = self.functions.iter().map(|function| function.stop(grace));
        let longer = grace.saturating_add(TO_COMMIT);
        let mappings = self
            .mappings
            .into_iter()
            .map(|mapping| mapping.stop(longer));
        join(join_all(functions), join_all(mappings)).await;
    }
}
