//! Completion of values that only this machine knows: models, profiles and conversations.

use super::asking::env;
use crate::config::{self, Config};
use crate::failure::Failure;
use crate::offered::offered;
use crate::stored;
use clap_complete::engine::CompletionCandidate;
use std::ffi::OsStr;
use std::time::Duration;
use thinkthrough_chat::harmless::harmless;
use thinkthrough_core::plane::Tenant;

/// The longest wait for servers that list their models. A shell shows nothing meanwhile.
const PATIENCE: Duration = Duration::from_millis(800);
/// The most conversations that are offered, the latest first.
const MOST: usize = 50;

/// The names of models.
pub(crate) fn models(begun: &OsStr) -> Vec<CompletionCandidate> {
    let Some(config) = configuration() else { return Vec::new() };
    let listed = stored::block_on(async {
        Ok(tokio::time::timeout(PATIENCE, offered(&config, &env)).await.unwrap_or_default())
    });
    let listed = listed.unwrap_or_default().into_iter().filter(|it| it.missing.is_none());
    beginning(begun, listed.map(|it| (it.name, it.detail)))
}

/// The names of profiles, with their models.
pub(crate) fn profiles(begun: &OsStr) -> Vec<CompletionCandidate> {
    let profiles = configuration().map(|it| it.profiles).unwrap_or_default().into_iter();
    beginning(begun, profiles.map(|it| (it.name, it.model.unwrap_or_default())))
}

/// The ids of conversations, with their titles.
pub(crate) fn sessions(begun: &OsStr) -> Vec<CompletionCandidate> {
    let list = configuration().and_then(|config| stored::block_on(titles(&config)).ok());
    beginning(begun, list.unwrap_or_default().into_iter())
}

/// The ids and titles of conversations, the latest first.
async fn titles(config: &Config) -> Result<Vec<(String, String)>, Failure> {
    let Some(store) = stored::existing(config).await? else { return Ok(Vec::new()) };
    let list = store.conversations(&Tenant::local()).list().await?;
    let titled = list.into_iter().take(MOST).map(|it| {
        let title = harmless(it.meta.title.as_deref().unwrap_or("(untitled)"));
        (it.id.as_str().to_owned(), title.lines().next().unwrap_or_default().to_owned())
    });
    Ok(titled.collect())
}

/// The usual configuration. A broken one gives no candidates, because a completion cannot show its error.
fn configuration() -> Option<Config> {
    config::read(None, &env).ok()
}

fn beginning(
    begun: &OsStr,
    all: impl Iterator<Item = (String, String)>,
) -> Vec<CompletionCandidate> {
    let begun = begun.to_string_lossy();
    let fitting = all.filter(|(value, _)| value.starts_with(&*begun));
    let candidate = |(value, about): (String, String)| {
        CompletionCandidate::new(value).help((!about.is_empty()).then(|| about.into()))
    };
    fitting.map(candidate).collect()
}
