//! What the project's own template permits: named actions on named resources, and nothing else.

use crate::own::OWN;
use crate::tree::{Kind, Tree};

/// Every action that a role or a policy may have.
const ACTIONS: [&str; 28] = [
    "ec2:AssignPrivateIpAddresses",
    "ec2:CreateNetworkInterface",
    "ec2:DeleteNetworkInterface",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "ec2:UnassignPrivateIpAddresses",
    "kafka-cluster:AlterGroup",
    "kafka-cluster:Connect",
    "kafka-cluster:DescribeClusterDynamicConfiguration",
    "kafka-cluster:DescribeGroup",
    "kafka-cluster:DescribeTopic",
    "kafka-cluster:ReadData",
    "kafka-cluster:WriteData",
    "kafka-cluster:WriteDataIdempotently",
    "kafka:DescribeClusterV2",
    "kafka:GetBootstrapBrokers",
    "kms:Decrypt",
    "kms:GenerateDataKey",
    "lambda:InvokeFunction",
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "s3:GetObject",
    "s3:ListBucket",
    "s3:PutObject",
    "secretsmanager:GetSecretValue",
    "sts:AssumeRole",
];

/// Actions that are given on `*`: EC2's Describe calls know no resource, and Lambda refuses a role whose others are narrower.
const ON_ANYTHING: &str = "ec2:";

/// Where keys cannot be named, since they say what will happen: the prefixes under which they lie.
const PREFIXES: [&str; 3] = [
    "!Sub ${Incidents.Arn}/incidents/*",
    "!Sub ${Incidents.Arn}/replays/*",
    "!Sub ${Incidents.Arn}/spill/*",
];

/// Says what is wrong with the statements of a template.
fn wrong(template: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let tree = Tree::read(template);
    let mut statements = 0;
    tree.each(&mut |node| {
        let texts = |name: &str| node.get(name).map(Tree::texts).unwrap_or_default();
        if node.get("ManagedPolicyArns").is_some() {
            let foreign = texts("ManagedPolicyArns");
            let foreign = foreign.iter().filter(|arn| !arn.starts_with("!Ref "));
            wrong.extend(foreign.map(|arn| format!("{arn} is a policy of somebody else's")));
        }
        if texts("Effect") != ["Allow"] {
            return;
        }
        statements += 1;
        let (actions, resources) = (texts("Action"), texts("Resource"));
        if node.get("NotAction").is_some() || node.get("NotResource").is_some() {
            wrong.push("names what is not permitted".to_owned());
        }
        for action in &actions {
            if !ACTIONS.contains(&action.as_str()) {
                wrong.push(format!("the action {action}"));
            }
        }
        let only_network = actions.iter().all(|action| action.starts_with(ON_ANYTHING));
        for resource in &resources {
            let fits = match resource.as_str() {
                "*" => only_network,
                named => !named.contains('*') || PREFIXES.contains(&named),
            };
            if !fits {
                wrong.push(format!("{actions:?} on {resource}"));
            }
        }
        if resources.is_empty() && actions != ["sts:AssumeRole"] {
            wrong.push(format!("{actions:?} on nothing"));
        }
        if texts("Principal")
            .iter()
            .any(|principal| principal.ends_with('*'))
        {
            wrong.push(format!("{actions:?} for everybody"));
        }
    });
    assert!(statements > 30, "only {statements} statements were found");
    wrong
}

#[test]
fn every_statement_names_its_actions_and_its_resources() {
    assert_eq!(wrong(OWN), Vec::<String>::new());
}

#[test]
fn a_statement_that_permits_more_is_found() {
    for (from, to) in [
        ("Resource: !GetAtt PaymentsMainLog.Arn", "Resource: '*'"),
        ("Resource: !Ref ClusterArn", "Resource: '*'"),
        ("'s3:GetObject', 's3:PutObject'", "'s3:*'"),
        ("'s3:ListBucket'", "'s3:DeleteBucket'"),
        ("'secretsmanager:GetSecretValue'", "'*'"),
        ("${Incidents.Arn}/replays/*", "${Incidents.Arn}/*"),
        (":topic/${Cluster}/${DlqTopic}", ":topic/*/*/${DlqTopic}"),
        (":topic/${Cluster}/${Name}", ":topic/${Cluster}/*"),
        ("'ec2:DescribeVpcs'", "'ec2:RunInstances'"),
        ("Action: 'kms:Decrypt'", "NotAction: 'kms:Encrypt'"),
        (
            "- !Ref ChargePolicy",
            "- arn:aws:iam::aws:policy/AmazonS3FullAccess",
        ),
        ("Principal: {AWS: !Ref OperatorRoleArn}", "Principal: '*'"),
    ] {
        assert!(OWN.contains(from), "{from}");
        let mutated = OWN.replacen(from, to, 1);
        assert_ne!(wrong(&mutated), Vec::<String>::new(), "{from} → {to}");
    }
}

/// Returns a resource of the template.
fn resource(tree: &Tree, id: &str) -> Tree {
    let resources = tree.get("Resources").unwrap();
    resources
        .get(id)
        .unwrap()
        .get("Properties")
        .unwrap()
        .clone()
}

/// A secret under a key of one's own is read by those alone who may decrypt with it.
#[test]
fn whoever_reads_a_secret_may_be_given_its_key() {
    let mut readers = 0;
    Tree::read(OWN).each(&mut |node| {
        let Some(statement) = node.get("Statement") else {
            return;
        };
        let texts = statement.texts();
        let permits = |action: &str| texts.iter().any(|text| text.ends_with(action));
        if permits("secretsmanager:GetSecretValue") {
            readers += 1;
            assert!(permits("kms:Decrypt"), "{texts:?}");
        }
    });
    assert_eq!(readers, 4);
}

