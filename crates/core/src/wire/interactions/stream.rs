//! The decoder of interaction streams.

use super::ID;
use super::response;
use super::step::{StepKind, call, media, other_part, text, text_part, thought};
use crate::event::{Event, Fact, Sink};
use crate::json::{Doc, Raw, Val};
use crate::problem::{Problem, ProblemCode};
use crate::wire::Decode;
use crate::wire::open::{OpenBlocks, Part};

/// The state of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decoder {
    open: OpenBlocks,
    /// The steps that have begun and not stopped.
    steps: Vec<Step>,
    /// Some step came.
    has_steps: bool,
    id: Option<String>,
    model: Option<String>,
    /// The wire's own end of stream was seen.
    ended: bool,
    error: Option<String>,
    unknown: Vec<String>,
}

/// One open step.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    index: u64,
    kind: StepKind,
    /// The key and kind of its latest block.
    key: u64,
    is_text: bool,
}

/// More names of unknown events than this are not distinguished.
const MAX_UNKNOWN: usize = 16;

/// Keys of blocks are those of their step times this, plus their place in it.
const PARTS: u64 = 1 << 20;

impl Decode for Decoder {
    fn message(&mut self, name: Option<&str>, data: &str, sink: &mut dyn Sink) {
        if data.trim() == "[DONE]" {
            return;
        }
        match Doc::parse_str(data) {
            Ok(doc) => self.event(name, doc.root(), sink),
            Err(error) => {
                let problem = Problem::new(ProblemCode::Malformed, error.to_string());
                sink.event(Event::Problem(&problem.at(name.unwrap_or("data"))));
            }
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) {
        self.open.end_all(true, sink);
        self.steps.clear();
        if !self.ended {
            let message = "the stream ended before `interaction.completed`";
            sink.event(Event::Problem(&Problem::new(ProblemCode::Truncated, message)));
        }
    }

    fn is_complete(&self) -> bool {
        self.ended
    }

    crate::wire::decode_is_value!();
}

impl Decoder {
    fn event(&mut self, name: Option<&str>, data: Val<'_>, sink: &mut dyn Sink) {
        let kind = data.text("event_type").or_else(|| data.text("type"));
        let kind = kind.as_deref().or(name).unwrap_or_default();
        match kind {
            "interaction.created" | "interaction.start" => {
                if let Some(interaction) = data.get("interaction") {
                    self.facts(interaction, sink);
                }
            }
            "step.start" => self.start(data, data.get("step"), sink),
            "content.start" => self.start(data, data.get("content"), sink),
            "step.delta" | "content.delta" => self.delta(data, sink),
            "step.stop" | "content.stop" => {
                let index = data.u64("index").unwrap_or(0);
                self.stop(index, sink);
            }
            "interaction.completed" | "interaction.complete" => self.completed(data, sink),
            "interaction.status_update" | "interaction.in_progress" | "ping" | "keepalive" => {}
            _ if data.some("error").is_some() => self.error(response::error_of(data), sink),
            _ => self.unknown(kind, sink),
        }
    }

    fn facts(&mut self, interaction: Val<'_>, sink: &mut dyn Sink) {
        if let Some(model) = interaction.string("model")
            && self.model.as_ref() != Some(&model)
        {
            sink.event(Event::Fact(Fact::Model(&model)));
            self.model = Some(model);
        }
        if let Some(id) = interaction.string("id")
            && self.id.as_ref() != Some(&id)
        {
            sink.event(Event::Fact(Fact::ResponseId(&id)));
            self.id = Some(id);
        }
    }

    fn start(&mut self, data: Val<'_>, step: Option<Val<'_>>, sink: &mut dyn Sink) {
        let Some(step) = step else { return };
        let index = data.u64("index").unwrap_or(0);
        self.stop(index, sink);
        self.begin(index, step, sink);
    }

    /// Begins a step with the members of its start.
    pub(super) fn begin(&mut self, index: u64, step: Val<'_>, sink: &mut dyn Sink) {
        let kind = StepKind::of(step);
        let key = index.saturating_mul(PARTS);
        self.has_steps = true;
        self.steps.push(Step { index, kind, key, is_text: false });
        match kind {
            StepKind::Thought => {
                let (thinking, said) = thought(step);
                self.open.start(key, Part::Thinking(thinking), sink);
                self.open.push(key, &said, sink);
            }
            StepKind::Call => {
                let part = Part::Call { call: call(step), text: String::new() };
                self.open.start(key, part, sink);
            }
            StepKind::Output => {
                let contents = step.get("content");
                match contents {
                    Some(contents) => {
                        contents.each().for_each(|content| self.content(index, content, sink));
                    }
                    None => self.content(index, step, sink),
                }
            }
            StepKind::Other => self.open.start(key, other_part(step), sink),
        }
    }

