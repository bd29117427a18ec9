//! The command line.

use clap::{CommandFactory as _, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};

use crate::command::acp::Acp;
use crate::command::ask::Ask;
use crate::command::ask_prompt::is_piped;
use crate::command::chat::Chat;
use crate::command::completions::Completions;
use crate::command::config::Configuration;
use crate::command::connect::Connect;
use crate::command::convert::Convert;
use crate::command::doctor::Doctor;
use crate::command::erase::Erase;
use crate::command::explain::Explain;
use crate::command::health::Health;
use crate::command::init::Init;
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
use crate::failure::Failure;
use crate::nearest::nearest;

/// Keeps every thought of a reasoning model: read it, show it, store it, send it back
///
/// `think "question"` asks a model: in a conversation on a terminal (`think chat`), else once (`think ask`). `think` alone
/// on a terminal opens a conversation.
///
/// Results go to standard output, everything else to standard error. The exit code is 0 when it worked, 1 when it
/// failed, and 2 when the command line makes no sense.
#[derive(Debug, Parser)]
#[command(
    name = "think",
    version,
    arg_required_else_help = true,
    max_term_width = 100,
    override_usage = "think [OPTIONS] [PROMPT]\n       think <COMMAND>"
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Adds the command to a command line without one. Its words are a prompt: for `think chat` on a terminal, else for
/// `think ask`.
///
/// # Errors
/// One or two words look like a misspelt command.
pub(crate) fn with_command(mut words: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let Some(first) = words.get(1).map(|it| it.to_string_lossy().into_owned()) else {
        // `think` alone without a terminal or a pipe shows its help.
        let command = if is_terminal { Some("chat") } else { is_piped().then_some("ask") };
        words.extend(command.map(OsString::from));
        return Ok(words);
    };
    let commands = Args::command();
    let names: Vec<&str> = commands.get_subcommands().map(clap::Command::get_name).collect();
    let is_own = ["help", "-h", "--help", "-V", "--version"].contains(&first.as_str());
    if is_own || names.contains(&first.as_str()) {
        return Ok(words);
    }
    let long: Vec<&str> = names.into_iter().filter(|name| name.len() >= LONG).collect();
    let is_word = !first.starts_with('-') && !first.contains(' ');
    let near = nearest(&first, &long).filter(|_| words.len() <= 3 && is_word);
    if let Some(near) = near {
        return Err(Failure::Usage(format!(
            "`{first}` is no command; write `think {near}`, or `think ask {first}` to ask a model"
        )));
    }
    let with = |command: &str| {
        let (program, rest) = words.split_at(1);
        [program, &[OsString::from(command)], rest].concat()
    };
    // Options that only `ask` has select `ask`.
    let chat = with("chat");
    let is_chat = is_terminal && Args::try_parse_from(&chat).is_ok();
    Ok(if is_chat { chat } else { with("ask") })
}

/// The shortest command that is suggested. A shorter one resembles many words that begin a question.
const LONG: usize = 5;

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
    Init(Init),
    Serve(Serve),
    Connect(Connect),
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
