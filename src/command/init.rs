//! `think init`: writes a first configuration, after one small request has shown that it works.

mod offer;
mod probe;
mod questions;

use super::asking::{config_option, env};
use crate::config::edit::{Edit, KeyPlace, edited, file, replace, replace_secret};
use crate::config::{self, ProviderEntry, config_folder};
use crate::failure::{Failure, say};
use crate::reach::key_variable;
use clap::Args;
use offer::{Offer, offers};
use questions::{confirmed, hidden, is_attended, line};
use std::io::{self, Read as _, Write};
use std::path::{Path, PathBuf};
use thinkthrough_client::Secret;
use thinkthrough_core::provider::{self, Provider};

/// Set up a provider and a default model
///
/// Asks for a provider and a model, sends one small request to test the key, and writes the
/// configuration. A key stays in its environment variable, or goes into a file of its own beside the
/// configuration that only you may read.
///
///   think init
///   think init --provider anthropic --yes
///   think init --provider openai --key-stdin --yes < key.txt
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Init {
    /// The provider [default: asks; with --yes the first whose key is set]
    #[arg(long, value_name = "ID")]
    provider: Option<String>,
    /// The model [default: the provider's own]
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// The configuration file, in place of the usual one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read the key from standard input
    #[arg(long)]
    key_stdin: bool,
    /// Send no request to test the key
    #[arg(long)]
    no_test: bool,
    /// Ask nothing: take the defaults, and change a configuration that is there
    #[arg(long)]
    yes: bool,
}

/// The source of the key.
enum Key {
    /// None is needed, or the cloud's own tools have it.
    Elsewhere,
    Variable(&'static str),
    /// The configuration names it already.
    Configured,
    /// It goes into a file beside the configuration.
    Typed(Secret),
}

impl Init {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::Failed(format!("the runtime cannot start: {error}")))?;
        runtime.block_on(self.init(out))
    }

    async fn init(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let path = file(self.config.as_deref(), &env).ok_or_else(|| {
            let message =
                "there is no place for a configuration; set `HOME` or name a file with `--config`";
            Failure::Failed(message.to_owned())
        })?;
        if !self.yes && !is_attended() {
            let message = "nobody is at a terminal to be asked; name a provider with `--provider`, and add `--yes`";
            return Err(Failure::Usage(message.to_owned()));
        }
        let is_there = path.exists();
        let mut entries = Vec::new();
        if is_there {
            // A broken file is corrected first, and not made longer.
            entries = config::read(Some(&path), &env).map_err(Failure::Failed)?.providers;
        }
        let offers = offers(&env).await;
        let provider = self.provider(&offers, &entries)?;
        let key = self.key(provider, &entries)?;
        let model = self.model(provider, &offers)?;
        if is_there && !self.yes && !confirmed(&question(&path, provider, &model, &key)) {
            return Err(Failure::Failed("nothing was changed".to_owned()));
        }
        self.write(&path, (provider, &model), &key).await?;
        report(out, &path, &model, &key, provider)
    }

    fn provider(
        &self,
        offers: &[Offer],
        entries: &[ProviderEntry],
    ) -> Result<&'static Provider, Failure> {
        let chosen = match &self.provider {
            Some(id) => id.clone(),
            None if self.yes => match offers.iter().find(|it| it.is_ready) {
                Some(ready) => ready.provider.id.to_owned(),
                None => {
                    let message = "no key is set and no local server answers; name a provider with `--provider`";
                    return Err(Failure::Failed(message.to_owned()));
                }
            },
            None => questions::provider(offers)?,
        };
        let found = provider::find(&chosen).ok_or_else(|| {
            let known = provider::Known;
            Failure::Usage(format!("`{chosen}` is no provider; known are {known}"))
        })?;
        let is_placeless = found.endpoints.first().is_none_or(|it| it.base_url.is_empty());
        let has_address = entries.iter().any(|it| it.name == found.id && it.base_url.is_some());
        if is_placeless && !has_address && found.account().is_none() {
            return Err(Failure::Failed(format!(
                "`{chosen}` has no address of its own; write `base_url` under `[providers.{chosen}]` into the configuration"
            )));
        }
        Ok(found)
    }

    fn key(&self, provider: &Provider, entries: &[ProviderEntry]) -> Result<Key, Failure> {
        if self.key_stdin {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text).map_err(|error| {
                Failure::Failed(format!("standard input cannot be read: {error}; pipe the key in"))
            })?;
            return typed(provider, &text);
        }
        if entries.iter().any(|it| it.name == provider.id && it.key_from.is_some()) {
            return Ok(Key::Configured);
        }
        if let Some(variable) = key_variable(provider, &env) {
            return Ok(Key::Variable(variable));
        }
        let Some(variable) = provider.keys.first().filter(|_| provider.local_port.is_none()) else {
            return Ok(Key::Elsewhere);
        };
        if provider.account().is_some_and(|it| env(crate::account::variable(it)).is_some()) {
            return Ok(Key::Elsewhere);
        }
        if self.yes {
            return Err(Failure::Failed(format!(
                "`{}` needs a key; set `{variable}`, or pipe the key in with `--key-stdin`",
                provider.id
            )));
        }
        typed(provider, &hidden(&format!("Key for {} (`{variable}` is not set): ", provider.id))?)
    }

    /// The model, as `provider/model`.
    fn model(&self, provider: &Provider, offers: &[Offer]) -> Result<String, Failure> {
        let listed = offers.iter().find(|it| it.provider.id == provider.id);
        let listed = listed.and_then(|it| it.models.first()).map(String::as_str);
        let usual = self.model.as_deref().or(provider.default_model).or(listed);
        let asks = !self.yes && self.model.is_none();
        let said = if asks { line(&prompt(usual))? } else { String::new() };
        let model = Some(said.trim()).filter(|it| !it.is_empty()).or(usual);
        let Some(model) = model else {
            let message =
                format!("`{}` has no default model; name one with `--model`", provider.id);
            return Err(Failure::Failed(message));
        };
        let prefix = format!("{}/", provider.id);
        Ok(if model.starts_with(&prefix) { model.to_owned() } else { prefix + model })
    }

    /// Writes the key and the configuration, after a test with a configuration that is only in memory.
    async fn write(
        &self,
        path: &Path,
        (provider, model): (&Provider, &str),
        key: &Key,
    ) -> Result<(), Failure> {
        let text = |place: Option<KeyPlace>| {
            let (name, model) = (provider.id.to_owned(), model.to_owned());
            edited(path, &Edit::Provider { name, key: place, model }).map_err(Failure::Failed)
        };
        let (tested, written) = match key {
            Key::Elsewhere | Key::Configured => (None, None),
            Key::Variable(name) => {
                let place = Some(KeyPlace::Variable((*name).to_owned()));
                (place.clone(), place)
            }
            Key::Typed(secret) => {
                (Some(KeyPlace::Here(secret.clone())), Some(KeyPlace::File(key_file(provider))))
            }
        };
        if !self.no_test {
            let config = config::read_text(path.to_owned(), &text(tested)?, &env);
            probe::ask(&config.map_err(Failure::Failed)?, model).await?;
        }
        let failed = |path: &Path, error: io::Error| {
            Failure::Failed(format!(
                "`{}` cannot be written: {error}; make room or name another file with `--config`",
                path.display()
            ))
        };
        if let Key::Typed(secret) = key {
            let folder = config_folder(Some(path), &env).unwrap_or_default();
            let file = folder.join(key_file(provider));
            replace_secret(&file, secret.expose()).map_err(|error| failed(&file, error))?;
        }
        replace(path, &text(written)?).map_err(|error| failed(path, error))
    }
}

