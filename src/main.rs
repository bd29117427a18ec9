//! `think`: arguments, configuration and wiring; the logic lives in the crates.

mod account;
mod address;
mod args;
mod audit;
mod choose;
mod command;
mod config;
mod confirm;
mod connections;
mod environment;
mod failure;
mod gate;
mod heap;
mod input;
mod keeper;
mod known;
mod listen;
mod local;
mod masking;
mod memory;
mod nearest;
mod offered;
mod operator;
mod printed;
mod provider_key;
mod reach;
mod role;
mod routes;
mod simulated;
mod stored;
mod telemetry;
mod tooling;
mod window;

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::args::{Args, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    if command::completions::answer_shell(Args::command) {
        return ExitCode::SUCCESS;
    }
    let words = match args::with_command(std::env::args_os().collect()) {
        Ok(words) => words,
        Err(failure) => return failure.report(),
    };
    let args = Args::parse_from(words);
    outlive_limits();
    let mut out = BufWriter::new(io::stdout().lock());
    let result = run(&args.command, &mut out);
    // The output before a failure is printed, too.
    let flushed = out.flush().map_err(Failure::from);
    match result.and(flushed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Makes writes beyond the file size limit fail with an error. Without a handler, SIGXFSZ would end this process.
#[cfg(unix)]
fn outlive_limits() {
    use tokio::signal::unix::{SignalKind, signal};
    // The handler stays installed after the runtime is dropped. Child processes do not inherit handlers.
    if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() {
        let _inside = runtime.enter();
        // Without a handler, a full disk is still reported as an error.
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw())));
    }
}

#[cfg(not(unix))]
fn outlive_limits() {}

fn run(command: &Command, out: &mut dyn Write) -> Result<(), Failure> {
    match command {
        Command::Chat(chat) => chat.run(),
        Command::Ask(ask) => ask.run(out),
        Command::Acp(acp) => acp.run(out),
        Command::Explain(explain) => explain.run(out),
        Command::Settings(settings) => settings.run(out),
        Command::Parse(parse) => parse.run(out),
        Command::Split(split) => split.run(out),
        Command::Convert(convert) => convert.run(out),
        Command::Mask(mask) => mask.run(out),
        Command::Sessions(sessions) => sessions.run(out),
        Command::Traces(traces) => traces.run(out),
        Command::Keys(keys) => keys.run(out),
        Command::Erase(erase) => erase.run(),
        Command::Config(config) => config.run(out),
        Command::Init(init) => init.run(out),
        Command::Serve(serve) => serve.run(out),
        Command::Connect(connect) => connect.run(out),
        Command::Health(health) => health.run(out),
        Command::Ui(ui) => ui.run(out),
        Command::Sim(sim) => sim.run(out),
        Command::Doctor(doctor) => doctor.run(out),
        Command::Models(models) => models.run(out),
        Command::Completions(completions) => completions.run(out),
        Command::Man => command::completions::manual(Args::command(), out),
    }
}
