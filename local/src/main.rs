//! `cargo local`: Brew's payment pipeline on one machine.

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use local::cli::{self, Person, Printer, Shell};

#[tokio::main]
async fn main() -> ExitCode {
    let mut stdin = io::stdin().lock();
    let person = if io::stdin().is_terminal() {
        Person::Present(&mut stdin)
    } else {
        Person::Absent
    };
    let env = lambda::settings::environment();
    let (mut out, mut notes) = (io::stdout(), io::stderr());
    let mut shell = Shell {
        env: &env,
        person,
        out: Printer::new(&mut out),
        notes: Printer::new(&mut notes),
    };
    cli::run(std::env::args_os(), &mut shell).await.into()
}
