//! Several processes are several `Markers` on one folder; one that is dropped in the middle of a record is a death.

mod folder;
mod process;

use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_755_933_141_855);
const HOUR: i64 = 3_600_000;

/// A folder of markers, and a clock.
struct World {
    folder: TempDir,
    now: Timestamp,
}

/// A process that runs records and notes them.
struct Process {
    markers: Markers,
    now: Timestamp,
}

impl World {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
            now: NOW,
        }
    }

    fn start(&self) -> Process {
        Process {
            markers: Markers::open(self.folder.path(), self.now),
            now: self.now,
        }
    }

    /// Starts a process that dies while it runs these records.
    fn die_running(&self, records: &[&str], alone: Alone) {
        let process = self.start();
        for record in records {
            drop(process.begin(record, alone));
        }
    }

    /// Checks what a new process thinks of records.
    fn check(&self, expected: &[(&str, Standing)]) {
        self.start().check(expected);
    }

    fn files(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect()
    }
}

impl Process {
    fn begin(&self, record: &str, alone: Alone) -> Running {
        let record = record.parse().unwrap();
        self.markers.begin(&record, NOW, alone, self.now)
    }

    fn run(&self, record: &str) {
        self.markers.end(self.begin(record, Alone::No));
    }

    fn start_invocation(&self) {
        self.markers.start_invocation(self.now);
    }

    fn check(&self, expected: &[(&str, Standing)]) {
        for (record, standing) in expected {
            let at = record.parse().unwrap();
            assert_eq!(
                self.markers.standing(&at, NOW, self.now),
                *standing,
                "{record}"
            );
        }
    }
}

#[test]
fn what_ran_when_a_process_died_is_suspect_and_what_had_come_back_is_touched() {
    let world = World::new();
    let process = world.start();
    process.run("t/0/1");
    drop(process.begin("t/0/2", Alone::No));
    drop(process.begin("t/1/2", Alone::No));
    process.check(&[("t/0/1", Standing::Clear), ("t/0/2", Standing::Clear)]);
    drop(process);
    world.check(&[
        ("t/0/1", Standing::Touched),
        ("t/0/2", Standing::Suspect),
        ("t/1/2", Standing::Suspect),
        ("t/0/3", Standing::Clear),
        ("u/0/2", Standing::Clear),
    ]);
}

#[test]
fn another_record_at_the_same_place_is_no_suspect() {
    let world = World::new();
    world.die_running(&["t/0/1"], Alone::No);
    let later = NOW.plus_millis(1);
    let process = world.start();
    let standing = process
        .markers
        .standing(&"t/0/1".parse().unwrap(), later, NOW);
    assert_eq!(standing, Standing::Clear);
}

#[test]
fn row_41_a_record_that_was_alone_in_three_deaths_is_condemned_and_its_neighbours_are_not() {
    let world = World::new();
    let batch: Vec<String> = (0..10).map(|offset| format!("t/0/{offset}")).collect();
    let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
    world.die_running(&batch, Alone::No);
    for deaths in 0..CONDEMNING_DEATHS {
        let process = world.start();
        for record in &batch {
            if *record == "t/0/4" {
                process.check(&[(record, Standing::Suspect)]);
                continue;
            }
            let before = if deaths == 0 {
                Standing::Suspect
            } else {
                Standing::Touched
            };
            process.check(&[(record, before)]);
            process.markers.end(process.begin(record, Alone::Yes));
        }
        drop(process.begin("t/0/4", Alone::Yes));
    }
    let process = world.start();
    for record in &batch {
        let expected = if *record == "t/0/4" {
            Standing::Condemned
        } else {
            Standing::Touched
        };
        process.check(&[(record, expected)]);
    }
}

#[test]
fn kills_from_outside_condemn_nobody_that_ran_beside_others() {
    let world = World::new();
    let batch: Vec<String> = (0..32).map(|offset| format!("t/0/{offset}")).collect();
    let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
    for _ in 0..10 {
        world.die_running(&batch, Alone::No);
    }
    for record in &batch {
        world.check(&[(record, Standing::Suspect)]);
    }
}

