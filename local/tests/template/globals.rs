//! What functions get from the section Globals.

use std::time::Duration;

use crate::bench::{
    EVENT, check_problems, function, of_resources, options, read_well, with_function,
};

#[test]
fn globals_are_merged_as_sam_does() {
    let globals = "Globals:
  Function:
    Timeout: 60
    MemorySize: 256
    CodeUri: functions/all
    ReservedConcurrentExecutions: 5
    Environment:
      Variables: {A1: global, B1: global}
";
    let merged = |properties: &str| {
        let template = read_well(&with_function(globals, properties), &options());
        function(&template).clone()
    };
    let plain = merged("");
    assert_eq!(plain.timeout, Duration::from_mins(1));
    assert_eq!(plain.memory_mb, 256);
    assert_eq!(plain.binary.as_deref(), Some("all"));
    assert_eq!(plain.reserved_concurrency, Some(5));
    let own = merged(
        "      Timeout: 5\n      CodeUri: a/b\n      Environment: {Variables: {B1: own, C1: own}}\n",
    );
    assert_eq!(own.timeout, Duration::from_secs(5));
    assert_eq!(own.memory_mb, 256);
    assert_eq!(own.binary.as_deref(), Some("b"));
    let values: Vec<&str> = own.env.values().map(String::as_str).collect();
    assert_eq!(values, ["global", "own", "own"]);
    // A function call is replaced, whatever it comes to.
    let text = with_function(
        globals,
        "      Environment: !If [C, {Variables: {C1: own}}, x]\n",
    );
    let text = text.replace("Globals:", "Conditions: {C: !Equals [a, a]}\nGlobals:");
    assert_eq!(
        function(&read_well(&text, &options())).env,
        [("C1".to_owned(), "own".to_owned())].into()
    );
    // Nothing there: Lambda's default again, not the global value.
    assert_eq!(
        merged("      Timeout: !Ref AWS::NoValue\n").timeout,
        Duration::from_secs(3)
    );
}

#[test]
fn a_function_may_ignore_globals() {
    let globals = "Globals: {Function: {Timeout: 60, MemorySize: 256}}\n";
    let read = |ignored: &str| {
        let text = with_function(globals, "");
        text.replace(
            "    Properties:\n",
            &format!("    IgnoreGlobals: {ignored}\n    Properties:\n"),
        )
    };
    let template = read_well(&read("'*'"), &options());
    assert_eq!(
        (
            function(&template).timeout.as_secs(),
            function(&template).memory_mb
        ),
        (3, 128)
    );
    let template = read_well(&read("[Timeout]"), &options());
    assert_eq!(
        (
            function(&template).timeout.as_secs(),
            function(&template).memory_mb
        ),
        (3, 256)
    );
    check_problems(
        &read("[Timout]"),
        &options(),
        &[
            "t.yaml:6: Resources.F.IgnoreGlobals[0]: is not the name of a global property of functions",
        ],
    );
}

#[test]
fn what_is_wrong_in_globals_is_said_once_and_there() {
    let globals = "Globals: {Function: {Environment: {Variables: {A1: !ImportValue x}}}}\n";
    let resources = format!(
        "  F: {{Type: AWS::Serverless::Function, Properties: {{Events: {{E: {EVENT}}}}}}}\n"
    );
    let text = of_resources(&format!("{resources}{}", resources.replace("F:", "G:")));
    check_problems(
        &text.replace("Resources:", &format!("{globals}Resources:")),
        &options(),
        &[
            "t.yaml:2: Globals.Function.Environment.Variables.A1: !ImportValue x cannot be known locally: give --env A1=…",
        ],
    );
}

#[test]
fn properties_that_are_not_known_are_noted() {
    let text = with_function(
        "Globals: {Function: {Timout: 60}}\n",
        "      Memory: 5\n      Handler: bootstrap\n",
    );
    let what = "is no property of a function that is known here, and is ignored";
    assert_eq!(
        read_well(&text, &options()).notes,
        [
            format!("t.yaml:2: Globals.Function.Timout: {what}"),
            format!("t.yaml:7: Resources.F.Properties.Memory: {what}"),
        ]
    );
    check_problems(
        &with_function("Globals: {Function: {Events: {}}}\n", ""),
        &options(),
        &[
            "t.yaml:2: Globals.Function.Events: SAM takes no Events for all functions: say it of each",
        ],
    );
}
