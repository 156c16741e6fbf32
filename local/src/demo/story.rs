//! The story in four acts: payments climb the ladder, what could not be charged becomes incidents, a replay, and the account.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use pipeline::Incident;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::account::{Account, Facts};
use super::brokers::DemoBroker;
use super::ending::{self, Ending};
use super::journey::{Cast, Journey};
use super::ladder::Ladder;
use super::narrator::Narrator;
use super::screen::Screen;
use super::seeds::{Kind, Seed, seeds};
use super::services::{PACKAGES, Services};
use super::tables;
use crate::binaries::Binaries;

/// What a demo is asked for.
#[derive(Clone, Debug)]
pub struct DemoSettings {
    /// Brokers to run on; one in this process when absent.
    pub brokers: Option<kafka::Brokers>,
    /// How many records to seed.
    pub messages: NonZeroUsize,
}

/// What a replay answers, as far as it is shown.
#[derive(Debug, Deserialize)]
struct ReplayAnswer {
    matched: u64,
    published: u64,
    to_publish: Option<u64>,
    failed: u64,
    skipped: BTreeMap<String, u64>,
    by_error_code: BTreeMap<String, u64>,
    complete: bool,
    resume: Option<String>,
    fault: Option<String>,
}

/// What is known when the acts are over and everything still runs.
struct Told {
    facts: Facts,
}