#[test]
fn a_record_that_comes_back_is_cleared_for_every_process() {
    let world = World::new();
    world.die_running(&["t/0/1", "t/0/2"], Alone::Yes);
    world.die_running(&["t/0/1"], Alone::Yes);
    let (one, other) = (world.start(), world.start());
    one.run("t/0/1");
    one.check(&[("t/0/1", Standing::Clear), ("t/0/2", Standing::Suspect)]);
    other.start_invocation();
    other.check(&[("t/0/1", Standing::Clear), ("t/0/2", Standing::Suspect)]);
    other.run("t/0/2");
    one.start_invocation();
    one.check(&[("t/0/1", Standing::Clear), ("t/0/2", Standing::Clear)]);
    world.die_running(&["t/0/1"], Alone::Yes);
    world.die_running(&["t/0/1"], Alone::Yes);
    world.check(&[("t/0/1", Standing::Suspect)]);
}

#[test]
fn a_death_that_tells_of_nothing_any_more_leaves_no_file() {
    let world = World::new();
    world.die_running(&["t/0/1"], Alone::Yes);
    let process = world.start();
    process.run("t/0/1");
    process.start_invocation();
    assert_eq!(world.files().len(), 1, "its own");
    drop(process);
    world.start();
    assert_eq!(world.files(), Vec::<PathBuf>::new());
}

#[test]
fn the_files_of_the_living_are_no_deaths() {
    let world = World::new();
    let (one, other) = (world.start(), world.start());
    let running = one.begin("t/0/1", Alone::Yes);
    other.run("t/0/2");
    other.start_invocation();
    other.check(&[("t/0/1", Standing::Clear)]);
    world.check(&[("t/0/1", Standing::Clear), ("t/0/2", Standing::Clear)]);
    assert_eq!(world.files().len(), 2);
    one.markers.end(running);
}

#[test]
fn a_death_counts_once_whoever_reads_of_it_and_dies() {
    let world = World::new();
    world.die_running(&["t/0/1"], Alone::Yes);
    for _ in 0..10 {
        world.start();
        let process = world.start();
        process.start_invocation();
        process.start_invocation();
        process.run("t/0/9");
        process.check(&[("t/0/1", Standing::Suspect)]);
    }
    world.check(&[("t/0/1", Standing::Suspect)]);
}

#[test]
fn a_pool_of_processes_counts_together() {
    let world = World::new();
    let mut pool: Vec<Process> = (0..4).map(|_| world.start()).collect();
    for process in &pool {
        process.run("t/9/9");
    }
    for deaths in 0..CONDEMNING_DEATHS {
        let process = pool.pop().unwrap();
        process.start_invocation();
        let expected = if deaths == 0 {
            Standing::Clear
        } else {
            Standing::Suspect
        };
        process.check(&[("t/0/1", expected)]);
        drop(process.begin("t/0/1", Alone::Yes));
    }
    let last = pool.pop().unwrap();
    last.start_invocation();
    last.check(&[("t/0/1", Standing::Condemned)]);
}

#[test]
fn an_answered_invocation_leaves_nothing_to_tell() {
    let world = World::new();
    let process = world.start();
    process.run("t/0/1");
    process.markers.let_go(process.begin("t/0/2", Alone::No));
    drop(process.begin("t/0/3", Alone::No));
    process.start_invocation();
    process.run("t/0/4");
    drop(process);
    world.check(&[
        ("t/0/1", Standing::Clear),
        ("t/0/2", Standing::Clear),
        ("t/0/3", Standing::Clear),
        ("t/0/4", Standing::Touched),
    ]);
}

#[test]
fn row_63_a_payment_that_was_charged_before_the_kill_is_touched_when_it_comes_again() {
    let world = World::new();
    let process = world.start();
    process.run("brew.payments.v1/0/14");
    drop(process);
    let next = world.start();
    next.check(&[("brew.payments.v1/0/14", Standing::Touched)]);
    next.run("brew.payments.v1/0/14");
    next.check(&[("brew.payments.v1/0/14", Standing::Clear)]);
}

