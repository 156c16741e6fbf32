//! The story in three acts: nothing is dead-lettered, then it is, and what lies aside.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use pipeline::Partition;
use tokio::sync::watch;

use super::orders::{HELD, Order, poison};
use super::seen::Seen;
use super::services::{PACKAGES, Services};
use super::topics::{ORDERS, OrdersTopics};
use super::witness::{Sighting, Witness};
use crate::binaries::Binaries;
use crate::demo::brokers::DemoBroker;
use crate::demo::ending::{self, Ending};
use crate::demo::journey::Cast;
use crate::demo::narrator::Narrator;
use crate::demo::offsets::PartitionOffsets;
use crate::demo::screen::Screen;
use crate::demo::tables;

/// How far the function counts while nothing is to be dead-lettered: further than anybody waits.
const NEVER: u32 = 1_000_000;

/// How far it counts by itself.
const BY_DEFAULT: u32 = 3;

/// The partition that goes on while the other stands still.
const OTHER: i32 = 1;

/// How long any part may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_mins(1);

/// What a death cycle is asked for.
#[derive(Clone, Debug, Default)]
pub struct DeathCycleSettings {
    /// Brokers to run on; one in this process when absent.
    pub brokers: Option<kafka::Brokers>,
}

/// Runs the demo and tells it on the screen, until it is over or `told_to_stop` is.
pub async fn run(
    settings: &DeathCycleSettings,
    screen: &Screen,
    told_to_stop: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Ending<Seen>> {
    let mut told_to_stop = std::pin::pin!(told_to_stop);
    screen.aside(&format!("building the functions: {}", PACKAGES.join(", ")));
    let binaries = tokio::select! {
        built = Binaries::build(&PACKAGES) => built?,
        told = &mut told_to_stop => return told.map(|()| Ending::BrokenOff),
    };
    screen.aside("starting the services");
    let broker = Arc::new(DemoBroker::on(settings.brokers.as_ref()).await?);
    let screen = &screen.from_now();
    let ending = on_broker(&broker, binaries, screen, told_to_stop).await;
    ending::after(ending, broker.remove().await, screen)
}

async fn on_broker(
    broker: &Arc<DemoBroker<OrdersTopics>>,
    binaries: Binaries,
    screen: &Screen,
    told_to_stop: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Ending<Seen>> {
    let cast = Cast {
        labels: broker.topics.labels(),
        done: "handled",
        ..Cast::default()
    };
    let (witness, sightings) = Witness::of(broker.topics.orders().as_str(), cast);
    let (narrator, wires) = Narrator::begin(witness, screen.clone());
    let services = Services::start(Arc::clone(broker), binaries, wires).await?;
    let story = Story {
        services: &services,
        screen,
        sightings: sightings.clone(),
    };
    let told = tokio::select! {
        told = story.tell() => told.map(Some),
        why = narrator.hopeless() => Err(anyhow::anyhow!("the demo cannot go on: {why}")),
        told = told_to_stop => told.map(|()| None),
    };
    services.stop().await;
    drop(narrator.over().await);
    let Some(mut seen) = told? else {
        return Ok(Ending::BrokenOff);
    };
    let last = sightings.borrow();
    seen.handled = u64::try_from(last.handled.len()).unwrap_or(u64::MAX);
    seen.alerts = last.alerts;
    drop(last);
    tell_end(screen, &seen);
    Ok(Ending::Told(seen))
}

/// The acts that are played while everything runs.
struct Story<'a> {
    services: &'a Services,
    screen: &'a Screen,
    sightings: watch::Receiver<Sighting>,
}

impl Story<'_> {
    async fn tell(&self) -> anyhow::Result<Seen> {
        let mut seen = Seen {
            poison_partition: HELD.get(),
            poison_offset: poison().get(),
            ..Seen::default()
        };
        self.stand_still(&mut seen).await?;
        self.come_alive(&mut seen).await?;
        self.what_lies_aside(&mut seen).await?;
        Ok(seen)
    }

    /// Act 1: the same offset comes again and again.
    async fn stand_still(&self, seen: &mut Seen) -> anyhow::Result<()> {
        for service in self.services.told() {
            self.screen.aside(&format!("  {service}"));
        }
        let screen = self.screen;
        screen.heading("1. An order that nobody can read, and dead-lettering switched off");
        self.send(&Order::first(), seen).await?;
        screen.say(format!(
            "8 orders: 5 on {ORDERS}-0, 3 on {ORDERS}-1. The one at offset {} of {ORDERS}-0 is no JSON, and no try will make it so.",
            poison()
        ));
        screen.aside(&format!(
            "the function runs with MAX_FAILS={NEVER}, so that it never dead-letters: this demo does that to it, {BY_DEFAULT} is its default"
        ));
        screen.aside("the mapping joins its consumer group, which takes some seconds");
        let orders = self.services.take_orders(NEVER)?;
        self.until("the order is tried again", |now| now.deliveries >= 3)
            .await?;
        self.show_lag().await?;
        self.send(&Order::later(), seen).await?;
        screen.say(format!(
            "5 more orders arrive: 3 on {ORDERS}-0, 2 on {ORDERS}-1"
        ));
        let recognised = |now: &Sighting| now.recognised.is_some();
        self.until("the order is recognised as poison", recognised)
            .await?;
        self.until_all_done(OTHER).await?;
        self.show_lag().await?;
        orders.stop().await;
        let now = self.sightings.borrow().clone();
        seen.recognised = now.recognised;
        seen.deliveries_before = now.deliveries;
        let [held, other] = self.offsets().await?;
        seen.committed_before = held.next;
        seen.lag_before = lag(&held);
        seen.other_lag = lag(&other);
        for line in [
            format!(
                "A committed offset is a bookmark: everything before it is done. Order {} is not done and never will be,",
                poison()
            ),
            format!(
                "so the bookmark stays at {}, and Lambda delivers from there again, for ever. The lag has grown to {}: the orders",
                held.next, seen.lag_before
            ),
            format!(
                "that arrived behind it have not been delivered once. {ORDERS}-1 knows nothing of it: a poison record stops its own partition."
            ),
        ] {
            screen.say(line);
        }
        Ok(())
    }

    /// Act 2: the third failure is a dead letter, and one commit moves the offset past it.
    async fn come_alive(&self, seen: &mut Seen) -> anyhow::Result<()> {
        let screen = self.screen;
        screen.heading("2. Dead-lettering switched on");
        screen.aside(&format!(
            "the function starts again with MAX_FAILS={BY_DEFAULT}; it counts in memory, so its count begins at zero"
        ));
        let orders = self.services.take_orders(BY_DEFAULT)?;
        self.until_all_done(HELD.get()).await?;
        self.until("the alert is raised", |now| now.alerts > 0)
            .await?;
        self.show_lag().await?;
        orders.stop().await;
        seen.deliveries_after = self.sightings.borrow().deliveries;
        let [held, _] = self.offsets().await?;
        seen.committed_after = held.next;
        seen.lag_after = lag(&held);
        for line in [
            format!(
                "The third failure produced order {} to orders.dlq. When the broker had acknowledged it there, and not before,",
                poison()
            ),
            "the function answered that nothing is left to do. The order is as unreadable as before, but it is done with:".to_owned(),
            format!(
                "that is one commit, from {} to {}, and everything behind it goes on.",
                seen.committed_before, held.next
            ),
        ] {
            screen.say(line);
        }
        Ok(())
    }

    /// Act 3: the order itself is not lost.
    async fn what_lies_aside(&self, seen: &mut Seen) -> anyhow::Result<()> {
        self.screen
            .heading("3. Nothing is lost: the order lies in orders.dlq, and its incident in S3");
        let incidents = self.services.incidents().await?;
        tables::incidents(self.screen, &incidents);
        seen.incidents = u64::try_from(incidents.len()).unwrap_or(u64::MAX);
        seen.dead_letters = self.services.dead_letters().await?;
        Ok(())
    }

    async fn send(&self, orders: &[Order], seen: &mut Seen) -> anyhow::Result<()> {
        self.services.send(orders).await?;
        let sent = u64::try_from(orders.len()).unwrap_or(u64::MAX);
        seen.orders = seen.orders.saturating_add(sent);
        Ok(())
    }

    /// Waits until something has been seen.
    async fn until(&self, what: &str, seen: impl Fn(&Sighting) -> bool) -> anyhow::Result<()> {
        let mut sightings = self.sightings.clone();
        let waited = tokio::time::timeout(PATIENCE, sightings.wait_for(|now| seen(now))).await;
        waited
            .with_context(|| not_in_time(what))?
            .with_context(|| format!("nobody watches whether {what}"))?;
        Ok(())
    }

    /// Waits until every order of a partition is done.
    async fn until_all_done(&self, partition: i32) -> anyhow::Result<()> {
        let done = async {
            while lag(&self.of(partition).await?) > 0 {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            anyhow::Ok(())
        };
        let what = format!("every order of {ORDERS}-{partition} is done");
        tokio::time::timeout(PATIENCE, done)
            .await
            .with_context(|| not_in_time(&what))?
    }

    /// Returns how far the partition with the poison has come, and how far the other.
    async fn offsets(&self) -> anyhow::Result<[PartitionOffsets; 2]> {
        Ok([self.of(HELD.get()).await?, self.of(OTHER).await?])
    }

    async fn of(&self, partition: i32) -> anyhow::Result<PartitionOffsets> {
        let offsets = self.services.offsets().await?;
        let found =
            Partition::new(partition).and_then(|partition| offsets.get(&partition).copied());
        found.with_context(|| format!("{ORDERS} has no partition {partition}"))
    }

    async fn show_lag(&self) -> anyhow::Result<()> {
        let row = |partition: i32, at: &PartitionOffsets| {
            let lag = lag(at);
            let is = if lag > 0 { "stands still" } else { "all done" };
            vec![
                format!("{ORDERS}-{partition}"),
                at.next.to_string(),
                at.end.to_string(),
                lag.to_string(),
                is.to_owned(),
            ]
        };
        let [held, other] = self.offsets().await?;
        let rows = [row(HELD.get(), &held), row(OTHER, &other)];
        let columns = ["partition", "committed", "end", "lag", ""];
        self.screen.table(&columns, &rows, &[1, 2, 3]);
        Ok(())
    }
}

fn lag(at: &PartitionOffsets) -> i64 {
    at.end.saturating_sub(at.next)
}

fn not_in_time(what: &str) -> String {
    format!(
        "within {} s it was not seen that {what}",
        PATIENCE.as_secs()
    )
}

fn tell_end(screen: &Screen, seen: &Seen) {
    let Seen {
        orders,
        handled,
        deliveries_before,
        deliveries_after,
        ..
    } = seen;
    screen.say(format!(
        "{orders} orders, {handled} handled, {} dead letter, {} incident, {} alert; order {} was delivered {deliveries_before} times without end in sight, then {deliveries_after} times",
        seen.dead_letters, seen.incidents, seen.alerts, seen.poison_offset
    ));
    let problems = seen.problems();
    for problem in &problems {
        screen.wrong(&format!("WRONG: {problem}"));
    }
    if problems.is_empty() {
        screen.right("One record put aside, one commit, and the partition lives.");
    }
}
