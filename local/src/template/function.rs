//! The functions that Kafka mappings call.

mod environment;
mod kafka;
mod names;
mod pollers;
mod program;
mod source;
mod standalone;

use std::rc::Rc;
use std::time::Duration;

use super::globals;
use super::node::{Entry, Node};
use super::place::Place;
use super::problem::{Fault, Findings, Found, cut, quoted};
use super::resolve::Resolver;
use super::resolved::{TemplateFunction, TemplateMapping};
use standalone::Standalone;

/// Source: CloudFormation user guide, "Quotas".
const MOST_RESOURCES: usize = 500;

/// Reads the functions of a template.
pub(super) fn functions(resolver: Resolver<'_>, findings: &mut Findings) -> Vec<TemplateFunction> {
    let Some(resources) = findings.keep(resolver.resources()) else {
        return Vec::new();
    };
    if !(1..=MOST_RESOURCES).contains(&resources.len()) {
        let number = resources.len();
        let what =
            format!("has {number} resources, and CloudFormation takes 1 to {MOST_RESOURCES}");
        findings.wrong(&resolver.state.sections.resources.place, what);
        return Vec::new();
    }
    note_unknown_globals(resolver, findings);
    let mut standalone = Vec::new();
    for resource in resources
        .iter()
        .filter(|resource| is(resource, standalone::TYPE))
    {
        standalone.extend(standalone::of_resource(resolver, resource, findings));
        if findings.keep(resolver.state.check()).is_none() {
            return Vec::new();
        }
    }
    let mut functions = Vec::new();
    for resource in resources {
        functions.extend(of_resource(resolver, resource, &mut standalone, findings));
        if findings.keep(resolver.state.check()).is_none() {
            return functions;
        }
    }
    for Standalone { calls, target, .. } in standalone {
        let what = format!(
            "{} is no AWS::Serverless::Function of this template",
            quoted(&calls)
        );
        findings.wrong(&target.place, what);
    }
    functions
}

fn is(resource: &Entry, kind: &str) -> bool {
    resource.value.get("Type").and_then(|kind| kind.literal()) == Some(kind)
}

/// Reads a resource, if it is a function that a Kafka mapping calls.
fn of_resource(
    resolver: Resolver<'_>,
    resource: &Entry,
    standalone: &mut Vec<Standalone>,
    findings: &mut Findings,
) -> Option<TemplateFunction> {
    let Entry {
        key: id,
        value: node,
    } = resource;
    findings.keep(node.fields())?;
    let Some(kind) = node.get("Type") else {
        findings.wrong(&node.place, "has no Type");
        return None;
    };
    match kind.literal() {
        Some("AWS::Serverless::Function") => {}
        Some(_) => return None,
        None => {
            findings.keep(Err::<(), _>(kind.is_not("the name of a type")));
            return None;
        }
    }
    let own = node.get("Properties")?;
    let called = takes(resolver, resource, standalone);
    if called.is_empty() && !kafka::may_have_mappings(own)
        || !findings.keep(resolver.is_there(resource))?
    {
        return None;
    }
    let function = Function { resolver, id, node };
    let properties = findings.keep(function.properties(own))?;
    let mut mappings = match property(&properties, "Events") {
        Some(events) => kafka::mappings(resolver, events, findings),
        None => None,
    };
    if !called.is_empty() {
        let called = called.into_iter().filter_map(|called| called.mapping);
        mappings.get_or_insert_default().extend(called);
    }
    function.read(&properties, mappings?, findings)
}

/// Takes the mappings that call this function.
fn takes(
    resolver: Resolver<'_>,
    function: &Entry,
    standalone: &mut Vec<Standalone>,
) -> Vec<Standalone> {
    if standalone.is_empty() {
        return Vec::new();
    }
    let name = resolver.resource_name(function).ok().flatten();
    let calls = |mapping: &mut Standalone| {
        name.as_deref() == Some(mapping.calls.as_str()) || *mapping.calls == *function.key
    };
    standalone.extract_if(.., calls).collect()
}

/// A function's resource.
struct Function<'f> {
    resolver: Resolver<'f>,
    id: &'f Rc<str>,
    node: &'f Rc<Node>,
}

