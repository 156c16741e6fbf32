//! A replay from its payload to its answer.

use std::fmt;

use lambda::{Broker, Clock, Deadline, Stop, StoreFault};
use pipeline::replay::{Answer, Invoker, PlanHead, Published, Request, Stopped, Terms};
use pipeline::{Masker, Timestamp};
use uuid::Uuid;

use crate::account::{Drafting, Keeping};
use crate::chunk::Bench;
use crate::course::Course;
use crate::dead_letters::{DeadLetters, SourceError};
use crate::error::ReplayError;
use crate::lease::Lease;
use crate::pace::Pace;
use crate::planning::{self, Planner};
use crate::settings::Settings;
use crate::standing::{self, Standing};
use crate::store::Store;
use crate::{journal, ledger, telling};

/// Sends dead letters back; broker, source, store and clock are arguments, so that a simulation can drive it.
pub struct Replay<B, D, S, C> {
    settings: Settings,
    broker: B,
    dead_letters: D,
    store: S,
    clock: C,
    stop: Stop,
    masker: Masker,
}

impl<B, D, S, C> fmt::Debug for Replay<B, D, S, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// The times of one invocation, counted from its end.
#[derive(Clone, Copy, Debug)]
struct Times {
    deadline: Deadline,
}

impl Times {
    /// How long writing the ledger may take after the last produce, in milliseconds.
    const RECORD_MS: i64 = 2_500;

    /// Returns the last moment at which a produce may start: it takes at most 5 s, then comes the ledger, then the answer.
    const fn last_send(self) -> Timestamp {
        self.give_up_at().plus_millis(-Deadline::PRODUCE_MS)
    }

    /// Returns when what is still under way is given up.
    const fn give_up_at(self) -> Timestamp {
        self.deadline.answer_by().plus_millis(-Self::RECORD_MS)
    }

    /// Returns when reading ends in a dry run: then comes the plan, then the answer.
    const fn last_read(self) -> Timestamp {
        self.deadline.wait_until().plus_millis(-500)
    }

    /// Returns until when the brokers and the store may be waited for.
    const fn last_wait(self) -> Timestamp {
        self.deadline.wait_until()
    }

    /// Returns until when what is good to have may be waited for: the end in the run's record, and the lease's return.
    const fn last_word(self) -> Timestamp {
        self.deadline.answer_by().plus_millis(-50)
    }
}

impl<B: Broker, D: DeadLetters, S: Store, C: Clock> Replay<B, D, S, C> {
    /// Joins what a replay works with.
    pub fn new(
        settings: Settings,
        broker: B,
        dead_letters: D,
        store: S,
        clock: C,
        stop: Stop,
    ) -> Self {
        Self {
            settings,
            broker,
            dead_letters,
            store,
            clock,
            stop,
            masker: Masker::default(),
        }
    }

    /// Returns the time by the clock that the replay goes by.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Tells how a run stands.
    pub async fn standing(
        &self,
        replay_id: &str,
        deadline: Deadline,
    ) -> Result<Standing, ReplayError> {
        let times = Times { deadline };
        let tell = Box::pin(standing::tell(
            &self.dead_letters,
            &self.store,
            &self.settings,
            self.clock.now(),
            replay_id,
        ));
        self.in_time(times.last_word(), topics_take_long, tell)
            .await
    }

    /// Does what a payload asks for, as far as the time allows.
    ///
    /// Fails before anything is published; once it has begun, whatever stops it stands in the answer.
    pub async fn run(
        &self,
        payload: &str,
        invoker: Invoker,
        deadline: Deadline,
    ) -> Result<Answer, ReplayError> {
        let began = self.clock.now();
        let result = Box::pin(self.try_run(payload, invoker, Times { deadline })).await;
        let duration_ms = self.clock.now().millis_since(began);
        match &result {
            Ok(answer) => telling::tell_end(answer, &self.masker, duration_ms),
            Err(error) => telling::tell_failure(error, &self.masker, duration_ms),
        }
        result
    }

    async fn try_run(
        &self,
        payload: &str,
        invoker: Invoker,
        times: Times,
    ) -> Result<Answer, ReplayError> {
        let new_id = Uuid::new_v4().to_string();
        let terms = Terms {
            from: &self.settings.from,
            to: &self.settings.to,
            targets: &self.settings.targets,
            new_id: &new_id,
            now: self.clock.now(),
        };
        let mut request = Request::read(payload, &terms)?;
        let plan = match &request.plan {
            Some(name) => {
                let load = Box::pin(planning::load(&self.store, name));
                Some(self.in_time(times.last_wait(), store_is_late, load).await?)
            }
            None => None,
        };
        if let Some((head, _)) = &plan {
            request.follow(head, &terms)?;
        }
        telling::tell_start(&request, payload, &self.masker);
        let plan = plan.map(|(_, plan)| plan);
        let mut course = Course::of(&request, plan.as_ref());
        if request.dry_run {
            return Box::pin(self.look(&mut course, times)).await;
        }
        let lease = Box::pin(Lease::take(
            &self.store,
            &self.clock,
            &request.from,
            &request.replay_id,
        ));
        let lease = self
            .in_time(times.last_wait(), store_is_late, lease)
            .await?;
        let result = tokio::select! {
            biased;
            result = Box::pin(self.send_back(&mut course, &lease, invoker, times)) => result,
            never = lease.keep() => match never {},
        };
        tokio::select! {
            () = lease.give_back() => {}
            () = self.clock.sleep_until(times.last_word()) => {}
        }
        result
    }