#[test]
fn a_record_that_is_let_go_is_neither_cleared_nor_charged_with_more() {
    let world = World::new();
    for _ in 0..3 {
        world.check(&[("t/0/1", Standing::Clear)]);
        let process = world.start();
        process.markers.let_go(process.begin("t/0/1", Alone::Yes));
        process.start_invocation();
    }
    world.die_running(&["t/0/1"], Alone::Yes);
    let process = world.start();
    process.markers.let_go(process.begin("t/0/1", Alone::Yes));
    process.check(&[("t/0/1", Standing::Suspect)]);
}

#[test]
fn a_hang_counts_like_a_death() {
    let world = World::new();
    let process = world.start();
    process.markers.hung(process.begin("t/0/1", Alone::No), NOW);
    process.check(&[("t/0/1", Standing::Suspect)]);
    for hangs in 1..=CONDEMNING_DEATHS {
        process.start_invocation();
        process.check(&[("t/0/1", Standing::Suspect)]);
        process
            .markers
            .hung(process.begin("t/0/1", Alone::Yes), NOW);
        let expected = if hangs == CONDEMNING_DEATHS {
            Standing::Condemned
        } else {
            Standing::Suspect
        };
        process.check(&[("t/0/1", expected)]);
        world.check(&[("t/0/1", expected)]);
    }
    drop(process);
    world.check(&[("t/0/1", Standing::Condemned)]);
}

#[test]
fn a_hang_and_the_death_that_follows_count_once() {
    let world = World::new();
    for _ in 1..CONDEMNING_DEATHS {
        let process = world.start();
        process
            .markers
            .hung(process.begin("t/0/1", Alone::Yes), NOW);
        drop(process);
        world.check(&[("t/0/1", Standing::Suspect)]);
    }
}

#[test]
fn what_runs_beside_a_hang_is_not_charged_with_it() {
    let world = World::new();
    let process = world.start();
    let beside = process.begin("t/0/2", Alone::No);
    let lost = process.begin("t/0/3", Alone::No);
    process.run("t/0/4");
    process.markers.hung(process.begin("t/0/1", Alone::No), NOW);
    process.check(&[("t/0/1", Standing::Clear)]);
    process.markers.end(beside);
    drop(lost);
    process.start_invocation();
    process.run("t/0/5");
    let expected = [
        ("t/0/1", Standing::Suspect),
        ("t/0/2", Standing::Touched),
        ("t/0/3", Standing::Touched),
        ("t/0/5", Standing::Clear),
    ];
    process.check(&expected);
    world.check(&expected);
}

#[test]
fn a_token_of_an_earlier_invocation_does_no_harm() {
    let world = World::new();
    let process = world.start();
    let stale = [
        process.begin("t/0/1", Alone::No),
        process.begin("t/0/2", Alone::No),
        process.begin("t/0/3", Alone::No),
    ];
    process.start_invocation();
    let _running = process.begin("t/0/4", Alone::No);
    let [one, two, three] = stale;
    process.markers.end(one);
    process.markers.hung(two, NOW);
    process.markers.let_go(three);
    drop(process);
    world.check(&[
        ("t/0/1", Standing::Clear),
        ("t/0/2", Standing::Clear),
        ("t/0/4", Standing::Suspect),
    ]);
}

#[test]
fn a_death_counts_for_a_day() {
    let mut world = World::new();
    world.die_running(&["t/0/1"], Alone::Yes);
    let old = world.start();
    world.now = NOW.plus_millis(24 * HOUR - 1);
    world.check(&[("t/0/1", Standing::Suspect)]);
    world.now = NOW.plus_millis(24 * HOUR);
    let at = "t/0/1".parse().unwrap();
    assert_eq!(
        old.markers.standing(&at, NOW, world.now),
        Standing::Clear,
        "also for a process that knew of it"
    );
    world.check(&[("t/0/1", Standing::Clear)]);
    assert_eq!(world.files(), Vec::<PathBuf>::new());
    world.die_running(&["t/0/1"], Alone::Yes);
    world.now = NOW.plus_millis(-HOUR);
    world.check(&[("t/0/1", Standing::Clear)]);
}
