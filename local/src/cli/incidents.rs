//! `cargo local incidents`.

use aws::Bucket;
use clap::Args;
use lambda::{Clock, SystemClock};
use pipeline::replay::moment::moment;
use pipeline::replay::selection::Told;
use pipeline::{ErrorClass, ErrorCode, Timestamp, Topic};
use serde::Serialize;

use super::endpoints::{bucket, connection, read};
use super::{BrokersFlag, BucketFlags, Failure, Form, Shell};
use crate::operator::incident_list::Which;
use crate::operator::{Filter, Found, GroupBy, IncidentGroups, IncidentList, Payload};

/// Lists the incidents in the bucket, the newest first.
///
/// An incident tells of one dead letter, never its payload; --show with --payload fetches that from where it lies.
#[derive(Args, Debug)]
pub(crate) struct IncidentsCommand {
    #[command(flatten)]
    brokers: BrokersFlag,
    #[command(flatten)]
    bucket: BucketFlags,
    #[command(flatten)]
    wanted: Wanted,
    /// Counts them by what they have in common, with the first and the last of each group.
    #[arg(long, value_name = "WHAT", conflicts_with = "limit")]
    group: Option<GroupBy>,
    /// Shows one incident whole: the key of its object, or topic/partition/offset of its dead letter.
    #[arg(long, value_name = "KEY", value_parser = Which::from_text, conflicts_with_all = ["Wanted", "group"])]
    show: Option<Which>,
    /// Shows the record's value too: text as it is, other bytes in base64.
    #[arg(long, requires = "show")]
    payload: bool,
    #[command(flatten)]
    form: Form,
}

/// Which incidents.
#[derive(Args, Debug)]
struct Wanted {
    /// Only of this error class: transient, permanent or unknown.
    #[arg(long, alias = "class", value_name = "CLASS", value_parser = class)]
    error_class: Option<Told<ErrorClass>>,
    /// Only of this error code, such as provider.declined.
    #[arg(long, alias = "code", value_name = "CODE", value_parser = code)]
    error_code: Option<Told<ErrorCode>>,
    /// Only of records first read from this topic.
    #[arg(long, value_name = "TOPIC")]
    original_topic: Option<Topic>,
    /// Only of this dead-letter topic.
    #[arg(long, value_name = "TOPIC")]
    dlq_topic: Option<Topic>,
    /// Only of records with this key; one that is no text is given in base64.
    #[arg(long, value_name = "TEXT")]
    key: Option<String>,
    /// Only since then: 1h, 24h, 7d ago, or RFC 3339.
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    /// Only before then.
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<Timestamp>,
    /// At most so many.
    #[arg(long, value_name = "N", value_parser = limit)]
    limit: Option<usize>,
}

/// One incident with the value of its record.
#[derive(Serialize)]
struct WithPayload {
    #[serde(flatten)]
    found: Found,
    payload: Payload,
}

impl IncidentsCommand {
    pub(crate) async fn run(self, shell: &mut Shell<'_>) -> Result<(), Failure> {
        let bucket = read(shell.env, &self.brokers, &self.bucket, bucket)?;
        if let Some(which) = &self.show {
            let found = Found::one(&bucket, which).await?;
            if self.payload {
                return self.show_payload(&bucket, found, shell).await;
            }
            return Ok(shell.print(self.form, &found)?);
        }
        let filter = self.wanted.filter();
        if let (Some(since), Some(until)) = (filter.since, filter.until)
            && since >= until
        {
            let told = "--since is not before --until: nothing lies between them";
            return Err(Failure::Usage(told.to_owned()));
        }
        let unreadable = if let Some(group) = self.group {
            let groups = IncidentGroups::count(&bucket, &filter, group).await?;
            shell.print(self.form, &groups)?;
            groups.unreadable
        } else {
            let list = IncidentList::find(&bucket, &filter).await?;
            shell.print(self.form, &list)?;
            if list.more {
                shell.note("there are more: --limit leaves them out");
            }
            list.unreadable
        };
        for key in unreadable {
            shell.note(format_args!("warning: {key} is no incident"));
        }
        Ok(())
    }

    /// Shows an incident and the value of its record; the incident is shown also when the value cannot be had.
    async fn show_payload(
        &self,
        bucket: &Bucket,
        found: Found,
        shell: &mut Shell<'_>,
    ) -> Result<(), Failure> {
        let payload = if found.is_spilled() {
            found.spilled_payload(bucket).await
        } else {
            let connection = read(shell.env, &self.brokers, &self.bucket, connection)?;
            found.payload(&connection).await
        };
        let payload = match payload {
            Ok(payload) => payload,
            Err(error) => {
                shell.print(self.form, &found)?;
                return Err(error.into());
            }
        };
        if self.form.json {
            return Ok(shell.out.json(&WithPayload { found, payload })?);
        }
        shell.out.line(&found)?;
        Ok(shell.out.line(format_args!("\n{payload}"))?)
    }
}

impl Wanted {
    fn filter(&self) -> Filter {
        Filter {
            class: self.error_class,
            code: self.error_code,
            original_topic: self.original_topic.clone(),
            dlq_topic: self.dlq_topic.clone(),
            key: self.key.clone(),
            since: self.since,
            until: self.until,
            limit: self.limit,
        }
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

fn time(text: &str) -> Result<Timestamp, &'static str> {
    moment(text, SystemClock.now())
        .ok_or("it is neither a span ago, such as 1h, 24h or 7d, nor an RFC 3339 time")
}

fn limit(text: &str) -> Result<usize, &'static str> {
    text.parse()
        .ok()
        .filter(|limit| *limit > 0)
        .ok_or("it is not a whole number above zero")
}
