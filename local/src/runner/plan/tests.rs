mod of_template;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::event::EventSource;
use crate::function::Program;
use crate::mapping::{Answers, Bisect, Pollers, Redelivery, StartingPosition};
use crate::template::{ProvisionedPollers, TemplateMapping, TemplateSource};

/// Returns a function of a template with mappings of these topics and nothing else said.
pub(crate) fn function(id: &str, topics: &[&str]) -> TemplateFunction {
    TemplateFunction {
        id: id.to_owned(),
        name: None,
        binary: None,
        env: BTreeMap::new(),
        timeout: Duration::from_secs(3),
        memory_mb: 128,
        reserved_concurrency: None,
        mappings: topics.iter().map(|topic| mapping(topic)).collect(),
    }
}

/// Returns a mapping with AWS's defaults.
pub(crate) fn mapping(topic: &str) -> TemplateMapping {
    TemplateMapping {
        event: "Records".to_owned(),
        source: TemplateSource::SelfManaged {
            brokers: "b:9092".to_owned(),
        },
        topic: topic.parse().unwrap(),
        group: None,
        start: StartingPosition::TrimHorizon,
        batch_size: NonZeroUsize::new(100).unwrap(),
        window: None,
        report_batch_item_failures: true,
        bisect: false,
        retries: None,
        max_age: None,
        pollers: None,
    }
}

fn plan(functions: &[TemplateFunction], options: &RunOptions) -> Result<Plan, PlanError> {
    let template = Template {
        functions: functions.to_vec(),
        notes: vec!["template.yaml:1: noted".to_owned()],
    };
    Plan::new(template, options, |name| {
        ["payments", "dlq"].contains(&name)
    })
}

fn program(file: &str) -> Program {
    PathBuf::from(file).into()
}

fn commands(ids: &[&str]) -> RunOptions {
    RunOptions {
        commands: ids
            .iter()
            .map(|id| ((*id).to_owned(), program("./run")))
            .collect(),
        ..RunOptions::default()
    }
}

fn with_binary(id: &str, binary: &str) -> TemplateFunction {
    TemplateFunction {
        binary: Some(binary.to_owned()),
        ..function(id, &["t"])
    }
}

#[track_caller]
fn check_refused(functions: &[TemplateFunction], options: &RunOptions, words: &[&str]) {
    let refused = plan(functions, options).unwrap_err().to_string();
    for word in words {
        assert!(refused.contains(word), "{word:?} is not in {refused:?}");
    }
}

#[test]
fn a_function_runs_as_its_command_at_the_endpoint_or_as_the_workspaces_own() {
    let functions = [with_binary("Main", "payments"), with_binary("Dlq", "dlq")];
    let ways = |options: &RunOptions| -> Vec<Way> {
        let plan = plan(&functions, options).unwrap();
        plan.functions.into_iter().map(|f| f.way).collect()
    };
    let package = |name: &str| Way::Package(name.to_owned());
    let command = Way::Command(program("./run"));
    assert_eq!(
        ways(&RunOptions::default()),
        [package("payments"), package("dlq")]
    );
    assert_eq!(
        ways(&commands(&["Main"])),
        [command.clone(), package("dlq")]
    );
    let url = "http://127.0.0.1:9000".parse().unwrap();
    let options = RunOptions {
        invoke: Some(url),
        ..commands(&["Main"])
    };
    assert!(
        matches!(&ways(&options)[..], [first, Way::Endpoint { name, .. }] if *first == command && name == "dlq")
    );
}

#[test]
fn at_an_endpoint_a_function_goes_by_its_name_else_its_program_else_its_id() {
    let check = |name: Option<&str>, binary: Option<&str>, expected: &str| {
        let function = TemplateFunction {
            name: name.map(str::to_owned),
            binary: binary.map(str::to_owned),
            ..function("Main", &["t"])
        };
        let options = RunOptions {
            invoke: Some("http://127.0.0.1:9000".parse().unwrap()),
            ..RunOptions::default()
        };
        let plan = plan(&[function], &options).unwrap();
        assert!(matches!(&plan.functions[0].way, Way::Endpoint { name, .. } if name == expected));
    };
    check(Some("named"), Some("program"), "named");
    check(None, Some("program"), "program");
    check(None, None, "Main");
}

#[test]
fn what_nothing_can_run_is_refused_with_what_to_say() {
    check_refused(
        &[with_binary("Main", "strange"), function("Other", &["t"])],
        &RunOptions::default(),
        &[
            "strange",
            "--function Main=COMMAND",
            "--function Other=COMMAND",
        ],
    );
}

