//! `Fn::ForEach`.

use crate::bench::{check_problems, ids, options, read_well};

#[test]
fn a_loop_makes_a_function_for_each_value() {
    let text = "Transform: [AWS::LanguageExtensions, AWS::Serverless-2016-10-31]
Parameters: {Stages: {Type: CommaDelimitedList, Default: 'retry.30s,retry.5m'}}
Conditions: {Is: !Equals [a, a]}
Resources:
  Fn::ForEach::Retries:
    - Stage
    - !Ref Stages
    - Payments&{Stage}:
        Type: AWS::Serverless::Function
        Properties:
          Environment:
            Variables:
              OWN: !Ref Stage
              TOPIC: !If [Is, !Sub 'brew.${Stage}', x]
              LITERAL: '${Stage}-&{Stage}'
              OTHER: !Ref Payments&{Stage}
              Fn::ForEach::Variables:
                - Name
                - [ONE, TWO]
                - ${Name}_VARIABLE: ${Name} of ${Stage}
          Events:
            E:
              Type: MSK
              Properties: {Stream: x, Topics: ['brew.${Stage}'], StartingPosition: LATEST}
";
    let template = read_well(text, &options());
    assert_eq!(ids(&template), ["Paymentsretry30s", "Paymentsretry5m"]);
    let second = &template.functions[1];
    assert_eq!(second.mappings[0].topic.as_str(), "brew.retry.5m");
    let variables: Vec<String> = second
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(
        variables,
        [
            "LITERAL=retry.5m-retry5m",
            "ONE_VARIABLE=ONE of retry.5m",
            "OTHER=Paymentsretry5m",
            "OWN=retry.5m",
            "TOPIC=brew.retry.5m",
            "TWO_VARIABLE=TWO of retry.5m",
        ]
    );
    let problem = "t.yaml:13: Resources.Paymentsretry30s.Properties.Environment.Variables.OWN: !ImportValue retry.30s cannot be known locally: give --env OWN=…";
    let other = problem.replace("30s", "5m");
    check_problems(
        &text.replace("!Ref Stage\n", "!ImportValue '${Stage}'\n"),
        &options(),
        &[problem, &other],
    );
    let problem = "t.yaml:8: Resources.Paymentsretry.30s: a logical ID has letters and digits only (in a loop, write &{Name} for the value's own)";
    let other = problem.replace("30s", "5m");
    check_problems(
        &text.replace("Payments&", "Payments$"),
        &options(),
        &[problem, &other],
    );
    // The name of a condition stays as it is written, and so it is wrong where it stands.
    let problem = "t.yaml:14: Resources.Fn::ForEach::Retries[2].Payments&{Stage}.Properties.Environment.Variables.TOPIC: the template has no condition \"Is${Stage}\"";
    let text = text.replace("!If [Is,", "!If ['Is${Stage}',");
    check_problems(&text, &options(), &[problem]);
}

#[test]
fn a_loop_that_makes_no_sense_is_refused() {
    let check = |transform: &str, the_loop: &str, expected: &str| {
        let text = format!(
            "Transform: {transform}\nResources:\n  Fn::ForEach::L: {the_loop}\n  B: {{Type: AWS::S3::Bucket}}\n"
        );
        check_problems(
            &text,
            &options(),
            &[&format!("t.yaml:3: Resources.Fn::ForEach::L{expected}")],
        );
    };
    let both = "[AWS::LanguageExtensions, AWS::Serverless-2016-10-31]";
    let fragment = "{'X${I}': {Type: AWS::S3::Bucket}}";
    let sam = "AWS::Serverless-2016-10-31";
    check(
        sam,
        &format!("[I, [a], {fragment}]"),
        ": Fn::ForEach needs the transform AWS::LanguageExtensions",
    );
    check(
        &format!("[{sam}, AWS::LanguageExtensions]"),
        &format!("[I, [a], {fragment}]"),
        ": Fn::ForEach needs the transform AWS::LanguageExtensions ahead of AWS::Serverless-2016-10-31",
    );
    check(
        both,
        "[I, [a]]",
        ": Fn::ForEach takes a list of a name, a list of values, and a map",
    );
    check(
        both,
        "x",
        ": Fn::ForEach takes a list of a name, a list of values, and a map",
    );
    check(
        both,
        &format!("[I, a, {fragment}]"),
        "[1]: is one value, where a list is expected",
    );
    check(
        both,
        &format!("[I, !Ref B, {fragment}]"),
        "[1]: !Ref B is a resource, and only parameters can be referred to here",
    );
    let text =
        format!("Transform: {both}\nResources:\n  Fn::ForEach::L: [I, [a, a], {fragment}]\n");
    check_problems(
        &text,
        &options(),
        &["t.yaml:3: Resources.Xa: a loop makes the key \"Xa\" a second time"],
    );
}
