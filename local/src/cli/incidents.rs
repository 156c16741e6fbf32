//! `cargo local incidents`.

use clap::Args;
use lambda::{Clock, SystemClock};
use pipeline::replay::moment::moment;
use pipeline::replay::selection::Told;
use pipeline::{ErrorClass, ErrorCode, Timestamp};

use super::endpoints::{bucket, read};
use super::{BrokersFlag, BucketFlags, Failure, Form, Shell};
use crate::operator::incident_list::Which;
use crate::operator::{Filter, Found, IncidentList};

/// Lists the incidents in the bucket, the newest first.
///
/// An incident tells of one dead letter, never its payload.
#[derive(Args, Debug)]
pub(crate) struct IncidentsCommand {
    #[command(flatten)]
    bucket: BucketFlags,
    /// Only of this error class: transient, permanent or unknown.
    #[arg(long, alias = "class", value_name = "CLASS", value_parser = class)]
    error_class: Option<Told<ErrorClass>>,
    /// Only of this error code, such as provider.declined.
    #[arg(long, alias = "code", value_name = "CODE", value_parser = code)]
    error_code: Option<Told<ErrorCode>>,
    /// Only since then: 1h, 24h, 7d ago, or RFC 3339.
    #[arg(long, value_name = "TIME", value_parser = since)]
    since: Option<Timestamp>,
    /// At most so many.
    #[arg(long, value_name = "N", value_parser = limit)]
    limit: Option<usize>,
    /// Shows one incident whole: the key of its object, or topic/partition/offset of its dead letter.
    #[arg(long, value_name = "KEY", value_parser = Which::from_text, conflicts_with_all = ["error_class", "error_code", "since", "limit"])]
    show: Option<Which>,
    #[command(flatten)]
    form: Form,
}

impl IncidentsCommand {
    pub(crate) async fn run(self, shell: &mut Shell<'_>) -> Result<(), Failure> {
        let bucket = read(shell.env, &BrokersFlag::default(), &self.bucket, bucket)?;
        if let Some(which) = &self.show {
            let found = Found::one(&bucket, which).await?;
            return Ok(shell.print(self.form, &found)?);
        }
        let filter = Filter {
            class: self.error_class,
            code: self.error_code,
            since: self.since,
            limit: self.limit,
        };
        let list = IncidentList::find(&bucket, &filter).await?;
        shell.print(self.form, &list)?;
        if list.more {
            shell.note("there are more: --limit leaves them out");
        }
        for key in &list.unreadable {
            shell.note(format_args!("warning: {key} is no incident"));
        }
        Ok(())
    }
}

fn class(text: &str) -> Result<Told<ErrorClass>, &'static str> {
    let told = Told::class_of(text);
    let known = told.as_str() == text;
    known
        .then_some(told)
        .ok_or("it is none of transient, permanent, unknown")
}

fn code(text: &str) -> Result<Told<ErrorCode>, String> {
    let told = Told::code_of(text);
    if told.as_str() == text {
        return Ok(told);
    }
    let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    Err(format!("it is none of {}, unknown", codes.join(", ")))
}

fn since(text: &str) -> Result<Timestamp, &'static str> {
    moment(text, SystemClock.now())
        .ok_or("it is neither a span ago, such as 1h, 24h or 7d, nor an RFC 3339 time")
}

fn limit(text: &str) -> Result<usize, &'static str> {
    text.parse()
        .ok()
        .filter(|limit| *limit > 0)
        .ok_or("it is not a whole number above zero")
}
