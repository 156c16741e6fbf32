//! The account: where every payment is and how often it was charged, from what the services hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pipeline::Coordinates;
use serde::Serialize;

use super::seeds::{Kind, Seed};

/// What the services hold when nothing moves any more.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What was seeded.
    pub seeds: Vec<Seed>,
    /// How often each payment was charged, by the provider's books.
    pub charges: BTreeMap<String, u32>,
    /// What lies in the topics: main first, the retry topics in order, the dead-letter topic last.
    pub topics: Vec<TopicRecords>,
    /// How many incidents lie in the bucket.
    pub incidents: usize,
    /// How many alerts were raised.
    pub alerts: u64,
    /// How many records the replay says that it published.
    pub replayed: u64,
}

/// The records of one topic.
#[derive(Clone, Debug, Default)]
pub struct TopicRecords {
    /// The topic's short name.
    pub label: String,
    /// The records.
    pub records: Vec<Found>,
}

/// A record that lies in a topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its key.
    pub key: Option<String>,
    /// Where it lies.
    pub at: Coordinates,
    /// How often it was replayed.
    pub replays: u32,
    /// The dead letter that it was replayed from, when it was; the topics after main carry it on.
    pub from_dlq: Option<Coordinates>,
    /// Whether the topic's function is through with it.
    pub done: bool,
}

/// Where a payment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum End {
    /// The provider charged it.
    Charged,
    /// It is a dead letter.
    DeadLetter,
    /// It is still on its way.
    InFlight,
    /// It is nowhere.
    Lost,
}

/// Payments of one kind that went the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The kind.
    pub kind: Kind,
    /// The topics that they passed, in order.
    pub route: Vec<String>,
    /// Where they ended.
    pub end: End,
    /// How often each was charged.
    pub charges: u32,
    /// How many there are.
    pub payments: u64,
}

/// The sums of the account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Records that were seeded, among them those that are no payments.
    pub payments: u64,
    /// Payments that were charged, once or more often.
    pub charged: u64,
    /// Records in the dead-letter topic, those that were replayed later included.
    pub dead_lettered: u64,
    /// Incidents in the bucket.
    pub incidents: u64,
    /// Records that the replay published.
    pub replayed: u64,
    /// Records on main and the retry topics that are not done.
    pub in_flight: u64,
    /// Payments that are neither charged nor on their way nor a dead letter that stays.
    pub lost: u64,
    /// Payments that were charged more than once.
    pub double_charged: u64,
}

/// The whole account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The payments, by kind and way.
    pub rows: Vec<Row>,
    /// The sums.
    pub totals: Totals,
    /// Alerts that were raised.
    pub alerts: u64,
    /// What is not as it must be; empty when all is well.
    pub problems: Vec<String>,
}

impl End {
    /// Returns the end as it is shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Charged => "charged",
            Self::DeadLetter => "dead letter",
            Self::InFlight => "in flight",
            Self::Lost => "LOST",
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The way of one payment.
#[derive(Debug, Default)]
struct Way<'a> {
    stops: Vec<(u32, usize, &'a str)>,
    moves: bool,
    dead: bool,
    replayed: bool,
}

impl Account {
    /// Draws up the account.
    pub fn of(facts: &Facts) -> Self {
        let ways = ways(&facts.topics);
        let mut rows: BTreeMap<(Kind, End, u32, Vec<String>), u64> = BTreeMap::new();
        let mut totals = Totals {
            payments: count(facts.seeds.len()),
            dead_lettered: count(facts.topics.last().map_or(0, |dlq| dlq.records.len())),
            incidents: count(facts.incidents),
            replayed: facts.replayed,
            in_flight: in_flight(&facts.topics),
            ..Totals::default()
        };
        let mut problems = Vec::new();
        for seed in &facts.seeds {
            let charges = facts.charges.get(&seed.key).copied().unwrap_or(0);
            let nowhere = Way::default();
            let way = ways.get(seed.key.as_str()).unwrap_or(&nowhere);
            let end = way.end(charges);
            let tell = |what: &str| format!("{} ({}) {what}", seed.key, seed.kind);
            if charges > 0 {
                totals.charged = totals.charged.saturating_add(1);
            }
            if charges > 1 {
                totals.double_charged = totals.double_charged.saturating_add(1);
                problems.push(tell(&format!("was charged {charges} times")));
            }
            if end == End::Lost {
                totals.lost = totals.lost.saturating_add(1);
                problems.push(tell("is lost"));
            } else if charges == 0 && seed.kind.is_chargeable() {
                let but = if way.replayed {
                    ", though it was replayed"
                } else {
                    ""
                };
                problems.push(tell(&format!("was never charged{but}: it is {end}")));
            } else if charges > 0 && !seed.kind.is_chargeable() {
                problems.push(tell("was charged and must not be"));
            }
            let row = rows.entry((seed.kind, end, charges, way.route()));
            let payments = row.or_default();
            *payments = payments.saturating_add(1);
        }
        problems.extend(mismatches(facts, &totals));
        let rows = rows.into_iter();
        let rows = rows.map(|((kind, end, charges, route), payments)| Row {
            kind,
            route,
            end,
            charges,
            payments,
        });
        Self {
            rows: rows.collect(),
            totals,
            alerts: facts.alerts,
            problems,
        }
    }

