//! Access of a running session to the configuration.

use super::env;
use crate::choose::{Chosen, choose, choose_named};
use crate::config::Config;
use crate::config::edit::{Edit, edit, file};
use crate::masking;
use crate::offered::offered;
use crate::simulated;
use crate::window::window_of;
use thinkthrough_chat::Pending;
use thinkthrough_chat::session::{Model, Offer, Write, Wrote};
use thinkthrough_chat::terminal::{Connection, Host};
use thinkthrough_mask::Masker;

/// The configuration, as of the start.
pub(super) struct Settings {
    config: Config,
}

impl Settings {
    pub(super) fn new(config: Config) -> Self {
        Settings { config }
    }
}

/// Converts a chosen model for the session.
pub(super) fn connection(chosen: Chosen) -> Connection {
    let is_simulated = chosen.is_simulated();
    let Chosen {
        name,
        target,
        mut transport,
        auth,
        reasoning,
        why,
        limits,
        missing_key,
        key_from,
        ..
    } = chosen;
    // A simulator that answers at once would not show how thoughts stream.
    let simulator = is_simulated.then(|| target.base_url.rsplit('/').next()).flatten();
    if let Some(readable) = simulator.and_then(simulated::readable) {
        transport = readable;
    }
    let model = Model { name, target, settings: reasoning, why, missing_key, is_simulated };
    Connection { model, transport, auth, key_from, limits }
}

impl Host for Settings {
    fn choose<'a>(&'a self, name: &'a str) -> Pending<'a, Result<Connection, String>> {
        Box::pin(async move {
            let chosen = choose(&self.config, Some(name), &env).await;
            chosen.map(connection).map_err(|failure| failure.to_string())
        })
    }

    fn models(&self) -> Pending<'_, Vec<Offer>> {
        Box::pin(async {
            let offered = offered(&self.config, &env).await.into_iter();
            offered.map(|it| Offer { name: it.name, detail: it.detail }).collect()
        })
    }

    fn window<'a>(&'a self, name: &'a str) -> Pending<'a, Option<u64>> {
        Box::pin(async move {
            let chosen = choose(&self.config, Some(name), &env).await;
            let Chosen { target, transport, auth, .. } = chosen.ok()?;
            window_of(target, transport, auth).await
        })
    }

    fn masker(&self) -> Result<Masker, String> {
        let masker = masking::of_process(&self.config, masking::tiers(&self.config));
        masker.map_err(|failure| failure.to_string())
    }

    fn write(&self, write: &Write) -> Result<Wrote, String> {
        let path = file(self.config.path.as_deref(), &env)
            .ok_or("there is no place for a configuration; set `HOME` or `XDG_CONFIG_HOME`")?;
        let (change, wrote) = match write.clone() {
            Write::Display(display, own) => {
                let found = own.and_then(|name| choose_named(&self.config, &name, &env).ok());
                let wrote = Wrote::Display { display, path: path.clone() };
                (Edit::Display(display, found.and_then(|it| it.entry)), wrote)
            }
            Write::Profile { name, model, settings } => {
                let wrote = Wrote::Profile { name: name.clone(), path: path.clone() };
                (Edit::Profile { name, model, settings }, wrote)
            }
            Write::NoProfile { name } => {
                (Edit::NoProfile { name: name.clone() }, Wrote::NoProfile { name })
            }
        };
        edit(&path, &change)?;
        Ok(wrote)
    }
}
