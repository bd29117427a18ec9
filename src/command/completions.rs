//! `think completions` and `think man`: what shells and readers of manuals want.

use crate::failure::Failure;
use clap::{Args, Command};
use clap_complete::Shell;
use clap_complete::env::{CompleteEnv, Shells};
use std::io::Write;

/// The variable by which the script of a shell asks this program for candidates.
const VARIABLE: &str = "THINK_COMPLETE";

/// Print the completions of a shell
///
/// The script asks `think` for the models, profiles and conversations of this machine.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  think completions bash > ~/.local/share/bash-completion/completions/think
  think completions fish > ~/.config/fish/completions/think.fish")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    /// Runs the command.
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let (shells, name) = (Shells::builtins(), self.shell.to_string());
        let unknown = || Failure::Failed(format!("`{name}` has no completions"));
        let completer = shells.completer(&name).ok_or_else(unknown)?;
        Ok(completer.write_registration(VARIABLE, "think", "think", "think", out)?)
    }
}

/// Prints candidates for the words of this command if the script of a shell asks for them. Returns whether it does.
pub(crate) fn answer_shell(command: fn() -> Command) -> bool {
    let here = std::env::current_dir().ok();
    let env = CompleteEnv::with_factory(command).var(VARIABLE);
    // A shell shows no error of a completion.
    env.try_complete(std::env::args_os(), here.as_deref()).unwrap_or(true)
}

/// Prints the manual page: the program's, and then every command's.
pub(crate) fn manual(mut command: Command, out: &mut dyn Write) -> Result<(), Failure> {
    command.build();
    pages(&command, command.get_name(), out)
}

/// The page of a command, and then those of the commands below it.
fn pages(command: &Command, title: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).title(title).render(&mut page)?;
    out.write_all(&page)?;
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        pages(below, &format!("{title}-{}", below.get_name()), out)?;
    }
    Ok(())
}
