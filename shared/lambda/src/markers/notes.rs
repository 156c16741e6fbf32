//! The lines of a marker file.
//!
//! A line counts only when it is whole: a process can be killed in the middle of a write, and a disk can be full.

use std::collections::{HashMap, HashSet};
use std::fmt;

use pipeline::{Coordinates, Timestamp};

use super::Alone;

/// What a marker file starts with; a file that starts otherwise is none of ours.
pub(super) const FIRST_LINE: &str = "brew-notes 1\n";

/// A record as notes know it: its place and its own time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Noted {
    coordinates: Coordinates,
    timestamp: Timestamp,
}

impl Noted {
    pub(super) fn new(coordinates: &Coordinates, timestamp: Timestamp) -> Self {
        Self {
            coordinates: coordinates.clone(),
            timestamp,
        }
    }

    /// Returns the place as logs write it.
    pub(super) fn place(&self) -> String {
        self.coordinates.to_string()
    }
}

impl fmt::Display for Noted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.coordinates, self.timestamp.millis())
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// A record starts to run, under a number of its own.
    Begun {
        number: u64,
        record: Noted,
        alone: Alone,
        at: Timestamp,
    },
    /// The record of this number came back.
    Ended(u64),
    /// This record was handled by another process later.
    Cleared(Noted),
}

impl fmt::Display for Note {
    /// Writes the line, closed by a mark, so that two torn lines never read as a whole one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Begun {
                number,
                record,
                alone,
                at,
            } => {
                let alone = match alone {
                    Alone::Yes => "alone",
                    Alone::No => "beside",
                };
                writeln!(f, "begun {number} {record} {alone} {} ;", at.millis())
            }
            Self::Ended(number) => writeln!(f, "ended {number} ;"),
            Self::Cleared(record) => writeln!(f, "cleared {record} ;"),
        }
    }
}

impl Note {
    /// Reads a line without its end; `None` when it is no note.
    fn read(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?;
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["begun", number, place, timestamp, alone, at, ";"] => Some(Self::Begun {
                number: number.parse().ok()?,
                record: noted(place, timestamp)?,
                alone: match *alone {
                    "alone" => Alone::Yes,
                    "beside" => Alone::No,
                    _ => return None,
                },
                at: Timestamp::from_millis(at.parse().ok()?),
            }),
            ["ended", number, ";"] => Some(Self::Ended(number.parse().ok()?)),
            ["cleared", place, timestamp, ";"] => Some(Self::Cleared(noted(place, timestamp)?)),
            _ => None,
        }
    }
}

fn noted(place: &str, timestamp: &str) -> Option<Noted> {
    Some(Noted {
        coordinates: place.parse().ok()?,
        timestamp: Timestamp::from_millis(timestamp.parse().ok()?),
    })
}

/// What a dead process had to do with a record; the later ones weigh more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// It had come back.
    Touched,
    /// It was running beside others.
    Beside,
    /// It was running alone.
    Alone,
}

/// What a dead process had to do with a record, and when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Witness {
    pub(super) part: Part,
    pub(super) at: Timestamp,
}

