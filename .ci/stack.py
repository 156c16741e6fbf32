"""Makes the stack of template.yaml in moto, as far as moto goes, and looks at what stands then.

Loops are unrolled by SAM CLI's own code and the SAM transform is AWS's own; only CloudFormation itself is moto's.
"""

import collections
import copy
import json
import logging
import os
import sys
import warnings

import boto3
from moto import mock_aws
from samcli.lib.cfn_language_extensions.sam_integration import expand_language_extensions
from samcli.lib.package.language_extensions_packaging import (
    generate_and_apply_artifact_mappings,
    merge_language_extensions_s3_uris,
)
from samcli.yamlhelper import yaml_parse
from samtranslator.model.exceptions import InvalidDocumentException
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

REGION = "eu-central-1"
ARN = f"arn:aws:{{}}:{REGION}:123456789012:{{}}"
# As in samconfig.toml's section "prod", filled in; and everything that has a condition is there.
GIVEN = {
    "ClusterArn": ARN.format("kafka", "cluster/brew/0a1b2c3d-0000-0000-0000-000000000000-1"),
    "KafkaBrokers": "b-1.brew.kafka.eu-central-1.amazonaws.com:9098",
    "KafkaAuth": "iam",
    "Subnets": "subnet-0a1b2c3d,subnet-1a1b2c3d",
    "SecurityGroup": "sg-0a1b2c3d",
    "GatewayUrl": "https://gateway.example.com",
    "GatewayTokenSecretArn": ARN.format("secretsmanager", "secret:gateway-token-AbCdEf"),
    "OperatorRoleArn": "arn:aws:iam::123456789012:role/operator",
    "AlarmEmail": "oncall@example.com",
    "CreateTopics": "true",
    "MainStart": "LATEST",
    "WithOrders": "true",
}
# Kinds that moto makes whole.
WHOLE = [
    "AWS::CloudWatch::Dashboard",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::Role",
    "AWS::Lambda::Function",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::SNS::Topic",
]
# How many resources CloudFormation takes, and how many names in Stages the guide promises.
MOST_RESOURCES = 500
MOST_STAGES = 15


def substituted_later(node):
    """Gives texts their Fn::Sub back, which SAM CLI's loops lose where it names an attribute of a resource."""
    if isinstance(node, dict):
        return {key: it if key == "Fn::Sub" else substituted_later(it) for key, it in node.items()}
    if isinstance(node, list):
        return [substituted_later(it) for it in node]
    return {"Fn::Sub": node} if isinstance(node, str) and "${" in node else node


def packaged(template, values):
    """Returns the template as `sam deploy` uploads it: loops as they are, and for each function where its code lies."""
    expanded = expand_language_extensions(template, values, enabled=True)
    exported = copy.deepcopy(expanded.expanded_template)
    for resource in exported["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://packages/function.zip"
    differing = expanded.dynamic_artifact_properties
    merged = merge_language_extensions_s3_uris(expanded.original_template, exported, differing)
    return generate_and_apply_artifact_mappings(merged, differing, exported["Resources"], os.getcwd())


def transformed(path, given):
    """Returns the template that CloudFormation sees, and the value of each parameter."""
    with open(path, encoding="utf-8") as file:
        template = yaml_parse(file.read())
    values = {name: str(it["Default"]) for name, it in template["Parameters"].items() if "Default" in it} | given
    here = {"AWS::Region": REGION, "AWS::AccountId": "123456789012", "AWS::Partition": "aws"}
    expanded = expand_language_extensions(packaged(template, values | here), values | here, enabled=True).expanded_template
    expanded = substituted_later(expanded)
    expanded["Transform"] = "AWS::Serverless-2016-10-31"
    try:
        made = Translator({}, Parser(), boto_session=boto3.Session(region_name=REGION)).translate(expanded, values)
    except InvalidDocumentException as error:
        sys.exit(f"the SAM transform refuses the template: {error.message} {[str(it) for it in error.causes]}")
    return made, values


def for_moto(template):
    """Leaves out what moto does not know: assertions of rules, and mappings, which read queues and streams there, never Kafka."""
    template.pop("Rules", None)
    resources = template["Resources"].items()
    template["Resources"] = {name: it for name, it in resources if it["Type"] != "AWS::Lambda::EventSourceMapping"}


def check_room():
    """Checks that the longest ladder fits: resources count whether or not their condition holds."""
    stages = ",".join(f"{minutes}m" for minutes in range(1, MOST_STAGES + 1))
    template, _ = transformed("template.yaml", GIVEN | {"Stages": stages})
    resources = len(template["Resources"])
    if resources > MOST_RESOURCES:
        sys.exit(f"{MOST_STAGES} stages make {resources} resources, and CloudFormation takes {MOST_RESOURCES}")
    print(f"{MOST_STAGES} stages make {resources} resources of {MOST_RESOURCES}")


def check_order(template):
    """Checks that each topic which the stack makes is there before the mapping that reads it."""
    resources = template["Resources"].values()
    mappings = json.dumps([it["Properties"] for it in resources if it["Type"] == "AWS::Lambda::EventSourceMapping"])
    for name, it in template["Resources"].items():
        if it["Type"] == "AWS::MSK::Topic" and json.dumps({"Ref": name}) not in mappings:
            sys.exit(f"{name} may be made after the mapping that reads it")


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: found {found!r}, expected {expected!r}")


@mock_aws
def main():
    check_room()
    template, values = transformed("template.yaml", GIVEN)
    check_order(template)
    for_moto(template)
    s3 = boto3.client("s3", REGION)
    s3.create_bucket(Bucket="packages", CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_object(Bucket="packages", Key="function.zip", Body=b"PK\x05\x06" + bytes(18))
    formation = boto3.client("cloudformation", REGION)
    formation.create_stack(
        StackName="brew",
        TemplateBody=json.dumps(template),
        Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in values.items()],
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
    )
    expect("the stack", formation.describe_stacks(StackName="brew")["Stacks"][0]["StackStatus"], "CREATE_COMPLETE")
    pages = formation.get_paginator("list_stack_resources").paginate(StackName="brew")
    made = {it["LogicalResourceId"]: it for page in pages for it in page["StackResourceSummaries"]}

    wanted = collections.Counter(it["Type"] for it in template["Resources"].values() if "Condition" not in it)
    kinds = collections.Counter(it["ResourceType"] for it in made.values())
    for kind in WHOLE:
        if kinds[kind] < wanted[kind] or not kinds[kind]:
            sys.exit(f"{kind}: {kinds[kind]} were made of {wanted[kind]}")
    functions = boto3.client("lambda", REGION)
    roles = set()
    for name, it in sorted(made.items()):
        if it["ResourceType"] == "AWS::Lambda::Function":
            found = functions.get_function_configuration(FunctionName=it["PhysicalResourceId"])
            expect(f"{name}'s bucket", found["Environment"]["Variables"]["INCIDENT_BUCKET"], made["Incidents"]["PhysicalResourceId"])
            roles.add(found["Role"])
    expect("roles, one for each function", len(roles), kinds["AWS::Lambda::Function"])
    for kind in sorted(set(kinds) - {""}):
        print(f"{kinds[kind]:4} {kind}")
    unknown = sorted(set(wanted) - set(kinds))
    print(f"{len(made)} resources stand; moto knows nothing of {', '.join(unknown)}")


if __name__ == "__main__":
    # moto answers instead of AWS, and asks for no more than that there are credentials.
    os.environ.update(AWS_DEFAULT_REGION=REGION, AWS_ACCESS_KEY_ID="none", AWS_SECRET_ACCESS_KEY="none")
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    main()
