//! `think completions` and `think man`: what shells and readers of manuals want.

use std::io::Write;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Failure;

/// Print the completions of a shell
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
    pub(crate) fn run(&self, mut command: Command, out: &mut dyn Write) -> Result<(), Failure> {
        // The generator ends the program when it cannot write, so it writes into memory.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut command, "think", &mut script);
        Ok(out.write_all(&script)?)
    }
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
