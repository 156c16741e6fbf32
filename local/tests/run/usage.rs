//! What makes no sense is refused with status 2 before anything runs, and named.

use crate::bench::{Bench, REPORTS, Scripted, program};

/// Runs a command line, and checks that it is refused with these words.
async fn check(words: &[&str], expected: &[&str]) {
    let function = Scripted {
        id: "Main",
        topic: "orders",
        event: REPORTS,
        script: &["answer {}"],
    };
    let bench = Bench::new(1, &[function]);
    let broken = "Resources: [";
    std::fs::write(bench.file("broken.yaml"), broken).unwrap();
    let none = "Transform: AWS::Serverless-2016-10-31\nResources: {B: {Type: 'AWS::S3::Bucket'}}\n";
    std::fs::write(bench.file("none.yaml"), none).unwrap();
    let ended = bench.start(words).ended().await;
    ended.check(2, expected);
    assert_eq!(ended.out, [""; 0], "{ended:?}");
}

#[tokio::test]
async fn wrong_usage_is_refused_by_name() {
    let main = format!("--function=Main={}", program().display());
    let main = main.as_str();
    let cases: &[(&[&str], &[&str])] = &[
        (&["--template", "nowhere.yaml"], &["nowhere.yaml"]),
        (&["--template", "broken.yaml"], &["broken.yaml:"]),
        (&["--template", "none.yaml"], &["none.yaml has no function"]),
        (&[main, "--parameter", "Nope=1"], &["Nope"]),
        (
            &[main, "--parameter", "Nope"],
            &["\"Nope\" is not of the form"],
        ),
        (&["--function", "Mian=true"], &["Mian", "it has Main"]),
        (&[main, main], &["--function Main is given twice"]),
        (
            &[main, "--env", "A=1", "--env", "B=1", "--env", "A=1"],
            &["--env A is given twice"],
        ),
        (
            &[main, "--parameter", "A=1", "--parameter", "A=2"],
            &["--parameter A is given twice"],
        ),
        (&["--function", "Main"], &["ID=COMMAND"]),
        (&["--function", "Main="], &["the command of Main is empty"]),
        (
            &["--function", "Main='x"],
            &["the command of Main cannot be split"],
        ),
        (
            &["--function", "Main=./not-there x"],
            &["Main", "./not-there"],
        ),
        (
            &[main, "--env", "NAME"],
            &["\"NAME\" is not of the form NAME=VALUE"],
        ),
        (
            &[main, "--env", "AWS_LAMBDA_RUNTIME_API=x"],
            &["AWS_LAMBDA_RUNTIME_API"],
        ),
        (
            &[main, "--invoke", "127.0.0.1:9000"],
            &["--invoke", "http://127.0.0.1:9000"],
        ),
        (&[main, "--brokers", "nonsense"], &["--brokers", "nonsense"]),
        (&[main, "--s3", "ftp://x"], &["--s3"]),
        (&[main, "--bucket", "A B"], &["--bucket"]),
        (
            &[main, "--until-idle", "5"],
            &["--until-idle", "such as 250ms"],
        ),
        (&[main, "--partial-response", "all"], &["resume", "items"]),
        (&[], &["Main", "--function Main=COMMAND"]),
    ];
    for (words, expected) in cases {
        check(words, expected).await;
    }
}
