//! The choice of a model and its settings, for `ask` and `explain`.

use super::candidates;
use crate::choose::{Chosen, choose};
use crate::config::{self, Config, Profile};
use crate::failure::Failure;
use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use std::path::{Path, PathBuf};
use thinkthrough_chat::resumption;
use thinkthrough_core::content::Content;
use thinkthrough_core::settings::{Layer, Partial, Resolved, Source, resolve};
use thinkthrough_store::ConversationState;

/// Options of every command that asks a model.
#[derive(Clone, Debug, Args)]
pub(crate) struct Asking {
    /// The model: a name of the configuration, `provider/model`, or `sim/ID` for a simulated one
    #[arg(short, long, value_name = "MODEL", add = ArgValueCompleter::new(candidates::models))]
    pub(crate) model: Option<String>,
    /// The configuration file, in place of the usual one
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// A profile of the configuration
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(candidates::profiles))]
    pub(crate) profile: Option<String>,
    /// A setting for this run, like `reasoning.effort=high`
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
}

impl Asking {
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        config::read(self.config.as_deref(), &env).map_err(Failure::Failed)
    }

    /// The model and everything about it.
    pub(crate) async fn choose(&self, config: &Config) -> Result<Chosen, Failure> {
        choose(config, self.on_command_line(config)?, &env).await
    }

    /// Finds the model that continues a conversation: the one named on the command line, else the conversation's own.
    /// If its own cannot be reached, the default model answers, and the second value says why.
    pub(crate) async fn resume(
        &self,
        config: &Config,
        state: &ConversationState,
        contents: &[Content],
    ) -> Result<(Chosen, Option<String>), Failure> {
        let (Some(held), None) = (&state.model, self.on_command_line(config)?) else {
            return Ok((self.choose(config).await?, None));
        };
        let (own, why) = match choose(config, Some(held), &env).await {
            Ok(own) if own.stand_in.is_some() => (None, "nothing has this name".to_owned()),
            Ok(own) => match resumption::lost_provider(held, contents, &own.target) {
                Some(lost) => (None, lost),
                None => match own.missing_key.clone() {
                    Some(missing) => (Some(own), missing),
                    None => return Ok((own, None)),
                },
            },
            Err(failure) => (None, failure.to_string()),
        };
        let default = self.choose(config).await?;
        match own {
            // A simulated model is no substitute for a real one without its key.
            Some(own) if default.is_simulated() || default.name == *held => Ok((own, None)),
            Some(_) | None => {
                let why = resumption::unreachable(held, &why, &default.name);
                Ok((default, Some(why)))
            }
        }
    }

    /// The model that is named: on the command line, by its profile, or by the configuration.
    pub(crate) fn named<'a>(&'a self, config: &'a Config) -> Result<Option<&'a str>, Failure> {
        Ok(self.on_command_line(config)?.or(config.named_default()))
    }

    /// The model that the command line or its profile names.
    pub(crate) fn on_command_line<'a>(
        &'a self,
        config: &'a Config,
    ) -> Result<Option<&'a str>, Failure> {
        let of_profile = self.profile(config)?.and_then(|profile| profile.model.as_deref());
        Ok(self.model.as_deref().or(of_profile))
    }

    /// Returns the settings, with the known and configured ones of the model.
    pub(crate) fn settings(
        &self,
        config: &Config,
        chosen: Option<&Chosen>,
    ) -> Result<Resolved, Failure> {
        Ok(resolve(&self.layers(config, chosen)?))
    }

    /// The settings of a conversation that goes on.
    pub(crate) fn resumed_settings(
        &self,
        config: &Config,
        chosen: &Chosen,
        state: &ConversationState,
    ) -> Result<Resolved, Failure> {
        let mut layers = self.layers(config, Some(chosen))?;
        layers.push(state.layer());
        Ok(resolve(&layers))
    }

    fn layers(&self, config: &Config, chosen: Option<&Chosen>) -> Result<Vec<Layer>, Failure> {
        let session = self.said()?;
        let layer = |source, values: &Partial| Layer { source, values: values.clone() };
        let mut layers =
            vec![layer(Source::UserConfig, &config.reasoning), layer(Source::Session, &session)];
        if let Some(chosen) = chosen {
            layers.push(layer(Source::ModelRule, &chosen.target.rule.settings()));
            layers.push(layer(Source::UserConfig, &chosen.reasoning));
        }
        if let Some(profile) = self.profile(config)? {
            layers.push(layer(Source::Profile, &profile.reasoning));
        }
        Ok(layers)
    }

    /// Returns the settings of `--set`.
    pub(crate) fn said(&self) -> Result<Partial, Failure> {
        let mut session = Partial::default();
        for pair in &self.set {
            let (key, value) = pair.split_once('=').ok_or_else(|| {
                Failure::Usage(format!(
                    "`--set {pair}` has no `=`; write `--set reasoning.effort=high`"
                ))
            })?;
            let refuse = |error: thinkthrough_core::settings::SettingError| {
                Failure::Usage(error.to_string())
            };
            session.set(key.trim(), value.trim()).map_err(refuse)?;
        }
        Ok(session)
    }

    pub(crate) fn profile<'c>(&self, config: &'c Config) -> Result<Option<&'c Profile>, Failure> {
        let Some(name) = &self.profile else { return Ok(None) };
        let found = config.profiles.iter().find(|profile| profile.name == *name);
        found.map(Some).ok_or_else(|| {
            let known: Vec<_> = config.profiles.iter().map(|it| it.name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Failure::Failed(format!(
                "`{name}` is no profile of the configuration; there are: {known}"
            ))
        })
    }
}

/// The option with this configuration file, quoted for a shell, with a space before it.
pub(crate) fn config_option(path: &Path) -> String {
    format!(" --config '{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// The environment.
pub(crate) fn env(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
