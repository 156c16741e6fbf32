//! What a replay did, over all the invocations that it took.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::bail;
use pipeline::Timestamp;
use pipeline::replay::Answer;
use serde::{Deserialize, Serialize};

use crate::operator::table::{or_dash, table};

/// How many places are told as a sample.
const SAMPLE: usize = 10;

/// What a replay did: the answer of the function, of several invocations added up.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Replayed {
    /// The run's id.
    pub replay_id: String,
    /// Whether nothing was published on purpose.
    pub dry_run: bool,
    /// How many were asked for.
    pub matched: u64,
    /// How many went back.
    pub published: u64,
    /// How many a real run would send back; only in a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_publish: Option<u64>,
    /// How many stay, by reason.
    pub skipped: BTreeMap<String, u64>,
    /// How many did not go back: refused by the broker, or gone.
    pub failed: u64,
    /// How many of those the plan holds and the topic no more.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub gone: u64,
    /// How many were asked for, by error class.
    pub by_error_class: BTreeMap<String, u64>,
    /// How many were asked for, by error code.
    pub by_error_code: BTreeMap<String, u64>,
    /// The bytes of the values asked for.
    pub bytes: u64,
    /// When the oldest of them died, RFC 3339.
    pub oldest: Option<String>,
    /// When the newest of them died, RFC 3339.
    pub newest: Option<String>,
    /// Where the first few of them are.
    pub sample: Vec<String>,
    /// The partitions whose end an open transaction holds back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_back: Vec<String>,
    /// Whether it is done.
    pub complete: bool,
    /// Why it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// What the fault is, when one stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The token that goes on from here, when it is not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// The plan that a dry run has left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// The flags of the command that led here.
    #[serde(skip)]
    pub flags: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_nought(number: &u64) -> bool {
    *number == 0
}

impl From<Answer> for Replayed {
    fn from(answer: Answer) -> Self {
        let named = |counts: BTreeMap<&'static str, u64>| {
            let counts = counts.into_iter();
            counts
                .map(|(name, count)| (name.to_owned(), count))
                .collect()
        };
        Self {
            replay_id: answer.replay_id,
            dry_run: answer.dry_run,
            matched: answer.matched,
            published: answer.published,
            to_publish: answer.to_publish,
            skipped: named(answer.skipped),
            failed: answer.failed,
            gone: answer.gone,
            by_error_class: named(answer.by_error_class),
            by_error_code: named(answer.by_error_code),
            bytes: answer.bytes,
            oldest: answer.oldest,
            newest: answer.newest,
            sample: answer.sample,
            held_back: answer.held_back,
            complete: answer.complete,
            stopped: answer.stopped.map(str::to_owned),
            fault: answer.fault,
            resume: answer.resume,
            plan: answer.plan,
            flags: String::new(),
        }
    }
}

