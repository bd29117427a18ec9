//! The store of a running gateway: one task opens it, however long that takes, and from then on reads its keys.

use crate::config::Config;
use crate::failure::{Failure, say};
use crate::stored::{self, Place, place, say_notes};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use thinkthrough_core::plane::Tenant;
use thinkthrough_gateway::{
    Facts, KeptResponses, Later, Ledgers, Owner, SharedPlaces, Soon, Vault, VaultError, Vaults,
};
use thinkthrough_limits::{BudgetRules, Given, RateGiven, RateLimits, RateReport, Report, Unheard};
use thinkthrough_store::{
    Backlog, EarlyTraces, KeyState, KeyWatch, LedgerKey, Limits, Location, Store, StoreError,
};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

/// How long the start waits for the store. After that the gateway listens, but lets no caller in.
const FIRST: Duration = Duration::from_secs(3);
/// How long one attempt may take before traces go to a journal.
const EARLY: Duration = Duration::from_secs(1);
/// The pauses between two tries grow from the first of these to the second.
const PAUSES: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(5)];

/// The store of a running gateway. Clones are handles to the same one.
#[derive(Clone)]
pub(crate) struct Keeper {
    open: Arc<OnceLock<Open>>,
    /// The journal of traces until the store is open.
    early: Arc<OnceLock<EarlyTraces>>,
    /// A store is configured; a task tries to open it until it succeeds.
    pub(crate) has_place: bool,
}

/// A store that is open, and its keys, which were read.
struct Open {
    store: Store,
    keys: KeyWatch,
}

/// Background work for the store; it ends when this value is dropped.
pub(crate) struct Keeping(Option<JoinHandle<()>>);

impl Drop for Keeping {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

impl Keeper {
    /// Opens the configured store, now or as soon as possible. It is a configuration error if the key is
    /// wrong or missing, if the store has a newer format, or if no place is configured.
    pub(crate) async fn start(
        config: &Config,
        limits: &watch::Sender<Limits>,
    ) -> Result<(Keeper, Keeping), Failure> {
        let mut keeper = Keeper { open: Arc::default(), early: Arc::default(), has_place: true };
        let place = match place(config) {
            Ok(place) => place,
            Err(Failure::Failed(why)) if may_do_without(config) => {
                say(format_args!("{why}; no thought is kept and none is put back"));
                keeper.has_place = false;
                return Ok((keeper, Keeping(None)));
            }
            Err(Failure::Failed(why)) => {
                return Err(Failure::Failed(format!(
                    "{why}; without it nobody can say whether there are gateway keys: if none are \
                     wanted, set `[server] keyless = true`"
                )));
            }
            Err(failure) => return Err(failure),
        };
        let new = place.introduction();
        let (tell, told) = oneshot::channel();
        let (opening, limits) = (keeper.clone(), limits.subscribe());
        let task = tokio::spawn(async move {
            opening.open_at_last(&place, tell).await;
            if let Some(Open { store, .. }) = opening.open.get() {
                stored::prune(store.clone(), limits).await;
            }
        });
        let keeping = Keeping(Some(task));
        match tokio::time::timeout(FIRST, told).await {
            Ok(Ok(Some(error))) if is_mistake(&error) => Err(error.into()),
            Ok(Ok(error)) => {
                error.iter().for_each(say_closed);
                new.filter(|_| error.is_none()).iter().for_each(|new| say(format_args!("{new}")));
                Ok((keeper, keeping))
            }
            Ok(Err(_)) | Err(_) => {
                say(format_args!("the store does not answer; it is tried until it does"));
                Ok((keeper, keeping))
            }
        }
    }

    /// The store, once it is open.
    pub(crate) fn store(&self) -> Option<&Store> {
        self.open.get().map(|open| &open.store)
    }

    /// Its keys, once they were read.
    pub(crate) fn keys(&self) -> Option<&KeyWatch> {
        self.open.get().map(|open| &open.keys)
    }

    /// Whether the store has keys, or had some; `None` if that is not known yet.
    pub(crate) fn state(&self) -> Option<KeyState> {
        match self.has_place {
            true => self.keys().map(|keys| keys.list().state()),
            false => Some(KeyState::Never),
        }
    }

