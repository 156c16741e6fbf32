//! The text of a template: YAML and JSON, and what is neither.

use local::template::{Template, TemplateOptions};

use crate::bench::{check_problems, options, read_well, with_function};

fn refuse(text: &str, expected: &str) {
    check_problems(text, &options(), &[expected]);
}

fn refuse_bytes(bytes: &[u8], expected: &str) {
    let error = Template::read("t.yaml", bytes, &TemplateOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn json_says_the_same_as_yaml() {
    let yaml = with_function(
        "Parameters: {P: {Type: Number, Default: 5}}\n",
        "      Timeout: !Ref P\n      Environment: {Variables: {A1: !Sub 'x-${P}', B1: true}}\n",
    );
    let json = r#"{
	"Transform": ["AWS::LanguageExtensions", "AWS::Serverless-2016-10-31"],
	"Parameters": {"P": {"Type": "Number", "Default": 5}},
	"Resources": {
		"F": {
			"Type": "AWS::Serverless::Function",
			"Properties": {
				"Timeout": {"Ref": "P"},
				"Environment": {"Variables": {"A1": {"Fn::Sub": "x-${P}"}, "B1": true}},
				"Events": {"E": {"Type": "MSK", "Properties": {"Stream": "arn:aws:kafka:x", "Topics": ["t"], "StartingPosition": "LATEST"}}}
			}
		}
	}
}"#;
    assert_eq!(read_well(json, &options()), read_well(&yaml, &options()));
    let wrong = json.replace("{\"Ref\": \"P\"}", "{\"Ref\": \"Q\"}");
    refuse(
        &wrong,
        "t.yaml:8: Resources.F.Properties.Timeout: !Ref Q: the template has no parameter or resource Q",
    );
}

#[test]
fn line_ends_and_a_byte_order_mark_do_not_matter() {
    let text = with_function(
        "",
        "      Description: |\n        two\n        lines\n      Timeout: 5\n",
    );
    let expected = read_well(&text, &options());
    assert_eq!(read_well(&text.replace('\n', "\r\n"), &options()), expected);
    assert_eq!(read_well(&format!("\u{feff}{text}"), &options()), expected);
    assert_eq!(
        read_well(&format!("---\n{text}...\n"), &options()),
        expected
    );
    let wrong = text
        .replace("Timeout: 5", "Timeout: 0")
        .replace('\n', "\r\n");
    refuse(
        &wrong,
        "t.yaml:9: Resources.F.Properties.Timeout: \"0\" is not a whole number from 1 to 900",
    );
}

#[test]
fn what_is_no_yaml_is_refused_in_its_line() {
    refuse("", "t.yaml: the template is empty");
    refuse("\n# nothing\n", "t.yaml: the template is empty");
    refuse(
        "A: 1\nB:\n\t- 1\n",
        "t.yaml:3: is not YAML: tabs disallowed within this context (block indentation) (YAML is indented with spaces)",
    );
    refuse(
        "A: b: c\n",
        "t.yaml:1: is not YAML: mapping values are not allowed in this context",
    );
    refuse(
        "A: 1\n---\nB: 1\n",
        "t.yaml:2: a second document begins: a template is one",
    );
    refuse_bytes(
        b"A: 1\nB: \xff\n",
        "t.yaml:2: is not UTF-8: save the template as UTF-8",
    );
    refuse_bytes(
        b"\xff\xfeA\0",
        "t.yaml:1: is UTF-16: save the template as UTF-8",
    );
    refuse_bytes(
        b"\x7fELF\x02\x01\x01\0\0",
        "t.yaml:1: holds the control character U+007F: is this a template?",
    );
    refuse_bytes(
        b"A: 1\nB: \0\n",
        "t.yaml:2: holds the control character U+0000: is this a template?",
    );
    refuse_bytes(
        &vec![b'#'; 1_048_577],
        "t.yaml: the template has 1048577 bytes, and CloudFormation takes 1048576 at most",
    );
}

#[test]
fn what_cloudformation_does_not_take_is_refused_in_its_line() {
    refuse(
        "A: &x 1\nB: *x\n",
        "t.yaml:2: B: an alias (*name) is not taken by CloudFormation: write the value out",
    );
    refuse(
        "A: {b: &x {c: 1}}\nB:\n  <<: *x\n",
        "t.yaml:3: B: a merge key (<<) is not taken by CloudFormation: write the entries out",
    );
    refuse(
        "A: 1\nB:\n  - C: 1\n    D: 2\n    C: 3\n",
        "t.yaml:5: B[0]: the key \"C\" stands twice, first in line 3",
    );
    refuse(
        "{\"A\": 1, \"A\": 2}",
        "t.yaml:1: the key \"A\" stands twice, first in line 1",
    );
    refuse(
        "A: !!binary aGFsbG8=\n",
        "t.yaml:1: A: the tag !!binary is not taken by CloudFormation here",
    );
    refuse(
        "A: !!set {a, b}\n",
        "t.yaml:1: A: the tag !!set is not taken by CloudFormation here",
    );
    refuse(
        "A: !<tag:x> b\n",
        "t.yaml:1: A: the tag !<tag:x> is not taken by CloudFormation here",
    );
    refuse("!Ref a: b\n", "t.yaml:1: the key \"a\" has a tag, !Ref");
    refuse(
        "? [a]\n: b\n",
        "t.yaml:1: a key is a list or a map, and must be a text",
    );
}

#[test]
fn an_anchor_that_nobody_refers_to_does_no_harm() {
    let text = with_function("", "      Timeout: &timeout 5\n");
    read_well(&text, &options());
}

#[test]
fn sections_that_make_no_sense_are_refused() {
    let known = "AWSTemplateFormatVersion, Conditions, Description, Globals, Hooks, Mappings, Metadata, Outputs, Parameters, Resources, Rules, Transform";
    refuse("text\n", "t.yaml:1: is one value, where a map is expected");
    refuse("- a\n", "t.yaml:1: is a list, where a map is expected");
    refuse("Description: x\n", "t.yaml:1: has no section Resources");
    refuse(
        "Resources: []\n",
        "t.yaml:1: Resources: is a list, where a map is expected",
    );
    refuse(
        "Resources:\n",
        "t.yaml:1: Resources: has no value, where a map is expected",
    );
    refuse(
        "Resources: {}\n",
        "t.yaml:1: Resources: has 0 resources, and CloudFormation takes 1 to 500",
    );
    refuse(
        "Resources: {A: []}\n",
        "t.yaml:1: Resources.A: is a list, where a map is expected",
    );
    refuse("Resources: {A: {}}\n", "t.yaml:1: Resources.A: has no Type");
    refuse(
        "Resources: {A: {Type: [x]}}\n",
        "t.yaml:1: Resources.A.Type: is a list, where the name of a type is expected",
    );
    refuse(
        "Resources: {Fn::Transform: x}\n",
        "t.yaml:1: Resources: is !Transform x, where a map is expected",
    );
    refuse(
        "Resources: {Fn::Transform: x, A: {Type: B}}\n",
        "t.yaml:1: Resources: Fn::Transform stands beside other keys, and a function must stand alone",
    );
    refuse(
        "Resources: {A: {Type: B}}\nParameters: []\n",
        "t.yaml:2: Parameters: is a list, where a map is expected",
    );
    refuse(
        "Resources: {A: {Type: B}}\nGlobals: x\n",
        "t.yaml:2: Globals: is one value, where a map is expected",
    );
    refuse(
        "Ressources: {}\nResources: {A: {Type: B}}\n",
        &format!("t.yaml:1: Ressources: is none of a template's sections, which are {known}"),
    );
    refuse(
        "Resources: {A: {Type: B}}\nTransform: [MyMacro]\n",
        "t.yaml:2: Transform[0]: the transform \"MyMacro\" may change anything, and does not run here",
    );
}

#[test]
fn a_template_without_sams_transform_is_refused_when_it_has_functions() {
    let text = with_function("", "").replace(", AWS::Serverless-2016-10-31", "");
    refuse(
        &text,
        "t.yaml: the template has no Transform: AWS::Serverless-2016-10-31, without which CloudFormation knows no AWS::Serverless::Function",
    );
    read_well("Resources: {A: {Type: AWS::S3::Bucket}}\n", &options());
}
