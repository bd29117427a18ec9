//! Turns events of the running question into entries of the transcript and messages of the conversation.

use super::Session;
use super::ask::{CallEntry, Run};
use super::entries;
use super::message::{Effect, Ended, Keep, Permission, Progress, RunId};
use crate::counted::counts;
use crate::screen::model::{Activity, Body, EntryId, Level, Thought, ThoughtState, ToolState};
use std::time::Duration;
use thinkthrough_core::content::{Block, Content, Speaker, ToolResponse};
use thinkthrough_core::problem::{Problem, ProblemCode};
use thinkthrough_store::Cost;

impl Session {
    pub(super) fn on_progress(&mut self, id: RunId, told: Progress) {
        if self.run.as_ref().is_none_or(|run| run.id != id) {
            return;
        }
        match told {
            Progress::Outgoing { warnings } => self.on_outgoing(&warnings),
            Progress::ThoughtBegins(block) => self.begin_thought(block),
            Progress::ThoughtGrows(block, delta) => self.grow_thought(block, &delta),
            Progress::ThoughtEnds { block, is_withheld, whole } => {
                self.end_thought(block, is_withheld, whole);
            }
            Progress::TextGrows(block, delta) => self.grow_text(block, &delta),
            Progress::TextIs(block, whole) => {
                if let Some(id) = self.run.as_ref().and_then(|run| run.blocks.get(&block)).copied()
                {
                    self.view.transcript.edit(id, |body| *body = Body::Answer(whole));
                }
            }
            Progress::Calls(block, call) => {
                let entry = self.view.transcript.push(Body::Tool(entries::tool(&call)));
                if let Some(run) = &mut self.run {
                    run.blocks.insert(block, entry);
                    run.calls.push(CallEntry { id: call.id, entry, is_refused: false });
                }
                self.view.status.activity = Activity::Tools;
            }
            Progress::Asks(permission) => {
                self.set_waiting(&permission);
                self.ask_permission(permission);
            }
            Progress::Runs { call } => {
                self.set_tool(call, ToolState::Running);
                self.view.status.activity = Activity::Tools;
            }
            Progress::Gave { call, response, took } => self.give(call, &response, took),
            Progress::Finding(problem) => self.on_finding(&problem),
            Progress::Retries { why, wait } => self.on_retries(&why, wait),
            Progress::Warns(text) => self.notice(Level::Warning, text),
            Progress::Spent(used) => self.used = used,
            Progress::Added(content) => self.add(*content),
            Progress::Done(ended) => self.on_done(ended),
        }
    }

    fn on_outgoing(&mut self, warnings: &[Problem]) {
        if let Some(run) = &mut self.run {
            run.blocks.clear();
            run.estimates.clear();
            run.calls.clear();
        }
        self.view.status.activity = Activity::Sending;
        for warning in warnings {
            self.notice_once(Level::Warning, &warning.message);
        }
    }

    /// Shows that a request waits for a retry: the reason once, and a countdown.
    fn on_retries(&mut self, why: &str, wait: Duration) {
        self.view.status.activity = Activity::Retrying;
        self.retry_at = Some(self.view.now + wait);
        self.notice_once(Level::Warning, why);
    }

    /// Adds a notice, unless the transcript already has the same one.
    fn notice_once(&mut self, level: Level, text: &str) {
        let is_said = self
            .view
            .transcript
            .iter()
            .any(|(_, body)| matches!(body, Body::Notice(_, said) if said == text));
        if !is_said {
            self.notice(level, text);
        }
    }

    fn on_finding(&mut self, problem: &Problem) {
        match problem.code {
            // Problems that end the question are shown when it ends.
            ProblemCode::UpstreamError | ProblemCode::Truncated => {}
            _ => self.notice(Level::Warning, problem.to_string()),
        }
    }

    fn begin_thought(&mut self, block: usize) {
        let now = self.view.now;
        let entry = self.view.transcript.push(Body::Thought(Thought::begin(now)));
        if let Some(run) = &mut self.run {
            run.blocks.insert(block, entry);
        }
        self.view.status.activity = Activity::Thinking;
    }

    fn grow_thought(&mut self, block: usize, delta: &str) {
        let Some(run) = &mut self.run else { return };
        let Some(entry) = run.blocks.get(&block).copied() else { return };
        let estimate = run.estimates.entry(block).or_default();
        estimate.push(delta);
        let count = estimate.count();
        self.view.transcript.append(entry, delta);
        if let Some(thought) = self.view.transcript.thought_mut(entry) {
            thought.tokens = Some(count);
        }
        self.view.status.activity = Activity::Thinking;
    }

    fn end_thought(&mut self, block: usize, is_withheld: bool, whole: Option<String>) {
        let now = self.view.now;
        let Some(entry) = self.run.as_ref().and_then(|run| run.blocks.get(&block)).copied() else {
            return;
        };
        let state = if is_withheld { ThoughtState::Withheld } else { ThoughtState::Done };
        self.view.transcript.edit(entry, |body| {
            if let Body::Thought(thought) = body {
                if let Some(whole) = whole {
                    thought.text = whole;
                }
                thought.end(state, now);
            }
        });
    }

    fn grow_text(&mut self, block: usize, delta: &str) {
        let Some(run) = &mut self.run else { return };
        let transcript = &mut self.view.transcript;
        let entry = *run
            .blocks
            .entry(block)
            .or_insert_with(|| transcript.push(Body::Answer(String::new())));
        transcript.append(entry, delta);
        self.view.status.activity = Activity::Answering;
    }

