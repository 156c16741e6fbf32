//! Secrets masked, lines cut: what may be written into headers, logs, alerts and incidents.

mod cards;
mod patterns;
#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Takes secrets out of a text.
///
/// Masked are card numbers (13 to 19 digits with single spaces or dashes between, Luhn-valid), bearer tokens, `Authorization` values, passwords in
/// URLs, and the values it was given.
#[derive(Clone, Default)]
pub struct Masker {
    secrets: Arc<[String]>,
}

/// What stands in the place of a secret.
pub const MASK: &str = "***";

/// The longest line, in bytes.
pub const LINE_LIMIT: usize = 1_024;

/// How much of a text is looked at for a line, in bytes, and how much of its end is left out, where a secret may be cut in two.
const WINDOW: usize = 16 << 10;
const GUARD: usize = 1 << 10;

/// Masking may bring two parts of a text together that form a secret of their own; so often it is looked at again.
const ROUNDS: usize = 4;

impl fmt::Debug for Masker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Masker")
            .field("secrets", &self.secrets.len())
            .finish()
    }
}

impl Masker {
    /// Takes values that are secret themselves, such as the gateway's token; blank ones are left out, as they would mask everything.
    pub fn with_secrets(secrets: impl IntoIterator<Item = String>) -> Self {
        Self {
            secrets: secrets
                .into_iter()
                .map(|secret| secret.trim().to_owned())
                .filter(|secret| !secret.is_empty())
                .collect(),
        }
    }

    /// Returns the text on one line: secrets masked, then control characters as one space, then cut to 1,024 bytes on a character boundary.
    pub fn line(&self, text: &str) -> String {
        self.bounded(&fold(&self.head(text)))
    }

    /// Returns the text with its secrets masked, cut to 1,024 bytes on a character boundary; line breaks stay.
    pub fn bounded(&self, text: &str) -> String {
        let mut bounded = self.head(text);
        bounded.truncate(boundary(&bounded, LINE_LIMIT));
        // A cut can make a secret of what was none: the first 16 of 20 digits. It lies at the end.
        while let Some(secret) = self.secrets_in(&bounded).first() {
            bounded.truncate(secret.start);
        }
        bounded
    }

    /// Returns the text with its secrets masked, neither folded nor cut.
    pub fn text(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for _ in 0..ROUNDS {
            let secrets = self.secrets_in(&masked);
            if secrets.is_empty() {
                break;
            }
            masked = replaced(&masked, &secrets);
        }
        masked
    }

    /// Returns the masked text, of a long one only its beginning.
    fn head(&self, text: &str) -> String {
        if text.len() <= WINDOW {
            return self.text(text);
        }
        let window = text.get(..boundary(text, WINDOW)).unwrap_or_default();
        let end = boundary(window, WINDOW.saturating_sub(GUARD));
        let across = self
            .secrets_in(window)
            .into_iter()
            .find(|secret| secret.contains(&end));
        let (end, mask) = across.map_or((end, ""), |secret| (secret.start, MASK));
        self.text(window.get(..end).unwrap_or_default()) + mask
    }

    /// Returns where secrets stand, in order, none overlapping another.
    fn secrets_in(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = cards::find(text);
        patterns::find(text, &mut found);
        for secret in self.secrets.iter() {
            found.extend(
                text.match_indices(secret.as_str())
                    .map(|(start, value)| start..start.saturating_add(value.len())),
            );
        }
        if !found.is_empty() {
            let masks: Vec<Range<usize>> = text
                .match_indices(MASK)
                .map(|(start, mask)| start..start.saturating_add(mask.len()))
                .collect();
            found.retain(|secret| !touches_any(&masks, secret) || !only_masks(text, secret));
        }
        merged(found)
    }
}

/// Tells whether a range overlaps one of the ordered ranges.
fn touches_any(ordered: &[Range<usize>], range: &Range<usize>) -> bool {
    let after = ordered.partition_point(|other| other.end <= range.start);
    ordered
        .get(after)
        .is_some_and(|other| other.start < range.end)
}

/// Tells whether a range that touches a mask holds nothing else to hide: a piece of the mask itself, or a value that is a mask and what follows it.
fn only_masks(text: &str, range: &Range<usize>) -> bool {
    text.get(range.clone()).is_some_and(|piece| {
        let after = piece.strip_prefix(MASK);
        MASK.contains(piece) || after.is_some_and(|after| !after.starts_with(char::is_alphanumeric))
    })
}

/// Joins ranges that overlap.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            Some(_) | None => merged.push(range),
        }
    }
    merged
}

/// Puts the mask where the ordered ranges are.
fn replaced(text: &str, ranges: &[Range<usize>]) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut from = 0;
    for range in ranges {
        replaced.push_str(text.get(from..range.start).unwrap_or_default());
        replaced.push_str(MASK);
        from = range.end;
    }
    replaced.push_str(text.get(from..).unwrap_or_default());
    replaced
}

/// Writes each run of control characters and line separators as one space.
fn fold(text: &str) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let mut folded = String::with_capacity(text.len());
    let mut in_run = false;
    for c in text.chars() {
        if !breaks(c) {
            folded.push(c);
        } else if !in_run {
            folded.push(' ');
        }
        in_run = breaks(c);
    }
    folded
}

/// Returns the last character boundary at or before `limit`.
fn boundary(text: &str, limit: usize) -> usize {
    text.floor_char_boundary(limit)
}