    /// Tells whether everything is as it must be.
    pub const fn is_right(&self) -> bool {
        self.problems.is_empty()
    }
}

/// Compares the counts that must agree, whatever became of single payments.
fn mismatches(facts: &Facts, totals: &Totals) -> Vec<String> {
    let mut problems = Vec::new();
    let mut tell = |wrong: bool, what: String| problems.extend(wrong.then_some(what));
    let (dead, incidents, alerts) = (totals.dead_lettered, totals.incidents, facts.alerts);
    tell(
        dead != incidents || dead != alerts,
        format!(
            "{dead} dead letters, {incidents} incidents and {alerts} alerts are not equally many"
        ),
    );
    tell(
        totals.in_flight > 0,
        format!("{} records are still in flight", totals.in_flight),
    );
    let on_main = facts.topics.first().into_iter();
    let came_back = on_main
        .flat_map(|main| &main.records)
        .filter(|record| record.from_dlq.is_some());
    let came_back = count(came_back.count());
    tell(
        came_back != totals.replayed,
        format!(
            "{came_back} replayed records lie on main, and the replay says that it published {}",
            totals.replayed
        ),
    );
    let seeded: BTreeSet<&str> = facts.seeds.iter().map(|seed| seed.key.as_str()).collect();
    for (id, charges) in &facts.charges {
        tell(
            !seeded.contains(id.as_str()),
            format!("{id} was charged {charges} times and nobody seeded it"),
        );
    }
    problems
}

/// Follows each key through the topics.
fn ways(topics: &[TopicRecords]) -> BTreeMap<&str, Way<'_>> {
    let replayed: BTreeSet<&Coordinates> = topics
        .iter()
        .flat_map(|topic| &topic.records)
        .filter_map(|record| record.from_dlq.as_ref())
        .collect();
    let mut ways: BTreeMap<&str, Way<'_>> = BTreeMap::new();
    let dlq = topics.len().saturating_sub(1);
    for (index, topic) in topics.iter().enumerate() {
        for record in &topic.records {
            let Some(key) = record.key.as_deref() else {
                continue;
            };
            let way = ways.entry(key).or_default();
            way.stops.push((record.replays, index, &topic.label));
            if index == dlq {
                let came_back = replayed.contains(&record.at);
                way.replayed |= came_back;
                way.dead |= !came_back;
            } else {
                way.moves |= !record.done;
            }
        }
    }
    for way in ways.values_mut() {
        way.stops.sort_unstable();
    }
    ways
}

fn in_flight(topics: &[TopicRecords]) -> u64 {
    let stages = topics.split_last().map_or(&[][..], |(_, stages)| stages);
    let records = stages.iter().flat_map(|stage| &stage.records);
    count(records.filter(|record| !record.done).count())
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

impl Way<'_> {
    fn end(&self, charges: u32) -> End {
        if charges > 0 {
            End::Charged
        } else if self.moves {
            End::InFlight
        } else if self.dead {
            End::DeadLetter
        } else {
            End::Lost
        }
    }

    /// Returns the stops in the order in which they were made: between two replays a payment only climbs.
    fn route(&self) -> Vec<String> {
        let stops = self.stops.iter();
        stops.map(|(_, _, label)| (*label).to_owned()).collect()
    }
}

#[cfg(test)]
mod tests;
