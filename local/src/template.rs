//! A SAM template, resolved as far as it reaches functions with Kafka mappings, their environment and their limits.
//!
//! Reading is pure: the text, the parameters and the flags are arguments. What is not needed is not resolved; what is needed and
//! cannot be known on this machine is an error that names the line, never a guess. The way is one street: text → tree (`yaml`) →
//! sections → resolved expressions (`resolve`) → functions and mappings (`function`).

mod amount;
mod function;
mod globals;
mod intrinsic;
mod node;
mod options;
mod parameters;
mod place;
mod problem;
mod resolve;
mod resolved;
mod sections;
mod yaml;

use self::problem::Findings;
use self::resolve::{Resolver, State};
use self::sections::Sections;

pub use self::options::TemplateOptions;
pub use self::problem::{Problem, TemplateError};
pub use self::resolved::{
    ProvisionedPollers, Template, TemplateFunction, TemplateMapping, TemplateSource,
};

impl Template {
    /// Reads a template, YAML or JSON; `name` is what errors call it, such as `template.yaml`.
    ///
    /// All that is wrong with it is reported together, in the order of its lines.
    pub fn read(name: &str, text: &[u8], options: &TemplateOptions) -> Result<Self, TemplateError> {
        let mut findings = Findings::default();
        let functions = functions(text, options, &mut findings).unwrap_or_default();
        let notes = findings.conclude(name)?;
        Ok(Self { functions, notes })
    }
}

fn functions(
    text: &[u8],
    options: &TemplateOptions,
    findings: &mut Findings,
) -> Option<Vec<TemplateFunction>> {
    let root = findings.keep(yaml::read(text))?;
    let sections = Sections::read(&root, findings)?;
    let state = State::new(&sections, options);
    state.parameters.check(findings);
    let functions = function::functions(Resolver::new(&state), findings);
    state.parameters.notes(findings);
    Some(functions)
}
