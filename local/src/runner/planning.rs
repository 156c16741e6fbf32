//! One function after the other, decided.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use super::environment::Environment;
use super::options::RunOptions;
use super::planned::{PlannedFunction, Way};
use crate::event::EventSource;
use crate::mapping::{
    Answers, Batching, Bisect, INVOCATIONS_OF_A_POLLER, MappingSettings, Pollers, group_of,
};
use crate::template::{TemplateFunction, TemplateMapping, TemplateSource};

/// How many sandboxes a mapping in standard mode may need: one for each partition, of which there may be many.
const STANDARD: usize = 64;

/// How many sandboxes a function has at most, however many are reserved: as many invocations as Lambda lets an account run at once.
///
/// Source: AWS Lambda developer guide, "Lambda quotas": concurrent executions, 1,000 unless raised.
const MOST: usize = 1000;

/// Decides how functions run, and gathers what is wrong and what is worth a loud word.
pub(super) struct Planning<'a> {
    pub(super) options: &'a RunOptions,
    pub(super) notes: Vec<String>,
    pub(super) problems: Vec<String>,
}

impl Planning<'_> {
    /// Decides how a function runs; `None` when it does not, or something is wrong with it.
    pub(super) fn function(
        &mut self,
        function: TemplateFunction,
        is_package: impl Fn(&str) -> bool,
    ) -> Option<PlannedFunction> {
        if function.reserved_concurrency == Some(0) {
            self.notes.push(format!(
                "{}: ReservedConcurrentExecutions is 0, so that it is never invoked: its records wait",
                function.id
            ));
            return None;
        }
        let way = self.way(&function, is_package);
        let env = self.environment(&function);
        let mappings: Vec<MappingSettings> = function
            .mappings
            .iter()
            .filter_map(|mapping| self.mapping(&function, mapping))
            .collect();
        Some(PlannedFunction {
            way: way?,
            env: env?,
            overrides: self.options.env.clone(),
            sandboxes: sandboxes(&function),
            mappings,
            name: function.name.unwrap_or_else(|| function.id.clone()),
            id: function.id,
            timeout: function.timeout,
            memory_mb: function.memory_mb,
        })
    }

    fn way(
        &mut self,
        function: &TemplateFunction,
        is_package: impl Fn(&str) -> bool,
    ) -> Option<Way> {
        let TemplateFunction {
            id, name, binary, ..
        } = function;
        if let Some(program) = self.options.commands.get(id) {
            return Some(Way::Command(program.clone()));
        }
        if let Some(url) = &self.options.invoke {
            return Some(Way::Endpoint {
                url: url.clone(),
                name: name.as_ref().or(binary.as_ref()).unwrap_or(id).clone(),
            });
        }
        match binary {
            Some(binary) if is_package(binary) => return Some(Way::Package(binary.clone())),
            Some(binary) => self.problems.push(format!(
                "{id}: the workspace has no function {binary}; --function {id}=COMMAND says what runs it"
            )),
            None => self.problems.push(format!(
                "{id}: the template does not tell its program; --function {id}=COMMAND says what runs it"
            )),
        }
        None
    }

    fn environment(&mut self, function: &TemplateFunction) -> Option<BTreeMap<String, String>> {
        match Environment::of(function, self.options) {
            Ok(Environment { variables, note }) => {
                self.notes.extend(note);
                Some(variables)
            }
            Err(problem) => {
                self.problems.push(format!("{}: {problem}", function.id));
                None
            }
        }
    }

    fn mapping(
        &mut self,
        function: &TemplateFunction,
        mapping: &TemplateMapping,
    ) -> Option<MappingSettings> {
        let name = format!("{}.{}", function.id, mapping.event);
        let given = self.options.brokers.as_ref().map(ToString::to_string);
        let (brokers, source) = match &mapping.source {
            TemplateSource::Msk { arn } => (given, EventSource::Msk { arn: arn.clone() }),
            TemplateSource::SelfManaged { brokers } => (
                given.or_else(|| Some(brokers.clone())),
                EventSource::SelfManaged,
            ),
        };
        let Some(brokers) = brokers else {
            self.problems.push(format!(
                "{name} reads an MSK cluster: --brokers HOST:PORT says which brokers stand for it here"
            ));
            return None;
        };
        let reader = function.binary.as_ref().unwrap_or(&function.id);
        Some(MappingSettings {
            name,
            group: mapping
                .group
                .clone()
                .unwrap_or_else(|| group_of(reader, &mapping.topic)),
            start: mapping.start,
            source,
            batching: Batching {
                size: mapping.batch_size,
                window: mapping.window.unwrap_or(Batching::default().window),
            },
            pollers: match &mapping.pollers {
                Some(provisioned) => Pollers::Provisioned(provisioned.minimum),
                None => Pollers::Standard,
            },
            answers: if mapping.report_batch_item_failures {
                Answers::Reported(self.options.redelivery)
            } else {
                Answers::Ignored
            },
            bisect: if mapping.bisect {
                Bisect::On
            } else {
                Bisect::Off
            },
            retries: mapping.retries,
            max_age: mapping.max_age,
            ..MappingSettings::new(reader, mapping.topic.clone(), brokers)
        })
    }
}

/// Returns how many sandboxes a function may need: those that are reserved, else as many as its pollers can invoke at once.
fn sandboxes(function: &TemplateFunction) -> NonZeroUsize {
    let reserved = function
        .reserved_concurrency
        .and_then(|reserved| usize::try_from(reserved).ok());
    let needed = || {
        let of = |mapping: &TemplateMapping| match &mapping.pollers {
            Some(pollers) => pollers
                .minimum
                .get()
                .saturating_mul(INVOCATIONS_OF_A_POLLER),
            None => STANDARD,
        };
        function.mappings.iter().map(of).sum()
    };
    let wanted = reserved.unwrap_or_else(needed).min(MOST);
    NonZeroUsize::new(wanted).unwrap_or(NonZeroUsize::MIN)
}
