//! Environments: which variables there are, and which need not be known.

use local::template::TemplateOptions;

use crate::bench::{check_problems, function, options, read_well, with_function};

#[test]
fn variables_that_the_options_give_are_not_resolved() {
    let env = |names: &[&str]| TemplateOptions {
        env: names
            .iter()
            .map(|name| ((*name).to_owned(), "given".to_owned()))
            .collect(),
        ..options()
    };
    let text = with_function(
        "",
        "      Environment: {Variables: {A1: !GetAtt Secret.Arn, B1: !ImportValue b, C1: c}}\n",
    );
    let template = read_well(&text, &env(&["A1", "B1", "D1"]));
    let variables: Vec<String> = function(&template)
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    assert_eq!(variables, ["A1=given", "B1=given", "C1=c", "D1=given"]);
    check_problems(
        &text.replace("Secret.Arn", "F.Version"),
        &options(),
        &[
            "t.yaml:6: Resources.F.Properties.Environment.Variables.A1: !GetAtt F.Version cannot be known locally: give --env A1=…",
            "t.yaml:6: Resources.F.Properties.Environment.Variables.B1: !ImportValue b cannot be known locally: give --env B1=…",
        ],
    );
}

#[test]
fn variables_that_lambda_refuses_are_refused() {
    let refuse = |name: &str, expected: &str| {
        let text = with_function(
            "",
            &format!("      Environment: {{Variables: {{{name}: x}}}}\n"),
        );
        let expected =
            format!("t.yaml:6: Resources.F.Properties.Environment.Variables.{name}: {expected}");
        check_problems(&text, &options(), &[&expected]);
    };
    for name in [
        "AWS_REGION",
        "_HANDLER",
        "AWS_LAMBDA_FUNCTION_NAME",
        "AWS_SESSION_TOKEN",
        "LAMBDA_TASK_ROOT",
    ] {
        refuse(
            name,
            "is a variable that Lambda sets itself, and refuses here",
        );
    }
    for name in ["A", "1A", "_A", "A-B", "A.B", "Ä1"] {
        refuse(
            name,
            "Lambda takes variables of two or more letters, digits and '_', with a letter first",
        );
    }
    let text = with_function(
        "",
        "      Environment: {Variables: {AWS_LAMBDA_EXEC_WRAPPER: x, AWS_ENDPOINT_URL_S3: y}}\n",
    );
    assert_eq!(function(&read_well(&text, &options())).env.len(), 2);
    let text = with_function("", "      Environment: {A1: x}\n");
    check_problems(
        &text,
        &options(),
        &[
            "t.yaml:6: Resources.F.Properties.Environment.A1: is nothing that an environment has, which is Variables",
        ],
    );
}
