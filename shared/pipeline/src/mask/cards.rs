//! Card numbers: digits in groups with single spaces or dashes between, checked by Luhn's rule.

use std::ops::{Range, RangeInclusive};

/// How many digits a card number has (ISO/IEC 7812).
const DIGITS: RangeInclusive<usize> = 13..=19;

/// Returns where card numbers stand; they may overlap.
///
/// A number begins and ends with a group of digits, so that a card next to another number is found, and part of a longer number is none.
pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut chain = Chain::default();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'0'..=b'9' => chain.digit(at, byte),
            b' ' | b'-' if chain.ends_at(at) => chain.separator(),
            _ if chain.sums.is_empty() => {}
            _ => chain.finish(&mut found),
        }
    }
    chain.finish(&mut found);
    found
}

/// Groups of digits with one separator between.
#[derive(Debug, Default)]
struct Chain {
    groups: Vec<Group>,
    in_group: bool,
    /// Luhn's sums up to each digit: with every even digit doubled, and with every odd one.
    sums: Vec<[u64; 2]>,
}

/// Digits without a separator.
#[derive(Clone, Debug)]
struct Group {
    /// Where it stands in the text.
    bytes: Range<usize>,
    /// Which digits of the chain it holds.
    digits: Range<usize>,
}

impl Chain {
    fn digit(&mut self, at: usize, byte: u8) {
        let value = u64::from(byte.saturating_sub(b'0'));
        let doubled = value.saturating_mul(2);
        let doubled = doubled.checked_sub(9).unwrap_or(doubled);
        let index = self.sums.len();
        let [even, odd] = self.sums.last().copied().unwrap_or_default();
        self.sums.push(if index.is_multiple_of(2) {
            [even.saturating_add(doubled), odd.saturating_add(value)]
        } else {
            [even.saturating_add(value), odd.saturating_add(doubled)]
        });
        let (after_byte, after_digit) = (at.saturating_add(1), index.saturating_add(1));
        match self.groups.last_mut() {
            Some(group) if self.in_group => {
                group.bytes.end = after_byte;
                group.digits.end = after_digit;
            }
            Some(_) | None => self.groups.push(Group {
                bytes: at..after_byte,
                digits: index..after_digit,
            }),
        }
        self.in_group = true;
    }

    fn separator(&mut self) {
        self.in_group = false;
    }

    /// Tells whether a group's last digit stands just before this byte.
    fn ends_at(&self, at: usize) -> bool {
        self.in_group
            && self
                .groups
                .last()
                .is_some_and(|group| group.bytes.end == at)
    }

    /// Notes the card numbers of the chain and starts a new one.
    fn finish(&mut self, found: &mut Vec<Range<usize>>) {
        if self.sums.len() >= *DIGITS.start() {
            for (index, first) in self.groups.iter().enumerate() {
                let cards = self
                    .groups
                    .iter()
                    .skip(index)
                    .map(|last| (last, first.digits.start..last.digits.end))
                    .take_while(|(_, digits)| digits.len() <= *DIGITS.end())
                    .filter(|(_, digits)| DIGITS.contains(&digits.len()) && self.luhn(digits));
                found.extend(cards.map(|(last, _)| first.bytes.start..last.bytes.end));
            }
        }
        self.groups.clear();
        self.sums.clear();
        self.in_group = false;
    }

    /// Tells whether the digits pass Luhn's rule: from the last one, every second is doubled.
    fn luhn(&self, digits: &Range<usize>) -> bool {
        let sums_before = |digit: usize| {
            digit
                .checked_sub(1)
                .and_then(|last| self.sums.get(last).copied())
                .unwrap_or_default()
        };
        let ([even_to, odd_to], [even_from, odd_from]) =
            (sums_before(digits.end), sums_before(digits.start));
        // The last digit's index is `end - 1`; those of the other parity are doubled.
        let sum = if digits.end.is_multiple_of(2) {
            even_to.saturating_sub(even_from)
        } else {
            odd_to.saturating_sub(odd_from)
        };
        sum.is_multiple_of(10)
    }
}
