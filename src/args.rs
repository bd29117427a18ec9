//! The command line.

use clap::{Parser, Subcommand};

use crate::command::acp::Acp;
use crate::command::ask::Ask;
use crate::command::chat::Chat;
use crate::command::completions::Completions;
use crate::command::config::Configuration;
use crate::command::convert::Convert;
use crate::command::doctor::Doctor;
use crate::command::erase::Erase;
use crate::command::explain::Explain;
use crate::command::health::Health;
use crate::command::keys::Keys;
use crate::command::mask::Mask;
use crate::command::models::Models;
use crate::command::parse::Parse;
use crate::command::serve::Serve;
use crate::command::sessions::Sessions;
use crate::command::settings::Settings;
use crate::command::sim::Sim;
use crate::command::split::Split;
use crate::command::traces::Traces;
use crate::command::ui::Ui;

/// Keeps every thought of a reasoning model: read it, show it, store it, send it back
///
/// Results go to standard output, everything else to standard error. The exit code is 0 when it worked, 1 when it
/// failed, and 2 when the command line makes no sense.
#[derive(Debug, Parser)]
#[command(name = "think", version, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// One variant for each command; each stands in a file of its own.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Chat(Chat),
    Ask(Ask),
    Acp(Acp),
    Parse(Parse),
    Split(Split),
    Convert(Convert),
    Mask(Mask),
    Explain(Explain),
    Settings(Settings),
    Sessions(Sessions),
    Traces(Traces),
    Keys(Keys),
    Erase(Erase),
    Config(Configuration),
    Serve(Serve),
    Health(Health),
    Ui(Ui),
    Sim(Sim),
    Doctor(Doctor),
    Models(Models),
    Completions(Completions),
    /// Print the manual page
    ///
    /// `think man | man -l -` shows it.
    Man,
}
