//! The course of one invocation: from where the run is to as far as it comes.

use std::collections::BTreeSet;

use lambda::{Broker, Clock};
use pipeline::replay::{
    Answer, Carried, Ended, Fate, Matched, Plan, PlanName, Progress, Rate, Request, Stopped, Tally,
};
use pipeline::{Coordinates, Offset, Partition};

use crate::account::Account;
use crate::chunk::Bench;
use crate::dead_letters::{Chunk, DeadLetters, Entry, Reading, SourceError};

/// How many seconds' worth of dead letters are one chunk at most: what a crash may send twice stays small at a low rate too.
const SECONDS: f64 = 10.0;

/// A run on its way.
#[derive(Debug)]
pub(crate) struct Course<'a> {
    pub(crate) request: &'a Request,
    pub(crate) plan: Option<&'a Plan>,
    pub(crate) progress: Progress,
    pub(crate) tally: Tally,
    pub(crate) carried: Carried,
    pub(crate) stopped: Option<Stopped>,
    pub(crate) plan_made: Option<PlanName>,
    held_back: Vec<String>,
    missing: Vec<Coordinates>,
}

impl<'a> Course<'a> {
    /// Begins where the request says.
    pub(crate) fn of(request: &'a Request, plan: Option<&'a Plan>) -> Self {
        Self {
            request,
            plan,
            progress: Progress::default(),
            tally: Tally::default(),
            carried: request.carried.clone(),
            stopped: None,
            plan_made: None,
            held_back: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Opens the topic, fixes the ends and goes to the first place that may matter.
    pub(crate) async fn begin<D: DeadLetters>(
        &mut self,
        source: &D,
    ) -> Result<D::Reading, SourceError> {
        let request = self.request;
        let mut reading = source.open(&request.from).await?;
        let held = reading.held();
        let before = match (&request.progress, self.plan) {
            (Some(progress), _) => progress.clone(),
            (None, Some(plan)) => Progress::new(plan.lanes(), BTreeSet::new()),
            (None, None) => Progress::new(held.clone(), BTreeSet::new()),
        };
        self.progress = before.clone();
        self.progress.keep_within(&held);
        self.tell_absent(&before, &[]);
        if let Some(records) = &request.selection.records {
            if request.progress.is_none() {
                let is_held = |(partition, offset): &&(Partition, Offset)| {
                    before.awaits_place(*partition, *offset)
                };
                let missing = records.iter().filter(|place| !is_held(place));
                let missing = missing.map(|(partition, offset)| self.at(*partition, *offset));
                self.missing = missing.collect();
            }
            self.progress.keep_to(records);
        }
        if request.progress.is_none() {
            let named = |partition: Partition| format!("{}/{partition}", request.from);
            self.held_back = reading.held_back().into_iter().map(named).collect();
            if let Some(since) = request.selection.window.since {
                for (partition, first) in reading.first_since(since).await? {
                    self.progress.reach(partition, first);
                }
            }
        }
        reading.start_at(&self.progress).await?;
        Ok(reading)
    }

    /// Reads and works off chunk after chunk until every position has reached its end, or something stops it.
    pub(crate) async fn work<B: Broker, C: Clock, R: Reading>(
        &mut self,
        bench: &Bench<'_, B, C>,
        reading: &mut R,
        account: &mut impl Account,
    ) -> Option<Stopped> {
        let most = chunk_size(self.request.rate);
        while !self.progress.is_complete() {
            if let Some(stopped) = bench.must_stop() {
                return Some(stopped);
            }
            let chunk = match reading.next_chunk(bench.until_must_stop()).await {
                Ok(chunk) => chunk,
                Err(error) => return Some(Stopped::Broker(error.to_string())),
            };
            for entries in chunk.entries.chunks(most) {
                if let Some(at) = bench.changed(entries, &self.progress) {
                    return Some(Stopped::Plan(format!(
                        "{at} is not the record that the dry run saw"
                    )));
                }
                let before = self.progress.clone();
                let worked = bench
                    .work_off(entries, &mut self.progress, &mut self.tally)
                    .await;
                self.tell_absent(&before, &chunk.entries);
                let sent = worked.sent.iter().filter_map(|index| entries.get(*index));
                let sent: Vec<&Entry> = sent.collect();
                let unnoted = account.note(&sent).await;
                if let Some(stopped) = unnoted.or(worked.stopped) {
                    return Some(stopped);
                }
            }
            let before = self.progress.clone();
            for (partition, position) in chunk.positions {
                self.progress.reach(partition, position);
            }
            self.tell_absent(&before, &chunk.entries);
        }
        None
    }

    /// Returns the answer.
    pub(crate) fn answer(&self) -> Answer {
        let ended = Ended {
            progress: self.progress.clone(),
            carried: self.carried.clone(),
            stopped: self.stopped.clone(),
            missing: self.missing.clone(),
            held_back: self.held_back.clone(),
            plan: self.plan_made.clone(),
        };
        Answer::of(self.request, &self.tally, &ended)
    }

    /// Tells of what was planned or asked for by its place, lies behind us since `before`, and was not among what was read.
    fn tell_absent(&mut self, before: &Progress, read: &[Entry]) {
        if self.plan.is_none() && self.request.selection.records.is_none() {
            return;
        }
        let read: BTreeSet<(Partition, Offset)> = read
            .iter()
            .map(|entry| (entry.at().partition, entry.at().offset))
            .collect();
        let listed = &self.request.selection;
        let passed = listed.listed_and_passed(before, &self.progress);
        let absent = passed.filter(|place| !read.contains(place));
        let absent: Vec<Coordinates> = absent
            .map(|(partition, offset)| self.at(partition, offset))
            .collect();
        self.missing.extend(absent);
        let Some(plan) = self.plan else { return };
        for planned in plan.passed(before, &self.progress) {
            if !read.contains(&(planned.partition, planned.offset)) {
                let at = planned.at(&self.request.from);
                tracing::warn!(
                    replay.id = self.request.replay_id,
                    kafka.topic = at.topic.as_str(),
                    kafka.partition = at.partition.get(),
                    kafka.offset = at.offset.get(),
                    "a dead letter of the plan is there no more"
                );
                let gone = Matched::gone(at, planned.time, planned.bytes);
                self.tally.note(&gone, Fate::Gone);
            }
        }
    }

    fn at(&self, partition: Partition, offset: Offset) -> Coordinates {
        Coordinates {
            topic: self.request.from.clone(),
            partition,
            offset,
        }
    }
}

/// Returns how many dead letters are written down together.
fn chunk_size(rate: Rate) -> usize {
    if rate.interval().is_none() {
        return Chunk::MOST;
    }
    let worth = (1..Chunk::MOST).find(|size| {
        let size = u32::try_from(*size).unwrap_or(u32::MAX);
        f64::from(size) >= rate.get() * SECONDS
    });
    worth.unwrap_or(Chunk::MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_at_most_ten_seconds_worth_and_at_most_five_hundred() {
        for (rate, expected) in [
            (0.0, 500),
            (0.01, 1),
            (0.25, 3),
            (1.0, 10),
            (49.9, 499),
            (50.0, 500),
            (100.0, 500),
            (1e9, 500),
        ] {
            assert_eq!(
                chunk_size(Rate::per_second(rate).unwrap()),
                expected,
                "{rate}"
            );
        }
    }
}