#[test]
fn a_command_for_a_function_that_is_not_there_is_refused_by_its_id() {
    check_refused(
        &[with_binary("Main", "payments"), with_binary("Dlq", "dlq")],
        &commands(&["Mian"]),
        &["Mian", "Main, Dlq"],
    );
}

#[test]
fn a_misspelt_id_is_all_that_is_told() {
    let template = Template {
        functions: vec![function("Main", &["orders"])],
        notes: Vec::new(),
    };
    let refused = Plan::new(template, &commands(&["Mian"]), |_| false).unwrap_err();
    let told = refused.to_string();
    assert!(told.contains("Mian") && !told.contains('\n'), "{told}");
}

#[test]
fn a_cluster_that_is_known_by_its_arn_alone_needs_brokers() {
    let mut function = with_binary("Main", "payments");
    let arn = "arn:aws:kafka:us-east-1:0:cluster/c/1".to_owned();
    function.mappings[0].source = TemplateSource::Msk { arn: arn.clone() };
    check_refused(
        &[function.clone()],
        &RunOptions::default(),
        &["Main.Records", "--brokers"],
    );
    let options = RunOptions {
        brokers: Some("x:1,y:2".parse().unwrap()),
        ..RunOptions::default()
    };
    let plan = plan(&[function], &options).unwrap();
    let mapping = &plan.functions[0].mappings[0];
    assert_eq!(
        (mapping.brokers.as_str(), &mapping.source),
        ("x:1,y:2", &EventSource::Msk { arn })
    );
}

#[test]
fn a_mapping_is_what_the_template_says() {
    let mut function = with_binary("Main", "payments");
    function.mappings[0] = TemplateMapping {
        group: Some("g".to_owned()),
        start: StartingPosition::Latest,
        batch_size: NonZeroUsize::new(7).unwrap(),
        window: Some(Duration::from_secs(9)),
        bisect: true,
        retries: Some(3),
        max_age: Some(Duration::from_mins(1)),
        pollers: Some(ProvisionedPollers {
            minimum: NonZeroUsize::new(2).unwrap(),
            maximum: NonZeroUsize::new(200).unwrap(),
            group: None,
        }),
        ..mapping("t")
    };
    let options = RunOptions {
        redelivery: Redelivery::Items,
        ..RunOptions::default()
    };
    let plan = plan(&[function], &options).unwrap();
    let mapping = &plan.functions[0].mappings[0];
    assert_eq!(
        (mapping.name.as_str(), mapping.group.as_str()),
        ("Main.Records", "g")
    );
    assert_eq!(
        (mapping.brokers.as_str(), mapping.start),
        ("b:9092", StartingPosition::Latest)
    );
    assert_eq!(
        (
            mapping.batching.size.get(),
            mapping.batching.window.as_secs()
        ),
        (7, 9)
    );
    assert_eq!(
        mapping.pollers,
        Pollers::Provisioned(NonZeroUsize::new(2).unwrap())
    );
    assert_eq!(
        (mapping.answers, mapping.bisect),
        (Answers::Reported(Redelivery::Items), Bisect::On)
    );
    assert_eq!(
        (mapping.retries, mapping.max_age),
        (Some(3), Some(Duration::from_mins(1)))
    );
}

#[test]
fn what_the_template_leaves_unsaid_is_as_on_aws_and_the_group_is_of_program_and_topic() {
    let mut function = with_binary("Main", "payments");
    function.mappings[0].report_batch_item_failures = false;
    let other = TemplateFunction {
        binary: None,
        ..function.clone()
    };
    let plan = plan(&[function, other], &commands(&["Main"])).unwrap();
    let groups = plan.mappings().map(|(_, mapping)| mapping.group.as_str());
    assert_eq!(groups.collect::<Vec<_>>(), ["payments.t", "Main.t"]);
    let mapping = &plan.functions[0].mappings[0];
    assert_eq!(mapping.batching.window, Duration::from_millis(500));
    assert_eq!(
        (mapping.pollers, mapping.answers),
        (Pollers::Standard, Answers::Ignored)
    );
}

