//! What runs, and how: decided from the template and the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use pipeline::{Span, Topic};

use super::fast::delays;
use super::options::{RunOptions, Speed};
use super::planned::{PlannedFunction, RETRY_STAGES, Way};
use super::planning::Planning;
use crate::mapping::MappingSettings;
use crate::template::{Template, TemplateFunction};

/// The programs of the workspace's packages, by package.
pub type Programs = BTreeMap<String, PathBuf>;

/// The functions that run, and what is worth a loud word.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The functions with their mappings, in the order of the template.
    pub functions: Vec<PlannedFunction>,
    /// What is allowed and yet worth a loud word.
    pub notes: Vec<String>,
}

/// Everything that the template or the command line has wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PlanError(Vec<String>);

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl Plan {
    /// Decides what runs; `is_package` tells whether the workspace has a function of a name.
    pub fn new(
        template: Template,
        options: &RunOptions,
        is_package: impl Fn(&str) -> bool,
    ) -> Result<Self, PlanError> {
        let unknown = unknown_functions(&template.functions, options);
        if !unknown.is_empty() {
            // What else is missing may be what was misspelt.
            return Err(PlanError(unknown));
        }
        let mut planning = Planning {
            options,
            notes: template.notes,
            problems: Vec::new(),
        };
        let functions: Vec<PlannedFunction> = template
            .functions
            .into_iter()
            .filter_map(|function| planning.function(function, &is_package))
            .collect();
        planning.problems.extend(shared_groups(&functions));
        let Planning {
            mut notes,
            problems,
            ..
        } = planning;
        if !problems.is_empty() {
            return Err(PlanError(problems));
        }
        let mut plan = Self {
            functions,
            notes: Vec::new(),
        };
        plan.cap_windows(options.speed);
        notes.extend(plan.out_of_reach(options));
        plan.notes = notes;
        Ok(plan)
    }

    /// Returns the packages that must be built, each once.
    pub fn packages(&self) -> BTreeSet<&str> {
        let ways = self.functions.iter().map(|function| &function.way);
        ways.filter_map(|way| match way {
            Way::Package(package) => Some(package.as_str()),
            Way::Command(_) | Way::Endpoint { .. } => None,
        })
        .collect()
    }

    /// Returns every mapping with its function, in the order of the template.
    pub fn mappings(&self) -> impl Iterator<Item = (&PlannedFunction, &MappingSettings)> {
        self.functions.iter().flat_map(|function| {
            function
                .mappings
                .iter()
                .map(move |mapping| (function, mapping))
        })
    }

    /// Returns the delay of every topic that some function takes for a retry stage.
    pub fn delays(&self) -> BTreeMap<Topic, Span> {
        let ladders = self.functions.iter().filter_map(PlannedFunction::ladder);
        ladders.flat_map(delays).collect()
    }

    /// Makes no window of a fast stage longer than a tenth of its delay.
    fn cap_windows(&mut self, speed: Speed) {
        match speed {
            Speed::Real => return,
            Speed::Fast => {}
        }
        let delays = self.delays();
        let mappings = self.functions.iter_mut().flat_map(|f| &mut f.mappings);
        for mapping in mappings {
            if let Some(tenth) = delays
                .get(&mapping.topic)
                .and_then(|delay| delay.to_duration().checked_div(10))
            {
                mapping.batching.window = mapping.batching.window.min(tenth);
            }
        }
    }

    /// Says which functions nothing that is set reaches.
    fn out_of_reach(&self, options: &RunOptions) -> Option<String> {
        let there: Vec<&str> = self
            .functions
            .iter()
            .filter(|function| matches!(function.way, Way::Endpoint { .. }))
            .map(|function| function.id.as_str())
            .collect();
        let fast = match options.speed {
            Speed::Fast => vec![RETRY_STAGES],
            Speed::Real => vec![],
        };
        let brokers = options.brokers.as_ref().map(|_| "KAFKA_BROKERS");
        let set: BTreeSet<&str> = (options.set.keys().chain(options.env.keys()))
            .map(String::as_str)
            .chain(fast)
            .chain(brokers)
            .collect();
        let (set, there) = (Vec::from_iter(set).join(", "), there.join(", "));
        (!set.is_empty() && !there.is_empty()).then(|| {
            format!("what runs at the endpoint has an environment of its own: set {set} there for {there}")
        })
    }
}

/// Names the mappings that would read in the group of another one, and so share its records with it.
///
/// Source: AWS Lambda API reference, `AmazonManagedKafkaEventSourceConfig`: a group "must be unique among all your Kafka event sources".
fn shared_groups(functions: &[PlannedFunction]) -> Vec<String> {
    let mut readers = BTreeMap::new();
    let mappings = functions.iter().flat_map(|function| &function.mappings);
    mappings
        .filter_map(|mapping| {
            let MappingSettings { name, group, .. } = mapping;
            let first: &str = readers.insert((&mapping.brokers, group), name.as_str())?;
            Some(format!(
                "{name} and {first} have the same consumer group, {group}, which Lambda refuses: each would get a part of the records; give one of them another ConsumerGroupId"
            ))
        })
        .collect()
}

/// Names the functions of `--function` that the template does not have.
fn unknown_functions(functions: &[TemplateFunction], options: &RunOptions) -> Vec<String> {
    let known: Vec<&str> = functions
        .iter()
        .map(|function| function.id.as_str())
        .collect();
    let unknown = options
        .commands
        .keys()
        .filter(|id| !known.contains(&id.as_str()));
    unknown
        .map(|id| {
            format!(
                "--function {id}: the template has no function of this ID that a Kafka mapping calls; it has {}",
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            )
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests;