    fn opened(&self) -> Result<&Store, VaultError> {
        self.store().ok_or_else(|| VaultError("the store is not open yet".to_owned()))
    }
}

/// Whether it is known without the store who may come in.
fn may_do_without(config: &Config) -> bool {
    config.server.pass_through || config.server.keyless == Some(true) || !config.keys.is_empty()
}

/// Whether waiting cannot repair this error.
fn is_mistake(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Key { .. }
            | StoreError::KeyMissing { .. }
            | StoreError::Newer { .. }
            | StoreError::OldSqlite(_)
            | StoreError::WrongKey { .. }
    )
}

fn say_closed(error: &StoreError) {
    say(format_args!(
        "{error}; it is tried until it can be opened, and until then nobody is let in, unless `[server] keyless = \
         true`; then no thought is kept and none is put back"
    ));
}

async fn open(place: &Place) -> Result<Open, StoreError> {
    let store = place.open().await?;
    let keys = store.gateway_keys().watch().await?;
    Ok(Open { store, keys })
}

impl Keeper {
    /// Opens the store and reads its keys, again and again until that works. Reports the outcome of the first
    /// attempt.
    async fn open_at_last(&self, place: &Place, tell: oneshot::Sender<Option<StoreError>>) {
        let mut tell = Some(tell);
        let [mut pause, longest] = PAUSES;
        let mut last = None;
        loop {
            let opened = {
                let opening = open(place);
                tokio::pin!(opening);
                match tokio::time::timeout(EARLY, &mut opening).await {
                    Ok(opened) => opened,
                    Err(_) => {
                        self.begin_early(place).await;
                        opening.await
                    }
                }
            };
            let error = match opened {
                Ok(opened) => {
                    self.take_early(place, &opened.store).await;
                    say_notes(&opened.store);
                    // No other task sets it.
                    let _ = self.open.set(opened);
                    self.early.get().into_iter().for_each(EarlyTraces::forget);
                    match tell.take().map(|tell| tell.send(None)) {
                        Some(Ok(())) => {}
                        Some(Err(_)) | None => say(format_args!(
                            "the store `{}` is open; thoughts are kept and put back from now on",
                            place.location
                        )),
                    }
                    return;
                }
                Err(error) => error,
            };
            let is_told = tell.take().is_some_and(|tell| tell.send(Some(error.clone())).is_ok());
            // Reports an error once, not with every attempt.
            if last.as_ref() != Some(&error) && !is_told {
                say_closed(&error);
            }
            last = Some(error);
            self.begin_early(place).await;
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(longest);
        }
    }

    /// Writes traces to a journal from now on, if there is a key for the journal's name.
    async fn begin_early(&self, place: &Place) {
        // A server store without a spool folder has no journal.
        let has_place = place.spool.is_some() || matches!(place.location, Location::Sqlite(_));
        if has_place
            && self.early.get().is_none()
            && let Ok(Some(early)) =
                EarlyTraces::before(&place.location, &place.key, place.spool.as_deref()).await
        {
            // No other task sets it.
            let _ = self.early.set(early);
        }
    }

    /// Moves the journals from before the opening into the store, also those of other processes.
    async fn take_early(&self, place: &Place, store: &Store) {
        if let Some(early) = self.early.get() {
            early.close().await;
        }
        store.take_early_traces(&place.location, place.spool.as_deref()).await;
    }

    /// The journal of traces while the store is not open.
    pub(crate) fn early(&self) -> Option<&EarlyTraces> {
        self.early.get().filter(|_| self.store().is_none())
    }
}

/// A store that is not open yet fails as one does that was lost.
impl Vaults for Keeper {
    fn of<'a>(&'a self, tenant: &'a Tenant) -> Later<'a, Arc<dyn Vault>> {
        Box::pin(async move { Vaults::of(self.opened()?, tenant).await })
    }

    fn pass_through(&self, endpoint: &str, credential: &str) -> Option<Tenant> {
        self.store()?.pass_through(endpoint, credential)
    }