impl Replayed {
    /// Adds what came before: counts are added up, and where the run stands is told by the later one.
    pub fn after(mut self, before: Self) -> Self {
        for (sum, more) in [
            (&mut self.matched, before.matched),
            (&mut self.published, before.published),
            (&mut self.failed, before.failed),
            (&mut self.gone, before.gone),
            (&mut self.bytes, before.bytes),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.to_publish = match (self.to_publish, before.to_publish) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        for (sums, more) in [
            (&mut self.skipped, before.skipped),
            (&mut self.by_error_class, before.by_error_class),
            (&mut self.by_error_code, before.by_error_code),
        ] {
            for (name, count) in more {
                let sum = sums.entry(name).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        let time = |text: &Option<String>| text.as_deref().and_then(Timestamp::from_rfc3339);
        let earlier = self.oldest.is_none()
            || time(&before.oldest)
                .is_some_and(|time_before| Some(time_before) < time(&self.oldest));
        if earlier {
            self.oldest = before.oldest;
        }
        if time(&before.newest) > time(&self.newest) {
            self.newest = before.newest;
        }
        self.sample = before
            .sample
            .into_iter()
            .chain(self.sample)
            .take(SAMPLE)
            .collect();
        if self.held_back.is_empty() {
            self.held_back = before.held_back;
        }
        self
    }

    /// Returns the same without the commands that would act on it: whoever is asked need not copy one.
    pub fn without_orders(&self) -> Self {
        Self {
            plan: None,
            resume: None,
            ..self.clone()
        }
    }

    /// Returns the token of a run that an invocation's deadline ended, and nothing else.
    pub fn goes_on(&self) -> Option<&str> {
        let token = self.resume.as_deref();
        token.filter(|_| self.stopped.as_deref() == Some("deadline"))
    }

    /// Fails when something kept it from sending back all that it should have.
    pub fn whole(&self) -> anyhow::Result<()> {
        let answer = self;
        if let Some(fault) = &answer.fault {
            bail!("the replay ended before its end: {fault}");
        }
        if answer.stopped.as_deref() == Some("stop") {
            bail!("the replay was told to stop before its end");
        }
        if answer.stopped.as_deref() == Some("deadline") {
            bail!("the replay was told to stop before its end, and ended with an invocation");
        }
        let refused = answer.failed.saturating_sub(answer.gone);
        if refused > 0 {
            bail!("the broker refuses {refused} dead letters");
        }
        if answer.gone > 0 {
            bail!("{} dead letters of the plan are there no more", answer.gone);
        }
        Ok(())
    }
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answer = self;
        let mut rows = Vec::new();
        let mut row = |name: &str, value: String| rows.push(vec![name.to_owned(), value]);
        let dry = if answer.dry_run { " (dry run)" } else { "" };
        row("replay", format!("{}{dry}", answer.replay_id));
        row("matched", answer.matched.to_string());
        match answer.to_publish {
            Some(number) => row("to publish", number.to_string()),
            None => row("published", answer.published.to_string()),
        }
        for (reason, number) in &answer.skipped {
            row(&format!("skipped: {reason}"), number.to_string());
        }
        row("failed", answer.failed.to_string());
        if answer.gone > 0 {
            row("of them gone", answer.gone.to_string());
        }
        row("classes", counts(&answer.by_error_class));
        row("codes", counts(&answer.by_error_code));
        row("bytes", answer.bytes.to_string());
        row("oldest", or_dash(answer.oldest.as_ref()));
        row("newest", or_dash(answer.newest.as_ref()));
        row("sample", or_dash_list(&answer.sample));
        let stopped = answer
            .stopped
            .as_ref()
            .map_or(String::new(), |why| format!(" ({why})"));
        let complete = if answer.complete { "yes" } else { "no" };
        row("complete", format!("{complete}{stopped}"));
        f.write_str(&table(&["field", "value"], &[], rows))?;
        if answer.matched == 0 {
            f.write_str("\n\nnothing matched")?;
        }
        if !answer.held_back.is_empty() {
            let held = answer.held_back.join(", ");
            write!(
                f,
                "\n\nan open transaction hides what comes behind it: {held}"
            )?;
        }
        if let Some(plan) = &answer.plan {
            write!(
                f,
                "\n\nsend back exactly these with: cargo local replay{} --plan {plan}",
                self.flags
            )?;
        }
        if let Some(token) = &answer.resume {
            // On a line of its own and whole: it is copied.
            write!(
                f,
                "\n\ngo on with: cargo local replay{} --resume {token}",
                self.flags
            )?;
        }
        Ok(())
    }
}

fn counts(counts: &BTreeMap<String, u64>) -> String {
    let counts = counts.iter();
    let told: Vec<String> = counts
        .map(|(name, number)| format!("{name} {number}"))
        .collect();
    or_dash_list(&told)
}

fn or_dash_list(list: &[String]) -> String {
    if list.is_empty() {
        "-".to_owned()
    } else {
        list.join(", ")
    }
}
