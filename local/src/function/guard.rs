//! What ends the functions' processes when this program is killed and can end nothing any more.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};

/// Keeps a list of process groups by lines `+ GROUP` and `- GROUP`, and kills those that are left when its input ends.
const SCRIPT: &str = r#"groups=' '
while read -r what group; do
  case $what in
    +) groups="$groups$group " ;;
    -) groups="${groups%% $group *} ${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done"#;

/// A shell that outlives this program for a moment: its input ends with this program, however that ends.
#[derive(Debug)]
pub(super) struct Guard {
    input: Mutex<ChildStdin>,
}

impl Guard {
    /// Returns this program's guard, which is started at the first call; `None` where it cannot be.
    pub(super) fn of_this_program() -> Option<&'static Self> {
        static GUARD: OnceLock<Option<Guard>> = OnceLock::new();
        GUARD.get_or_init(Self::start).as_ref()
    }

    fn start() -> Option<Self> {
        let started = Command::new("/bin/sh")
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C at the terminal is not meant for it.
            .process_group(0)
            .spawn();
        match started {
            Ok(child) => child.stdin.map(|input| Self {
                input: Mutex::new(input),
            }),
            Err(error) => {
                tracing::warn!(
                    error.message = %error,
                    "functions may outlive this program when it is killed: there is no /bin/sh"
                );
                None
            }
        }
    }

    /// Has a process group killed when this program ends.
    pub(super) fn add(&self, group: i32) {
        self.tell(&format!("+ {group}\n"));
    }

    /// Forgets a process group, whose number may belong to another one from now on.
    pub(super) fn remove(&self, group: i32) {
        self.tell(&format!("- {group}\n"));
    }

    fn tell(&self, line: &str) {
        let mut input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        // Where the guard was killed, the functions are without one.
        input.write_all(line.as_bytes()).ok();
    }
}
