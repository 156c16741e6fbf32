//! Templates that mean harm: whatever comes, there is an answer, soon.

use std::time::{Duration, SystemTime};

use local::template::Template;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::bench::{EVENT, of_resources, options, read, with_function};

/// Reads a template and asserts that this took no more than a few seconds.
#[expect(clippy::disallowed_methods, reason = "real time is what is measured")]
fn survive(what: &str, text: &str) -> Result<Template, Vec<String>> {
    let start = SystemTime::now();
    let answer = read(text, &options());
    let took = start.elapsed().unwrap_or_default();
    assert!(took < Duration::from_secs(20), "{what} took {took:?}");
    answer
}

fn refuse(what: &str, text: &str, expected: &str) {
    let problems = survive(what, text).expect_err(what);
    let first = problems.first().map(String::as_str).unwrap_or_default();
    assert!(first.contains(expected), "{what}: {first}");
}

fn with_variable(sections: &str, value: &str) -> String {
    with_function(
        sections,
        &format!("      Environment: {{Variables: {{OUT: {value}}}}}\n"),
    )
}

#[test]
fn deep_nesting_is_refused() {
    for depth in [101, 200, 10_000] {
        let lists = format!("Resources: {}{}", "[".repeat(depth), "]".repeat(depth));
        survive("lists", &lists).unwrap_err();
        let blocks: Vec<String> = (0..depth)
            .map(|level| format!("{}a:\n", " ".repeat(level % 1_000)))
            .collect();
        let blocks = blocks.concat();
        survive("blocks", &blocks).unwrap_err();
        let dashes = format!("Resources:\n  {}x", "- ".repeat(depth));
        refuse("dashes", &dashes, "is nested more than 100 deep");
        survive("keys", &"? ".repeat(depth)).unwrap_err();
    }
    let nested = format!("{}x{}", "!Join ['', [".repeat(40), "]]".repeat(40));
    assert_eq!(
        survive("joins", &with_variable("", &nested))
            .unwrap()
            .functions[0]
            .env["OUT"],
        "x"
    );
}

#[test]
fn laughs_are_refused_at_the_first_alias() {
    let levels = (1..30)
        .zip(0..)
        .map(|(level, below)| format!("A{level}: &a{level} [*a{below}, *a{below}]\n"));
    let laughs = format!("A0: &a0 [ha, ha]\n{}", levels.collect::<Vec<_>>().concat());
    refuse("laughs", &laughs, "t.yaml:2: A1[0]: an alias");
}

#[test]
fn long_chains_are_refused() {
    let links = (1..10_000)
        .zip(0..)
        .map(|(number, below)| format!("  C{number}: !Not [!Condition C{below}]\n"));
    let conditions = format!(
        "Conditions:\n  C0: !Equals [a, a]\n{}",
        links.collect::<Vec<_>>().concat()
    );
    refuse(
        "conditions",
        &with_variable(&conditions, "!If [C9999, a, b]"),
        "goes through more than 100",
    );
    let short = "!If [C40, a, b]";
    assert_eq!(
        survive("few", &with_variable(&conditions, short))
            .unwrap()
            .functions[0]
            .env["OUT"],
        "a"
    );
}

#[test]
fn names_that_double_are_refused() {
    for leaf in ["x", ""] {
        let doubled = (1..40).zip(0..).map(|(number, below)| {
            format!("  B{number}: {{Type: AWS::S3::Bucket, Properties: {{BucketName: !Sub '${{B{below}}}${{B{below}}}'}}}}\n")
        });
        let resources = format!(
            "  B0: {{Type: AWS::S3::Bucket, Properties: {{BucketName: '{leaf}'}}}}\n{}",
            doubled.collect::<Vec<_>>().concat()
        );
        let text = with_variable("", "!Ref B39")
            .replace("Resources:\n", &format!("Resources:\n{resources}"));
        survive("doubling", &text).unwrap_err();
    }
}

#[test]
fn loops_in_loops_are_refused() {
    let values: Vec<String> = (0..100).map(|value| format!("v{value}")).collect();
    let values = values.join(",");
    let inner = format!(
        "{{'Fn::ForEach::C': [C, [{values}], {{'X${{A}}${{B}}${{C}}': {{Type: AWS::S3::Bucket}}}}]}}"
    );
    let middle = format!("{{'Fn::ForEach::B': [B, [{values}], {inner}]}}");
    let text = format!(
        "Transform: AWS::LanguageExtensions\nResources:\n  Fn::ForEach::A: [A, [{values}], {middle}]\n"
    );
    refuse("loops", &text, "too much work");
    let circle = "Transform: AWS::LanguageExtensions\nResources:\n  Fn::ForEach::A: [A, !If [C, [a], [b]], {'X${A}': {Type: AWS::S3::Bucket}}]\n\
                  Conditions:\n  Fn::ForEach::D: [D, !If [C, [a], [b]], {'C${D}': !Equals [a, a]}]\n";
    refuse("a loop over itself", circle, "Conditions depends on itself");
}

