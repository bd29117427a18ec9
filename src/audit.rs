//! Masked traces of requests, as configured under `[traces]`.

use crate::config::Config;
use crate::config::traces::Traces;
use crate::failure::say;
use crate::keeper::Keeper;
use crate::masking::{secrets, tiers, with};
use std::time::Duration;
use thinkthrough_chat::Tracer;
use thinkthrough_gateway::{Audit, FindMasker, TracesTo};
use thinkthrough_mask::Masker;
use thinkthrough_store::Store;

/// Creates the tracer of a command. Returns `None` if the configuration disables traces.
pub(crate) fn tracer(config: &Config, store: &Store, front: &'static str) -> Option<Tracer> {
    let Traces { on, content, .. } = config.traces;
    on.then(|| Tracer::new(store.traces(), masker(config, store), front, content))
}

/// Waits until all traces are written. Reports the number of lost ones.
pub(crate) async fn say_lost(tracer: Option<&Tracer>) {
    let Some(tracer) = tracer else { return };
    let lost = tracer.end().await;
    if lost > 0 {
        say(format_args!("{lost} traces could not be written; see whether the store has room"));
    }
}

/// The pause between two checks for dropped traces.
const WATCH: Duration = Duration::from_secs(10);

/// The masker for the traces of this store.
pub(crate) fn masker(config: &Config, store: &Store) -> Masker {
    with(tiers(config), &store.mask_key(), &secrets(config))
}

/// Starts to store traces of a gateway. Returns `None` if traces are disabled or have no place.
pub(crate) fn start(config: &Config, keeper: &Keeper, masker: FindMasker) -> Option<Audit> {
    if !config.traces.on || !keeper.has_place {
        return None;
    }
    let keeper = keeper.clone();
    let find = move || {
        let to = match keeper.store() {
            Some(store) => TracesTo::Store(store.traces()),
            None => TracesTo::Early(keeper.early()?.clone()),
        };
        Some((to, masker()))
    };
    Some(Audit::start(Box::new(find), config.traces.content))
}

/// Reports the number of dropped traces from time to time, while it grows.
pub(crate) fn watch(audit: &Audit) {
    let audit = audit.clone();
    tokio::spawn(async move {
        let mut told = audit.dropped();
        loop {
            tokio::time::sleep(WATCH).await;
            let dropped = audit.dropped();
            if dropped > told {
                say(format_args!(
                    "{} traces are lost, because more came than could be masked and written down; let less come at once, \
                     raise `max_bytes_in_flight`, or run a further gateway",
                    dropped - told
                ));
            }
            told = dropped;
        }
    });
}

/// Reports the number of traces that end with a gateway, because neither the store nor a journal accepted them.
pub(crate) fn say_left(audit: &Audit, store: Option<&Store>) {
    let left = audit.left() + store.map_or(0, Store::traces_in_memory) as u64;
    audit.lose(left);
    if left > 0 {
        say(format_args!(
            "{left} traces are lost, because neither the store nor its journal took them; see whether they can be \
             written"
        ));
    }
}
