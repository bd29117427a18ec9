//! A question in a stored conversation. Each message is written as it arrives, so that a program that ends in the
//! middle loses at most the last quarter of a second.

use crate::agent::Watch;
use crate::wording::title;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thinkthrough_core::content::{Content, Origin, Speaker};
use thinkthrough_core::event::{Event, Fold, Sink as _};
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_core::price::Price;
use thinkthrough_core::provider::Target;
use thinkthrough_core::settings::{Partial, Resolved};
use thinkthrough_store::{
    ConversationId, ConversationState, Conversations, Cost, Draft, Meta, StoreError,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

/// Interval at which an answer in progress is written.
const PACE: Duration = Duration::from_millis(250);

/// A stored conversation, or a new one: its first answer puts it into the store.
#[derive(Clone, Debug)]
pub struct Kept {
    conversations: Conversations,
    id: ConversationId,
    is_there: Arc<AtomicBool>,
    /// The working folder of a new conversation.
    folder: Option<String>,
}

impl Kept {
    /// A conversation of this folder that is not in the store yet.
    ///
    /// # Errors
    /// If the system gives no random numbers.
    pub fn new(conversations: Conversations, folder: &Path) -> Result<Self, StoreError> {
        let id = conversations.new_id()?;
        // Clients write the same folder with and without a slash at its end.
        let folder: PathBuf = folder.components().collect();
        let folder = Some(folder.display().to_string());
        Ok(Kept { conversations, id, is_there: Arc::default(), folder })
    }

    /// A conversation that is already in the store.
    #[must_use]
    pub fn stored(conversations: Conversations, id: ConversationId) -> Self {
        Kept { conversations, id, is_there: Arc::new(AtomicBool::new(true)), folder: None }
    }

    /// The id. A new conversation has it before it is stored.
    #[must_use]
    pub fn id(&self) -> &ConversationId {
        &self.id
    }

    /// Stores the chosen settings, if the conversation is in the store.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub async fn keep_settings(&self, settings: &Resolved) -> Result<(), StoreError> {
        if !self.is_there.load(Ordering::Acquire) {
            return Ok(());
        }
        let chosen = ConversationState::chosen(settings);
        self.conversations.change_meta(&self.id, |meta| meta.state.reasoning = chosen).await
    }

    /// Starts a task that stores a question, its answer, the model's name and the settings. `question` begins with
    /// the instructions of a new conversation.
    ///
    /// The task writes only when the answer begins, so that a question that could not be sent may be asked again. It
    /// runs until [`Keeper::end`].
    #[must_use]
    pub fn ask(
        &self,
        question: Vec<Content>,
        model: &str,
        target: &Target,
        settings: &Resolved,
    ) -> Keeper {
        let (news, queue) = mpsc::unbounded_channel();
        let fold = Arc::new(Mutex::new(Fold::new()));
        let writer = Writer {
            kept: self.clone(),
            question,
            model: model.to_owned(),
            reasoning: ConversationState::chosen(settings),
            price: target.price,
            origin: target.origin(None),
            fold: Arc::clone(&fold),
            draft: None,
        };
        Keeper { fold, news, writing: tokio::spawn(writer.write(queue)) }
    }
}

/// Handle of the task that stores a question and its answer.
#[derive(Debug)]
pub struct Keeper {
    fold: Arc<Mutex<Fold>>,
    news: mpsc::UnboundedSender<News>,
    writing: JoinHandle<Result<Option<ConversationId>, StoreError>>,
}

/// A message to the writing task.
#[derive(Debug)]
enum News {
    /// A finished message.
    Added(Box<Content>),
    /// The question is stored even without an answer.
    Attempt,
}

impl Keeper {
    /// Stores the question of an interrupted prompt, even if no answer has begun.
    pub fn interrupted(&self) {
        // [`Keeper::end`] returns the error of a writer that failed.
        drop(self.news.send(News::Attempt));
    }

    /// Waits until everything is written. Returns the id of the conversation, if it is in the store.
    ///
    /// # Errors
    /// If the store cannot be written.
    pub async fn end(self) -> Result<Option<ConversationId>, StoreError> {
        let Keeper { news, writing, .. } = self;
        drop(news);
        writing.await.unwrap_or(Err(StoreError::Closed))
    }
}

struct Writer {
    kept: Kept,
    /// Empty after the question is written.
    question: Vec<Content>,
    /// The model by the user's name for it, so that the conversation continues with it.
    model: String,
    /// The settings that were chosen for the conversation.
    reasoning: Partial,
    price: Option<Price>,
    origin: Origin,
    fold: Arc<Mutex<Fold>>,
    draft: Option<Draft>,
}

