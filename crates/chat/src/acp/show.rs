//! Sends the events of an answer to the editor, as updates of the protocol.

use super::rpc::Outbox;
use crate::agent::{Called, Watch};
use crate::counted::withheld;
use crate::failure::why_again;
use crate::gate::Notice;
use crate::tools::{FileChange, Question, ToolKind};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use thinkthrough_client::Retry;
use thinkthrough_core::content::{Content, Media, MediaSource, Thinking, ToolCall, ToolResponse};
use thinkthrough_core::event::Event;
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_json::{Raw, Writer};

const THOUGHT: &str = "agent_thought_chunk";
const WITHHELD: &str = "(the provider withheld the text)";

/// Sends updates to an editor.
pub(super) struct Show<'a> {
    session: &'a str,
    outbox: &'a Outbox,
    /// The request that is being answered, from 1, over all prompts of the session.
    round: &'a AtomicUsize,
    shows_thoughts: bool,
    /// A chunk of the current block was sent.
    has_told: bool,
    /// The warnings that the user has seen.
    warned: Vec<String>,
    /// The thought whose deltas are sent as they come.
    open: Option<usize>,
    /// The texts of later thoughts, until the open one ends. A complete one is marked.
    waiting: BTreeMap<usize, (String, bool)>,
    /// The last chunk belongs to a thought.
    ends_in_thought: bool,
}

impl<'a> Show<'a> {
    pub(super) fn new(
        session: &'a str,
        outbox: &'a Outbox,
        round: &'a AtomicUsize,
        shows_thoughts: bool,
    ) -> Self {
        Show {
            session,
            outbox,
            round,
            shows_thoughts,
            has_told: false,
            warned: Vec::new(),
            open: None,
            waiting: BTreeMap::new(),
            ends_in_thought: false,
        }
    }

    fn update(&self, kind: &str, body: impl FnOnce(&mut Writer)) {
        let params = Raw::build(|w| {
            w.object(|w| {
                w.field_str("sessionId", self.session);
                w.key("update").object(|w| {
                    w.field_str("sessionUpdate", kind);
                    body(w);
                });
            });
        });
        self.outbox.notify("session/update", &params);
    }

    /// Sends a text of the program as text of the model, because the protocol has no other place for it.
    pub(super) fn say(&mut self, text: &str) {
        self.chunk("agent_message_chunk", &format!("\n_{text}_\n\n"));
    }

    /// A block begins.
    pub(super) fn begin(&mut self) {
        self.has_told = false;
    }

    /// Sends a part of a thought. An empty line keeps it apart from a thought right before it.
    pub(super) fn think(&mut self, text: &str) {
        if !self.shows_thoughts || text.is_empty() {
            return;
        }
        match self.ends_in_thought && !self.has_told {
            true => self.chunk(THOUGHT, &format!("\n\n{text}")),
            false => self.chunk(THOUGHT, text),
        }
    }

    /// Sends a complete thought, if no delta of it was sent. `whole` is its text, if the deltas lack it.
    pub(super) fn end_thought(&mut self, thinking: &Thinking, whole: Option<&str>) {
        if !self.has_told {
            self.think(rest_of(thinking, whole));
        }
    }

    fn thought_begins(&mut self, block: usize) {
        if self.open.is_none() {
            self.begin();
            self.open = Some(block);
        } else {
            self.waiting.insert(block, (String::new(), false));
        }
    }

    fn thought_grows(&mut self, block: usize, delta: &str) {
        match self.waiting.get_mut(&block) {
            Some((text, _)) => text.push_str(delta),
            None => self.think(delta),
        }
    }

    /// The thoughts of an answer may grow at the same time, and an editor joins all chunks. So each thought is sent
    /// as one piece.
    fn thought_ends(&mut self, block: usize, thinking: &Thinking, whole: Option<&str>) {
        if let Some((text, is_complete)) = self.waiting.get_mut(&block) {
            *is_complete = true;
            if text.is_empty() {
                text.push_str(rest_of(thinking, whole));
            }
            return;
        }
        self.end_thought(thinking, whole);
        self.open = None;
        while self.open.is_none()
            && let Some((block, (text, is_complete))) = self.waiting.pop_first()
        {
            self.begin();
            self.think(&text);
            self.open = (!is_complete).then_some(block);
        }
    }

    /// A call of the answer that never ran.
    pub(super) fn call_dropped(&self, index: usize) {
        self.call(index, |w| w.field_str("status", "failed"));
    }

