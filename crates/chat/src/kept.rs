//! A question in a conversation that is kept: everything is written as it happens, so that a program that ends in the
//! middle loses nothing that was said.

use crate::agent::Watch;
use crate::wording::title;
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

/// How often an answer in progress is written down.
const PACE: Duration = Duration::from_millis(250);

/// A conversation of the store, or one that begins there with its first answer.
#[derive(Clone, Debug)]
pub struct Kept {
    conversations: Conversations,
    id: ConversationId,
    is_there: Arc<AtomicBool>,
}

impl Kept {
    /// A conversation that is not in the store yet.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn new(conversations: Conversations) -> Result<Self, StoreError> {
        let id = conversations.new_id()?;
        Ok(Kept { conversations, id, is_there: Arc::default() })
    }

    /// A conversation that is in the store.
    #[must_use]
    pub fn stored(conversations: Conversations, id: ConversationId) -> Self {
        Kept { conversations, id, is_there: Arc::new(AtomicBool::new(true)) }
    }

    /// Its id, which it has before it is in the store too.
    #[must_use]
    pub fn id(&self) -> &ConversationId {
        &self.id
    }

    /// Keeps the chosen settings with the conversation, once it is in the store.
    ///
    /// # Errors
    /// When the store could not be written.
    pub async fn keep_settings(&self, settings: &Resolved) -> Result<(), StoreError> {
        if !self.is_there.load(Ordering::Acquire) {
            return Ok(());
        }
        let chosen = ConversationState::chosen(settings);
        self.conversations.change_meta(&self.id, |meta| meta.state.reasoning = chosen).await
    }

    /// Starts a task that keeps a question, its answer by the model of this name, and how the question was asked. The
    /// instructions of a new conversation stand before its first question.
    /// Writes nothing before the answer begins, so that a question that could not be asked may be asked again. The task
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

/// Writes down what a question comes to, while it comes.
#[derive(Debug)]
pub struct Keeper {
    fold: Arc<Mutex<Fold>>,
    news: mpsc::UnboundedSender<News>,
    writing: JoinHandle<Result<Option<ConversationId>, StoreError>>,
}

/// What there is to write.
#[derive(Debug)]
enum News {
    /// A message is complete.
    Added(Box<Content>),
    /// The question is kept, also without an answer.
    Attempt,
}

impl Keeper {
    /// Whoever asked interrupted it: the question is kept, also where nothing was said to it yet.
    pub fn interrupted(&self) {
        // Should the writer have failed, the end says so.
        drop(self.news.send(News::Attempt));
    }

    /// Waits until everything is written; gives the conversation that it is in, if it came to any.
    ///
    /// # Errors
    /// When the store could not be written.
    pub async fn end(self) -> Result<Option<ConversationId>, StoreError> {
        let Keeper { news, writing, .. } = self;
        drop(news);
        writing.await.unwrap_or(Err(StoreError::Closed))
    }
}

/// The task that writes.
struct Writer {
    kept: Kept,
    /// Until it is written.
    question: Vec<Content>,
    /// What the user calls the model, so that the conversation goes on with it.
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
        // An answer that came to nothing leaves nothing.
        if let Some(draft) = self.draft {
            draft.discard().await?;
        }
        Ok(self.kept.is_there.load(Ordering::Acquire).then_some(self.kept.id))
    }

    /// A message is complete, and takes the place of its draft.
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

    /// Appends contents, behind the question if it is not written yet.
    async fn say(&mut self, contents: Vec<Content>) -> Result<(), StoreError> {
        let said: Vec<Content> = self.question.iter().cloned().chain(contents).collect();
        let Kept { conversations, id, is_there } = &self.kept;
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
            let meta = Meta { title, state, ..Meta::default() };
            conversations.begin_as(id, &meta, &said).await?;
            is_there.store(true, Ordering::Release);
        }
        self.question.clear();
        Ok(())
    }

    /// Writes down what an answer in progress grew by.
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

/// Tells a watch what happens, and keeps it.
pub struct Beside<'w> {
    keeper: Option<&'w Keeper>,
    watch: &'w mut (dyn Watch + Send),
}

impl<'w> Beside<'w> {
    /// Tells `watch`, and the keeper where there is one.
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
            // Should the writer have failed, the end says so.
            drop(keeper.news.send(News::Added(Box::new(content.clone()))));
        }
        self.watch.added(round, content);
    }
}
