//! The traces of what models thought, as the configuration wants them.

use crate::config::Config;
use crate::failure::say;
use crate::keeper::Keeper;
use crate::masking::{secrets, with};
use std::sync::OnceLock;
use thinkthrough_chat::Tracer;
use thinkthrough_core::mask::Tiers;
use thinkthrough_gateway::Audit;
use thinkthrough_store::Store;

/// Where the questions of a command leave traces; nowhere, where the configuration wants none.
pub(crate) fn tracer(config: &Config, store: &Store, front: &'static str) -> Option<Tracer> {
    let masker = || with(Tiers::ALL, &store.mask_key(), &secrets(config));
    config.traces.on.then(|| Tracer::new(store.traces(), masker(), front))
}

/// Waits until all traces are written, and says what was lost.
pub(crate) async fn say_lost(tracer: Option<&Tracer>) {
    let Some(tracer) = tracer else { return };
    let lost = tracer.end().await;
    if lost > 0 {
        say(format_args!("{lost} traces could not be written; see whether the store has room"));
    }
}

/// Begins to keep traces, where the configuration wants any and there is a place for them.
pub(crate) fn start(config: &Config, keeper: &Keeper) -> Option<Audit> {
    if !config.traces.on || !keeper.has_place {
        return None;
    }
    let secrets = secrets(config);
    let (keeper, masker) = (keeper.clone(), OnceLock::new());
    Some(Audit::start(Box::new(move || {
        let store = keeper.store()?;
        let masker = masker.get_or_init(|| with(Tiers::ALL, &store.mask_key(), &secrets));
        Some((store.traces(), masker.clone()))
    })))
}
