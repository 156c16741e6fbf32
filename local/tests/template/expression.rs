//! Expressions in a template that has much to refer to.

use crate::bench::{function, options, read};

/// What the expressions may refer to; 45 lines.
const SECTIONS: &str = "Parameters:
  Name: {Type: String, Default: orders}
  Count: {Type: Number, Default: 3}
  Zones: {Type: CommaDelimitedList, Default: 'a, b ,c'}
  Ports: {Type: List<Number>, Default: '80, 443'}
  Subnets: {Type: 'List<AWS::EC2::Subnet::Id>', Default: 'subnet-1,subnet-2'}
  Empty: {Type: CommaDelimitedList, Default: ''}
  Blank: {Type: String, Default: ''}
  Missing: {Type: String}
  Stored: {Type: 'AWS::SSM::Parameter::Value<String>', Default: /brew/url}
Mappings:
  RegionMap:
    us-east-1: {HVM64: ami-0ff8a91507f77f867, Zones: [x, y], Size: 5}
    us-west-1: {HVM64: ami-0bdb828fd58c52235}
Conditions:
  IsOrders: !Equals [!Ref Name, orders]
  IsPayments: !Equals [!Ref Name, payments]
  OfList: !Equals [!Join [',', !Ref Zones], 'a,b,c']
  NotNo: !Not [Condition: IsPayments]
  Both: !And [!Condition IsOrders, !Condition NotNo]
  Either: {Fn::Or: [{Condition: IsPayments}, {Condition: IsOrders}]}
  Neither: !Or [!Condition IsPayments, !Not [!Condition IsOrders]]
  Lazy: !Or [!Condition IsOrders, !Equals [!Ref Missing, x]]
  OfNumber: !Equals [!Ref Count, 3]
  OfBool: !Equals ['true', true]
  Case: !Equals [a, A]
  Lists: !Equals [!Ref Zones, [a, b, c]]
  Eggs: !Equals [!Ref Missing, x]
  Circle: !Not [!Condition Round]
  Round: !And [!Condition IsOrders, !Condition Circle]
  Bucketed: !Equals [!Ref Bucket, x]
  NoSuch: !Condition Nothing
  Lonely: !And [!Condition IsOrders]
  Text: just a text
  Joined: !Join ['', [a]]
";

/// Resources that the expressions may refer to.
const RESOURCES: &str =
    "  Bucket: {Type: 'AWS::S3::Bucket', Properties: {BucketName: !Sub 'incidents-${Name}'}}
  Nameless: {Type: 'AWS::S3::Bucket'}
  Queue: {Type: 'AWS::SQS::Queue', Properties: {QueueName: q}}
  Named: {Type: 'AWS::Serverless::Function', Properties: {FunctionName: 'named'}}
  Unnamed: {Type: 'AWS::Serverless::Function'}
  Gone: {Type: 'AWS::S3::Bucket', Condition: IsPayments, Properties: {BucketName: gone}}
  Selfish: {Type: 'AWS::S3::Bucket', Properties: {BucketName: !Sub 'x-${Selfless}'}}
  Selfless: {Type: 'AWS::S3::Bucket', Properties: {BucketName: !Ref Selfish}}
";

pub(crate) fn template(expression: &str) -> String {
    format!(
        "Transform: [AWS::LanguageExtensions, AWS::Serverless-2016-10-31]
{SECTIONS}Resources:
{RESOURCES}  F:
    Type: AWS::Serverless::Function
    Properties:
      Environment:
        Variables:
          OUT: {expression}
      Events:
        E:
          Type: MSK
          Properties: {{Stream: x, Topics: [t], StartingPosition: LATEST}}
"
    )
}

/// Resolves an expression; `-` when it is not there.
pub(crate) fn resolve(expression: &str) -> Result<String, String> {
    match read(&template(expression), &options()) {
        Ok(template) => {
            let variables = &function(&template).env;
            Ok(variables.get("OUT").map_or("-", String::as_str).to_owned())
        }
        Err(problems) => Err(problems.join("\n")),
    }
}

pub(crate) fn check(expression: &str, expected: &str) {
    assert_eq!(resolve(expression).as_deref(), Ok(expected), "{expression}");
}

/// Asserts that it is refused at the variable.
pub(crate) fn refuse(expression: &str, expected: &str) {
    let line = template("")
        .lines()
        .position(|line| line.trim_start().starts_with("OUT:"));
    let place = format!(
        "t.yaml:{}: Resources.F.Properties.Environment.Variables.OUT: ",
        line.unwrap().saturating_add(1)
    );
    let problem = resolve(expression).expect_err(expression);
    let what = problem.strip_prefix(&place);
    assert_eq!(what, Some(expected), "{expression}\n{problem}");
}

/// Asserts that it is refused in the line of the sections that begins so.
pub(crate) fn refuse_at(expression: &str, start: &str, expected: &str) {
    let template = template(expression);
    let line = template
        .lines()
        .position(|line| line.trim_start().starts_with(start));
    let place = format!("t.yaml:{}: ", line.unwrap().saturating_add(1));
    let problem = resolve(expression).expect_err(expression);
    let what = problem.strip_prefix(&place);
    assert_eq!(what, Some(expected), "{expression}\n{problem}");
}
