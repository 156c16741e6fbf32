//! The operations guide says what the template says.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn file(name: &str) -> String {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(workspace.join(name)).unwrap()
}

/// Returns the lines of a part of a text, without the line that begins it, up to the next line that begins like it.
fn part<'a>(text: &'a str, begins: &str, next: &str) -> Vec<&'a str> {
    let mut lines = text.lines().skip_while(|line| *line != begins);
    assert!(lines.next().is_some(), "no line {begins:?}");
    lines.take_while(|line| !line.starts_with(next)).collect()
}

/// Returns every name of a Markdown text that stands in backticks.
fn in_backticks(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the parameters of the template, and whether each has a default.
fn parameters(template: &str) -> Vec<(&str, bool)> {
    let mut parameters = Vec::new();
    let lines = part(template, "Parameters:", "Rules:");
    for line in lines {
        let name = line
            .strip_prefix("  ")
            .and_then(|line| line.strip_suffix(':'));
        if let Some(name) = name.filter(|name| !name.starts_with([' ', '#'])) {
            parameters.push((name, false));
        } else if line.starts_with("    Default:") {
            parameters.last_mut().unwrap().1 = true;
        }
    }
    parameters
}

#[test]
fn every_alarm_of_the_template_has_a_row_in_the_guide_and_the_other_way_round() {
    let (template, guide) = (file("template.yaml"), file("docs/operations.md"));
    let mut alarms = BTreeSet::new();
    let mut before = "";
    for line in template.lines() {
        if line.trim() == "Type: AWS::CloudWatch::Alarm" {
            alarms.insert(before.trim().trim_end_matches(':'));
        }
        before = line;
    }
    assert!(alarms.len() > 10, "{alarms:?}");
    let rows = part(&guide, "## Alarms", "## ").into_iter();
    let rows = rows.filter_map(|line| line.strip_prefix("| `"));
    let first_cells: Vec<&str> = rows.map(|row| row.split(" | ").next().unwrap()).collect();
    let named: Vec<String> = first_cells.iter().map(|cell| format!("`{cell}")).collect();
    let told: Vec<&str> = named.iter().flat_map(|cell| in_backticks(cell)).collect();
    let once: BTreeSet<&str> = told.iter().copied().collect();
    assert_eq!(once.len(), told.len(), "an alarm stands twice: {told:?}");
    assert_eq!(once, alarms);
}

#[test]
fn every_parameter_that_the_guide_sets_is_one_and_its_steps_name_all_that_have_no_default() {
    let (template, guide) = (file("template.yaml"), file("docs/operations.md"));
    let parameters = parameters(&template);
    assert!(parameters.len() > 20, "{parameters:?}");
    let words = guide.split(|c: char| c.is_whitespace() || c == '`');
    let set: BTreeSet<&str> = words
        .filter_map(|word| word.split_once('='))
        .map(|(name, _)| name)
        .filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
        .filter(|name| name.contains(|c: char| c.is_ascii_lowercase()))
        .filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric()))
        .collect();
    for name in &set {
        let known = parameters.iter().any(|(parameter, _)| parameter == name);
        assert!(
            known,
            "the guide sets {name}, which the template does not have"
        );
    }
    let steps = part(&guide, "### Steps", "## ").join("\n");
    for (name, has_default) in parameters {
        assert!(
            has_default || in_backticks(&steps).any(|told| told == name),
            "{name} has no default, and the guide's steps do not name it"
        );
    }
}
