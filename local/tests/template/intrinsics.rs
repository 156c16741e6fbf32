//! What functions come to. The examples are those of the CloudFormation template reference, where it has some.

use crate::bench::{options, read, read_well};
use crate::expression::{check, refuse, template};

#[test]
fn values_are_rendered_as_cloudformation_does() {
    check("plain", "plain");
    check("'quoted'", "quoted");
    check("''", "");
    check("5", "5");
    check("-1", "-1");
    check("1.5", "1.5");
    check(
        "123456789012345678901234567890",
        "123456789012345678901234567890",
    );
    check("true", "true");
    check("no", "false");
    check("'no'", "no");
    check("!!str 0123", "0123");
    check("! 0123", "0123");
    check("\"a\\tb\\u00e9\"", "a\tbé");
}

#[test]
fn sub_puts_values_into_a_text() {
    check("!Sub no variables", "no variables");
    check("!Sub '${Name}-${Count}'", "orders-3");
    check(
        "!Sub 'arn:aws:ec2:${AWS::Region}:${AWS::AccountId}:vpc/x'",
        "arn:aws:ec2:us-east-1:000000000000:vpc/x",
    );
    check("!Sub ['www.${Domain}', {Domain: !Ref Name}]", "www.orders");
    check(
        "{Fn::Sub: ['www.${Domain}', {Domain: {Ref: Name}}]}",
        "www.orders",
    );
    check("!Sub ['${Name}', {Name: mine}]", "mine");
    check("!Sub ['${A}', {A: 5, B: !GetAtt Queue.Arn}]", "5");
    check(
        "!Sub '${!Literal} ${Bucket} ${Bucket.Arn}'",
        "${Literal} incidents-orders arn:aws:s3:::incidents-orders",
    );
    check("!Sub '${Name} $Name {Name} ${'", "orders $Name {Name} ${");
    check(
        "!Sub ['${A}', {A: !Sub ['<${B}>', {B: !Ref Name}]}]",
        "<orders>",
    );
    refuse(
        "!Sub '${Queue.Arn}'",
        "${Queue.Arn} cannot be known locally: give --env OUT=…",
    );
    refuse(
        "!Sub '${Nothing}'",
        "${Nothing}: the template has no parameter or resource Nothing",
    );
    refuse(
        "!Sub '${Zones}'",
        "${Zones} is a list, and !Sub takes texts: use !Join",
    );
    refuse(
        "!Sub '${AWS::NoValue}'",
        "is AWS::NoValue, where the text of ${AWS::NoValue} is expected",
    );
    refuse(
        "!Sub '${Na me}'",
        "!Sub: \"${Na me}\" is no variable, whose name has letters, digits, '_', '.' and ':'; for the text itself write ${!…}",
    );
    refuse("!Sub [a]", "!Sub takes a list of 2");
    refuse(
        "!Sub [!Ref Name, {}]",
        "is !Ref Name, where the text of !Sub is expected",
    );
    refuse(
        "!Sub {a: b}",
        "is a map, where the text of !Sub is expected",
    );
    refuse("!Sub ['${A}', [A]]", "is a list, where a map is expected");
}

#[test]
fn join_select_split_and_base64_do_what_they_say() {
    check("!Join [':', [a, b, c]]", "a:b:c");
    check(
        "{Fn::Join: ['', [a, {Ref: Name}, 5, true]]}",
        "aorders5true",
    );
    check("!Join [',', [a, !Ref AWS::NoValue, b]]", "a,b");
    check("!Join [',', []]", "");
    check(
        "!Select ['1', [apples, grapes, oranges, mangoes]]",
        "grapes",
    );
    check("!Select [0, !Ref Zones]", "a");
    check("!Select [2, !Split ['|', 'a|b|c']]", "c");
    check("!Select [1, !Split ['|', 'a||c|']]", "");
    check("!Select [0, [a, !GetAtt Queue.Arn]]", "a");
    check(
        "!Select [0, !Split ['=', !Select [1, !Split [',', 'x=1,y=2']]]]",
        "y",
    );
    check("!Select [0, !Split [',', '']]", "");
    check(
        "{Fn::Base64: AWS CloudFormation}",
        "QVdTIENsb3VkRm9ybWF0aW9u",
    );
    check("!Base64 {Ref: Name}", "b3JkZXJz");
    refuse(
        "!Select [3, !Ref Zones]",
        "!Select wants entry 3, counted from 0, of a list of 3",
    );
    refuse(
        "!Select [-1, !Ref Zones]",
        "!Select takes an index from 0, not \"-1\"",
    );
    refuse(
        "!Select [a, !Ref Zones]",
        "!Select takes an index from 0, not \"a\"",
    );
    refuse(
        "!Select [0, [!Ref AWS::NoValue, b]]",
        "!Select wants entry 0 of a list in which AWS::NoValue stands at or before it",
    );
    check("!Select [0, [a, !Ref AWS::NoValue]]", "a");
    refuse(
        "!Select [1, [!Ref AWS::NoValue, b]]",
        "!Select wants entry 1 of a list in which AWS::NoValue stands at or before it",
    );
    refuse(
        "!Select [0, text]",
        "is one value, where a list is expected",
    );
    refuse(
        "!Split ['', abc]",
        "!Split takes a delimiter that is not empty",
    );
    refuse("!Split [',', 'a,b']", "is a list, where a text is expected");
    refuse("!Join [',', a]", "is one value, where a list is expected");
    refuse("!Join [',', [[a]]]", "is a list, where a text is expected");
    refuse(
        "!Join [!Ref Name, [a, b]]",
        "is !Ref Name, where the text of a delimiter is expected",
    );
    refuse("!Join [',']", "!Join takes a list of 2");
    refuse("!Join text", "!Join text takes a list of 2");
}

