//! One chunk of dead letters: judged in order, produced pipelined, each result checked.

use std::fmt;
use std::pin::pin;
use std::task::Poll;

use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::{FutureExt, poll};
use lambda::{Broker, Clock, ProduceError, Stop};
use pipeline::replay::{
    Fate, Judgement, Limit, Matched, Place, Plan, Progress, Published, Request, Returning,
    SkipReason, Stopped, Tally,
};
use pipeline::{Coordinates, Masker, Outgoing, Record, Timestamp};

use crate::dead_letters::Entry;
use crate::pace::Pace;

/// What the chunks of one run are worked off with.
pub(crate) struct Bench<'a, B, C: Clock> {
    pub(crate) broker: &'a B,
    pub(crate) clock: &'a C,
    pub(crate) masker: &'a Masker,
    pub(crate) request: &'a Request,
    /// The plan that is carried out.
    pub(crate) plan: Option<&'a Plan>,
    /// What earlier runs have published and this one need not.
    pub(crate) published: &'a Published,
    /// Says why nothing more may be published, if so.
    pub(crate) barred: &'a (dyn Fn() -> Option<String> + Sync),
    pub(crate) pace: Pace<C>,
    pub(crate) stop: &'a Stop,
    /// The last moment at which a produce may start.
    pub(crate) last_start: Timestamp,
    /// When what is still under way is given up.
    pub(crate) give_up_at: Timestamp,
    pub(crate) concurrency: usize,
}

/// How a chunk ended.
#[derive(Debug)]
pub(crate) struct Worked {
    /// What stopped it before its end, if anything did.
    pub(crate) stopped: Option<Stopped>,
    /// The indices of the entries that went back, or would.
    pub(crate) sent: Vec<usize>,
}

/// What became of one entry of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// Nothing yet.
    Undone,
    /// It was not asked for.
    PassedBy,
    /// It was asked for.
    Matched(Fate),
}

type Produced = (usize, Result<Coordinates, ProduceError>);

/// A chunk while it is worked off.
struct Work<'a, B, C: Clock> {
    bench: &'a Bench<'a, B, C>,
    entries: &'a [Entry],
    outcomes: Vec<Outcome>,
    under_way: FuturesUnordered<BoxFuture<'a, Produced>>,
    fault: Option<String>,
}

impl<B, C: Clock> fmt::Debug for Bench<'_, B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bench")
            .field("last_start", &self.last_start)
            .finish_non_exhaustive()
    }
}

impl<B: Broker, C: Clock> Bench<'_, B, C> {
    /// Works off a chunk. Nothing is under way afterwards.
    pub(crate) async fn work_off(
        &self,
        entries: &[Entry],
        progress: &mut Progress,
        tally: &mut Tally,
    ) -> Worked {
        let mut work = Work {
            bench: self,
            entries,
            outcomes: vec![Outcome::Undone; entries.len()],
            under_way: FuturesUnordered::new(),
            fault: None,
        };
        let limit = self.request.limit;
        let limit = limit.map(|limit| limit.after(tally.tried()));
        let stopped = work.go_through(progress, limit).await;
        work.drain().await;
        let stopped = work.fault.take().map(Stopped::Broker).or(stopped);
        for (entry, outcome) in entries.iter().zip(&work.outcomes) {
            if let Outcome::Matched(fate) = outcome {
                tally.note(&matched(entry), *fate);
            }
        }
        let done = work
            .outcomes
            .iter()
            .map(|outcome| *outcome != Outcome::Undone);
        progress.pass(entries.iter().map(Entry::at).zip(done));
        let outcomes = work.outcomes.iter().enumerate();
        Worked {
            stopped,
            sent: outcomes
                .filter(|(_, outcome)| **outcome == Outcome::Matched(Fate::Sent))
                .map(|(index, _)| index)
                .collect(),
        }
    }

    /// Finds the first entry that is not what the plan saw at its place.
    pub(crate) fn changed<'e>(
        &self,
        entries: &'e [Entry],
        progress: &Progress,
    ) -> Option<&'e Coordinates> {
        let plan = self.plan?;
        let changed = |entry: &&Entry| {
            let at = entry.at();
            let planned = plan.get(at.partition, at.offset);
            let is_same = |planned: &pipeline::replay::Planned| match entry {
                Entry::Record(record) => planned.is(record),
                Entry::Unreadable { .. } => false,
            };
            progress.awaits(at) && planned.is_some_and(|planned| !is_same(planned))
        };
        entries.iter().find(changed).map(Entry::at)
    }

    /// Says why nothing more may start, if so.
    pub(crate) fn must_stop(&self) -> Option<Stopped> {
        let mut stopping = self.stop.subscribe();
        if stopping.stopped().now_or_never().is_some() {
            return Some(Stopped::Told);
        }
        if let Some(why) = (self.barred)() {
            return Some(Stopped::Lease(why));
        }
        (self.clock.now() >= self.last_start).then_some(Stopped::Deadline)
    }

    /// Waits until nothing more may start.
    pub(crate) async fn until_must_stop(&self) {
        let mut stopping = self.stop.subscribe();
        tokio::select! {
            () = stopping.stopped() => {}
            () = self.clock.sleep_until(self.last_start) => {}
        }
    }

    fn judge(&self, entry: &Entry) -> Judgement {
        let (selection, at) = (&self.request.selection, entry.at());
        let is_planned = |plan: &Plan| plan.get(at.partition, at.offset).is_some();
        if !self.plan.is_none_or(is_planned) {
            return Judgement::NotSelected;
        }
        match entry {
            Entry::Record(record) => match selection.judge(record) {
                Judgement::Take { .. } if self.published.holds(&Place::of(record)) => {
                    Judgement::Skip(SkipReason::AlreadyReplayed)
                }
                judgement @ (Judgement::Take { .. }
                | Judgement::Skip(_)
                | Judgement::NotSelected) => judgement,
            },
            Entry::Unreadable { at, time, .. } => selection.judge_unreadable(at, *time),
        }
    }
}

