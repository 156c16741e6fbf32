//! What is wrong with a template.

use std::fmt;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The line, from 1; 0 for what is wrong with the options and not with a line.
    pub line: usize,
    /// The path in the template and what is wrong there.
    pub text: String,
}

/// All that is wrong with a template, in the order of its lines: `template.yaml:41: Resources.Payments…: what is wrong`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// What the template is called.
    pub template: String,
    /// At least one problem.
    pub problems: Vec<Problem>,
}

impl std::error::Error for TemplateError {}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            match problem.line {
                0 => write!(f, "{}: {}", self.template, problem.text)?,
                line => write!(f, "{}:{line}: {}", self.template, problem.text)?,
            }
        }
        Ok(())
    }
}
