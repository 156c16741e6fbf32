//! Templates to try things in.

use local::template::{Template, TemplateFunction, TemplateMapping, TemplateOptions};

/// Options with brokers, so that sources need not be resolvable.
pub(crate) fn options() -> TemplateOptions {
    TemplateOptions {
        fixed_brokers: Some("127.0.0.1:9092".to_owned()),
        ..TemplateOptions::default()
    }
}

/// Options with parameters, too.
pub(crate) fn with_parameters(parameters: &[(&str, &str)]) -> TemplateOptions {
    let parameters = parameters.iter().copied();
    TemplateOptions {
        parameters: parameters
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        ..options()
    }
}

/// Reads a template, and returns each problem in its line of text.
pub(crate) fn read(text: &str, options: &TemplateOptions) -> Result<Template, Vec<String>> {
    Template::read("t.yaml", text.as_bytes(), options)
        .map_err(|error| error.to_string().lines().map(str::to_owned).collect())
}

/// Reads a template that nothing is wrong with.
pub(crate) fn read_well(text: &str, options: &TemplateOptions) -> Template {
    read(text, options).unwrap_or_else(|problems| panic!("{problems:#?}\n{text}"))
}

/// Asserts that exactly these problems are reported, in this order.
pub(crate) fn check_problems(text: &str, options: &TemplateOptions, expected: &[&str]) {
    let problems = read(text, options).expect_err("something is wrong");
    assert_eq!(problems, expected, "{text}");
}

/// A function `F` with one enabled mapping; `sections` go before, `properties` into the function.
///
/// The first line of `properties` is line `lines_of(sections) + 5` of the whole.
pub(crate) fn with_function(sections: &str, properties: &str) -> String {
    format!(
        "Transform: [AWS::LanguageExtensions, AWS::Serverless-2016-10-31]
{sections}Resources:
  F:
    Type: AWS::Serverless::Function
    Properties:
{properties}      Events:
        E:
          Type: MSK
          Properties: {{Stream: 'arn:aws:kafka:x', Topics: [t], StartingPosition: LATEST}}
"
    )
}

/// A function `F` whose mapping `E` has these properties, from line 8 on, indented by 12.
pub(crate) fn with_mapping(kind: &str, properties: &str) -> String {
    format!(
        "Transform: AWS::Serverless-2016-10-31
Resources:
  F:
    Type: AWS::Serverless::Function
    Properties:
      Events:
        E: {{Type: {kind}, Properties: {{
{properties}
        }}}}
"
    )
}

/// The only function of a template.
pub(crate) fn function(template: &Template) -> &TemplateFunction {
    match template.functions.as_slice() {
        [function] => function,
        functions => panic!("{} functions", functions.len()),
    }
}

/// The only mapping of the only function.
pub(crate) fn mapping(template: &Template) -> &TemplateMapping {
    match function(template).mappings.as_slice() {
        [mapping] => mapping,
        mappings => panic!("{} mappings", mappings.len()),
    }
}

/// An event that is an enabled Kafka mapping.
pub(crate) const EVENT: &str =
    "{Type: MSK, Properties: {Stream: x, Topics: [t], StartingPosition: LATEST}}";

/// The functions, by logical ID.
pub(crate) fn ids(template: &Template) -> Vec<&str> {
    template
        .functions
        .iter()
        .map(|function| function.id.as_str())
        .collect()
}

/// A template of these resources, from line 3 on.
pub(crate) fn of_resources(resources: &str) -> String {
    format!("Transform: AWS::Serverless-2016-10-31\nResources:\n{resources}")
}
