//! `Ref` and `Fn::GetAtt`: parameters, pseudo parameters and resources.

use std::rc::Rc;

use super::super::node::{Entry, Kind, Node};
use super::super::parameters::Value;
use super::super::problem::{Fault, Found, cut};
use super::{Reach, Resolver, written, wrong_arguments};

impl<'r> Resolver<'r> {
    /// `Ref`.
    pub(super) fn refer(self, node: &Node, argument: &Rc<Node>) -> Found<Option<Rc<Node>>> {
        let name = self.name(node, argument)?;
        self.named(node, &name, &format!("!Ref {}", cut(&name)))
    }

    /// `Fn::GetAtt`: `Resource.Attribute`, or a list of the two.
    pub(super) fn get_attribute(self, node: &Node, argument: &Rc<Node>) -> Found<Rc<Node>> {
        let (resource, attribute) = match &argument.kind {
            Kind::List(items) => match items.as_slice() {
                [resource, attribute] => (self.some_text(resource)?, self.some_text(attribute)?),
                _ => return Err(wrong_arguments(node, "2")),
            },
            Kind::Null
            | Kind::Bool(_)
            | Kind::Number(_)
            | Kind::Text(_)
            | Kind::Map(_)
            | Kind::Call(_) => {
                let name = self.name(node, argument)?;
                let Some((resource, attribute)) = name.split_once('.') else {
                    let what = format!("{} is not of the form Resource.Attribute", written(node));
                    return Err(Fault::wrong(&node.place, what));
                };
                (resource.to_owned(), attribute.to_owned())
            }
        };
        let shown = format!("!GetAtt {}.{}", cut(&resource), cut(&attribute));
        self.attribute(node, &resource, &attribute, &shown)
    }

    /// Returns the name that is the argument of a function.
    fn name(self, node: &Node, argument: &Rc<Node>) -> Found<String> {
        if matches!(argument.kind, Kind::Call(_)) {
            self.state
                .sections
                .transforms
                .extended(&node.place, &format!("a function in {}", written(node)))?;
        }
        match self.some_text(argument)? {
            name if name.is_empty() => Err(Fault::wrong(
                &node.place,
                format!("{}names nothing", written(node)),
            )),
            name => Ok(name),
        }
    }

    /// Returns what a name stands for; none for `AWS::NoValue`.
    pub(super) fn named(self, node: &Node, name: &str, shown: &str) -> Found<Option<Rc<Node>>> {
        if name == "AWS::NoValue" {
            return Ok(None);
        }
        if let Some(pseudo) = name.strip_prefix("AWS::") {
            let value = self.pseudo(node, pseudo, shown)?;
            return Ok(Some(Node::text(&node.place, &value)));
        }
        if let Some(value) = self.state.parameters.value(name) {
            return Ok(Some(match value? {
                Value::One(text) => Node::text(&node.place, &text),
                Value::Many(texts) => {
                    self.state.trail.spend(texts.len())?;
                    Node::texts(&node.place, texts.iter().map(String::as_str))
                }
            }));
        }
        let resource = self.resource(node, name, shown)?;
        match self.resource_name(resource)? {
            Some(name) => self.made(node, &name).map(Some),
            None => Err(Fault::unknowable(&node.place, shown)),
        }
    }

    /// Returns the value of a pseudo parameter.
    ///
    /// Source: CloudFormation template reference, "Pseudo parameters".
    fn pseudo(self, node: &Node, name: &str, shown: &str) -> Found<String> {
        let options = self.state.options;
        let of_region = Partition::of(&options.region);
        Ok(match name {
            "AccountId" => options.account.clone(),
            "Partition" => of_region.name.to_owned(),
            "Region" => options.region.clone(),
            "StackId" => format!(
                "arn:{}:cloudformation:{}:{}:stack/{}/00000000-0000-0000-0000-000000000000",
                of_region.name, options.region, options.account, options.stack
            ),
            "StackName" => options.stack.clone(),
            "URLSuffix" => of_region.domain.to_owned(),
            "NotificationARNs" => return Err(Fault::unknowable(&node.place, shown)),
            _ => {
                let what = format!("{shown}: CloudFormation has no such pseudo parameter");
                return Err(Fault::wrong(&node.place, what));
            }
        })
    }