    fn delta(&mut self, data: Val<'_>, sink: &mut dyn Sink) {
        let index = data.u64("index").unwrap_or(0);
        let Some(delta) = data.get("delta") else { return };
        let kind = delta.text("type").unwrap_or_default();
        if !self.steps.iter().any(|step| step.index == index) {
            self.begin_by_delta(index, &kind, sink);
        }
        let Some(step) = self.steps.iter().rfind(|step| step.index == index) else { return };
        let (key, step_kind) = (step.key, step.kind);
        match (step_kind, &*kind) {
            (_, "thought_signature") => {
                let signature = delta.text("signature").unwrap_or_default();
                self.sign(key, &signature);
            }
            (StepKind::Thought, _) => {
                let content = delta.get("content").unwrap_or(delta);
                let said = content.text("text").unwrap_or_default();
                self.open.push(key, &said, sink);
            }
            (StepKind::Call, _) => {
                if let Some(arguments) = delta.get("arguments") {
                    let more = arguments.as_str().unwrap_or(arguments.raw().into());
                    self.open.push(key, &more, sink);
                }
            }
            (StepKind::Output, "text_annotation_delta") => self.annotate(key, delta),
            (StepKind::Output, _) => self.content(index, delta, sink),
            (StepKind::Other, _) => {
                if let Some(Part::Other(other)) = self.open.part(key) {
                    for (name, value) in delta.entries().filter(|(name, _)| name != "type") {
                        other.add(&name, value);
                    }
                }
            }
        }
    }

    /// A step whose start did not come is known by its deltas.
    fn begin_by_delta(&mut self, index: u64, kind: &str, sink: &mut dyn Sink) {
        let step = match kind {
            "thought_summary" | "thought_signature" => r#"{"type":"thought"}"#,
            "arguments_delta" => r#"{"type":"function_call"}"#,
            _ => r#"{"type":"model_output","content":[]}"#,
        };
        if let Ok(doc) = Doc::parse_str(step) {
            self.begin(index, doc.root(), sink);
        }
    }

    /// A signature for a thought or a call. It may come in pieces.
    fn sign(&mut self, key: u64, signature: &str) {
        let slot = match self.open.part(key) {
            Some(Part::Thinking(thinking)) => &mut thinking.signature,
            Some(Part::Call { call, .. }) => &mut call.signature,
            Some(Part::Text { text, .. }) => &mut text.signature,
            Some(Part::Other(_)) | None => return,
        };
        if !signature.is_empty() {
            slot.get_or_insert_default().push_str(signature);
        }
    }

    fn annotate(&mut self, key: u64, delta: Val<'_>) {
        let Some(Part::Text { text, .. }) = self.open.part(key) else { return };
        let Some(more) = delta.get("annotations") else { return };
        let list = match text.extra.get(ID, "annotations") {
            Some(old) => Raw::build(|w| {
                w.array(|w| {
                    old.doc().root().items().for_each(|item| w.raw_str(item.raw()));
                    more.items().for_each(|item| w.raw_str(item.raw()));
                });
            }),
            None => Raw::from(more),
        };
        text.extra.insert(ID, "annotations", list);
    }

    /// A content of the model. Consecutive texts are one block unless a later one has fields of its own.
    fn content(&mut self, index: u64, content: Val<'_>, sink: &mut dyn Sink) {
        let Some(step) = self.steps.iter_mut().rfind(|step| step.index == index) else { return };
        let said = content.text("text").filter(|_| {
            content.text("type").is_none_or(|kind| matches!(&*kind, "text" | "model_output"))
        });
        let Some(said) = said else {
            if content.text("type").is_none_or(|kind| matches!(&*kind, "text" | "model_output")) {
                return;
            }
            self.open.end(step.key, sink);
            step.key += 1;
            step.is_text = false;
            self.open.whole(&media(content), sink);
            return;
        };
        let fields = text(content);
        if !step.is_text || !fields.extra.is_empty() {
            self.open.end(step.key, sink);
            step.key += 1;
            step.is_text = true;
            self.open.start(step.key, text_part(fields), sink);
        }
        self.open.push(step.key, &said, sink);
    }

    /// Ends a step.
    pub(super) fn stop(&mut self, index: u64, sink: &mut dyn Sink) {
        while let Some(at) = self.steps.iter().position(|step| step.index == index) {
            let step = self.steps.remove(at);
            self.open.end(step.key, sink);
        }
    }

    fn completed(&mut self, data: Val<'_>, sink: &mut dyn Sink) {
        let interaction = data.get("interaction").unwrap_or(data);
        let open: Vec<u64> = self.steps.iter().map(|step| step.index).collect();
        open.into_iter().for_each(|index| self.stop(index, sink));
        self.facts(interaction, sink);
        if !self.has_steps {
            self.steps_of(interaction, sink);
        }
        self.ended = true;
        response::end(interaction, sink);
    }

    /// All steps of a whole interaction.
    pub(super) fn steps_of(&mut self, interaction: Val<'_>, sink: &mut dyn Sink) {
        // Older revisions call them outputs.
        let steps = interaction.some("steps").or_else(|| interaction.some("outputs"));
        for (step, index) in steps.iter().flat_map(|steps| steps.items()).zip(0..) {
            self.begin(index, step, sink);
            self.stop(index, sink);
        }
    }

    fn error(&mut self, error: Problem, sink: &mut dyn Sink) {
        self.ended = true;
        if self.error.as_ref() != Some(&error.message) {
            sink.event(Event::Problem(&error));
            self.error = Some(error.message);
        }
    }

    fn unknown(&mut self, name: &str, sink: &mut dyn Sink) {
        if self.unknown.len() >= MAX_UNKNOWN || self.unknown.iter().any(|known| known == name) {
            return;
        }
        let problem = Problem::new(ProblemCode::Unknown, "an event that is not known was skipped");
        sink.event(Event::Problem(&problem.at(name)));
        self.unknown.push(name.to_owned());
    }
}