#[test]
fn two_mappings_of_one_group_are_refused_since_each_would_get_a_part_of_the_records() {
    let grouped = |id: &str, group: &str, topic: &str| TemplateFunction {
        mappings: vec![TemplateMapping {
            group: Some(group.to_owned()),
            ..mapping(topic)
        }],
        ..with_binary(id, "payments")
    };
    let options = RunOptions::default();
    let refused = |functions: &[TemplateFunction], group: &str| {
        let words = ["Other.Records and Main.Records", group, "ConsumerGroupId"];
        check_refused(functions, &options, &words);
    };
    refused(
        &[grouped("Main", "g", "t"), grouped("Other", "g", "u")],
        " g,",
    );
    // Neither says its group, and both run the same program.
    refused(
        &[
            with_binary("Main", "payments"),
            with_binary("Other", "payments"),
        ],
        " payments.t,",
    );
    let apart = [grouped("Main", "g", "t"), grouped("Other", "h", "t")];
    assert_eq!(plan(&apart, &options).unwrap().functions.len(), 2);
}

#[test]
fn there_are_sandboxes_for_all_that_pollers_invoke_unless_they_are_reserved() {
    let check = |reserved: Option<u32>, pollers: &[Option<usize>], expected: usize| {
        let pollers = pollers
            .iter()
            .zip(["t", "u"])
            .map(|(minimum, topic)| TemplateMapping {
                pollers: minimum.map(|minimum| ProvisionedPollers {
                    minimum: NonZeroUsize::new(minimum).unwrap(),
                    maximum: NonZeroUsize::new(200).unwrap(),
                    group: None,
                }),
                ..mapping(topic)
            });
        let function = TemplateFunction {
            reserved_concurrency: reserved,
            mappings: pollers.collect(),
            ..with_binary("Main", "payments")
        };
        let plan = plan(&[function], &RunOptions::default()).unwrap();
        assert_eq!(plan.functions[0].sandboxes.get(), expected);
    };
    check(None, &[Some(1)], 5);
    check(None, &[Some(3), Some(1)], 20);
    check(None, &[None], 64);
    check(Some(2), &[Some(3)], 2);
    check(Some(u32::MAX), &[Some(3)], 1_000);
}

#[test]
fn a_function_without_concurrency_is_left_out_loudly() {
    let never = TemplateFunction {
        reserved_concurrency: Some(0),
        ..with_binary("Main", "payments")
    };
    let plan = plan(&[never, with_binary("Dlq", "dlq")], &RunOptions::default()).unwrap();
    assert_eq!(plan.functions.len(), 1);
    assert_eq!(plan.notes.len(), 2);
    assert!(plan.notes[1].starts_with("Main: ReservedConcurrentExecutions is 0"));
}

#[test]
fn a_fast_stage_has_a_window_of_a_tenth_of_its_delay_whoever_reads_it() {
    let mut main = with_binary("Main", "payments");
    main.env
        .insert("RETRY_STAGES".to_owned(), "r1=1h,r2=2h".to_owned());
    let mut stages = with_binary("Stages", "dlq");
    stages.mappings = vec![mapping("r1"), mapping("r2"), mapping("other")];
    stages.mappings[1].window = Some(Duration::from_mins(5));
    stages.mappings[2].window = Some(Duration::from_mins(5));
    let windows = |speed: Speed, env: &[(&str, &str)]| -> Vec<u128> {
        let env = env
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let options = RunOptions {
            speed,
            env: env.collect(),
            ..RunOptions::default()
        };
        let plan = plan(&[main.clone(), stages.clone()], &options).unwrap();
        let windows = plan
            .mappings()
            .map(|(_, mapping)| mapping.batching.window.as_millis());
        windows.skip(1).collect()
    };
    assert_eq!(windows(Speed::Real, &[]), [500, 300_000, 300_000]);
    assert_eq!(windows(Speed::Fast, &[]), [100, 200, 300_000]);
    assert_eq!(
        windows(Speed::Fast, &[("RETRY_STAGES", "r1=1h,r2=4s")]),
        [500, 400, 300_000]
    );
}

#[test]
fn what_is_set_and_does_not_reach_an_endpoint_is_told() {
    let options = RunOptions {
        invoke: Some("http://127.0.0.1:9000".parse().unwrap()),
        brokers: Some("x:1".parse().unwrap()),
        set: [("INCIDENT_BUCKET".to_owned(), "b".to_owned())].into(),
        env: [("A".to_owned(), "1".to_owned())].into(),
        speed: Speed::Fast,
        ..RunOptions::default()
    };
    let functions = [with_binary("Main", "payments")];
    let told = plan(&functions, &options).unwrap().notes.pop().unwrap();
    assert!(
        told.contains("set A, INCIDENT_BUCKET, KAFKA_BROKERS, RETRY_STAGES there for Main"),
        "{told}"
    );
    let here = RunOptions {
        invoke: None,
        ..options
    };
    assert_eq!(plan(&functions, &here).unwrap().notes.len(), 1);
}