/// Runs the demo and tells it on the screen, until it is over or `told_to_stop` is.
pub async fn run(
    settings: &DemoSettings,
    screen: &Screen,
    told_to_stop: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Ending<Account>> {
    let mut told_to_stop = std::pin::pin!(told_to_stop);
    screen.aside(&format!("building the functions: {}", PACKAGES.join(", ")));
    let binaries = tokio::select! {
        built = Binaries::build(&PACKAGES) => built?,
        told = &mut told_to_stop => return told.map(|()| Ending::BrokenOff),
    };
    screen.aside("starting the services");
    let broker = Arc::new(DemoBroker::on(settings.brokers.as_ref()).await?);
    let screen = &screen.from_now();
    let ending = on_broker(&broker, &binaries, settings, screen, told_to_stop).await;
    ending::after(ending, broker.remove().await, screen)
}

async fn on_broker(
    broker: &Arc<DemoBroker<Ladder>>,
    binaries: &Binaries,
    settings: &DemoSettings,
    screen: &Screen,
    told_to_stop: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Ending<Account>> {
    let seeds = seeds(settings.messages);
    let kinds = seeds.iter().map(|seed| (seed.key.clone(), seed.kind));
    let cast = Cast {
        kinds: kinds.collect(),
        labels: broker.topics.labels(),
        delays: broker.topics.delays(),
        done: "charged",
    };
    let (narrator, wires) = Narrator::begin(Journey::of(cast), screen.clone());
    let services = Services::start(Arc::clone(broker), binaries, wires).await?;
    let story = Story {
        services: &services,
        screen,
        patience: patience(settings.messages),
    };
    let told = tokio::select! {
        told = story.tell(seeds) => told.map(Some),
        why = narrator.hopeless() => Err(anyhow::anyhow!("the demo cannot go on: {why}")),
        told = told_to_stop => told.map(|()| None),
    };
    services.stop().await;
    let alerts = narrator.over().await.map_or(0, |journey| journey.alerts());
    let Some(Told { mut facts }) = told? else {
        return Ok(Ending::BrokenOff);
    };
    facts.alerts = alerts;
    let account = Account::of(&facts);
    tell_account(screen, &account);
    Ok(Ending::Told(account))
}

/// How long an act may take until nothing moves any more: a machine under load is slow, a stage that stands still is a fault.
fn patience(messages: NonZeroUsize) -> Duration {
    let of_each = u64::try_from(messages.get()).unwrap_or(u64::MAX);
    Duration::from_mins(2).saturating_add(Duration::from_millis(of_each.saturating_mul(100)))
}

/// The acts that are played while everything runs.
struct Story<'a> {
    services: &'a Services,
    screen: &'a Screen,
    patience: Duration,
}

impl Story<'_> {
    async fn tell(&self, seeds: Vec<Seed>) -> anyhow::Result<Told> {
        self.climb(&seeds).await?;
        self.incidents().await?;
        let replayed = self.replay().await?;
        let services = self.services;
        let facts = Facts {
            charges: services.charges(),
            topics: services.topics().await?,
            incidents: services.incidents().await?.len(),
            alerts: 0,
            replayed,
            seeds,
        };
        Ok(Told { facts })
    }

    /// Act 1: the ladder.
    async fn climb(&self, seeds: &[Seed]) -> anyhow::Result<()> {
        for service in self.services.told() {
            self.screen.aside(&format!("  {service}"));
        }
        self.screen.heading("1. Payments climb the ladder");
        self.services.seed(seeds).await?;
        self.screen.say(format!("seeded {}", mix(seeds)));
        self.screen.aside(
            "the retry topics wait 1 s, 2 s and 3 s here, where production waits 30 s, 5 min and 1 h",
        );
        self.screen
            .aside("the mappings join their consumer groups, which takes some seconds");
        self.drained().await
    }

    /// Act 2: what could not be charged.
    async fn incidents(&self) -> anyhow::Result<()> {
        let incidents = self.services.incidents().await?;
        self.screen.heading(&format!(
            "2. Every dead letter is an incident in S3: {}",
            incidents.len()
        ));
        tables::incidents(self.screen, &incidents);
        if let Some(incident) = incidents.first().map(Incident::key) {
            self.screen.aside(&format!("such as {incident}"));
        }
        Ok(())
    }

    /// Act 3: the provider works again, and what was transient is replayed. Returns how many records were published.
    async fn replay(&self) -> anyhow::Result<u64> {
        self.screen
            .heading("3. The provider works again: replay what was transient");
        self.services.switch_provider_up();
        let dry = json!({"error_class": "transient", "dry_run": true});
        let dry = self.ask_replay(&dry).await?;
        let mut published: u64 = 0;
        let mut request = json!({"error_class": "transient"});
        loop {
            let answer = self.ask_replay(&request).await?;
            published = published.saturating_add(answer.published);
            if answer.failed > 0 {
                bail!("the replay could not publish {} records", answer.failed);
            }
            match answer.resume {
                Some(token) if !answer.complete => request = json!({"resume": token}),
                Some(_) | None => break,
            }
        }
        if dry.to_publish != Some(published) {
            bail!(
                "the dry run promised {} records, {published} were published",
                dry.to_publish.unwrap_or(0)
            );
        }
        self.drained().await?;
        Ok(published)
    }

    async fn ask_replay(&self, request: &serde_json::Value) -> anyhow::Result<ReplayAnswer> {
        let request = request.to_string();
        self.screen.say(format!("invoke replay {request}"));
        let answer = self.services.replay(request).await?;
        let answer: ReplayAnswer = serde_json::from_slice(&answer)
            .with_context(|| format!("replay answers {}", String::from_utf8_lossy(&answer)))?;
        if let Some(fault) = &answer.fault {
            bail!("replay was stopped: {fault}");
        }
        let skipped = answer
            .skipped
            .values()
            .copied()
            .fold(0, u64::saturating_add);
        let sent = match answer.to_publish {
            Some(number) => format!("{number} would be published, nothing was (dry run)"),
            None => format!("{} published", answer.published),
        };
        let codes = answer.by_error_code.iter();
        let codes: Vec<String> = codes
            .map(|(code, number)| format!("{number} {code}"))
            .collect();
        self.screen.say(format!(
            "  matched {}: {sent}, {skipped} skipped, {} failed ({})",
            answer.matched,
            answer.failed,
            codes.join(", ")
        ));
        Ok(answer)
    }

    /// Waits until every record of every topic is done; fails when that takes too long, saying what still moves.
    async fn drained(&self) -> anyhow::Result<()> {
        let give_up = Instant::now().checked_add(self.patience);
        let mut say_again = tokio::time::interval(Duration::from_secs(5));
        say_again.reset();
        loop {
            let quiet = self.quiet();
            tokio::pin!(quiet);
            let over = loop {
                tokio::select! {
                    over = &mut quiet => break over?,
                    _ = say_again.tick() => {
                        let left = in_words(&self.services.left().await?);
                        if give_up.is_some_and(|at| Instant::now() > at) {
                            bail!("after {} s not everything is done: {left}", self.patience.as_secs());
                        }
                        self.screen.aside(&format!("waiting for what is not done yet: {left}"));
                    }
                }
            };
            if over {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    async fn quiet(&self) -> anyhow::Result<bool> {
        self.services.idle().await?;
        Ok(self.services.left().await?.is_empty())
    }
}

/// Act 4: where everything is.
fn tell_account(screen: &Screen, account: &Account) {
    screen.heading("4. The account");
    tables::account(screen, account);
    let totals = account.totals;
    screen.say(format!(
        "{} incidents, {} dead letters, {} alerts; {} replayed; in flight {}, lost {}, charged twice {}",
        totals.incidents,
        totals.dead_lettered,
        account.alerts,
        totals.replayed,
        totals.in_flight,
        totals.lost,
        totals.double_charged
    ));
    for problem in &account.problems {
        screen.wrong(&format!("WRONG: {problem}"));
    }
    if account.is_right() {
        screen.right("Every payment is accounted for.");
    }
}

/// Says how many of each kind there are.
fn mix(seeds: &[Seed]) -> String {
    let mut kinds: BTreeMap<Kind, u64> = BTreeMap::new();
    for seed in seeds {
        let number = kinds.entry(seed.kind).or_default();
        *number = number.saturating_add(1);
    }
    let kinds = kinds.into_iter();
    let kinds: Vec<String> = kinds
        .map(|(kind, number)| format!("{number} {kind}"))
        .collect();
    format!("{} records: {}", seeds.len(), kinds.join(", "))
}

fn in_words(left: &[(&str, u64)]) -> String {
    if left.is_empty() {
        return "the mappings' last commits".to_owned();
    }
    let left = left.iter();
    let left: Vec<String> = left
        .map(|(stage, records)| format!("{records} on {stage}"))
        .collect();
    left.join(", ")
}
