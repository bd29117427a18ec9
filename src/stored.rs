//! The store of the configuration, opened.

use crate::config::{self, Config};
use crate::failure::{Failure, say};
use std::path::{Path, PathBuf};
use std::time::Duration;
use thinkthrough_chat::session::Conversation;
use thinkthrough_chat::{Kept, Lessons, short_path, terminal};
use thinkthrough_core::plane::Tenant;
use thinkthrough_store::{
    ConversationId, ConversationState, Conversations, KeySource, Limits, Location, Markers, Moment,
    Pruned, Store, StoreError,
};
use tokio::sync::watch;

/// Runs an async command to its end.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Failed(format!("the runtime cannot start: {error}")))?;
    runtime.block_on(work)
}

/// The conversations of this machine's user; a store that is not there yet is made.
pub(crate) async fn local(config: &Config) -> Result<Conversations, Failure> {
    Ok(open(config).await?.conversations(&Tenant::local()))
}

/// Returns the store with a sentence if it is new, or else the reason why conversations are not kept.
pub(crate) async fn or_why(config: &Config) -> (Option<Store>, Option<String>) {
    let new = introduction(config);
    match open(config).await {
        Ok(store) => (Some(store), new),
        Err(failure) => (None, Some(format!("conversations are not kept: {failure}"))),
    }
}

/// Describes the content of a store that does not exist yet, for its first user.
pub(crate) fn introduction(config: &Config) -> Option<String> {
    place(config).ok()?.introduction()
}

/// Opens the store; creates it if it does not exist yet.
pub(crate) async fn open(config: &Config) -> Result<Store, Failure> {
    Ok(opened(&place(config)?).await?)
}

async fn opened(place: &Place) -> Result<Store, StoreError> {
    let store = place.open().await?;
    store.take_early_traces(&place.location, place.spool.as_deref()).await;
    say_notes(&store);
    Ok(store)
}

/// Deletes records from the vault that exceed its limits, periodically and when the limits change.
pub(crate) async fn prune(store: Store, mut limits: watch::Receiver<Limits>) {
    let (mut ticks, mut is_held) = (tokio::time::interval(PRUNING), false);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            changed = limits.changed() => if changed.is_err() { return },
            () = store.noted() => {
                say_notes(&store);
                continue;
            }
        }
        let limits = *limits.borrow_and_update();
        match store.prune(&limits, Moment::now()).await {
            Ok(Pruned { held_back, .. }) => {
                // Reports this once, not every minute of the hour that it lasts.
                if held_back > 0 && !is_held {
                    say(format_args!(
                        "{held_back} records are old and stay for now: so many go for their age \
                         only when the clock was watched for an hour without a jump"
                    ));
                }
                is_held = held_back > 0;
            }
            Err(error) => say(format_args!("{error}")),
        }
    }
}

/// Reads the facts that refusals taught about models. Without a store, facts last as long as the program.
pub(crate) async fn lessons(store: Option<&Store>) -> Lessons {
    let Some(store) = store else { return Lessons::default() };
    Lessons::of(store).await.unwrap_or_else(|error| {
        say(format_args!("what refusals taught is not known: {error}"));
        Lessons::default()
    })
}

/// A conversation that a question goes on with.
pub(crate) struct Resumed {
    /// The handle that stores the question and its answer.
    pub(crate) kept: Kept,
    /// Its messages and compressions.
    pub(crate) conversation: Conversation,
    /// Its model and settings.
    pub(crate) state: ConversationState,
    /// The store of the conversation.
    pub(crate) store: Store,
}

/// The latest conversation of this folder, or of any folder.
pub(crate) async fn latest(
    conversations: &Conversations,
    folder: &Path,
    of_any: bool,
) -> Result<Option<ConversationId>, StoreError> {
    let latest = match of_any {
        true => conversations.latest().await?,
        false => conversations.latest_in(&folder.display().to_string()).await?,
    };
    Ok(latest.map(|summary| summary.id))
}

/// Returns the conversation with this beginning of its id, or else the latest one of this folder or of any folder;
/// begins a new one if there is no conversation.
pub(crate) async fn resumed(
    config: &Config,
    id: Option<&str>,
    (folder, of_any): (&Path, bool),
) -> Result<Resumed, Failure> {
    let store = open(config).await?;
    let conversations = store.conversations(&Tenant::local());
    let id = match id {
        Some(id) => Some(conversations.resolve(id).await?),
        None => latest(&conversations, folder, of_any).await?,
    };
    let Some(id) = id else {
        let (kept, state) = (Kept::new(conversations, folder)?, ConversationState::default());
        return Ok(Resumed { kept, conversation: Conversation::default(), state, store });
    };
    let mut stored = terminal::open(&conversations, &id).await?;
    let state = std::mem::take(&mut stored.state);
    let conversation = Conversation::stored(stored);
    Ok(Resumed { kept: Kept::stored(conversations, id), conversation, state, store })
}

/// How often the vault is looked through.
const PRUNING: Duration = Duration::from_secs(60);

/// Returns the store if it exists. A read-only command does not create one.
pub(crate) async fn existing(config: &Config) -> Result<Option<Store>, Failure> {
    let place = place(config)?;
    if let Location::Sqlite(file) = &place.location
        && !file.exists()
    {
        return Ok(None);
    }
    Ok(Some(opened(&place).await?))
}

/// Prints the notes of a store.
pub(crate) fn say_notes(store: &Store) {
    store.notes().iter().for_each(|note| say(format_args!("{note}")));
}

/// The place of a store.
pub(crate) struct Place {
    pub(crate) location: Location,
    pub(crate) key: KeySource,
    /// The folder in which traces wait for a server.
    pub(crate) spool: Option<PathBuf>,
    markers: Markers,
}

impl Place {
    /// Describes the content of the store, if its file does not exist yet.
    pub(crate) fn introduction(&self) -> Option<String> {
        let Location::Sqlite(file) = &self.location else { return None };
        if file.exists() {
            return None;
        }
        let home = std::env::var("HOME").ok();
        let short = |path: &Path| short_path(&path.display().to_string(), home.as_deref());
        let key = match &self.key {
            KeySource::File(key) => format!("; keep a copy of its key `{}`", short(key)),
            KeySource::Command(_) | KeySource::Env(_) => String::new(),
        };
        Some(format!(
            "the new store `{}` keeps conversations and thoughts sealed, and traces masked{key}",
            short(file)
        ))
    }

    pub(crate) async fn open(&self) -> Result<Store, StoreError> {
        let store = Store::open(&self.location, &self.key).await?;
        store.set_markers(self.markers.clone());
        if let Some(folder) = &self.spool {
            store.spool_in(folder).await;
        }
        Ok(store)
    }
}

/// The place that the configuration names.
pub(crate) fn place(config: &Config) -> Result<Place, Failure> {
    let store = config.store.as_ref().ok_or_else(|| {
        let message = "there is no place for a store, because neither `XDG_DATA_HOME` nor `HOME` \
                       is set; set one, or write `[store] url` into the configuration";
        Failure::Failed(message.to_owned())
    })?;
    let folder = config.path.as_deref().and_then(Path::parent).map(Path::to_owned);
    // A gateway that always asks for a key does not ask the marker.
    let are_needed = config.server.keyless != Some(false);
    let config::store::Store { location, key, spool, .. } = store.clone();
    Ok(Place { location, key, spool, markers: Markers { folder, are_needed } })
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Failure::Failed(error.to_string())
    }
}