impl Function<'_> {
    /// Returns the properties, with the global ones among them.
    fn properties(&self, own: &Rc<Node>) -> Found<Vec<Entry>> {
        let global = self.resolver.state.sections.function_globals.as_ref();
        let ignored = self.node.get("IgnoreGlobals");
        let global = global.map(|global| globals::heeded(global, ignored));
        let all = match global.transpose()?.flatten() {
            Some(global) => globals::merged(&global, own),
            None => Rc::clone(own),
        };
        Ok(self.resolver.entries(&all)?.unwrap_or_default())
    }

    /// Reads everything but the mappings.
    fn read(
        &self,
        properties: &[Entry],
        mappings: Vec<TemplateMapping>,
        findings: &mut Findings,
    ) -> Option<TemplateFunction> {
        self.check(properties, findings);
        let number = |name: &str, bounds| {
            let node = property(properties, name)?;
            self.resolver.whole(node, bounds).transpose()
        };
        // Lambda's bounds for functions on its own instances. Source: AWS Lambda API reference, `CreateFunction`.
        let timeout = number("Timeout", 1..=900).transpose();
        let memory = number("MemorySize", 128..=10_240).transpose();
        let concurrency =
            number("ReservedConcurrentExecutions", 0..=i64::from(u32::MAX)).transpose();
        let name = self.name(properties);
        let binary = program::binary(
            self.resolver,
            self.node.get("Metadata"),
            property(properties, "CodeUri"),
        );
        let env =
            environment::variables(self.resolver, property(properties, "Environment"), findings);
        let timeout = findings.keep(timeout);
        if let (Some(Some(841..)), Some(node)) = (&timeout, property(properties, "Timeout")) {
            // Source: AWS Lambda developer guide, "Configuring Amazon MSK event sources for Lambda", the note on timeouts.
            let what = "Lambda supports functions of at most 840 s behind a mapping of Kafka; it is emulated all the same";
            findings.note(&node.place, what);
        }
        let memory = findings.keep(memory);
        let concurrency = findings.keep(concurrency);
        let name = findings.keep(name);
        let binary = findings.keep(binary);
        Some(TemplateFunction {
            id: self.id.to_string(),
            name: name?,
            binary: binary?,
            env: env?,
            timeout: timeout?.map_or(DEFAULT_TIMEOUT, seconds),
            memory_mb: memory?
                .and_then(|mb| u32::try_from(mb).ok())
                .unwrap_or(DEFAULT_MEMORY_MB),
            reserved_concurrency: concurrency?.and_then(|number| u32::try_from(number).ok()),
            mappings,
        })
    }

    /// Checks what CloudFormation and SAM would refuse, and notes what they may.
    fn check(&self, properties: &[Entry], findings: &mut Findings) {
        let place = &self.node.place;
        if !self.id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            findings.wrong(place, "a logical ID has letters and digits only (in a loop, write &{Name} for the value's own)");
        }
        if self.resolver.state.sections.transforms.serverless.is_none() {
            let what = "the template has no Transform: AWS::Serverless-2016-10-31, without which CloudFormation knows no AWS::Serverless::Function";
            findings.wrong(&Place::default(), what);
        }
        for entry in properties {
            if !names::is_of_function(&entry.key) && !is_global(self.resolver, entry) {
                findings.note(
                    &entry.value.place,
                    "is no property of a function that is known here, and is ignored",
                );
            }
        }
    }

    /// Returns `FunctionName`.
    fn name(&self, properties: &[Entry]) -> Found<Option<String>> {
        let Some(node) = property(properties, "FunctionName") else {
            return Ok(None);
        };
        let Some(name) = self.resolver.text(node)? else {
            return Ok(None);
        };
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        if (1..=64).contains(&name.len()) && name.bytes().all(legal) {
            return Ok(Some(name));
        }
        let what = format!(
            "{} is not 1 to 64 of the characters a-z, A-Z, 0-9, '-' and '_'",
            quoted(&name)
        );
        Err(Fault::wrong(&node.place, what))
    }
}

/// Lambda's, when `Timeout` is unset.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(3);

/// Lambda's, when `MemorySize` is unset.
const DEFAULT_MEMORY_MB: u32 = 128;

fn seconds(number: i64) -> Duration {
    Duration::from_secs(u64::try_from(number).unwrap_or_default())
}

fn property<'e>(properties: &'e [Entry], name: &str) -> Option<&'e Rc<Node>> {
    let entry = properties.iter().find(|entry| &*entry.key == name)?;
    Some(&entry.value)
}

fn is_global(resolver: Resolver<'_>, entry: &Entry) -> bool {
    let global = resolver.state.sections.function_globals.as_ref();
    global.is_some_and(|global| {
        global
            .get(&entry.key)
            .is_some_and(|value| Rc::ptr_eq(value, &entry.value))
    })
}

fn note_unknown_globals(resolver: Resolver<'_>, findings: &mut Findings) {
    let Some(global) = &resolver.state.sections.function_globals else {
        return;
    };
    for entry in global.fields().unwrap_or_default() {
        if names::is_never_global(&entry.key) {
            findings.wrong(
                &entry.value.place,
                format!(
                    "SAM takes no {} for all functions: say it of each",
                    cut(&entry.key)
                ),
            );
        } else if !names::is_of_function(&entry.key) {
            findings.note(
                &entry.value.place,
                "is no property of a function that is known here, and is ignored",
            );
        }
    }
}
