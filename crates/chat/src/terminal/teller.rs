//! Reports the events of a question to the session, and passes its answer on for storage.

use super::engine::Inbound;
use crate::agent::{Called, Round, Watch};
use crate::cover::{Cover, CoveredEvents};
use crate::failure::why_again;
use crate::gate::Notice;
use crate::session::{Message, Progress, RunId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thinkthrough_client::Retry;
use thinkthrough_core::content::{Block, Content, Origin, ToolCall, ToolResponse};
use thinkthrough_core::event::{Event, Fold, Sink as _};
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_core::tokens::TokenCount;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

/// Interval at which a growing answer is passed on for storage.
const KEPT_EVERY: Duration = Duration::from_millis(150);

/// The answer so far, shared with the task that stores it.
#[derive(Clone, Debug, Default)]
pub(super) struct SoFar(Arc<Mutex<Fold>>);

impl SoFar {
    pub(super) fn lock(&self) -> MutexGuard<'_, Fold> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The part of an answer that has not been passed on yet.
#[derive(Clone, Debug, Default)]
pub(super) struct News(Arc<Mutex<Option<SoFar>>>);

impl News {
    fn lock(&self) -> MutexGuard<'_, Option<SoFar>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes the answer on at each tick, until the task is dropped.
    pub(super) async fn hand_on(self, inbox: mpsc::UnboundedSender<Inbound>) {
        let mut ticks = interval(KEPT_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Some(so_far) = self.lock().take() {
                drop(inbox.send(Inbound::Draft(so_far)));
            }
        }
    }
}

/// Passes events on: masked for the screen, and unchanged for storage.
pub(super) struct Teller {
    to: Listener,
    origin: Origin,
    cover: Cover,
    shown: CoveredEvents,
    so_far: SoFar,
    news: News,
}

impl Teller {
    pub(super) fn new(
        run: RunId,
        inbox: mpsc::UnboundedSender<Inbound>,
        (origin, cover): (Origin, Cover),
        news: News,
    ) -> Self {
        let (to, shown) = (Listener { run, inbox }, cover.events());
        Teller { to, origin, cover, shown, so_far: SoFar::default(), news }
    }

    pub(super) fn tell(&self, told: Progress) {
        self.to.tell(told);
    }
}

/// Sends progress messages of one run to the session.
struct Listener {
    run: RunId,
    inbox: mpsc::UnboundedSender<Inbound>,
}

impl Listener {
    fn tell(&self, told: Progress) {
        drop(self.inbox.send(Inbound::Message(Message::Progress(self.run, told))));
    }

    /// Sends the visible part of an event.
    fn event(&self, event: Event<'_>, so_far: &SoFar) {
        match event {
            Event::ThinkingStart { block, .. } => self.tell(Progress::ThoughtBegins(block)),
            Event::ThinkingDelta { block, delta } => {
                self.tell(Progress::ThoughtGrows(block, delta.to_owned()));
            }
            Event::ThinkingEnd { block, thinking, thought } => {
                let has_text = so_far.lock().so_far().blocks.get(block).is_some_and(
                    |block| matches!(block, Block::Thinking(it) if !it.thought.is_empty()),
                );
                self.tell(Progress::ThoughtEnds {
                    block,
                    is_withheld: !has_text && thinking.has_payload(),
                    whole: thought.map(str::to_owned),
                });
            }
            Event::TextDelta { block, delta } => {
                self.tell(Progress::TextGrows(block, delta.to_owned()));
            }
            Event::TextEnd { block, whole: Some(whole), .. } => {
                self.tell(Progress::TextIs(block, whole.to_owned()));
            }
            Event::ToolCallEnd { block, call } => self.tell(Progress::Calls(block, call.clone())),
            Event::Whole { block, value } => self.whole(block, value),
            Event::Problem(problem) => self.tell(Progress::Finding(problem.clone())),
            _ => {}
        }
    }

    fn whole(&self, block: usize, value: &Block) {
        match value {
            Block::Thinking(thinking) => {
                self.tell(Progress::ThoughtBegins(block));
                self.tell(Progress::ThoughtEnds {
                    block,
                    is_withheld: thinking.is_withheld(),
                    whole: Some(thinking.thought.clone()),
                });
            }
            Block::Text(text) => self.tell(Progress::TextGrows(block, text.text.clone())),
            Block::ToolCall(call) => self.tell(Progress::Calls(block, call.clone())),
            Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => {}
        }
    }
}

impl Watch for Teller {
    fn event(&mut self, _: usize, event: Event<'_>) {
        self.so_far.lock().event(event);
        *self.news.lock() = Some(self.so_far.clone());
        let (to, so_far) = (&self.to, &self.so_far);
        self.shown.event(event, &mut |event| to.event(event, so_far));
    }

    fn outgoing(&mut self, _: usize, request: &Outgoing) {
        self.so_far = SoFar::default();
        self.shown.begin();
        *self.news.lock() = None;
        self.tell(Progress::Outgoing { warnings: request.warnings.clone() });
        drop(self.to.inbox.send(Inbound::Begins(self.origin.clone())));
    }

    fn retry(&mut self, retry: &Retry<'_>) {
        self.tell(Progress::Retries { why: why_again(retry), wait: retry.wait });
    }

    fn notice(&mut self, notice: &Notice) {
        self.tell(match notice {
            Notice::Budget { .. }
            | Notice::Runaway(_)
            | Notice::Tags { .. }
            | Notice::Media { .. } => Progress::Warns(notice.to_string()),
            Notice::Waits(refusal) => {
                Progress::Retries { why: notice.cause(), wait: refusal.retry_after }
            }
        });
    }

    fn spent(&mut self, used: TokenCount) {
        self.tell(Progress::Spent(used.tokens));
    }

    fn call_started(&mut self, _: usize, index: usize, _: &ToolCall) {
        self.tell(Progress::Runs { call: index });
    }

    fn call_finished(&mut self, _: usize, index: usize, called: &Called) {
        self.tell(Progress::Gave {
            call: index,
            response: self.cover.response(&called.response),
            took: called.took,
        });
    }

    fn tool_response(&mut self, _: usize, _: &ToolResponse) {}

    fn added(&mut self, _: usize, content: &Content) {
        self.tell(Progress::Added(Box::new(content.clone())));
    }

    fn round_over(&mut self, _: usize, _: &Round) {}
}
