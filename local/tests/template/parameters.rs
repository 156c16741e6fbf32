//! Parameters: what is given, and what the template allows.

use crate::bench::{
    check_problems, function, options, read, read_well, with_function, with_parameters,
};

/// A template with one parameter `P`, in line 3, which the function needs.
fn template(declaration: &str) -> String {
    let sections = format!("Parameters:\n  P: {{{declaration}}}\n");
    with_function(
        &sections,
        "      Environment: {Variables: {OUT: !Join ['|', [!Ref P]]}}\n",
    )
}

fn lists(declaration: &str) -> String {
    template(declaration).replace("[!Ref P]", "!Ref P")
}

fn check(declaration: &str, given: &str, expected: &str) {
    let read = read(&template(declaration), &with_parameters(&[("P", given)]));
    let value = read.map(|template| function(&template).env["OUT"].clone());
    assert_eq!(value.as_deref(), Ok(expected), "{declaration} {given:?}");
}

fn refuse(declaration: &str, given: &str, expected: &str) {
    let expected = format!("t.yaml:3: Parameters.P{expected}");
    check_problems(
        &template(declaration),
        &with_parameters(&[("P", given)]),
        &[&expected],
    );
}

#[test]
fn what_is_given_wins_over_the_default() {
    check("Type: String, Default: a", "b", "b");
    check("Type: String, Default: a", "", "");
    check("Type: Number, Default: 1", "2.5", "2.5");
    check("Type: 'AWS::EC2::Subnet::Id'", "subnet-1", "subnet-1");
    check("Type: 'AWS::SSM::Parameter::Name'", "/a", "/a");
    check(
        "Type: 'AWS::SSM::Parameter::Value<String>', Default: /a",
        "the value",
        "the value",
    );
    check("Type: String, Default: true", "no", "no");
}

#[test]
fn a_list_is_divided_at_its_commas_and_trimmed() {
    let check = |kind: &str, given: &str, expected: &str| {
        let text = lists(&format!("Type: '{kind}'"));
        let template = read_well(&text, &with_parameters(&[("P", given)]));
        assert_eq!(function(&template).env["OUT"], expected, "{kind} {given:?}");
    };
    check("CommaDelimitedList", "a, b ,c", "a|b|c");
    check("CommaDelimitedList", "a,,c", "a||c");
    check("CommaDelimitedList", "", "");
    check("List<Number>", "1, 2", "1|2");
    check("List<AWS::EC2::Subnet::Id>", "s-1,s-2", "s-1|s-2");
    check("AWS::SSM::Parameter::Value<List<String>>", "a,b", "a|b");
    check(
        "AWS::SSM::Parameter::Value<CommaDelimitedList>",
        "a,b",
        "a|b",
    );
}

#[test]
fn what_the_template_does_not_allow_is_refused() {
    refuse("Type: Number", "x", ": \"x\" is not a number");
    refuse("Type: Number", "NaN", ": \"NaN\" is not a number");
    refuse(
        "Type: Number, MinValue: 1",
        "0",
        ": \"0\" is less than the MinValue 1",
    );
    refuse(
        "Type: Number, MaxValue: 1.5",
        "1.6",
        ": \"1.6\" is more than the MaxValue 1.5",
    );
    refuse(
        "Type: String, AllowedValues: [a, 1, true]",
        "b",
        ": \"b\" is not among the AllowedValues a, 1, true",
    );
    refuse(
        "Type: String, AllowedPattern: '[a-z]*'",
        "aB",
        ": \"aB\" does not match the AllowedPattern \"[a-z]*\"",
    );
    refuse(
        "Type: String, AllowedPattern: 'a|b'",
        "ab",
        ": \"ab\" does not match the AllowedPattern \"a|b\"",
    );
    refuse(
        "Type: String, MinLength: 2",
        "ä",
        ": \"ä\" is shorter than the MinLength 2",
    );
    refuse(
        "Type: String, MaxLength: 2",
        "äöü",
        ": \"äöü\" is longer than the MaxLength 2",
    );
    refuse(
        "Type: String, AllowedPattern: '[a-z]+', ConstraintDescription: must be lower case",
        "A",
        ": \"A\" does not match the AllowedPattern \"[a-z]+\": must be lower case",
    );
    refuse(
        "Type: String, NoEcho: true, MinLength: 9",
        "secret",
        ": its value is shorter than the MinLength 9",
    );
    check("Type: String, AllowedValues: [a, 1, true]", "1", "1");
    check(
        "Type: String, AllowedPattern: '[a-z]*', MinLength: 1, MaxLength: '3'",
        "abc",
        "abc",
    );
    check("Type: Number, MinValue: -1, MaxValue: 10", "10", "10");
}

