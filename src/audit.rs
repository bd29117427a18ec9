//! The traces of what models thought, as the configuration wants them.

use crate::config::Config;
use crate::failure::say;
use crate::keeper::Keeper;
use crate::masking::{secrets, tiers, with};
use thinkthrough_chat::Tracer;
use thinkthrough_gateway::{Audit, FindMasker};
use thinkthrough_store::Store;

/// Where the questions of a command leave traces; nowhere, where the configuration wants none.
pub(crate) fn tracer(config: &Config, store: &Store, front: &'static str) -> Option<Tracer> {
    let masker = || with(tiers(config), &store.mask_key(), &secrets(config));
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

/// Begins to keep traces, covered by this masker, where the configuration wants any and there is a place for them.
pub(crate) fn start(config: &Config, keeper: &Keeper, masker: FindMasker) -> Option<Audit> {
    if !config.traces.on || !keeper.has_place {
        return None;
    }
    let keeper = keeper.clone();
    Some(Audit::start(Box::new(move || Some((keeper.store()?.traces(), masker())))))
}
