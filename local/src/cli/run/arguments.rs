//! What stands on the command line.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cli::Failure;
use crate::function::Program;

/// Reads `NAME=VALUE`.
pub(super) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        Some(_) | None => Err(format!("{text:?} is not of the form NAME=VALUE")),
    }
}

/// Reads `NAME=VALUE` for an environment, which must leave Lambda's own variables alone.
pub(super) fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = assignment(text)?;
    if name.starts_with("AWS_LAMBDA_") {
        return Err(format!("{name} is set by Lambda itself"));
    }
    if value.contains('\0') || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(format!("{name:?} is no variable that a process can have"));
    }
    Ok((name, value))
}

/// Gathers what a flag gives, each name once.
pub(super) fn once<T>(flag: &str, pairs: Vec<(String, T)>) -> Result<BTreeMap<String, T>, Failure> {
    let mut all = BTreeMap::new();
    for (name, value) in pairs {
        if all.contains_key(&name) {
            return Err(Failure::Usage(format!("{flag} {name} is given twice")));
        }
        all.insert(name, value);
    }
    Ok(all)
}

/// Reads `ID=COMMAND`, where the command is split as a shell splits words.
pub(super) fn command(text: &str) -> Result<(String, Program), String> {
    let (id, command) = text
        .split_once('=')
        .filter(|(id, _)| !id.is_empty())
        .ok_or_else(|| format!("{text:?} is not of the form ID=COMMAND"))?;
    let words = shell_words::split(command)
        .map_err(|error| format!("the command of {id} cannot be split into words: {error}"))?;
    let mut words = words.into_iter();
    let file = words
        .next()
        .filter(|file| !file.is_empty())
        .ok_or_else(|| format!("the command of {id} is empty"))?;
    let program = Program {
        file: file.into(),
        arguments: words.collect(),
    };
    Ok((id.to_owned(), program))
}

/// Fails unless the program is there: as a path from the current folder, or in a folder of `PATH`.
pub(super) fn find(id: &str, program: &Program, path: Option<&str>) -> Result<(), Failure> {
    let file = &program.file;
    let found = if file.components().nth(1).is_some() {
        file.is_file()
    } else {
        let folders = path.unwrap_or_default().split(':');
        folders
            .filter(|folder| !folder.is_empty())
            .any(|folder| Path::new(folder).join(file).is_file())
    };
    if found {
        Ok(())
    } else {
        Err(Failure::Usage(format!(
            "--function {id}: there is no program {}",
            file.display()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_as_a_shell_splits_words() {
        let check = |text: &str, id: &str, words: &[&str]| {
            let (read, program) = command(text).unwrap();
            let mut split = vec![program.file.display().to_string()];
            split.extend(program.arguments);
            assert_eq!(
                (read.as_str(), split),
                (id, words.iter().map(ToString::to_string).collect())
            );
        };
        check("Main=./run", "Main", &["./run"]);
        check(
            "Main= node  app.js --x=1",
            "Main",
            &["node", "app.js", "--x=1"],
        );
        check(
            r#"Main='my run' "a b" c\ d ''"#,
            "Main",
            &["my run", "a b", "c d", ""],
        );
    }

    #[test]
    fn what_is_no_command_is_refused_by_its_id() {
        let check = |text: &str, word: &str| {
            let refused = command(text).unwrap_err();
            assert!(refused.contains(word), "{refused}");
        };
        check("Main", "ID=COMMAND");
        check("=x", "ID=COMMAND");
        check("Main=", "Main is empty");
        check("Main=  ", "Main is empty");
        check("Main='' x", "Main is empty");
        check("Main='x", "Main cannot be split");
    }

    #[test]
    fn a_variable_has_a_name_and_is_none_of_lambdas_own() {
        let read = |text: &str| variable(text);
        assert_eq!(read("A=b=c"), Ok(("A".to_owned(), "b=c".to_owned())));
        assert_eq!(read("A="), Ok(("A".to_owned(), String::new())));
        for text in ["A", "", "=b", "AWS_LAMBDA_RUNTIME_API=x", "A B=c"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_program_is_looked_for_as_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program");
        std::fs::write(&file, "").unwrap();
        let path = format!("/nowhere::{}", folder.path().display());
        let check = |name: &str, path: Option<&str>, expected: bool| {
            let (_, program) = command(&format!("Main={name}")).unwrap();
            let found = find("Main", &program, path);
            assert_eq!(found.is_ok(), expected, "{name} {path:?}");
        };
        check(&file.display().to_string(), None, true);
        check("program", Some(&path), true);
        check("program", None, false);
        check("./program", Some(&path), false);
        check("other", Some(&path), false);
        check(&folder.path().display().to_string(), None, false);
    }
}
