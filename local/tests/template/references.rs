//! What names stand for.

use local::template::TemplateOptions;

use crate::bench::{function, options, read_well};
use crate::expression::{check, refuse, refuse_at, template};

#[test]
fn ref_of_a_parameter_is_its_value() {
    check("!Ref Name", "orders");
    check("{Ref: Name}", "orders");
    check("{\"Ref\": \"Count\"}", "3");
    check("!Join ['|', !Ref Zones]", "a|b|c");
    check("!Join ['|', !Ref Ports]", "80|443");
    check("!Join ['|', !Ref Subnets]", "subnet-1|subnet-2");
    check("!Join ['|', !Ref Empty]", "");
    check("!Ref Blank", "");
    refuse("!Ref Zones", "is a list, where a text is expected");
    refuse_at(
        "!Ref Missing",
        "Missing:",
        "Parameters.Missing: has no default, and it is needed: give --parameter Missing=…",
    );
    refuse_at(
        "!Ref Stored",
        "Stored:",
        "Parameters.Stored: names a value in the Parameter Store, and it is needed: give --parameter Stored=…",
    );
}

#[test]
fn ref_of_a_pseudo_parameter_is_what_the_options_say() {
    check("!Ref AWS::Region", "us-east-1");
    check("!Ref 'AWS::AccountId'", "000000000000");
    check("!Ref AWS::Partition", "aws");
    check("!Ref AWS::StackName", "local");
    check("!Ref AWS::URLSuffix", "amazonaws.com");
    check(
        "!Ref AWS::StackId",
        "arn:aws:cloudformation:us-east-1:000000000000:stack/local/00000000-0000-0000-0000-000000000000",
    );
    check("!Ref AWS::NoValue", "-");
    refuse(
        "!Select [0, !Ref AWS::NotificationARNs]",
        "!Ref AWS::NotificationARNs cannot be known locally: give --env OUT=…",
    );
    refuse(
        "!Ref AWS::Regions",
        "!Ref AWS::Regions: CloudFormation has no such pseudo parameter",
    );
}

#[test]
fn ref_of_a_resource_is_its_name_where_it_can_be_known() {
    check("!Ref Bucket", "incidents-orders");
    check("!Ref Named", "named");
    check("!Ref Unnamed", "Unnamed");
    refuse(
        "!Ref Nameless",
        "!Ref Nameless cannot be known locally: give --env OUT=…",
    );
    refuse(
        "!Ref Queue",
        "!Ref Queue cannot be known locally: give --env OUT=…",
    );
    refuse(
        "!Ref Gone",
        "!Ref Gone is not there, because its condition IsPayments is false",
    );
    refuse(
        "!Ref Nothing",
        "!Ref Nothing: the template has no parameter or resource Nothing",
    );
    refuse(
        "!Ref NamedRole",
        "!Ref NamedRole, which SAM may generate, cannot be known locally: give --env OUT=…",
    );
    refuse("!Ref", "!Ref names nothing");
    refuse("!Ref ''", "!Ref names nothing");
    refuse("{Ref: }", "has no value, where a text is expected");
    refuse("!Ref [Name]", "is a list, where a text is expected");
    refuse_at(
        "!Ref Selfish",
        "Selfish:",
        "Resources.Selfish: Selfish depends on itself: Selfish > Selfless",
    );
}

#[test]
fn an_attribute_is_an_arn_or_cannot_be_known() {
    check("!GetAtt Bucket.Arn", "arn:aws:s3:::incidents-orders");
    check("!GetAtt [Bucket, Arn]", "arn:aws:s3:::incidents-orders");
    check(
        "{Fn::GetAtt: [Bucket, Arn]}",
        "arn:aws:s3:::incidents-orders",
    );
    check("{Fn::GetAtt: Bucket.Arn}", "arn:aws:s3:::incidents-orders");
    check(
        "!GetAtt Named.Arn",
        "arn:aws:lambda:us-east-1:000000000000:function:named",
    );
    check(
        "!GetAtt Unnamed.Arn",
        "arn:aws:lambda:us-east-1:000000000000:function:Unnamed",
    );
    refuse(
        "!GetAtt Queue.Arn",
        "!GetAtt Queue.Arn cannot be known locally: give --env OUT=…",
    );
    refuse(
        "!GetAtt [Queue, Arn]",
        "!GetAtt Queue.Arn cannot be known locally: give --env OUT=…",
    );
    refuse(
        "!GetAtt Nameless.Arn",
        "!GetAtt Nameless.Arn cannot be known locally: give --env OUT=…",
    );
    refuse(
        "!GetAtt Bucket.DomainName",
        "!GetAtt Bucket.DomainName cannot be known locally: give --env OUT=…",
    );
    refuse(
        "!GetAtt Nothing.Arn",
        "!GetAtt Nothing.Arn: the template has no parameter or resource Nothing",
    );
    refuse(
        "!GetAtt Name.Arn",
        "!GetAtt Name.Arn: the template has no parameter or resource Name",
    );
    refuse(
        "!GetAtt Bucket",
        "!GetAtt Bucket is not of the form Resource.Attribute",
    );
    refuse("!GetAtt [Bucket]", "!GetAtt Bucket takes a list of 2");
    refuse(
        "!GetAtt Gone.Arn",
        "!GetAtt Gone.Arn is not there, because its condition IsPayments is false",
    );
}

#[test]
fn a_region_belongs_to_a_partition() {
    for (region, expected) in [
        ("eu-central-1", "aws amazonaws.com"),
        ("us-gov-west-1", "aws-us-gov amazonaws.com"),
        ("cn-north-1", "aws-cn amazonaws.com.cn"),
        ("us-iso-east-1", "aws-iso c2s.ic.gov"),
        ("us-isob-east-1", "aws-iso-b sc2s.sgov.gov"),
        ("eusc-de-east-1", "aws-eusc amazonaws.eu"),
    ] {
        let options = TemplateOptions {
            region: region.to_owned(),
            account: "111122223333".to_owned(),
            stack: "brew".to_owned(),
            ..options()
        };
        let text =
            template("!Sub '${AWS::Partition} ${AWS::URLSuffix} ${AWS::StackId} ${Unnamed.Arn}'");
        let template = read_well(&text, &options);
        let (partition, _) = expected.split_once(' ').unwrap();
        let stack = format!(
            "arn:{partition}:cloudformation:{region}:111122223333:stack/brew/00000000-0000-0000-0000-000000000000"
        );
        let arn = format!("arn:{partition}:lambda:{region}:111122223333:function:Unnamed");
        assert_eq!(
            function(&template).env["OUT"],
            format!("{expected} {stack} {arn}")
        );
    }
}