impl<B: Broker, C: Clock> Work<'_, B, C> {
    /// Judges each entry in order and starts what is to go back; ends early when the limit, the deadline or a fault says so.
    async fn go_through(&mut self, progress: &Progress, limit: Option<Limit>) -> Option<Stopped> {
        let mut left = limit.map(|limit| limit.left);
        for (index, entry) in self.entries.iter().enumerate() {
            let judgement = if progress.awaits(entry.at()) {
                self.bench.judge(entry)
            } else {
                Judgement::NotSelected
            };
            match (judgement, entry) {
                (Judgement::NotSelected, _) => self.note(index, Outcome::PassedBy),
                (Judgement::Skip(reason), _) => {
                    self.note(index, Outcome::Matched(Fate::Skipped(reason)));
                }
                (Judgement::Take { .. }, _) if left == Some(0) => return Some(Stopped::Limit),
                (Judgement::Take { nth }, Entry::Record(record)) => {
                    left = left.map(|left| left.saturating_sub(1));
                    if self.bench.request.dry_run {
                        self.note(index, Outcome::Matched(Fate::Sent));
                    } else if let Some(stopped) = self.send(index, record, nth).await {
                        return Some(stopped);
                    }
                }
                // No rule takes what cannot be read; it would stay undone rather than be lost.
                (Judgement::Take { .. }, Entry::Unreadable { .. }) => {}
            }
        }
        None
    }

    /// Starts to send a dead letter back as soon as pace and concurrency allow, or says why it must not start.
    async fn send(&mut self, index: usize, record: &Record, nth: u64) -> Option<Stopped> {
        let bench = self.bench;
        loop {
            if let Some(fault) = &self.fault {
                return Some(Stopped::Broker(fault.clone()));
            }
            if let Some(stopped) = bench.must_stop() {
                return Some(stopped);
            }
            if self.under_way.len() >= bench.concurrency {
                self.note_next().await;
                continue;
            }
            match bench.pace.admit() {
                Ok(()) => break,
                Err(at) if at >= bench.last_start => return Some(Stopped::Deadline),
                Err(at) => self.wait_until(at).await,
            }
        }
        let returning = Returning {
            to: &bench.request.to,
            replay_id: &bench.request.replay_id,
        };
        let outgoing = returning.outgoing(record, nth, bench.clock.now());
        self.under_way
            .push(Box::pin(produce(bench.broker, outgoing, index)));
        // A future does nothing before it is polled: the record shall be on its way now, and before the next one.
        if let Poll::Ready(Some(produced)) = poll!(self.under_way.next()) {
            self.conclude(produced);
        }
        None
    }

    /// Waits until a time, or until a fault comes to light or the process is told to stop.
    async fn wait_until(&mut self, time: Timestamp) {
        let mut stopping = self.bench.stop.subscribe();
        let mut waiting = pin!(self.bench.clock.sleep_until(time));
        while self.fault.is_none() {
            tokio::select! {
                Some(produced) = self.under_way.next() => self.conclude(produced),
                () = &mut waiting => return,
                () = stopping.stopped() => return,
            }
        }
    }

    async fn note_next(&mut self) {
        if let Some(produced) = self.under_way.next().await {
            self.conclude(produced);
        }
    }

    /// Waits for all that is under way; what is not over in time is given up, so that the answer is.
    async fn drain(&mut self) {
        let bench = self.bench;
        let mut time_up = pin!(bench.clock.sleep_until(bench.give_up_at));
        let mut given_up = false;
        while !self.under_way.is_empty() {
            tokio::select! {
                Some(produced) = self.under_way.next() => self.conclude(produced),
                () = &mut time_up, if !given_up => {
                    given_up = true;
                    bench.broker.give_up();
                }
            }
        }
    }

    fn conclude(&mut self, (index, result): Produced) {
        match result {
            Ok(_) => self.note(index, Outcome::Matched(Fate::Sent)),
            Err(ProduceError::Refused(why)) => {
                self.warn_of_refusal(index, &why);
                self.note(index, Outcome::Matched(Fate::Failed));
            }
            Err(ProduceError::Fault(why)) => self.fault = self.fault.take().or(Some(why)),
        }
    }

    fn note(&mut self, index: usize, outcome: Outcome) {
        if let Some(place) = self.outcomes.get_mut(index) {
            *place = outcome;
        }
    }

    fn warn_of_refusal(&self, index: usize, why: &str) {
        let Some(at) = self.entries.get(index).map(Entry::at) else {
            return;
        };
        tracing::warn!(
            replay.id = self.bench.request.replay_id,
            kafka.topic = at.topic.as_str(),
            kafka.partition = at.partition.get(),
            kafka.offset = at.offset.get(),
            error.message = self.bench.masker.line(why),
            "the broker refuses a dead letter: it stays where it is"
        );
    }
}

async fn produce<B: Broker>(broker: &B, outgoing: Outgoing, index: usize) -> Produced {
    (index, broker.produce(&outgoing).await)
}

fn matched(entry: &Entry) -> Matched {
    match entry {
        Entry::Record(record) => Matched::of(record),
        Entry::Unreadable { at, time } => Matched::unreadable(at.clone(), *time),
    }
}