#[test]
fn each_entry_of_a_list_is_checked() {
    let options = |given| with_parameters(&[("P", given)]);
    let text = lists("Type: CommaDelimitedList, AllowedPattern: '[a-z]+'");
    read_well(&text, &options("a, b"));
    let expected = "t.yaml:3: Parameters.P: \"B\" does not match the AllowedPattern \"[a-z]+\"";
    check_problems(&text, &options("a, B"), &[expected]);
    let expected = "t.yaml:3: Parameters.P: \"x\" is not a number";
    check_problems(&lists("Type: List<Number>"), &options("1,x"), &[expected]);
}

#[test]
fn a_default_is_checked_when_it_is_used() {
    let text = template("Type: String, Default: a, AllowedValues: [b]");
    let expected = "t.yaml:3: Parameters.P: \"a\" is not among the AllowedValues b";
    check_problems(&text, &options(), &[expected]);
    read_well(&text.replace("!Ref P", "x"), &options());
    read_well(&text, &with_parameters(&[("P", "b")]));
}

#[test]
fn a_parameter_that_nothing_needs_may_be_missing() {
    let text = template("Type: String");
    let expected = "t.yaml:3: Parameters.P: has no default, and it is needed: give --parameter P=…";
    check_problems(&text, &options(), &[expected]);
    read_well(&text.replace("!Ref P", "x"), &options());
}

#[test]
fn a_parameter_that_is_needed_twice_is_reported_once() {
    let text = template("Type: String")
        .replace("[!Ref P]", "[!Ref P, !Ref P]")
        .replace("OUT:", "ALSO: !Ref P, OUT:");
    let expected = "t.yaml:3: Parameters.P: has no default, and it is needed: give --parameter P=…";
    check_problems(&text, &options(), &[expected]);
}

#[test]
fn a_name_that_is_no_parameter_is_refused_with_those_that_are() {
    let text = template("Type: String");
    check_problems(
        &text.replace("!Ref P", "x"),
        &with_parameters(&[("Q", "1"), ("p", "2")]),
        &[
            "t.yaml: the template has no parameter \"Q\": it has P",
            "t.yaml: the template has no parameter \"p\": it has P",
        ],
    );
    check_problems(
        &with_function("", ""),
        &with_parameters(&[("Q", "1")]),
        &["t.yaml: the template has no parameter \"Q\": it has none"],
    );
}

#[test]
fn what_is_given_is_checked_though_nothing_needs_it() {
    let text = template("Type: Number").replace("!Ref P", "x");
    check_problems(
        &text,
        &with_parameters(&[("P", "x")]),
        &["t.yaml:3: Parameters.P: \"x\" is not a number"],
    );
}

#[test]
fn a_declaration_that_makes_no_sense_is_refused() {
    refuse("Default: a", "x", ": has no Type");
    refuse(
        "Type: Strings",
        "x",
        ": has the type \"Strings\", which is none of CloudFormation's",
    );
    refuse(
        "Type: String, MinLength: a",
        "x",
        ".MinLength: is one value, where a number is expected",
    );
    refuse(
        "Type: String, AllowedValues: a",
        "x",
        ".AllowedValues: is one value, where a list is expected",
    );
    refuse(
        "Type: String, Defualt: a",
        "x",
        ".Defualt: is nothing that a parameter has, which is AllowedPattern, AllowedValues, ConstraintDescription, Default, Description, MaxLength, MaxValue, MinLength, MinValue, NoEcho, Type",
    );
    let text = template("Type: CommaDelimitedList, Default: [a]");
    check_problems(
        &text,
        &options(),
        &["t.yaml:3: Parameters.P.Default: is a list, where a text is expected"],
    );
    let text = template("Type: String, Default: 0123");
    check_problems(
        &text,
        &options(),
        &[
            "t.yaml:3: Parameters.P.Default: the number 0123 is read in several ways: put it in quotes, or write it plainly",
        ],
    );
}

#[test]
fn a_pattern_that_cannot_be_read_here_is_noted() {
    let text = template("Type: String, AllowedPattern: '(?=a).*'");
    let template = read_well(&text, &with_parameters(&[("P", "b")]));
    assert_eq!(
        template.notes,
        [
            "t.yaml:3: Parameters.P.AllowedPattern: cannot be read here, so values are not checked against it"
        ]
    );
}
