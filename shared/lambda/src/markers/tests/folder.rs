//! Folders that are full, gone, forbidden or littered never stop a record.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

use super::*;

/// What is logged, as text.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Logged {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

/// Runs records over three invocations in a folder that cannot be used, and checks that this is logged once.
fn check_works_without(folder: &Path) {
    let logged = Logged::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(logged.clone())
        .finish();
    tracing::subscriber::with_default(subscriber, || {
        let markers = Markers::open(folder, NOW);
        let at = "t/0/1".parse().unwrap();
        for _ in 0..3 {
            markers.start_invocation(NOW);
            markers.end(markers.begin(&at, NOW, Alone::No, NOW));
            markers.let_go(markers.begin(&at, NOW, Alone::Yes, NOW));
            markers.hung(markers.begin(&at, NOW, Alone::Yes, NOW), NOW);
            assert_eq!(markers.standing(&at, NOW, NOW), Standing::Clear);
        }
    });
    let logged = String::from_utf8(logged.0.lock().unwrap().clone()).unwrap();
    assert_eq!(
        logged.matches("without crash markers").count(),
        1,
        "{logged}"
    );
    assert!(logged.contains(&folder.display().to_string()), "{logged}");
}

#[test]
fn a_folder_that_is_missing_is_made() {
    let world = World::new();
    let below = world.folder.path().join("a/b");
    let markers = Markers::open(&below, NOW);
    let at = "t/0/1".parse().unwrap();
    drop(markers.begin(&at, NOW, Alone::No, NOW));
    drop(markers);
    let next = Markers::open(&below, NOW);
    assert_eq!(next.standing(&at, NOW, NOW), Standing::Suspect);
}

#[test]
fn a_folder_that_is_none_stops_no_record() {
    let world = World::new();
    let file = world.folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    check_works_without(&file);
    check_works_without(&file.join("below"));
    check_works_without(Path::new("/proc/none"));
}

#[test]
fn a_folder_that_becomes_writable_is_used_from_the_next_invocation_on() {
    let world = World::new();
    let folder = world.folder.path().join("late");
    std::fs::write(&folder, "x").unwrap();
    let markers = Markers::open(&folder, NOW);
    let at = "t/0/1".parse().unwrap();
    drop(markers.begin(&at, NOW, Alone::No, NOW));
    std::fs::remove_file(&folder).unwrap();
    markers.start_invocation(NOW);
    drop(markers.begin(&at, NOW, Alone::No, NOW));
    drop(markers);
    let next = Markers::open(&folder, NOW);
    assert_eq!(next.standing(&at, NOW, NOW), Standing::Suspect);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_stops_no_record() {
    let world = World::new();
    let mut own = Own::create(world.folder.path(), NOW).unwrap();
    let record = Noted::new(&"t/0/1".parse().unwrap(), NOW);
    own.begin(1, &record, Alone::No, NOW).unwrap();
    own.fill_up();
    assert!(own.begin(2, &record, Alone::No, NOW).is_err());
    own.end(1);
    own.end(2);
    assert!(own.begin(3, &record, Alone::No, NOW).is_err());
}

#[test]
fn a_file_that_is_taken_away_is_made_anew_in_the_next_invocation() {
    let world = World::new();
    let process = world.start();
    process.run("t/0/1");
    for file in world.files() {
        std::fs::remove_file(file).unwrap();
    }
    process.run("t/0/2");
    process.start_invocation();
    drop(process.begin("t/0/3", Alone::No));
    drop(process);
    world.check(&[("t/0/3", Standing::Suspect)]);
}

#[test]
fn what_others_left_in_the_folder_is_passed_over_and_kept() {
    let world = World::new();
    world.die_running(&["t/0/1"], Alone::No);
    let in_folder = |name: &str| world.folder.path().join(name);
    std::fs::create_dir(in_folder("brew-running-1-1-1")).unwrap();
    std::fs::write(in_folder("brew-running-foreign"), b"\x7fELF\xff\n").unwrap();
    std::fs::write(in_folder("brew-running-newer"), "brew-notes 2\nbegun ;\n").unwrap();
    std::fs::write(
        in_folder("other"),
        "brew-notes 1\nbegun 1 t/0/2 1 alone 1 ;\n",
    )
    .unwrap();
    std::os::unix::fs::symlink("/etc/passwd", in_folder("brew-running-link")).unwrap();
    std::os::unix::fs::symlink("/none", in_folder("brew-running-broken-link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(in_folder("brew-running-socket")).unwrap();
    let before = world.files().len();
    let process = world.start();
    process.check(&[("t/0/1", Standing::Suspect), ("t/0/2", Standing::Clear)]);
    process.start_invocation();
    assert_eq!(world.files().len(), before);
}

#[test]
fn a_file_that_is_torn_garbled_or_only_readable_still_tells_what_can_be_read() {
    let world = World::new();
    world.die_running(&["t/0/1", "t/0/2", "t/0/3"], Alone::No);
    let file = world.files().pop().unwrap();
    let mut notes = std::fs::read(&file).unwrap();
    notes.truncate(notes.len() - 3);
    std::fs::write(&file, &notes).unwrap();
    let mut permissions = std::fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&file, permissions).unwrap();
    let process = world.start();
    process.check(&[
        ("t/0/1", Standing::Suspect),
        ("t/0/2", Standing::Suspect),
        ("t/0/3", Standing::Clear),
    ]);
    process.run("t/0/1");
    process.start_invocation();
    process.check(&[("t/0/1", Standing::Clear), ("t/0/2", Standing::Suspect)]);
}

#[test]
fn a_file_holds_one_invocation_however_many_there_were() {
    let world = World::new();
    let process = world.start();
    let mut largest = 0;
    for _ in 0..50 {
        for offset in 0..100 {
            process.run(&format!("brew.payments.v1/0/{offset}"));
        }
        let file = world.files().pop().unwrap();
        largest = largest.max(std::fs::metadata(file).unwrap().len());
        process.start_invocation();
    }
    assert!(largest < 100 * 200, "{largest} bytes");
    let file = world.files().pop().unwrap();
    assert_eq!(std::fs::read(file).unwrap(), notes::FIRST_LINE.as_bytes());
}

#[test]
fn no_death_is_lost_while_others_look_and_tidy_up() {
    let world = World::new();
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let world = &world;
            scope.spawn(move || {
                for round in 0..50 {
                    world.die_running(&[&format!("t/{worker}/{round}")], Alone::Yes);
                    let tidy = world.start();
                    tidy.run(&format!("u/{worker}/{round}"));
                    tidy.start_invocation();
                }
            });
        }
    });
    let process = world.start();
    for worker in 0..8 {
        for round in 0..50 {
            let record = format!("t/{worker}/{round}");
            process.check(&[(&record, Standing::Suspect)]);
        }
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it says how long a note takes")]
fn a_note_takes_microseconds() {
    let world = World::new();
    let process = world.start();
    let started = std::time::Instant::now();
    for _ in 0..10_000 {
        process.run("brew.payments.v1/0/14");
    }
    let took = started.elapsed();
    println!("20,000 notes took {took:?}");
    assert!(took.as_secs() < 20, "{took:?}");
}
