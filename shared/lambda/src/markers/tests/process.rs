//! Real processes, really killed.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use super::*;

const FOLDER: &str = "BREW_MARKER_TEST_FOLDER";
const RECORD: &str = "t/0/7";

/// Starts this test binary again as a process that runs a record as long as we live; returns when it does.
fn spawn(world: &World) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            "markers::tests::process::a_child_runs_until_it_is_killed",
        ])
        .env(FOLDER, world.folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("it runs")));
    child
}

/// The child itself; without a folder in its environment it is a test like any other, and has nothing to do.
#[test]
fn a_child_runs_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let markers = Markers::open(Path::new(&folder), NOW);
    let standing = markers.standing(&RECORD.parse().unwrap(), NOW, NOW);
    let running = markers.begin(&RECORD.parse().unwrap(), NOW, Alone::Yes, NOW);
    println!("it runs, {standing:?}");
    let ended = std::io::stdin().read_to_end(&mut Vec::new());
    panic!("{running:?} was not killed: {ended:?}");
}

#[test]
fn row_41_a_process_that_lives_is_no_death_and_one_that_is_killed_is() {
    let world = World::new();
    for deaths in 0..CONDEMNING_DEATHS {
        let before = if deaths == 0 {
            Standing::Clear
        } else {
            Standing::Suspect
        };
        let mut child = spawn(&world);
        world.check(&[(RECORD, before)]);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    world.check(&[(RECORD, Standing::Condemned)]);
}

#[test]
fn of_two_processes_each_has_its_own_lock() {
    let world = World::new();
    let (mut one, mut other) = (spawn(&world), spawn(&world));
    assert_eq!(world.files().len(), 2);
    one.kill().unwrap();
    one.wait().unwrap();
    world.check(&[(RECORD, Standing::Suspect)]);
    assert_eq!(world.files().len(), 2);
    other.kill().unwrap();
    other.wait().unwrap();
    let process = world.start();
    process.run(RECORD);
    process.start_invocation();
    assert_eq!(world.files().len(), 1, "its own");
}
