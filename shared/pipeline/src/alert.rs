//! The alert: what an operator reads of a new incident, and which alerts become posts to a webhook.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::failure::{ErrorClass, ErrorCode};
use crate::incident::Incident;
use crate::mask::Masker;

/// Writes the alert of an incident; `number` counts the alerts of the process from 1.
///
/// Fields that are absent are `-`. Control characters, quotes and backslashes are escaped, so that a payload cannot forge a line.
pub fn alert_text(incident: &Incident, number: u64, masker: &Masker) -> String {
    let field = |text: &Option<String>| shown(text.as_deref(), masker);
    let dlq_partition = incident
        .dlq_partition
        .map(|partition| partition.to_string());
    let dlq_offset = incident.dlq_offset.map(|offset| offset.to_string());
    let key = incident.key.as_ref().or(incident.key_base64.as_ref());
    let mut text = format!(
        "[ALERT] #{number}  dlq={dlq} p={partition} off={offset} key={key}
        original={original_topic}/{original_partition}/{original_offset} previous={previous} retries={retries}
        class={class} message=\"{message}\"
        payload={payload} bytes",
        dlq = incident.dlq_topic.as_deref().unwrap_or("-"),
        partition = dlq_partition.as_deref().unwrap_or("-"),
        offset = dlq_offset.as_deref().unwrap_or("-"),
        key = shown(key.map(String::as_str), masker),
        original_topic = field(&incident.original_topic),
        original_partition = field(&incident.original_partition),
        original_offset = field(&incident.original_offset),
        previous = field(&incident.previous_topic),
        retries = field(&incident.retry_count),
        class = field(&incident.error_class),
        message = field(&incident.error_message),
        payload = incident.payload_bytes,
    );
    if let Some(spill) = &incident.spill {
        text.push_str(" spill=");
        text.push_str(spill);
    }
    text
}

fn shown(text: Option<&str>, masker: &Masker) -> String {
    let Some(text) = text else {
        return "-".to_owned();
    };
    let mut shown = String::with_capacity(text.len());
    for c in masker.bounded(text).chars() {
        match c {
            '"' | '\\' => shown.extend(['\\', c]),
            '\u{2028}' | '\u{2029}' => shown.extend(c.escape_unicode()),
            _ if c.is_control() => shown.extend(c.escape_default()),
            _ => shown.push(c),
        }
    }
    shown
}

/// The body of a post to the webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Post {
    /// The alert, or how many more there were and the last of them.
    pub text: String,
    /// The class of the incidents, `unknown` when it is none of the set.
    pub error_class: &'static str,
    /// The code of the incidents, `unknown` when it is none of the set.
    pub error_code: &'static str,
    /// How many incidents it stands for.
    pub count: u64,
}

/// Groups the alerts of one invocation, so that a thousand of one kind are two posts.
///
/// The kind is the pair of class and code, both of closed sets: a producer that invents codes cannot make it a post each.
#[derive(Debug, Default)]
pub struct Posts {
    kinds: BTreeMap<Kind, Held>,
}

type Kind = (Option<ErrorClass>, Option<ErrorCode>);

#[derive(Debug, Default)]
struct Held {
    count: u64,
    last: String,
}

impl Posts {
    /// Takes an alert: the first of its kind is to be posted at once, the others are held.
    pub fn raised(&mut self, incident: &Incident, text: String) -> Option<Post> {
        let kind = (incident.class(), incident.code());
        if let Some(held) = self.kinds.get_mut(&kind) {
            held.count = held.count.saturating_add(1);
            held.last = text;
            return None;
        }
        self.kinds.insert(kind, Held::default());
        Some(post(kind, 1, text))
    }

    /// Ends the invocation: one post for each kind of which alerts were held. The next alert of each kind is a first one again.
    pub fn finish(&mut self) -> Vec<Post> {
        std::mem::take(&mut self.kinds)
            .into_iter()
            .filter(|(_, held)| held.count > 0)
            .map(|(kind, Held { count, last })| {
                let more = if count == 1 { "alert" } else { "alerts" };
                let text = format!("[ALERT] {count} more {more} of this kind, the last:\n{last}");
                post(kind, count, text)
            })
            .collect()
    }
}

fn post((class, code): Kind, count: u64, text: String) -> Post {
    Post {
        text,
        error_class: class.map_or("unknown", ErrorClass::as_str),
        error_code: code.map_or("unknown", ErrorCode::as_str),
        count,
    }
}

#[cfg(test)]
mod tests;
