//! CloudFormation's functions, by name.

/// What a function is for.
///
/// Source: CloudFormation template reference, "Intrinsic functions" and "Condition functions".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intrinsic {
    Base64,
    Cidr,
    FindInMap,
    GetAtt,
    If,
    Join,
    Length,
    Ref,
    Select,
    Split,
    Sub,
    /// Stands only in conditions.
    Logic(Logic),
    /// Its value is known only to AWS.
    Remote,
    /// It is known, and not resolved here.
    Unsupported,
}

/// What stands only in conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logic {
    And,
    Condition,
    Equals,
    Not,
    Or,
}

impl Intrinsic {
    /// Finds a function by its long name.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "Ref" => Self::Ref,
            "Condition" => Self::Logic(Logic::Condition),
            "Fn::And" => Self::Logic(Logic::And),
            "Fn::Base64" => Self::Base64,
            "Fn::Cidr" => Self::Cidr,
            "Fn::Equals" => Self::Logic(Logic::Equals),
            "Fn::FindInMap" => Self::FindInMap,
            "Fn::GetAtt" => Self::GetAtt,
            "Fn::GetAZs" | "Fn::GetStackOutput" | "Fn::ImportValue" | "Fn::Transform" => {
                Self::Remote
            }
            "Fn::If" => Self::If,
            "Fn::Join" => Self::Join,
            "Fn::Length" => Self::Length,
            "Fn::Not" => Self::Logic(Logic::Not),
            "Fn::Or" => Self::Logic(Logic::Or),
            "Fn::Select" => Self::Select,
            "Fn::Split" => Self::Split,
            "Fn::Sub" => Self::Sub,
            "Fn::ToJsonString" => Self::Unsupported,
            _ => return None,
        })
    }
}

/// Returns the long name of a function in its short form, `GetAtt` of `!GetAtt`.
pub(super) fn long_name(short: &str) -> String {
    match short {
        "Ref" | "Condition" => short.to_owned(),
        _ => format!("Fn::{short}"),
    }
}

/// Tells whether a key makes its map a function, when it is the only one.
///
/// `Condition` does not: resources have an attribute of that name. A loop does not: its result is merged into the map.
pub(super) fn is_function(key: &str) -> bool {
    key == "Ref" || (key.starts_with("Fn::") && !is_loop(key))
}

/// Tells whether a key is that of a loop, `Fn::ForEach::Name`.
pub(super) fn is_loop(key: &str) -> bool {
    key.starts_with("Fn::ForEach")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_form_is_a_long_one() {
        for (short, long) in [
            ("Ref", "Ref"),
            ("Condition", "Condition"),
            ("GetAtt", "Fn::GetAtt"),
            ("Nonsense", "Fn::Nonsense"),
        ] {
            assert_eq!(long_name(short), long);
        }
        assert_eq!(Intrinsic::named("Fn::Nonsense"), None);
    }

    #[test]
    fn only_functions_make_their_map_one() {
        for (key, expected) in [
            ("Ref", true),
            ("Fn::Sub", true),
            ("Fn::Nonsense", true),
            ("Condition", false),
            ("Fn::ForEach::Stages", false),
            ("Refs", false),
        ] {
            assert_eq!(is_function(key), expected, "{key}");
        }
    }
}