impl Writer {
    async fn write(
        mut self,
        mut queue: mpsc::UnboundedReceiver<News>,
    ) -> Result<Option<ConversationId>, StoreError> {
        let mut ticks = interval(PACE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                news = queue.recv() => match news {
                    Some(News::Added(content)) => self.add(*content).await?,
                    Some(News::Attempt) if !self.question.is_empty() => self.say(Vec::new()).await?,
                    Some(News::Attempt) => {}
                    None => break,
                },
                _ = ticks.tick() => self.record().await?,
            }
        }
        // The draft of an answer that was never finished is removed.
        if let Some(draft) = self.draft {
            draft.discard().await?;
        }
        Ok(self.kept.is_there.load(Ordering::Acquire).then_some(self.kept.id))
    }

    /// Appends a finished message. An answer replaces its draft.
    async fn add(&mut self, content: Content) -> Result<(), StoreError> {
        let draft = match content.speaker {
            Speaker::Ai => self.draft.take(),
            Speaker::Human | Speaker::System | Speaker::Tool => None,
        };
        let cost = match content.speaker {
            Speaker::Ai => Cost::of(self.price, content.usage.as_ref()),
            Speaker::Human | Speaker::System | Speaker::Tool => Cost::default(),
        };
        match draft {
            Some(draft) => drop(draft.finish(&[content]).await?),
            None => self.say(vec![content]).await?,
        }
        let Kept { conversations, id, .. } = &self.kept;
        match cost == Cost::default() {
            true => Ok(()),
            false => conversations.change_meta(id, |meta| meta.state.cost += cost).await,
        }
    }

    /// Appends messages, after the question if it is not written yet.
    async fn say(&mut self, contents: Vec<Content>) -> Result<(), StoreError> {
        let said: Vec<Content> = self.question.iter().cloned().chain(contents).collect();
        let Kept { conversations, id, is_there, folder } = &self.kept;
        let (model, reasoning) = (Some(self.model.clone()), self.reasoning.clone());
        if is_there.load(Ordering::Acquire) {
            conversations.append(id, &said).await?;
            if !self.question.is_empty() {
                let state = |meta: &mut Meta| {
                    (meta.state.model, meta.state.reasoning) = (model, reasoning);
                };
                conversations.change_meta(id, state).await?;
            }
        } else {
            let question = self.question.iter().find(|it| it.speaker == Speaker::Human);
            let title = question.and_then(|question| title(&question.visible_text()));
            let state = ConversationState { model, reasoning, cost: Cost::default() };
            let meta = Meta { title, state, folder: folder.clone(), ..Meta::default() };
            conversations.begin_as(id, &meta, &said).await?;
            is_there.store(true, Ordering::Release);
        }
        self.question.clear();
        Ok(())
    }

    /// Writes the growth of an answer in progress.
    async fn record(&mut self) -> Result<(), StoreError> {
        if lock(&self.fold).so_far().blocks.is_empty() {
            return Ok(());
        }
        let mut draft = match self.draft.take() {
            Some(draft) => draft,
            None => {
                if !self.question.is_empty() {
                    self.say(Vec::new()).await?;
                }
                self.kept.conversations.draft(&self.kept.id, Some(&self.origin)).await?
            }
        };
        let piece = draft.piece(&lock(&self.fold).so_far().blocks);
        let draft = self.draft.insert(draft);
        match piece {
            Some(piece) => draft.keep(piece).await,
            None => Ok(()),
        }
    }
}

fn lock(fold: &Mutex<Fold>) -> MutexGuard<'_, Fold> {
    fold.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes events on to a watch, and to the task that stores them.
pub struct Beside<'w> {
    keeper: Option<&'w Keeper>,
    watch: &'w mut (dyn Watch + Send),
}

impl<'w> Beside<'w> {
    /// Passes events on to `watch`, and to `keeper` if there is one.
    #[must_use]
    pub fn new(keeper: Option<&'w Keeper>, watch: &'w mut (dyn Watch + Send)) -> Self {
        Beside { keeper, watch }
    }
}

impl Watch for Beside<'_> {
    fn behind(&mut self) -> Option<&mut (dyn Watch + Send)> {
        Some(self.watch)
    }

    fn event(&mut self, round: usize, event: Event<'_>) {
        if let Some(keeper) = self.keeper {
            lock(&keeper.fold).event(event);
        }
        self.watch.event(round, event);
    }

    fn outgoing(&mut self, round: usize, request: &Outgoing) {
        self.watch.outgoing(round, request);
    }

    fn added(&mut self, round: usize, content: &Content) {
        if let Some(keeper) = self.keeper {
            if content.speaker == Speaker::Ai {
                *lock(&keeper.fold) = Fold::new();
            }
            // [`Keeper::end`] returns the error of a writer that failed.
            drop(keeper.news.send(News::Added(Box::new(content.clone()))));
        }
        self.watch.added(round, content);
    }
}
