//! The traces of what models thought, as the configuration wants them.

use crate::config::Config;
use crate::keeper::Keeper;
use crate::masking::{secrets, with};
use std::sync::OnceLock;
use thinkthrough_core::mask::Tiers;
use thinkthrough_gateway::Audit;

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
