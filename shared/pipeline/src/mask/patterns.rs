//! Secrets that are known by the words before them: bearer tokens, `Authorization` values, passwords in URLs.

use std::ops::Range;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use regex::Regex;

/// The secret is what the first group that takes part holds.
struct Pattern {
    regex: Regex,
    /// Looks at the value once more.
    accepts: fn(&str) -> bool,
}

/// `Bearer abc`, `bearer_token=abc`, `"bearer": "abc"`, `Bearer%20abc`.
const BEARER: &str = r#"(?ix) bearer (?: (?:[\s:="'\\_]|%20|\+)+ (?:bearer|token)? )*
    (?:[\s:="'\\]|%20|\+)+ ([^\s"'<>\\]+)"#;

/// `Authorization: Basic abc`, `"authorization":"abc"`, `{\"authorization\":\"abc\"}`, `("authorization", "abc")`,
/// `{"name":"Authorization","value":"abc"}`, `Authorization: Digest username="u", response="abc"`.
const AUTHORIZATION: &str = r#"(?ix) authorization (?:[\ _-]?(?:header|value|token))?
    (?:[\s"'\\\])]|%22)* (?:=>|[:=,]|%3A|%3D) (?:[\s\[({>=:]|%20)*
    (?: ["'\\]* value ["'\\]* \s* [:=] \s* )?
    (?: \\+["'] ([^"'\\]+)
      | " ((?:[^"\\]|\\.)+)
      | ' ((?:[^'\\]|\\.)+)
      | ( (?:[^\s",]|"[^"]*")+ (?: (?:[\ \t]+|[\r\n]+[\ \t]+) (?:[^\s",]|"[^"]*")+ )?
          (?: \s*,\s* [\w-]+ \s*=\s* (?:[^\s",]|"[^"]*")+ )* )
    )"#;

/// `Basic dXNlcjpwYXNz` on its own: base64 of a name, a colon and a password.
const BASIC: &str = r"(?i)\bbasic(?:\s|%20)+([a-z0-9+/_-]{4,}={0,2})";

/// `scheme://user:password@host`; the password may hold an `@`.
const URL_PASSWORD: &str = r#"://[^\s/?#:@"'<>]*:([^\s/?#]+)@"#;

/// The same with a slash, question mark or number sign in the password, which should be percent-encoded there but often is not.
const URL_ODD_PASSWORD: &str = r#"://[^\s/?#:@"'<>]*:([^\s@]*[/?#][^\s@]*)@"#;

/// `?password=abc`, `&access_token=abc`.
const URL_QUERY: &str =
    r#"(?i)[?&;](?:\w*(?:password|passwd|pwd|token|secret|api_?key))=([^\s&;#"'<>]+)"#;

static PATTERNS: LazyLock<Vec<Pattern>> = LazyLock::new(|| {
    let always: fn(&str) -> bool = |_| true;
    [
        (BEARER, always),
        (AUTHORIZATION, always),
        (BASIC, is_name_and_password),
        (URL_PASSWORD, always),
        (URL_ODD_PASSWORD, is_no_port),
        (URL_QUERY, always),
    ]
    .into_iter()
    .filter_map(|(pattern, accepts)| {
        let regex = Regex::new(pattern).ok()?;
        Some(Pattern { regex, accepts })
    })
    .collect()
});

/// Notes where such secrets stand; they may overlap.
pub(super) fn find(text: &str, found: &mut Vec<Range<usize>>) {
    for Pattern { regex, accepts } in PATTERNS.iter() {
        let values = regex
            .captures_iter(text)
            .filter_map(|captures| captures.iter().skip(1).flatten().next())
            .filter(|value| accepts(value.as_str()));
        found.extend(values.map(|value| value.range()));
    }
}

fn is_name_and_password(value: &str) -> bool {
    STANDARD
        .decode(value)
        .or_else(|_| STANDARD_NO_PAD.decode(value.trim_end_matches('=')))
        .is_ok_and(|decoded| decoded.contains(&b':'))
}

/// Tells `user:p/w@host` from `host:8080/path@more`.
fn is_no_port(value: &str) -> bool {
    let before = value.split(['/', '?', '#']).next().unwrap_or_default();
    before.is_empty() || !before.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(PATTERNS.len(), 6);
    }
}
