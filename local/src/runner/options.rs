//! What the command line says of a run.

use std::collections::BTreeMap;

use kafka::Brokers;

use crate::function::Program;
use crate::invoke::endpoint::EndpointUrl;
use crate::mapping::Redelivery;
use crate::template::TemplateOptions;

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Functions that run as a command, by logical ID.
    pub commands: BTreeMap<String, Program>,
    /// Where all other functions are invoked, when they do not run here.
    pub invoke: Option<EndpointUrl>,
    /// The brokers, in place of the template's.
    pub brokers: Option<Brokers>,
    /// What flags set in every function.
    pub set: BTreeMap<String, String>,
    /// What is set in every function and wins over everything.
    pub env: BTreeMap<String, String>,
    /// Credentials that functions get unless they have others.
    pub credentials: BTreeMap<String, String>,
    /// How long retry stages wait.
    pub speed: Speed,
    /// What is delivered again after a partial answer.
    pub redelivery: Redelivery,
}

/// How long retry stages wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speed {
    /// As long as they are set to.
    #[default]
    Real,
    /// One second on the first, two on the second, and so on.
    Fast,
}

impl RunOptions {
    /// Returns what must be known to read the template.
    pub fn of_template(&self, parameters: BTreeMap<String, String>) -> TemplateOptions {
        let mut env = self.set.clone();
        env.extend(self.env.clone());
        TemplateOptions {
            parameters,
            env,
            fixed_brokers: self.brokers.as_ref().map(ToString::to_string),
            ..TemplateOptions::default()
        }
    }
}