    /// Counts what would go back and leaves the plan of it.
    async fn look(&self, course: &mut Course<'_>, times: Times) -> Result<Answer, ReplayError> {
        let (mut reading, published) = self.begin(course, times).await?;
        let request = course.request;
        let parts = request.carried.parts.clone();
        let mut drafting = Drafting::new(Planner::new(&self.store, &request.replay_id, parts));
        let bench = self.bench(course, &published, &|| None, times.last_read(), times);
        let worked = course.work(&bench, &mut reading, &mut drafting).await;
        if let Some(Stopped::Store(why)) = worked {
            return Err(StoreFault(why).into());
        }
        let limited = worked == Some(Stopped::Limit);
        course.stopped = worked;
        let mut planner = drafting.into_planner();
        let complete = course.progress.is_complete();
        let written = Box::pin(async {
            let mut name = None;
            if complete || limited {
                let head = PlanHead {
                    replay_id: request.replay_id.clone(),
                    made: self.clock.now().to_rfc3339().unwrap_or_default(),
                    from: request.from.clone(),
                    to: request.to.clone(),
                    max_replays: request.selection.max_replays,
                    again: request.again,
                    asked: journal::masked(request.asked(), &self.masker),
                };
                name = Some(planner.write_plan(head).await?);
            }
            if !complete {
                planner.write_part().await?;
            }
            Ok((name, planner.into_parts()))
        });
        let (name, parts) = self
            .in_time(times.last_word(), store_is_late, written)
            .await?;
        course.plan_made = name;
        course.carried.parts = parts;
        let mut answer = course.answer();
        // With `again` those count, too, that were sent back; and of other topics nobody asked to be told.
        if !request.again && request.from == self.settings.from {
            let oldest = course.tally.oldest_sent().iter();
            let told =
                oldest.filter_map(|(class, time)| Some(((*class).to_owned(), time.to_rfc3339()?)));
            answer.unreplayed = told.collect();
        }
        Ok(answer)
    }

    /// Sends dead letters back under the lease.
    async fn send_back(
        &self,
        course: &mut Course<'_>,
        lease: &Lease<'_, S, C>,
        invoker: Invoker,
        times: Times,
    ) -> Result<Answer, ReplayError> {
        let began = self.clock.now();
        let (mut reading, published) = self.begin(course, times).await?;
        let request = course.request;
        let time = times.last_wait();
        let mut keeping = Keeping::new(&self.store, &self.clock, request, time);
        // What an earlier invocation could not write down comes before anything else.
        let carried = std::mem::take(&mut course.carried.unrecorded);
        let record = async { Ok(keeping.record(carried).await?) };
        self.in_time(time, store_is_late, record).await?;
        let now = || self.clock.now().to_rfc3339().unwrap_or_default();
        let noted = async { Ok(journal::begin(&self.store, request, invoker, now()).await?) };
        let mut run = self.in_time(time, store_is_late, noted).await?;
        let barred = || lease.lost();
        let bench = self.bench(course, &published, &barred, times.last_send(), times);
        course.stopped = course.work(&bench, &mut reading, &mut keeping).await;
        course.carried.unrecorded = keeping.into_unrecorded();
        course.carried.not_before = bench.pace.next();
        let refused = match &course.stopped {
            Some(Stopped::Plan(why)) if course.tally.tried() == 0 => Some(why.clone()),
            Some(_) | None => None,
        };
        let answer = course.answer();
        let took_ms = self.clock.now().millis_since(began);
        run.end(&answer, now(), took_ms, course.tally.ends());
        let end = async { Ok(journal::end(&self.store, &run).await?) };
        if let Err(error) = self.in_time(times.last_word(), store_is_late, end).await {
            telling::tell_lost_record(&answer, &error);
        }
        match refused {
            Some(why) => Err(ReplayError::Plan(why)),
            None => Ok(answer),
        }
    }

    /// Opens the topic, goes to the first place that may matter, and reads what was published of what comes there.
    async fn begin(
        &self,
        course: &mut Course<'_>,
        times: Times,
    ) -> Result<(D::Reading, Published), ReplayError> {
        let time = times.last_wait();
        let open = Box::pin(async { Ok(course.begin(&self.dead_letters).await?) });
        let reading = self.in_time(time, brokers_are_late, open).await?;
        let load = async { Ok(ledger::load(&self.store, course.request, &course.progress).await?) };
        let published = self.in_time(time, store_is_late, load).await?;
        Ok((reading, published))
    }

    fn bench<'b>(
        &'b self,
        course: &Course<'b>,
        published: &'b Published,
        barred: &'b (dyn Fn() -> Option<String> + Sync),
        last_start: Timestamp,
        times: Times,
    ) -> Bench<'b, B, C> {
        Bench {
            broker: &self.broker,
            clock: &self.clock,
            masker: &self.masker,
            request: course.request,
            plan: course.plan,
            published,
            barred,
            stop: &self.stop,
            pace: Pace::new(
                course.request.rate,
                self.clock.clone(),
                course.carried.not_before,
            ),
            last_start,
            give_up_at: times.give_up_at(),
            concurrency: self.settings.concurrency.get().into(),
        }
    }

    async fn in_time<T>(
        &self,
        time: Timestamp,
        late: fn() -> ReplayError,
        work: impl Future<Output = Result<T, ReplayError>>,
    ) -> Result<T, ReplayError> {
        tokio::select! {
            biased;
            result = work => result,
            () = self.clock.sleep_until(time) => Err(late()),
        }
    }
}

fn brokers_are_late() -> ReplayError {
    let told = "the brokers did not say in time what the topic holds";
    SourceError::Fault(told.to_owned()).into()
}

fn topics_take_long() -> ReplayError {
    let told = "the topics were not read in time: give the function more of it";
    SourceError::Fault(told.to_owned()).into()
}

fn store_is_late() -> ReplayError {
    StoreFault("no answer before the invocation's time was up".to_owned()).into()
}
