//! Parameters for local use, which stand where SAM's own do.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use super::arguments;
use crate::cli::Failure;

const FILE: &str = "samconfig.toml";

/// The section and its entry.
const PATH: [&str; 4] = ["local", "deploy", "parameters", "parameter_overrides"];

/// Reads the parameters that a `samconfig.toml` beside a template gives; none where there is no such file or section.
///
/// Source: SAM developer guide, "AWS SAM CLI configuration file", and `--parameter-overrides` of `sam deploy`.
pub(super) fn beside(template: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let file = template.with_file_name(FILE);
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => {
            let what = format!("cannot read {}: {error}", file.display());
            return Err(Failure::Usage(what));
        }
    };
    read(&text).map_err(|what| Failure::Usage(format!("{}: {what}", file.display())))
}

fn read(text: &str) -> Result<BTreeMap<String, String>, String> {
    let document: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
    let mut found = Some(toml::Value::Table(document));
    for name in PATH {
        found = found.and_then(|value| value.get(name).cloned());
    }
    let at = PATH.join(".");
    let words = match found {
        None => return Ok(BTreeMap::new()),
        Some(toml::Value::String(text)) => {
            shell_words::split(&text).map_err(|error| format!("{at}: {error}"))?
        }
        Some(toml::Value::Array(items)) => {
            let words = items.iter().map(|item| item.as_str().map(str::to_owned));
            let words: Option<Vec<String>> = words.collect();
            words.ok_or_else(|| format!("{at} holds something other than \"NAME=VALUE\""))?
        }
        Some(_) => return Err(format!("{at} is no list of \"NAME=VALUE\"")),
    };
    let parameters = words.iter().map(|word| arguments::assignment(word));
    let parameters: Result<_, String> = parameters.collect();
    parameters.map_err(|what| format!("{at}: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<&[(&str, &str)], &str>) {
        let read = read(text);
        let found = read.as_ref().map(|parameters| {
            let pairs = parameters.iter();
            pairs
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect()
        });
        let expected = expected.map(<[_]>::to_vec);
        match (found, expected) {
            (Ok(found), Ok(expected)) => {
                let found: Vec<(&str, &str)> = found;
                assert_eq!(found, expected, "{text}");
            }
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{text}: {found}"),
            (found, expected) => panic!("{text}: {found:?} {expected:?}"),
        }
    }

    #[test]
    fn parameters_stand_in_a_list_or_a_line() {
        let section = "[local.deploy.parameters]\nparameter_overrides = ";
        let of = |value: &str| format!("version = 0.1\n{section}{value}\n");
        check(
            &of("[\"A=1\", \"Stages=30s,5m\", \"B=x=30s\"]"),
            Ok(&[("A", "1"), ("B", "x=30s"), ("Stages", "30s,5m")]),
        );
        check(&of("'A=1 B=\"2 3\"'"), Ok(&[("A", "1"), ("B", "2 3")]));
        check(&of("[]"), Ok(&[]));
        check(
            "version = 0.1\n[prod.deploy.parameters]\nparameter_overrides = [\"A=1\"]\n",
            Ok(&[]),
        );
        check("", Ok(&[]));
        check(&of("[1]"), Err("something other than"));
        check(&of("true"), Err("is no list"));
        check(&of("[\"A\"]"), Err("\"A\" is not of the form NAME=VALUE"));
        check("local = [", Err("TOML parse error at line 1"));
    }
}