fn denials(policy: &Tree) -> Vec<Tree> {
    let mut found = Vec::new();
    policy.each(&mut |node| {
        if node.get("Effect").and_then(Tree::text) == Some("Deny") {
            found.push(node.clone());
        }
    });
    found
}

#[test]
fn replay_is_denied_to_all_but_the_operator_and_the_watch() {
    let policy = resource(&Tree::read(OWN), "ReplayPolicy");
    let denials = denials(&policy);
    let [denial] = denials.as_slice() else {
        panic!("{denials:?}")
    };
    let texts = |name: &str| denial.get(name).unwrap().texts();
    assert_eq!(texts("Principal"), ["*"]);
    assert_eq!(texts("Action"), ["lambda:InvokeFunction"]);
    assert_eq!(
        texts("Resource"),
        ["!GetAtt Replay.Arn", "!Sub ${Replay.Arn}:*"]
    );
    assert_eq!(
        texts("Condition"),
        [
            "ArnNotEquals aws:PrincipalArn !Ref OperatorRoleArn",
            "ArnNotEquals aws:PrincipalArn !GetAtt ReplayWatchRole.Arn"
        ]
    );
}

/// By the names of the functions it would deny nothing in a stack of a long name, which CloudFormation shortens in them.
#[test]
fn network_interfaces_are_denied_to_the_code_of_every_function() {
    let policy = resource(&Tree::read(OWN), "NetworkPolicy");
    let denials = denials(&policy);
    let [denial] = denials.as_slice() else {
        panic!("{denials:?}")
    };
    assert_eq!(
        denial.get("Condition").unwrap().texts(),
        [
            "ArnLike lambda:SourceFunctionArn !Sub arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:*"
        ]
    );
}

/// Whoever took the watch's role could replay: only the scheduler may, for schedules of the watch's own group.
#[test]
fn the_watch_is_the_schedulers_alone_and_may_do_nothing_but_invoke_replay() {
    let role = resource(&Tree::read(OWN), "ReplayWatchRole");
    let trust = role.get("AssumeRolePolicyDocument").unwrap();
    let trust = trust.get("Statement").unwrap().texts();
    assert_eq!(
        trust,
        [
            "Effect Allow",
            "Principal Service scheduler.amazonaws.com",
            "Action sts:AssumeRole",
            "Condition StringEquals aws:SourceAccount !Ref AWS::AccountId",
            "Condition StringEquals aws:SourceArn !Sub arn:${AWS::Partition}:scheduler:${AWS::Region}:${AWS::AccountId}:schedule-group/${ReplayWatchGroup}",
        ]
    );
    let permitted = role.get("Policies").unwrap().texts();
    let permitted: Vec<&str> = permitted.iter().map(String::as_str).collect();
    assert_eq!(
        permitted,
        [
            "PolicyName own",
            "PolicyDocument Version 2012-10-17",
            "PolicyDocument Statement Effect Allow",
            "PolicyDocument Statement Action lambda:InvokeFunction",
            "PolicyDocument Statement Resource !GetAtt Replay.Arn",
        ]
    );
    assert!(role.get("ManagedPolicyArns").is_none());
}

#[test]
fn the_bucket_is_private_encrypted_versioned_and_read_by_tls_alone() {
    let tree = Tree::read(OWN);
    let bucket = resource(&tree, "Incidents");
    let texts = |name: &str| bucket.get(name).unwrap().texts();
    let public = texts("PublicAccessBlockConfiguration");
    assert!(public.len() == 4 && public.iter().all(|one| one.ends_with(" true")));
    assert_eq!(
        texts("OwnershipControls"),
        ["Rules ObjectOwnership BucketOwnerEnforced"]
    );
    assert_eq!(texts("VersioningConfiguration"), ["Status Enabled"]);
    let encryption = texts("BucketEncryption").join("\n");
    assert!(encryption.contains("SSEAlgorithm aws:kms") && encryption.contains("AES256"));
    let policy = resource(&tree, "IncidentsPolicy");
    let resources = tree.get("Resources").unwrap();
    for stays in ["Incidents", "IncidentsPolicy"] {
        let stays = resources.get(stays).unwrap();
        assert_eq!(stays.get("DeletionPolicy").unwrap().text(), Some("Retain"));
    }
    let conditions = denials(&policy);
    assert_eq!(
        conditions[0].get("Condition").unwrap().texts(),
        ["Bool aws:SecureTransport false"]
    );
}

/// Row by row: what is secret comes as the ARN of a secret, never as a value that the console shows.
#[test]
fn no_secret_stands_in_an_environment() {
    let tree = Tree::read(OWN);
    let mut names = Vec::new();
    tree.each(&mut |node| {
        if let Some(Kind::Map(variables)) = node.get("Variables").map(|found| &found.kind) {
            names.extend(variables.iter().map(|(name, _)| name.clone()));
        }
    });
    assert!(names.len() > 40, "{names:?}");
    for name in names {
        let secret = ["TOKEN", "SECRET", "PASSWORD", "WEBHOOK"];
        if secret.iter().any(|word| name.contains(word)) {
            assert!(name.ends_with("_ARN"), "{name}");
        }
    }
}