#[test]
fn a_mapping_is_looked_up() {
    check(
        "!FindInMap [RegionMap, !Ref AWS::Region, HVM64]",
        "ami-0ff8a91507f77f867",
    );
    check(
        "{Fn::FindInMap: [RegionMap, us-west-1, HVM64]}",
        "ami-0bdb828fd58c52235",
    );
    check("!FindInMap [RegionMap, us-east-1, Size]", "5");
    check(
        "!Join ['-', !FindInMap [RegionMap, us-east-1, Zones]]",
        "x-y",
    );
    check(
        "!FindInMap [RegionMap, eu-west-1, HVM64, {DefaultValue: !Ref Name}]",
        "orders",
    );
    check(
        "!FindInMap [RegionMap, us-west-1, HVM64, {DefaultValue: none}]",
        "ami-0bdb828fd58c52235",
    );
    refuse(
        "!FindInMap [RegionMap, eu-west-1, HVM64]",
        "!FindInMap [RegionMap, eu-west-1, HVM64]: the mappings have no \"eu-west-1\" there",
    );
    refuse(
        "!FindInMap [A, b, c]",
        "!FindInMap [A, b, c]: the mappings have no \"A\" there",
    );
    refuse(
        "!FindInMap [RegionMap, us-west-1]",
        "!FindInMap takes a list of 3 to 4",
    );
    refuse(
        "!FindInMap [RegionMap, us-west-1, HVM64, x]",
        "is one value, where a map with DefaultValue is expected",
    );
}

#[test]
fn lengths_and_blocks_of_addresses_are_counted() {
    check("!Sub ['${N}', {N: {Fn::Length: !Ref Zones}}]", "3");
    check("!Length [a, b]", "2");
    check("!Select [1, !Cidr ['10.0.0.0/16', 4, 8]]", "10.0.1.0/24");
    refuse(
        "!Cidr ['fc00::/56', 4, 64]",
        "!Cidr takes an IPv4 block here, not \"fc00::/56\"",
    );
    refuse(
        "!Cidr ['10.0.0.0/24', 4, 8]",
        "!Cidr takes a block that has room for all that are asked of it",
    );
    refuse("!Length text", "is one value, where a list is expected");
}

#[test]
fn what_only_aws_knows_is_refused_with_the_flag_that_helps() {
    for (expression, shown) in [
        ("!ImportValue network-subnet", "!ImportValue network-subnet"),
        ("!GetAZs ''", "!GetAZs "),
        ("{Fn::GetAZs: {Ref: 'AWS::Region'}}", "!GetAZs"),
        ("!Select [0, !GetAZs us-east-1]", "!GetAZs us-east-1"),
        (
            "{Fn::Transform: {Name: 'AWS::Include', Parameters: {Location: 's3://a/b'}}}",
            "!Transform",
        ),
        ("'{{resolve:ssm:/brew/url}}'", "{{resolve:ssm:/brew/url}}"),
        (
            "!Sub 'https://${Name}:{{resolve:secretsmanager:db:SecretString:password}}@x'",
            "{{resolve:secretsmanager:db:SecretString:password}}",
        ),
    ] {
        refuse(
            expression,
            &format!("{shown} cannot be known locally: give --env OUT=…"),
        );
    }
}

#[test]
fn what_is_no_function_is_refused_by_name() {
    refuse(
        "!Nonsense x",
        "!Nonsense x is none of CloudFormation's functions",
    );
    refuse(
        "{Fn::Nonsense: x}",
        "!Nonsense x is none of CloudFormation's functions",
    );
    refuse(
        "!ref Name",
        "!ref Name is none of CloudFormation's functions",
    );
    refuse(
        "!ToJsonString {a: b}",
        "!ToJsonString is not supported here",
    );
    refuse("", "has no value, where a text is expected");
    refuse("~", "has no value, where a text is expected");
    refuse("[a]", "is a list, where a text is expected");
    refuse("{a: b}", "is a map, where a text is expected");
    refuse(
        "0123",
        "the number 0123 is read in several ways: put it in quotes, or write it plainly",
    );
}

#[test]
fn what_the_language_extensions_bring_needs_them() {
    for (expression, what) in [
        ("!Length [a]", "!Length"),
        (
            "!FindInMap [RegionMap, a, b, {DefaultValue: c}]",
            "the DefaultValue of !FindInMap",
        ),
        ("!Ref {Fn::Sub: Name}", "a function in !Ref"),
    ] {
        let text = template(expression);
        read_well(&text, &options());
        let sam = text.replace("AWS::LanguageExtensions, ", "");
        let problems = read(&sam, &options()).expect_err(expression);
        let problem = format!("OUT: {what} needs the transform AWS::LanguageExtensions");
        assert!(problems[0].ends_with(&problem), "{problems:?}");
    }
}
