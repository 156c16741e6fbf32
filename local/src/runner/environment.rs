//! What a function is told by its environment.

use std::collections::BTreeMap;

use super::fast::{DEFAULT_LADDER, faster};
use super::options::{RunOptions, Speed};
use super::planned::RETRY_STAGES;
use crate::template::TemplateFunction;

/// The variable that tells a function whether its answers are read.
const BATCH_FAILURES: &str = "BATCH_FAILURES";

/// The workspace's functions that climb the default ladder when they are told of none.
const OF_THE_LADDER: [&str; 2] = ["payments", "replay"];

/// A function's environment, without what `--env` says, which wins over it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Environment {
    pub(super) variables: BTreeMap<String, String>,
    /// What is worth a loud word.
    pub(super) note: Option<String>,
}

impl Environment {
    /// Takes the template's variables, in which what flags set is there already; credentials stand behind them.
    ///
    /// What is wrong with a variable is told by its name.
    pub(super) fn of(function: &TemplateFunction, options: &RunOptions) -> Result<Self, String> {
        let mut variables = options.credentials.clone();
        variables.extend(function.env.clone());
        match options.speed {
            Speed::Real => {}
            Speed::Fast => speed_up(function, options, &mut variables)?,
        }
        let note = overrule(function, options, &mut variables);
        Ok(Self { variables, note })
    }
}

fn speed_up(
    function: &TemplateFunction,
    options: &RunOptions,
    variables: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    if options.env.contains_key(RETRY_STAGES) {
        return Ok(());
    }
    let climbs = function
        .binary
        .as_deref()
        .is_some_and(|binary| OF_THE_LADDER.contains(&binary));
    let told = variables.get(RETRY_STAGES).map(String::as_str);
    if let Some(ladder) = told.or(climbs.then_some(DEFAULT_LADDER)) {
        let ladder = faster(ladder).map_err(|problem| format!("{RETRY_STAGES}: {problem}"))?;
        variables.insert(RETRY_STAGES.to_owned(), ladder);
    }
    Ok(())
}

/// Keeps a function from answering where nobody reads the answer: what it hands back would count as done, and be lost.
fn overrule(
    function: &TemplateFunction,
    options: &RunOptions,
    variables: &mut BTreeMap<String, String>,
) -> Option<String> {
    let ignored = function
        .mappings
        .iter()
        .find(|mapping| !mapping.report_batch_item_failures)?;
    let (id, event) = (&function.id, &ignored.event);
    let why = format!(
        "{id}.{event} has no ReportBatchItemFailures, so that answers are ignored and what is handed back is LOST"
    );
    if let Some(said) = options.env.get(BATCH_FAILURES) {
        return (said == "report").then(|| format!("{id}: BATCH_FAILURES=report, and {why}"));
    }
    let value = variables.get_mut(BATCH_FAILURES)?;
    (value == "report").then(|| {
        "raise".clone_into(value);
        format!(
            "{id}: BATCH_FAILURES=report is overruled by raise here, and must be in the template: {why}"
        )
    })
}

#[cfg(test)]
mod tests;