/// Reads what a dead process's file tells; what is no whole line is passed over. `None` when the file is none of ours.
pub(super) fn read(file: &[u8]) -> Option<HashMap<Noted, Witness>> {
    if file.is_empty() {
        return Some(HashMap::new());
    }
    let lines = file.strip_prefix(FIRST_LINE.as_bytes())?;
    let mut begun = Vec::new();
    let mut ended = HashSet::new();
    let mut cleared = HashSet::new();
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_suffix(b"\n").and_then(Note::read) {
            Some(Note::Begun {
                number,
                record,
                alone,
                at,
            }) => begun.push((number, record, alone, at)),
            Some(Note::Ended(number)) => drop(ended.insert(number)),
            Some(Note::Cleared(record)) => drop(cleared.insert(record)),
            None => {}
        }
    }
    let mut witnesses: HashMap<Noted, Witness> = HashMap::new();
    for (number, record, alone, at) in begun {
        if cleared.contains(&record) {
            continue;
        }
        let part = match alone {
            _ if ended.contains(&number) => Part::Touched,
            Alone::Yes => Part::Alone,
            Alone::No => Part::Beside,
        };
        witnesses
            .entry(record)
            .and_modify(|witness| {
                witness.part = witness.part.max(part);
                witness.at = witness.at.max(at);
            })
            .or_insert(Witness { part, at });
    }
    Some(witnesses)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_millis(1_755_933_141_900);

    fn record(place: &str) -> Noted {
        Noted::new(
            &place.parse().unwrap(),
            Timestamp::from_millis(1_755_933_141_855),
        )
    }

    fn begun(number: u64, place: &str, alone: Alone) -> String {
        let record = record(place);
        Note::Begun {
            number,
            record,
            alone,
            at: AT,
        }
        .to_string()
    }

    fn check(lines: &[u8], expected: &[(&str, Part)]) {
        let file = [FIRST_LINE.as_bytes(), lines].concat();
        let expected = expected
            .iter()
            .map(|(place, part)| {
                (
                    record(place),
                    Witness {
                        part: *part,
                        at: AT,
                    },
                )
            })
            .collect();
        assert_eq!(read(&file), Some(expected));
    }

    #[test]
    fn every_note_comes_back_from_its_line() {
        for alone in [Alone::Yes, Alone::No] {
            for timestamp in [i64::MIN, -1, 0, 1_755_933_141_855, i64::MAX] {
                let record = Noted::new(
                    &"some.topic-3/7/123".parse().unwrap(),
                    Timestamp::from_millis(timestamp),
                );
                let notes = [
                    Note::Begun {
                        number: u64::MAX,
                        record: record.clone(),
                        alone,
                        at: AT,
                    },
                    Note::Ended(0),
                    Note::Cleared(record),
                ];
                for note in notes {
                    let line = note.to_string();
                    let line = line.strip_suffix('\n').unwrap();
                    assert_eq!(Note::read(line.as_bytes()), Some(note), "{line}");
                }
            }
        }
    }

    #[test]
    fn what_began_and_did_not_end_was_running() {
        let lines = [
            begun(0, "t/0/1", Alone::No),
            begun(1, "t/0/2", Alone::No),
            Note::Ended(0).to_string(),
            begun(2, "t/0/3", Alone::Yes),
        ]
        .concat();
        check(
            lines.as_bytes(),
            &[
                ("t/0/1", Part::Touched),
                ("t/0/2", Part::Beside),
                ("t/0/3", Part::Alone),
            ],
        );
    }

    #[test]
    fn a_record_that_ran_twice_is_known_by_the_worse() {
        let lines = [
            begun(0, "t/0/1", Alone::Yes),
            begun(1, "t/0/1", Alone::No),
            Note::Ended(1).to_string(),
        ]
        .concat();
        check(lines.as_bytes(), &[("t/0/1", Part::Alone)]);
    }

    #[test]
    fn what_is_cleared_is_not_told_of() {
        let lines = [
            begun(0, "t/0/1", Alone::Yes),
            begun(1, "t/0/2", Alone::Yes),
            Note::Cleared(record("t/0/1")).to_string(),
        ]
        .concat();
        check(lines.as_bytes(), &[("t/0/2", Part::Alone)]);
    }

    #[test]
    fn a_file_that_ends_in_the_middle_of_a_line_tells_of_its_whole_lines() {
        let first = begun(0, "t/0/1", Alone::Yes);
        let lines = [first.clone(), begun(1, "t/0/2", Alone::Yes)].concat();
        for length in 0..=lines.len() {
            let mut expected = vec![("t/0/1", Part::Alone), ("t/0/2", Part::Alone)];
            if length < lines.len() {
                expected.pop();
            }
            if length < first.len() {
                expected.pop();
            }
            check(&lines.as_bytes()[..length], &expected);
        }
    }

    #[test]
    fn a_torn_line_never_makes_a_note_with_the_next_one() {
        let note = begun(0, "t/0/1", Alone::Yes);
        for length in 1..note.len() {
            let torn = &note.as_bytes()[..length];
            let lines = [torn, begun(1, "t/0/2", Alone::No).as_bytes()].concat();
            check(&lines, &[]);
        }
    }

    #[test]
    fn garbage_is_passed_over() {
        let lines = [
            b"\xff\xfe\x00\n\n ; \nbegun\nbegun 1 ;\nended x ;\nbegun 1 t/0 0 alone 0 ;\n".as_slice(),
            b"begun 1 t/0/1 0 never 0 ;\nbegun 1 t/0/-1 0 alone 0 ;\nended 18446744073709551616 ;\n",
            begun(2, "t/0/2", Alone::No).as_bytes(),
        ]
        .concat();
        check(&lines, &[("t/0/2", Part::Beside)]);
    }

    #[test]
    fn a_file_of_another_kind_is_none_of_ours() {
        for file in [
            b"brew-notes 2\n".as_slice(),
            b"brew-not",
            b"\x7fELF",
            b"\n",
            b"begun",
        ] {
            assert_eq!(read(file), None);
        }
        assert_eq!(
            read(b""),
            Some(HashMap::new()),
            "killed before the first line"
        );
    }
}