fn typed(provider: &Provider, text: &str) -> Result<Key, Failure> {
    let text = text.trim();
    if text.is_empty() || text.chars().any(|it| it.is_control() || it.is_whitespace()) {
        let id = provider.id;
        let message = format!("what came is no key for `{id}`; give the key alone, on one line");
        return Err(Failure::Failed(message));
    }
    Ok(Key::Typed(Secret::new(text.to_owned())))
}

/// The name of the key's file, beside the configuration.
fn key_file(provider: &Provider) -> String {
    format!("{}.key", provider.id)
}

fn prompt(usual: Option<&str>) -> String {
    usual.map_or_else(|| "Model: ".to_owned(), |usual| format!("Model [{usual}]: "))
}

fn question(path: &Path, provider: &Provider, model: &str, key: &Key) -> String {
    let file = match key {
        Key::Typed(_) => format!(", and the file `{}` beside it", key_file(provider)),
        Key::Elsewhere | Key::Configured | Key::Variable(_) => String::new(),
    };
    format!(
        "`{}` is there. Change its `default_model` to `{model}` and its `[providers.{}]`{file}?",
        path.display(),
        provider.id
    )
}

/// Prints the written files and the next command.
fn report(
    out: &mut dyn Write,
    path: &Path,
    model: &str,
    key: &Key,
    provider: &Provider,
) -> Result<(), Failure> {
    let folder = config_folder(Some(path), &env).unwrap_or_default();
    writeln!(out, "written: `{}` with the default model `{model}`", path.display())?;
    match key {
        Key::Typed(_) => {
            let file = folder.join(key_file(provider));
            writeln!(out, "written: `{}` with the key, which only you may read", file.display())?;
        }
        Key::Variable(name) => writeln!(out, "the key stays in `{name}`; keep it set")?,
        Key::Configured => {
            let id = provider.id;
            writeln!(out, "the key of `{id}` stays as configured; `--key-stdin` replaces it")?;
        }
        Key::Elsewhere => {}
    }
    let usual = file(None, &env).is_some_and(|usual| usual == path);
    let option = if usual { String::new() } else { config_option(path) };
    writeln!(out, "next: think chat{option}")?;
    say(format_args!("`think init` again adds another provider"));
    Ok(())
}