    fn kept_responses(&self, tenant: &Tenant) -> Option<Arc<dyn KeptResponses>> {
        match self.store() {
            Some(store) => store.kept_responses(tenant),
            None if self.has_place => Some(Arc::new(Unopened)),
            None => None,
        }
    }

    fn facts(&self) -> Option<Arc<dyn Facts>> {
        Vaults::facts(self.store()?)
    }

    fn ledgers(&self) -> Option<Arc<dyn Ledgers>> {
        self.has_place.then(|| Arc::new(self.clone()) as Arc<dyn Ledgers>)
    }

    fn places(&self) -> Option<Arc<dyn SharedPlaces>> {
        self.has_place.then(|| Arc::new(self.clone()) as Arc<dyn SharedPlaces>)
    }

    fn backlog(&self) -> Backlog {
        self.store().map(Store::backlog).unwrap_or_default()
    }

    fn has_store(&self) -> bool {
        self.has_place
    }

    fn is_up(&self) -> bool {
        !self.has_place || self.keys().is_some_and(KeyWatch::is_up)
    }

    fn is_displaced(&self) -> bool {
        self.keys().is_some_and(|keys| keys.list().is_displaced())
    }
}

impl Ledgers for Keeper {
    fn report<'a>(
        &'a self,
        key: &'a LedgerKey,
        rules: &'a BudgetRules,
        holder: &'a str,
        report: Report,
        now: u64,
    ) -> Later<'a, Given> {
        Box::pin(async move {
            let ledgers = self.opened()?.ledgers();
            let given = ledgers.report(key, rules, holder, report, now).await;
            given.map_err(|error| VaultError(error.to_string()))
        })
    }

    fn used<'a>(&'a self, key: &'a LedgerKey) -> Later<'a, u64> {
        Box::pin(async move {
            let used = self.opened()?.ledgers().used(key).await;
            used.map_err(|error| VaultError(error.to_string()))
        })
    }

    // Spending before the store is open waits in memory: with `on_exceed = "block"`, no request spends until then.
    fn note<'a>(&'a self, key: &'a LedgerKey, holder: &'a str, unheard: Unheard) -> Soon<'a> {
        Box::pin(async move {
            if let Ok(store) = self.opened() {
                store.ledgers().note(key, holder, unheard).await;
            }
        })
    }

    fn forget<'a>(&'a self, holder: &'a str) -> Soon<'a> {
        Box::pin(async move {
            if let Ok(store) = self.opened() {
                store.ledgers().forget(holder).await;
            }
        })
    }
}

impl SharedPlaces for Keeper {
    fn report<'a>(
        &'a self,
        key: &'a LedgerKey,
        limits: &'a RateLimits,
        holder: &'a str,
        report: RateReport,
    ) -> Later<'a, RateGiven> {
        Box::pin(async move {
            let ledgers = self.opened()?.ledgers();
            let given = ledgers.report_places(key, limits, holder, report).await;
            given.map_err(|error| VaultError(error.to_string()))
        })
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").field("store", &self.store()).finish_non_exhaustive()
    }
}

/// The kept answers of a store that is not open yet.
struct Unopened;

impl Unopened {
    fn fail<'a, T: Send + 'a>() -> Later<'a, T> {
        Box::pin(async { Err(VaultError("the store is not open yet".to_owned())) })
    }
}

impl KeptResponses for Unopened {
    fn put(&self, _: String, _: Vec<u8>, _: Option<String>) -> Later<'_, ()> {
        Self::fail()
    }

    fn chain(&self, _: String) -> Later<'_, Vec<Vec<u8>>> {
        Self::fail()
    }

    fn get(&self, _: String) -> Later<'_, Option<Vec<u8>>> {
        Self::fail()
    }

    fn delete(&self, _: String) -> Later<'_, bool> {
        Self::fail()
    }

    fn put_resource(&self, _: String, _: String, _: Vec<u8>) -> Later<'_, ()> {
        Self::fail()
    }

    fn resource(&self, _: String, _: String) -> Later<'_, Option<Vec<u8>>> {
        Self::fail()
    }

    fn resource_owners(&self, _: String, _: Vec<String>) -> Later<'_, Vec<(String, Owner)>> {
        Self::fail()
    }
}
