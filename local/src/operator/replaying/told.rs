//! What a replay did, over all the invocations that it took.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::bail;
use pipeline::Timestamp;
use pipeline::replay::{Answer, Tally};
use serde::{Deserialize, Serialize};

use crate::operator::table::{or_dash, table};

/// What a replay did: the answer of the function, of several invocations added up.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Replayed {
    /// The answer.
    pub answer: Answer,
    /// The flags of the command that led here.
    #[serde(skip)]
    pub flags: String,
}

impl From<Answer> for Replayed {
    fn from(answer: Answer) -> Self {
        let flags = String::new();
        Self { answer, flags }
    }
}

impl Replayed {
    /// Adds what came before: counts are added up, and where the run stands is told by the later one.
    pub fn after(mut self, before: Self) -> Self {
        let (sum, before) = (&mut self.answer, before.answer);
        for (sum, more) in [
            (&mut sum.matched, before.matched),
            (&mut sum.published, before.published),
            (&mut sum.failed, before.failed),
            (&mut sum.gone, before.gone),
            (&mut sum.bytes, before.bytes),
        ] {
            *sum = sum.saturating_add(more);
        }
        sum.to_publish = match (sum.to_publish, before.to_publish) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        for (sums, more) in [
            (&mut sum.skipped, before.skipped),
            (&mut sum.by_error_class, before.by_error_class),
            (&mut sum.by_error_code, before.by_error_code),
        ] {
            for (name, count) in more {
                let sum = sums.entry(name).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        let time = |text: &Option<String>| text.as_deref().and_then(Timestamp::from_rfc3339);
        let earlier = sum.oldest.is_none()
            || time(&before.oldest)
                .is_some_and(|time_before| Some(time_before) < time(&sum.oldest));
        if earlier {
            sum.oldest = before.oldest;
        }
        if time(&before.newest) > time(&sum.newest) {
            sum.newest = before.newest;
        }
        for (class, died) in before.unreplayed {
            let sum = sum.unreplayed.entry(class).or_insert_with(|| died.clone());
            // Both are written in the same way, so that texts compare as times do.
            if died < *sum {
                *sum = died;
            }
        }
        sum.sample.splice(..0, before.sample);
        sum.sample.truncate(Tally::SAMPLE);
        sum.missing.splice(..0, before.missing);
        if sum.held_back.is_empty() {
            sum.held_back = before.held_back;
        }
        self
    }

    /// Returns the same without the commands that would act on it: whoever is asked need not copy one.
    pub fn without_orders(&self) -> Self {
        let answer = Answer {
            plan: None,
            resume: None,
            ..self.answer.clone()
        };
        answer.into()
    }

    /// Returns the token of a run that an invocation's deadline ended, and nothing else.
    pub fn goes_on(&self) -> Option<&str> {
        let token = self.answer.resume.as_deref();
        token.filter(|_| self.answer.stopped.as_deref() == Some("deadline"))
    }

    /// Fails when something kept it from sending back all that it should have.
    pub fn whole(&self) -> anyhow::Result<()> {
        let answer = &self.answer;
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
        if !answer.missing.is_empty() && !answer.dry_run {
            let missing = answer.missing.len();
            bail!("{missing} of the places asked for hold no dead letter");
        }
        Ok(())
    }
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answer = &self.answer;
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
        if !answer.missing.is_empty() {
            let missing = answer.missing.join(", ");
            write!(f, "\n\nthere is no dead letter at {missing}")?;
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn replayed(unreplayed: &Value) -> Replayed {
        let answer = json!({
            "replay_id": "run-1", "dry_run": true, "matched": 0, "published": 0, "to_publish": 0, "skipped": {}, "failed": 0,
            "by_error_class": {}, "by_error_code": {}, "bytes": 0, "oldest": null, "newest": null, "sample": [], "complete": true,
            "unreplayed": unreplayed,
        });
        Replayed::from(serde_json::from_value::<Answer>(answer).unwrap())
    }

    #[test]
    fn of_several_invocations_the_oldest_that_waits_is_told_for_each_class() {
        let (early, late) = ("2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.679Z");
        for (before, after) in [(early, late), (late, early)] {
            let before = replayed(&json!({ "transient": before, "permanent": late }));
            let after = replayed(&json!({ "transient": after, "unknown": late }));
            let sum = serde_json::to_value(after.after(before)).unwrap();
            let expected = json!({ "transient": early, "permanent": late, "unknown": late });
            assert_eq!(sum["unreplayed"], expected);
        }
    }
}