#[test]
fn huge_texts_and_numbers_do_no_harm() {
    let digits = "9".repeat(100_000);
    refuse(
        "a huge number",
        &with_function("", &format!("      Timeout: {digits}\n")),
        "is not a whole number from 1 to 900",
    );
    refuse(
        "a huge fraction",
        &with_function("", &format!("      Timeout: 1.{digits}\n")),
        "is read in several ways",
    );
    refuse(
        "a huge exponent",
        &with_function("", "      Timeout: 1e999999999\n"),
        "is read in several ways",
    );
    refuse(
        "a huge name",
        &with_variable("", &format!("!Ref {digits}")),
        "the template has no parameter or resource 999",
    );
    let key = "k".repeat(500_000);
    let problems = survive(
        "a huge key",
        &format!("{key}: 1\nResources: {{A: {{Type: B}}}}\n"),
    )
    .unwrap_err();
    assert!(problems[0].len() < 1_000, "{}", problems[0].len());
    let parameter =
        "Parameters: {P: {Type: String, AllowedPattern: '(((a{100}){100}){100}){100}'}}\n";
    survive("a huge pattern", &with_variable(parameter, "!Ref P")).unwrap_err();
    let parts = with_variable(
        "",
        &format!("!Join [x, !Split [',', '{}']]", ",".repeat(900_000)),
    );
    survive("many parts", &parts).unwrap_err();
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let problems = survive(
        "an escape",
        &with_variable("", "!Ref \"\\e[31mred\\n\\u202e\""),
    )
    .unwrap_err();
    assert!(
        !problems.concat().contains(['\u{1b}', '\n', '\u{202e}']),
        "{problems:?}"
    );
}

#[test]
fn many_functions_with_many_globals_are_refused() {
    let variables: Vec<String> = (0..5_000).map(|number| format!("V{number}x: ''")).collect();
    let globals = format!(
        "Globals: {{Function: {{Environment: {{Variables: {{{}}}}}}}}}\n",
        variables.join(", ")
    );
    let functions = |number: i32| {
        let functions: Vec<String> = (0..number)
            .map(|number| format!("  F{number}: {{Type: AWS::Serverless::Function, Properties: {{Events: {{E: {EVENT}}}}}}}\n"))
            .collect();
        let text = of_resources(&functions.concat());
        text.replace("Resources:", &format!("{globals}Resources:"))
    };
    refuse("many", &functions(501), "has 501 resources");
    refuse("fewer", &functions(500), "too much work");
}

/// Breaks well-formed templates in every which way: cut off, doubled, swapped.
#[test]
fn broken_templates_never_panic() {
    let own = include_str!("../../../template.yaml");
    let other = with_function(
        "Parameters: {P: {Type: List<Number>, Default: '1,2'}}\nConditions: {C: !Not [!Equals [!Ref P, [a]]]}\nMappings: {M: {a: {b: c}}}\n",
        "      Timeout: !Select [0, !Ref P]\n      Environment: {Variables: {A1: !Sub ['${x}', {x: !FindInMap [M, a, b]}], B1: !If [C, {Fn::Base64: x}, !Cidr ['10.0.0.0/8', 2, 8]]}}\n",
    );
    let mut random = SmallRng::seed_from_u64(20_261_130);
    let pieces = [
        "!Ref ", "!Sub ", "!If ", "Fn::", "${", "}", "[", "]", "{", "}", ": ", "- ", "\n", "  ",
        "'", "\"", "&a ", "*a", "|", ">", "#", "!", "? ", ",", "\t", "ä", "0", "-1", "~",
    ];
    for round in 0..3_000 {
        let mut text: Vec<char> = if round % 4 == 0 { own } else { &other }.chars().collect();
        for _ in 0..random.random_range(1..6) {
            let at = random.random_range(0..text.len());
            let end = (at + random.random_range(0..20)).min(text.len());
            match random.random_range(0..4) {
                0 => drop(text.drain(at..end)),
                1 => text.truncate(at.max(1)),
                2 => {
                    let piece = pieces[random.random_range(0..pieces.len())];
                    text.splice(at..at, piece.chars());
                }
                _ => {
                    let copy: Vec<char> = text[at..end].to_vec();
                    let to = random.random_range(0..=text.len());
                    text.splice(to..to, copy);
                }
            }
            if text.is_empty() {
                break;
            }
        }
        let text: String = text.into_iter().collect();
        if let Err(problems) = read(&text, &options()) {
            assert!(!problems.is_empty());
            assert!(
                problems
                    .iter()
                    .all(|problem| problem.starts_with("t.yaml:")),
                "{problems:#?}"
            );
        }
    }
}
