//! Conditions, and `Fn::If`.

use crate::expression::{check, refuse, refuse_at};

#[test]
fn if_takes_the_branch_of_its_condition_and_leaves_the_other() {
    check("!If [IsOrders, a, b]", "a");
    check("{Fn::If: [IsPayments, a, b]}", "b");
    check("!If [IsOrders, a, !GetAtt Queue.Arn]", "a");
    check("!If [IsPayments, a, !Ref AWS::NoValue]", "-");
    check("!If [IsPayments, a, !If [IsOrders, b, c]]", "b");
    refuse(
        "!If [IsOrders, !GetAtt Queue.Arn, b]",
        "!GetAtt Queue.Arn cannot be known locally: give --env OUT=…",
    );
    refuse(
        "!If [Nothing, a, b]",
        "the template has no condition \"Nothing\"",
    );
    refuse(
        "!If [!Equals [a, a], a, b]",
        "is !Equals, where the name of a condition is expected",
    );
    refuse(
        "!If [Yes, a, b]",
        "is true or false, as yes, no, on and off are without quotes, where the name of a condition is expected",
    );
    refuse("!If [IsOrders, a]", "!If takes a list of 3");
    refuse(
        "!Equals [a, a]",
        "!Equals stands only in the section Conditions",
    );
    refuse(
        "!Condition IsOrders",
        "!Condition IsOrders stands only in the section Conditions",
    );
}

#[test]
fn conditions_are_evaluated() {
    for (condition, expected) in [
        ("IsOrders", "true"),
        ("IsPayments", "false"),
        ("OfList", "true"),
        ("NotNo", "true"),
        ("Both", "true"),
        ("Either", "true"),
        ("Neither", "false"),
        ("Lazy", "true"),
        ("OfNumber", "true"),
        ("OfBool", "true"),
        ("Case", "false"),
    ] {
        check(&format!("!If [{condition}, true, false]"), expected);
    }
}

#[test]
fn conditions_that_make_no_sense_are_refused_where_they_stand() {
    for (condition, expected) in [
        (
            "Circle",
            "Conditions.Circle: Conditions.Circle depends on itself: Conditions.Circle > Conditions.Round",
        ),
        (
            "Bucketed",
            "Conditions.Bucketed: !Ref Bucket is a resource, and only parameters can be referred to here",
        ),
        (
            "NoSuch",
            "Conditions.NoSuch: the template has no condition \"Nothing\"",
        ),
        ("Lonely", "Conditions.Lonely: !And takes a list of 2 to 10"),
        (
            "Text",
            "Conditions.Text: is one value, where a condition is expected",
        ),
        (
            "Lists",
            "Conditions.Lists: is a list, where a text is expected",
        ),
        (
            "Joined",
            "Conditions.Joined: Fn::Join is no condition: those are made with !Equals, !And, !Or, !Not and !Condition",
        ),
    ] {
        refuse_at(
            &format!("!If [{condition}, a, b]"),
            &format!("{condition}:"),
            expected,
        );
    }
    refuse_at(
        "!If [Eggs, a, b]",
        "Missing:",
        "Parameters.Missing: has no default, and it is needed: give --parameter Missing=…",
    );
}