    fn set_tool(&mut self, call: usize, state: ToolState) {
        let Some(entry) = self.run.as_ref().and_then(|run| run.calls.get(call)).map(|it| it.entry)
        else {
            return;
        };
        self.view.transcript.edit(entry, |body| {
            // A quick call may have ended before the event of its start arrives.
            if let Body::Tool(tool) = body
                && matches!(tool.state, ToolState::Running | ToolState::Waiting)
            {
                tool.state = state;
            }
        });
    }

    /// Marks the call of the question as refused.
    pub(super) fn refuse(&mut self, permission: &Permission) {
        let Some(run) = &mut self.run else { return };
        let transcript = &self.view.transcript;
        let waits = |entry: EntryId| matches!(transcript.get(entry), Some(Body::Tool(tool)) if tool.state == ToolState::Waiting);
        let is_it = |call: &&mut CallEntry| call.id == permission.call_id && waits(call.entry);
        if let Some(call) = run.calls.iter_mut().find(is_it) {
            call.is_refused = true;
        }
    }

    /// Marks the call of the question as waiting: the call with the same id, else the first call of the tool that has
    /// not run.
    fn set_waiting(&mut self, permission: &Permission) {
        let Some(run) = &self.run else { return };
        let waits = |entry: &EntryId| {
            matches!(
                self.view.transcript.get(*entry),
                Some(Body::Tool(tool)) if tool.name == permission.tool
                    && tool.state == ToolState::Running
                    && tool.spent.is_none()
            )
        };
        let by_id = run.calls.iter().position(|call| {
            permission.call_id.is_some() && call.id == permission.call_id && waits(&call.entry)
        });
        let at = by_id.or_else(|| run.calls.iter().position(|call| waits(&call.entry)));
        if let Some(at) = at {
            self.set_tool(at, ToolState::Waiting);
        }
    }

    fn give(&mut self, call: usize, response: &ToolResponse, took: Duration) {
        let call = self.run.as_ref().and_then(|run| run.calls.get(call));
        let Some(CallEntry { entry, is_refused, .. }) = call else { return };
        let (entry, is_refused) = (*entry, *is_refused);
        let state = match (response.is_error, is_refused) {
            (true, true) => ToolState::Denied,
            (true, false) => ToolState::Error,
            (false, _) => ToolState::Ok,
        };
        entries::give(&mut self.view.transcript, entry, response, state);
        self.view.transcript.edit(entry, |body| {
            if let Body::Tool(tool) = body {
                tool.spent = (!is_refused).then_some(took);
            }
        });
    }

    /// Adds a complete message to the conversation, and stores it with the measured times.
    fn add(&mut self, mut content: Content) {
        let mut cost = Cost::default();
        if content.speaker == Speaker::Ai {
            self.measure(&mut content);
            entries::show_without_thought(&content, &mut self.view.transcript);
            let price = self.run.as_ref().and_then(|run| run.price);
            cost = Cost::of(price, content.usage.as_ref());
        }
        self.effect(Effect::Keep(Keep::Message(Box::new(content.clone()))));
        self.conversation.push(content);
        self.book(cost);
        self.is_stale = true;
    }

    fn measure(&mut self, content: &mut Content) {
        let now = self.view.now;
        let Some(run) = &self.run else { return };
        let counts = counts(content);
        for (index, (block, tokens)) in content.blocks.iter_mut().zip(counts).enumerate() {
            let Block::Thinking(thinking) = block else { continue };
            let entry = run.blocks.get(&index).copied();
            let Some(thought) = entry.and_then(|id| self.view.transcript.thought_mut(id)) else {
                continue;
            };
            let spent = thought.elapsed(now).map(|spent| spent.as_millis());
            let spent = spent.and_then(|spent| u64::try_from(spent).ok());
            // The decoder measures the time at the wire, more exactly than the screen.
            let spent = *thinking.duration_ms.get_or_insert(spent.unwrap_or_default());
            thought.spent = Some(Duration::from_millis(spent));
            thought.running_since = None;
            if thinking.partial {
                thought.state = ThoughtState::Partial;
            }
            thought.tokens = tokens.or(thought.tokens);
            thought.effort.clone_from(&thinking.effort);
        }
    }

    fn on_done(&mut self, ended: Ended) {
        let Some(run) = self.run.take() else { return };
        self.end_entries(&run);
        self.asking = None;
        self.retry_at = None;
        let Ended { failure, note, is_stopped } = ended;
        if is_stopped {
            let text = "interrupted; what was said is kept: say how to go on";
            self.notice(Level::Info, text);
        } else if let Some(failure) = failure {
            self.notice(Level::Error, failure);
        } else {
            if let Some(note) = note {
                self.notice(Level::Warning, note);
            }
            self.ask_for_title();
        }
        self.is_stale = true;
        self.next();
    }

    /// Ends all entries that still look as if they were running.
    fn end_entries(&mut self, run: &Run) {
        let now = self.view.now;
        for entry in run.blocks.values().copied() {
            let is_live = match self.view.transcript.get(entry) {
                Some(Body::Thought(thought)) => thought.state == ThoughtState::Live,
                Some(Body::Tool(tool)) => {
                    matches!(tool.state, ToolState::Running | ToolState::Waiting)
                }
                _ => false,
            };
            if !is_live {
                continue;
            }
            self.view.transcript.edit(entry, |body| match body {
                Body::Thought(thought) => thought.end(ThoughtState::Partial, now),
                Body::Tool(tool) => tool.set_result("it was not run", ToolState::Denied),
                Body::Answer(_) | Body::Compression(_) | Body::Notice(..) | Body::User(_) => {}
            });
        }
    }
}
