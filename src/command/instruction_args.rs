//! The options about the instructions for a model.

use super::asking::env;
use crate::config::{Config, Profile, Surroundings, config_folder};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use thinkthrough_chat::instructions::{Found, Instructions, find, today};

/// The options about instructions.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct InstructionArgs {
    /// Instructions for the model, above the conversation, in place of `[chat] system`
    #[arg(short, long, value_name = "SYSTEM")]
    system: Option<String>,
    /// Further facts for the model: `all`, `none`, or a list like `project,date`
    ///
    /// `user` is AGENTS.md beside the configuration, `project` the nearest AGENTS.md or CLAUDE.md from the current
    /// folder up to the repository's root or the home folder, `folder` the current folder, and `date` the date.
    #[arg(long, value_name = "LIST", value_parser = surroundings)]
    surroundings: Option<Surroundings>,
}

fn surroundings(words: &str) -> Result<Surroundings, String> {
    Surroundings::parse(words).ok_or_else(|| format!("write {}", Surroundings::WORDS))
}

impl InstructionArgs {
    /// Returns true if the instructions depend on the current folder.
    pub(crate) fn need_folder(&self, usual: Surroundings) -> bool {
        let wanted = self.surroundings.unwrap_or(usual);
        wanted.project || wanted.folder
    }

    /// The instructions for a conversation in this folder, and warnings about files. Without the option, the
    /// `usual` surroundings count.
    pub(crate) fn read(
        &self,
        config: &Config,
        profile: Option<&Profile>,
        folder: &Path,
        usual: Surroundings,
    ) -> (Instructions, Vec<String>) {
        let of_profile = || profile.and_then(|profile| profile.system.clone());
        let own = self.system.clone().or_else(of_profile);
        let wanted = self.surroundings.unwrap_or(usual);
        let general = config_folder(config.path.as_deref(), &env).filter(|_| wanted.user);
        let home = env("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        let project = Some(folder).filter(|_| wanted.project);
        let Found { files, warnings } = find(general.as_deref(), project, home.as_deref());
        let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
        let instructions = Instructions {
            own,
            usual: config.system.clone(),
            files: (wanted.user || wanted.project).then_some(files),
            folder: wanted
                .folder
                .then(|| folder.display().to_string().replace(char::is_control, "?")),
            date: wanted.date.then(|| today(now)),
        };
        (instructions, warnings)
    }
}
