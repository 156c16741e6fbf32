//! The sections of a template.

use std::rc::Rc;

use super::node::{Entry, Kind, Node};
use super::place::Place;
use super::problem::{Fault, Findings, Found, quoted};

/// Every section that a template may have.
///
/// Source: CloudFormation user guide, "Template sections", and SAM developer guide, "Template anatomy".
const KNOWN: [&str; 12] = [
    "AWSTemplateFormatVersion",
    "Conditions",
    "Description",
    "Globals",
    "Hooks",
    "Mappings",
    "Metadata",
    "Outputs",
    "Parameters",
    "Resources",
    "Rules",
    "Transform",
];

/// Transforms that leave functions and their mappings as they are.
const HARMLESS: [&str; 4] = [
    "AWS::CodeDeployBlueGreen",
    "AWS::SecretsManager-2020-07-23",
    "AWS::SecretsManager-2024-09-16",
    "AWS::ServiceCatalog",
];

const SERVERLESS: &str = "AWS::Serverless-2016-10-31";
const EXTENSIONS: &str = "AWS::LanguageExtensions";

/// The sections that functions depend on.
#[derive(Debug)]
pub(super) struct Sections {
    pub(super) parameters: Vec<Entry>,
    pub(super) mappings: Option<Rc<Node>>,
    pub(super) conditions: Option<Rc<Node>>,
    pub(super) resources: Rc<Node>,
    /// `Globals.Function`.
    pub(super) function_globals: Option<Rc<Node>>,
    pub(super) transforms: Transforms,
}

/// The transforms that this program knows.
#[derive(Debug, Default)]
pub(super) struct Transforms {
    /// The position of SAM's.
    pub(super) serverless: Option<usize>,
    /// The position of the one that has loops and more functions.
    extensions: Option<usize>,
}

impl Sections {
    /// Finds the sections; what is wrong with one does not hide what is wrong with another.
    pub(super) fn read(root: &Rc<Node>, findings: &mut Findings) -> Option<Self> {
        let fields = findings.keep(root.fields())?;
        for Entry { key, value } in fields {
            if !KNOWN.contains(&&**key) {
                let known = KNOWN.join(", ");
                findings.wrong(
                    &value.place,
                    format!("is none of a template's sections, which are {known}"),
                );
            }
        }
        let parameters = root.get("Parameters");
        let parameters = parameters.map_or(Ok(&[][..]), |section| section.fields());
        let globals = root.get("Globals").map(|section| section.fields());
        let transforms = Transforms::read(root);
        let resources = match root.get("Resources") {
            None => Err(Fault::wrong(&root.place, "has no section Resources")),
            Some(section) => Ok(Rc::clone(section)),
        };
        let parameters = findings.keep(parameters);
        let globals = globals.map_or(Some(&[][..]), |globals| findings.keep(globals));
        let transforms = findings.keep(transforms);
        let resources = findings.keep(resources);
        let mut function_globals = None;
        for Entry { key, value } in globals? {
            if &**key == "Function" {
                findings.keep(value.fields())?;
                function_globals = Some(Rc::clone(value));
            }
        }
        Some(Self {
            parameters: parameters?.to_vec(),
            mappings: root.get("Mappings").map(Rc::clone),
            conditions: root.get("Conditions").map(Rc::clone),
            resources: resources?,
            function_globals,
            transforms: transforms?,
        })
    }
}

impl Transforms {
    fn read(root: &Rc<Node>) -> Found<Self> {
        let mut transforms = Self::default();
        let Some(section) = root.get("Transform") else {
            return Ok(transforms);
        };
        let alone = [Rc::clone(section)];
        let names = match &section.kind {
            Kind::List(names) => names.as_slice(),
            Kind::Null
            | Kind::Bool(_)
            | Kind::Number(_)
            | Kind::Text(_)
            | Kind::Map(_)
            | Kind::Call(_) => &alone,
        };
        for (position, node) in names.iter().enumerate() {
            match node.literal() {
                Some(SERVERLESS) => transforms.serverless = Some(position),
                Some(EXTENSIONS) => transforms.extensions = Some(position),
                Some(name) if HARMLESS.contains(&name) => {}
                Some(name) => {
                    let what = format!(
                        "the transform {} may change anything, and does not run here",
                        quoted(name)
                    );
                    return Err(Fault::wrong(&node.place, what));
                }
                None => return Err(node.is_not("the name of a transform")),
            }
        }
        Ok(transforms)
    }

    /// Says that something needs the transform `AWS::LanguageExtensions`, unless it is there, ahead of SAM's.
    pub(super) fn extended(&self, place: &Place, what: &str) -> Found<()> {
        let before = |extensions: usize| {
            self.serverless
                .is_none_or(|serverless| extensions < serverless)
        };
        match self.extensions {
            Some(extensions) if before(extensions) => Ok(()),
            Some(_) => {
                let what = format!("{what} needs the transform {EXTENSIONS} ahead of {SERVERLESS}");
                Err(Fault::wrong(place, what))
            }
            None => Err(Fault::wrong(
                place,
                format!("{what} needs the transform {EXTENSIONS}"),
            )),
        }
    }
}