    /// Returns an attribute of a resource.
    pub(super) fn attribute(
        self,
        node: &Node,
        id: &str,
        attribute: &str,
        shown: &str,
    ) -> Found<Rc<Node>> {
        let resource = self.resource(node, id, shown)?;
        let unknowable = || Fault::unknowable(&node.place, shown);
        if attribute != "Arn" {
            return Err(unknowable());
        }
        let name = self.resource_name(resource)?.ok_or_else(unknowable)?;
        let options = self.state.options;
        let partition = Partition::of(&options.region).name;
        let arn = match resource.value.get("Type").and_then(|kind| kind.literal()) {
            Some("AWS::S3::Bucket") => format!("arn:{partition}:s3:::{name}"),
            _ if name.starts_with("arn:") => name,
            _ => format!(
                "arn:{partition}:lambda:{}:{}:function:{name}",
                options.region, options.account
            ),
        };
        self.made(node, &arn)
    }

    /// Returns a resource that is there.
    fn resource(self, node: &Node, id: &str, shown: &str) -> Found<&'r Entry> {
        if self.reach == Reach::Parameters && self.state.sections.resources.get(id).is_some() {
            let what =
                format!("{shown} is a resource, and only parameters can be referred to here");
            return Err(Fault::wrong(&node.place, what));
        }
        let resources = self.resources()?;
        let Some(resource) = resources.iter().find(|entry| &*entry.key == id) else {
            let generated = resources.iter().any(|entry| {
                let kind = entry.value.get("Type").and_then(|kind| kind.literal());
                kind == Some("AWS::Serverless::Function") && id.starts_with(&*entry.key)
            });
            if generated && self.reach == Reach::Everything {
                return Err(Fault::unknowable(
                    &node.place,
                    format_args!("{shown}, which SAM may generate,"),
                ));
            }
            let what = format!(
                "{shown}: the template has no parameter or resource {}",
                cut(id)
            );
            return Err(Fault::wrong(&node.place, what));
        };
        if self.is_there(resource)? {
            return Ok(resource);
        }
        let condition = resource
            .value
            .get("Condition")
            .and_then(|condition| condition.literal());
        let condition = cut(condition.unwrap_or_default());
        let what = format!("{shown} is not there, because its condition {condition} is false");
        Err(Fault::wrong(&node.place, what))
    }

    /// Returns the resources, with loops unrolled.
    pub(in super::super) fn resources(self) -> Found<&'r [Entry]> {
        let section = &self.state.sections.resources;
        let everything = Self {
            reach: Reach::Everything,
            ..self
        };
        everything.section(section, "Resources", &self.state.unrolled_resources)
    }

    /// Tells whether a resource is there: its condition is true or it has none.
    pub(in super::super) fn is_there(self, resource: &Entry) -> Found<bool> {
        let Some(condition) = resource.value.get("Condition") else {
            return Ok(true);
        };
        match condition.literal() {
            Some(name) => self.condition(name, &condition.place),
            None => Err(condition.is_not("the name of a condition")),
        }
    }

    /// Returns the name of a function, which is its logical ID when it has none, or of a bucket that has one.
    pub(in super::super) fn resource_name(self, resource: &Entry) -> Found<Option<String>> {
        let place = &resource.value.place;
        let _deeper = self.state.trail.deeper(place)?;
        let _inside = self.state.trail.enter(place, &resource.key)?;
        let property = |name| {
            let properties = resource.value.get("Properties")?;
            properties.get(name)
        };
        match resource.value.get("Type").and_then(|kind| kind.literal()) {
            Some("AWS::Serverless::Function" | "AWS::Lambda::Function") => {
                let name = property("FunctionName").map(|name| self.text(name));
                let name = name.transpose()?.flatten();
                Ok(Some(name.unwrap_or_else(|| resource.key.to_string())))
            }
            Some("AWS::S3::Bucket") => {
                let name = property("BucketName").map(|name| self.text(name));
                Ok(name.transpose()?.flatten())
            }
            _ => Ok(None),
        }
    }
}

/// What a region belongs to.
pub(in super::super) struct Partition {
    pub(in super::super) name: &'static str,
    domain: &'static str,
}

impl Partition {
    /// Finds a region's partition.
    ///
    /// Source: botocore's `partitions.json`.
    pub(in super::super) fn of(region: &str) -> Self {
        let (name, domain) = match region.split('-').collect::<Vec<_>>().as_slice() {
            ["cn", ..] => ("aws-cn", "amazonaws.com.cn"),
            ["us", "gov", ..] => ("aws-us-gov", "amazonaws.com"),
            ["us", "iso", ..] => ("aws-iso", "c2s.ic.gov"),
            ["us", "isob", ..] => ("aws-iso-b", "sc2s.sgov.gov"),
            ["eu", "isoe", ..] => ("aws-iso-e", "cloud.adc-e.uk"),
            ["us", "isof", ..] => ("aws-iso-f", "csp.hci.ic.gov"),
            ["eusc", ..] => ("aws-eusc", "amazonaws.eu"),
            _ => ("aws", "amazonaws.com"),
        };
        Self { name, domain }
    }
}