    /// The next answer begins.
    pub(super) fn next_round(&self) {
        self.round.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn chunk(&mut self, kind: &str, text: &str) {
        self.has_told = true;
        self.ends_in_thought = kind == THOUGHT;
        self.update(kind, |w| w.key("content").object(|w| write_text(w, text)));
    }

    fn call(&self, index: usize, body: impl FnOnce(&mut Writer)) {
        let id = call_id(self.round.load(Ordering::Acquire), index);
        self.update("tool_call_update", |w| {
            w.field_str("toolCallId", &id);
            body(w);
        });
    }
}

impl Watch for Show<'_> {
    fn event(&mut self, _: usize, event: Event<'_>) {
        match event {
            Event::TextStart { .. } => self.begin(),
            Event::ThinkingStart { block, .. } => self.thought_begins(block),
            Event::ThinkingDelta { block, delta } => self.thought_grows(block, delta),
            Event::ThinkingEnd { block, thinking, thought } => {
                self.thought_ends(block, thinking, thought);
            }
            Event::TextDelta { delta, .. } => self.chunk("agent_message_chunk", delta),
            Event::TextEnd { whole: Some(whole), .. } if !self.has_told => {
                self.chunk("agent_message_chunk", whole);
            }
            _ => {}
        }
    }

    fn outgoing(&mut self, _: usize, request: &Outgoing) {
        self.next_round();
        for warning in &request.warnings {
            if !self.warned.contains(&warning.message) {
                self.warned.push(warning.message.clone());
                self.say(&warning.message);
            }
        }
    }

    fn retry(&mut self, retry: &Retry<'_>) {
        let seconds = retry.wait.as_secs_f32();
        self.say(&format!("{}; trying again in {seconds:.1} s", why_again(retry)));
    }

    fn notice(&mut self, notice: &Notice) {
        self.say(&notice.to_string());
    }

    fn call_weighed(
        &mut self,
        _: usize,
        index: usize,
        call: &ToolCall,
        (kind, title): (ToolKind, &str),
    ) {
        let id = call_id(self.round.load(Ordering::Acquire), index);
        self.update("tool_call", |w| {
            w.field_str("toolCallId", &id);
            w.field_str("title", title);
            w.field_str("kind", kind_word(kind));
            w.field_str("status", "pending");
            if let Ok(input) = Raw::parse(call.parameters.as_text()) {
                w.field_raw("rawInput", &input);
            }
        });
    }

    fn call_started(&mut self, _: usize, index: usize, _: &ToolCall) {
        self.call(index, |w| w.field_str("status", "in_progress"));
    }

    fn call_finished(&mut self, _: usize, index: usize, called: &Called) {
        let status = if called.response.is_error { "failed" } else { "completed" };
        self.call(index, |w| {
            w.field_str("status", status);
            w.key("content").array(|w| match &called.change {
                Some(change) => write_diff(w, change),
                None => {
                    let text = called.response.result.text();
                    w.object(|w| {
                        w.field_str("type", "content");
                        w.key("content").object(|w| write_text(w, &text));
                    });
                    called.media.iter().for_each(|media| write_media(w, media));
                }
            });
        });
    }

    fn tool_response(&mut self, _: usize, _: &ToolResponse) {}

    fn added(&mut self, _: usize, content: &Content) {
        // Thoughts of a broken answer have no end.
        self.open = None;
        for (text, _) in std::mem::take(&mut self.waiting).into_values() {
            self.begin();
            self.think(&text);
        }
        if withheld(content).is_some() {
            self.begin();
            self.think(WITHHELD);
        }
    }
}

/// The text of a complete thought whose deltas had no text.
fn rest_of<'a>(thinking: &Thinking, whole: Option<&'a str>) -> &'a str {
    let withheld = if thinking.has_payload() { WITHHELD } else { "" };
    whole.filter(|whole| !whole.is_empty()).unwrap_or(withheld)
}

/// The call that a question is about.
pub(super) fn write_call(w: &mut Writer, round: usize, question: &Question) {
    w.field_str("toolCallId", &call_id(round, question.index));
    w.field_str("status", "pending");
    w.field_str("kind", kind_word(question.kind));
    let title = match &question.reason {
        Some(reason) => format!("{} ({reason})", question.title),
        None => question.title.clone(),
    };
    w.field_str("title", &title);
    if let Some(change) = &question.change {
        w.key("content").array(|w| write_diff(w, change));
        w.key("locations").array(|w| {
            w.object(|w| w.field_str("path", &change.path.display().to_string()));
        });
    }
}

/// The place of the call in the session. The provider's ids are not used, because they may be missing or repeated.
fn call_id(round: usize, index: usize) -> String {
    format!("call-{round}-{index}")
}

const fn kind_word(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Edit => "edit",
        ToolKind::Execute => "execute",
        ToolKind::Read => "read",
        ToolKind::Search => "search",
        ToolKind::Other => "other",
    }
}

fn write_text(w: &mut Writer, text: &str) {
    w.field_str("type", "text");
    w.field_str("text", text);
}

fn write_diff(w: &mut Writer, change: &FileChange) {
    w.object(|w| {
        w.field_str("type", "diff");
        w.field_str("path", &change.path.display().to_string());
        w.str_or_null("oldText", change.old.as_deref());
        w.field_str("newText", &change.new);
    });
}

fn write_media(w: &mut Writer, media: &Media) {
    let MediaSource::Data(data) = &media.source else { return };
    if !media.media_type.starts_with("image/") {
        return;
    }
    w.object(|w| {
        w.field_str("type", "content");
        w.key("content").object(|w| {
            w.field_str("type", "image");
            w.field_str("data", data);
            w.field_str("mimeType", &media.media_type);
        });
    });
}
