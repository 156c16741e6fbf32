//! `cargo local`: Brew's payment pipeline on one machine.

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::Duration;

use local::cli::{self, Person, Printer, Shell};

/// How long what blocks may hold up the end: a Kafka client waits long for brokers that have gone.
const LINGER: Duration = Duration::from_secs(1);

fn main() -> io::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let status = runtime.block_on(run());
    runtime.shutdown_timeout(LINGER);
    Ok(status)
}

async fn run() -> ExitCode {
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
