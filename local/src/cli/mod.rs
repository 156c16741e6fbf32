//! The commands of the local tool, as the shell calls them.

#![expect(
    clippy::doc_markdown,
    reason = "what stands above a command and its flags is shown in a terminal as it is"
)]

mod clean;
mod demo;
pub mod endpoints;
pub mod failure;
mod incidents;
mod kafka;
mod provider;
mod replay;
mod run;
mod seed;
pub mod shell;
mod signals;
mod status;
mod topics;
mod warnings;
mod where_is;

use std::ffi::OsString;
use std::pin::Pin;

use clap::{Parser, Subcommand};

pub use self::endpoints::{BrokersFlag, BucketFlags};
pub use self::failure::Failure;
pub use self::shell::{Form, Person, Printer, Shell};

/// Runs the payments pipeline on this machine, and looks after one that runs anywhere.
#[derive(Debug, Parser)]
#[command(name = "cargo local", bin_name = "cargo local", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Demo(demo::Demo),
    Run(Box<run::RunCommand>),
    Kafka(kafka::Kafka),
    Provider(provider::ProviderCommand),
    Topics(topics::Topics),
    Clean(clean::CleanCommand),
    Incidents(incidents::IncidentsCommand),
    Replay(Box<replay::ReplayCommand>),
    Seed(seed::SeedCommand),
    Status(status::StatusCommand),
    Where(where_is::WhereCommand),
}

/// Runs a command line, the program's name first, and returns the exit status: 0 done, 1 failed, 2 wrong usage.
pub async fn run(arguments: impl IntoIterator<Item = OsString>, shell: &mut Shell<'_>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, shell),
    };
    // On the heap: one command's future would make that of all of them as large.
    let end: Pin<Box<dyn Future<Output = Result<(), Failure>>>> = match cli.command {
        Command::Demo(command) => Box::pin(command.run(shell)),
        Command::Run(command) => Box::pin(command.run(shell)),
        Command::Kafka(command) => Box::pin(command.run(shell)),
        Command::Provider(command) => Box::pin(command.run(shell)),
        Command::Topics(command) => Box::pin(command.run(shell)),
        Command::Clean(command) => Box::pin(command.run(shell)),
        Command::Incidents(command) => Box::pin(command.run(shell)),
        Command::Replay(command) => Box::pin(command.run(shell)),
        Command::Seed(command) => Box::pin(command.run(shell)),
        Command::Status(command) => Box::pin(command.run(shell)),
        Command::Where(command) => Box::pin(command.run(shell)),
    };
    match end.await {
        Ok(()) => 0,
        Err(failure) => {
            shell.note(format_args!("error: {failure}"));
            failure.status()
        }
    }
}

/// Prints help where it was asked for, and what is wrong where something is.
fn refuse(error: &clap::Error, shell: &mut Shell<'_>) -> u8 {
    let text = error.render().to_string();
    let printer = if error.use_stderr() {
        &mut shell.notes
    } else {
        &mut shell.out
    };
    printer.text(&text).ok();
    u8::try_from(error.exit_code()).unwrap_or(2)
}
