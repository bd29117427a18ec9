//! The items of a trace: the question and tool results that are new in its request, the calls of its answer, and a
//! refusal in the provider's own words.
//!
//! The row of a trace has only thoughts and answers. Its items are in a table of their own, sealed, and no search
//! reads them.

use std::borrow::Cow;
use thinkthrough_core::content::{Block, Content, Speaker};
use thinkthrough_core::plane::Maskable;
use thinkthrough_json::{Doc, Val, Writer};
use thinkthrough_mask::Masker;

/// The most bytes of the text of an item.
const LONGEST: usize = 16 << 10;
/// The most bytes of a name or an id.
const NAME: usize = 256;
/// The most items of a trace, and the most bytes of all their texts.
const MOST: usize = 128;
const BYTES: usize = 512 << 10;
/// The longest title, in letters.
const TITLE: usize = 120;

/// The content of traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceContent {
    /// Thoughts and answers only.
    Thoughts,
    /// Also the items.
    #[default]
    Turn,
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceItemKind {
    /// A tool call of the answer, with its arguments.
    Call,
    /// A text of the user.
    Question,
    /// The provider's words for a request that it refused.
    Refusal,
    /// The result of a tool.
    Result,
}

impl TraceItemKind {
    const ALL: [Self; 4] = [Self::Call, Self::Question, Self::Refusal, Self::Result];

    /// The public spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            TraceItemKind::Call => "call",
            TraceItemKind::Question => "question",
            TraceItemKind::Refusal => "refusal",
            TraceItemKind::Result => "result",
        }
    }
}

/// An item of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceItem {
    /// The kind.
    pub kind: TraceItemKind,
    /// The name of the tool.
    pub name: Option<String>,
    /// The id of the call, in the call and in its result.
    pub call_id: Option<String>,
    /// The text, or its first 16 KiB.
    pub text: String,
    /// The tool failed.
    pub is_error: bool,
    /// The text was longer.
    pub is_cut: bool,
}

impl TraceItem {
    fn new(kind: TraceItemKind, text: &str) -> Self {
        let kept = beginning(text, LONGEST);
        TraceItem {
            kind,
            name: None,
            call_id: None,
            text: kept.to_owned(),
            is_error: false,
            is_cut: kept.len() < text.len(),
        }
    }

    fn of_tool(self, name: Option<&str>, call_id: Option<&str>) -> Self {
        let short = |text: Option<&str>| text.map(|text| beginning(text, NAME).to_owned());
        TraceItem { name: short(name), call_id: short(call_id), ..self }
    }

    fn size(&self) -> usize {
        let names = [&self.name, &self.call_id];
        self.text.len() + names.into_iter().flatten().map(String::len).sum::<usize>()
    }

    fn write(&self, w: &mut Writer) {
        w.object(|w| {
            w.field_str("type", self.kind.as_str());
            w.opt_str("name", self.name.as_deref());
            w.opt_str("call_id", self.call_id.as_deref());
            w.field_str("text", &self.text);
            for (name, is_so) in [("is_error", self.is_error), ("is_cut", self.is_cut)] {
                if is_so {
                    w.field_bool(name, true);
                }
            }
        });
    }

    fn read(value: Val<'_>) -> Option<Self> {
        let kind = value.text("type")?;
        Some(TraceItem {
            kind: TraceItemKind::ALL.into_iter().find(|it| it.as_str() == kind)?,
            name: value.string("name"),
            call_id: value.string("call_id"),
            text: value.string("text")?,
            is_error: value.bool("is_error") == Some(true),
            is_cut: value.bool("is_cut") == Some(true),
        })
    }
}

impl Maskable for TraceItem {
    fn masked(&self, masker: &Masker) -> Self {
        let text = match self.is_cut {
            true => thinkthrough_core::plane::Masked::beginning(masker, &self.text).into_inner(),
            false => self.text.masked(masker),
        };
        // A placeholder may be longer than its secret.
        let kept = beginning(&text, LONGEST);
        TraceItem {
            kind: self.kind,
            name: self.name.masked(masker),
            call_id: self.call_id.masked(masker),
            is_error: self.is_error,
            is_cut: self.is_cut || kept.len() < text.len(),
            text: kept.to_owned(),
        }
    }
}

/// The items of a trace, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceItems {
    items: Vec<TraceItem>,
    /// The number of items beyond the limits.
    left_out: u64,
}

impl TraceItems {
    /// The items that are new in a request: its messages after the last answer.
    #[must_use]
    pub fn asked(contents: &[Content]) -> Self {
        let answered = contents.iter().rposition(|content| content.speaker == Speaker::Ai);
        let (before, new) = contents.split_at(answered.map_or(0, |at| at + 1));
        // Only the calls can name the tools of results on some wires.
        let calls = before.last().map(Content::tool_calls).into_iter().flatten();
        let calls: Vec<_> = calls.map(|call| (call.id.as_deref(), call.name.as_str())).collect();
        let mut all = Self::default();
        for content in new.iter().filter(|content| content.speaker != Speaker::System) {
            content.blocks.iter().for_each(|block| all.ask(block, &calls));
        }
        all
    }

    fn ask(&mut self, block: &Block, calls: &[(Option<&str>, &str)]) {
        match block {
            Block::Text(text) if !text.text.is_empty() => {
                self.push(TraceItem::new(TraceItemKind::Question, &text.text));
            }
            Block::Media(media) => {
                let text = format!("[{}]", media.media_type);
                self.push(TraceItem::new(TraceItemKind::Question, &text));
            }
            Block::ToolResponse(response) => {
                let call_id = response.call_id.as_deref();
                let known = calls.iter().find(|(id, _)| call_id.is_some() && *id == call_id);
                let name = response.name.as_deref().or(known.map(|(_, name)| *name));
                let item = TraceItem::new(TraceItemKind::Result, &response.result.text());
                let is_error = response.is_error;
                self.push(TraceItem { is_error, ..item.of_tool(name, call_id) });
            }
            Block::Text(_) | Block::Thinking(_) | Block::ToolCall(_) | Block::Other(_) => {}
        }
    }

    /// Adds the tool calls of an answer.
    pub fn add_calls(&mut self, blocks: &[Block]) {
        for block in blocks {
            if let Block::ToolCall(call) = block {
                let item = TraceItem::new(TraceItemKind::Call, call.parameters.as_text());
                self.push(item.of_tool(Some(&call.name), call.id.as_deref()));
            }
        }
    }

    /// Adds the provider's words for a refusal.
    pub fn add_refusal(&mut self, words: &str) {
        self.push(TraceItem::new(TraceItemKind::Refusal, words));
    }

    /// Adds further items behind these.
    pub fn append(&mut self, further: TraceItems) {
        self.left_out += further.left_out;
        further.items.into_iter().for_each(|item| self.push(item));
    }

    fn push(&mut self, item: TraceItem) {
        if self.items.len() >= MOST || self.size() + item.size() > BYTES {
            self.left_out += 1;
        } else {
            self.items.push(item);
        }
    }

    /// The items, without those beyond the limits.
    #[must_use]
    pub fn all(&self) -> &[TraceItem] {
        &self.items
    }

    /// The number of items beyond the limits.
    #[must_use]
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Whether there is nothing to store.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty() && self.left_out == 0
    }

    /// The bytes of all texts.
    #[must_use]
    pub fn size(&self) -> usize {
        self.items.iter().map(TraceItem::size).sum()
    }

    /// The first words of the question, on one line. Clients put context between tags before the user's own words, so
    /// that the last text without a tag at its beginning counts.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        let texts = self.items.iter().filter(|item| item.kind == TraceItemKind::Question);
        let texts: Vec<&str> = texts.map(|item| item.text.trim()).collect();
        let own = texts.iter().rfind(|text| !text.starts_with(['<', '[']));
        let words = own.or_else(|| texts.last())?.split_whitespace().collect::<Vec<_>>().join(" ");
        let title: String = words.chars().take(TITLE).collect();
        let is_cut = title.len() < words.len();
        (!title.is_empty()).then(|| if is_cut { title + "\u{2026}" } else { title })
    }

    /// Writes the items as a JSON array, or `null` without items. An object of the type `left_out` at its end counts
    /// the items beyond the limits.
    pub fn write(&self, w: &mut Writer) {
        if self.is_empty() {
            return w.null();
        }
        w.array(|w| {
            self.items.iter().for_each(|item| item.write(w));
            if self.left_out > 0 {
                w.object(|w| {
                    w.field_str("type", LEFT_OUT);
                    w.field_u64("count", self.left_out);
                });
            }
        });
    }

    /// Reads the array of [`TraceItems::write`]. Unknown items are skipped.
    pub(crate) fn read(plain: &[u8]) -> Option<Self> {
        let doc = Doc::parse(plain).ok()?;
        let mut all = TraceItems::default();
        for value in doc.root().items() {
            match value.text("type") {
                Some(Cow::Borrowed(LEFT_OUT)) => {
                    all.left_out = value.u64("count").unwrap_or_default();
                }
                _ => all.items.extend(TraceItem::read(value)),
            }
        }
        Some(all)
    }
}

/// The type of the object that counts the items beyond the limits.
const LEFT_OUT: &str = "left_out";

impl Maskable for TraceItems {
    fn masked(&self, masker: &Masker) -> Self {
        TraceItems { items: self.items.masked(masker), left_out: self.left_out }
    }
}

/// At most this many bytes of a text, up to the end of a letter.
fn beginning(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_core::content::{ToolCall, ToolResponse};
    use thinkthrough_core::plane::Masked;
    use thinkthrough_json::{Extra, Raw};
    use thinkthrough_mask::Tiers;

    fn result(call_id: &str, text: &str) -> Block {
        Block::ToolResponse(ToolResponse {
            call_id: Some(call_id.to_owned()),
            name: None,
            result: Raw::build(|w| w.str(text)).into(),
            is_error: true,
            extra: Extra::default(),
        })
    }

    fn written(items: &TraceItems) -> String {
        let mut w = Writer::new();
        items.write(&mut w);
        w.finish()
    }

    #[test]
    fn only_what_follows_the_last_answer_is_new() {
        let call = Block::ToolCall(ToolCall::new(Some("c1"), "grep"));
        let contents = [
            Content::text(Speaker::System, "be brief"),
            Content::text(Speaker::Human, "first"),
            Content::new(Speaker::Ai, vec![Block::text("hm"), call]),
            Content::new(Speaker::Tool, vec![result("c1", "no such file")]),
            Content::text(Speaker::Human, "and now?"),
        ];
        let mut items = TraceItems::asked(&contents);
        items.add_calls(&[Block::text("so"), Block::ToolCall(ToolCall::new(None, "ls"))]);
        items.add_refusal("too long");
        let expected = "[{\"type\":\"result\",\"name\":\"grep\",\"call_id\":\"c1\",\"text\":\"no such file\",\
            \"is_error\":true},{\"type\":\"question\",\"text\":\"and now?\"},\
            {\"type\":\"call\",\"name\":\"ls\",\"text\":\"{}\"},{\"type\":\"refusal\",\"text\":\"too long\"}]";
        assert_eq!(written(&items), expected);
        assert_eq!(TraceItems::read(expected.as_bytes()), Some(items));
        let first = TraceItems::asked(contents.get(..2).unwrap());
        assert_eq!(written(&first), "[{\"type\":\"question\",\"text\":\"first\"}]");
        assert_eq!(written(&TraceItems::default()), "null");
    }

    #[test]
    fn items_are_capped_before_and_after_masking_and_counted_beyond_the_limits() {
        let masker = Masker::new(Tiers::ALL, &[7; 32]);
        let long = "password=hunter2x ".repeat(2_000);
        let mut items = TraceItems::asked(&[Content::text(Speaker::Human, long)]);
        let masked = Masked::by(&masker, &items).into_inner();
        let [item] = masked.all() else { panic!("one item") };
        assert!(item.is_cut && item.text.len() <= LONGEST && item.text.len() > LONGEST - 100);
        assert!(!item.text.contains("hunter2x"), "{}", item.text);
        (0..200).for_each(|_| items.add_refusal(&"x".repeat(LONGEST)));
        assert_eq!((items.all().len(), items.left_out()), (32, 169));
        assert!(items.size() <= BYTES);
        assert_eq!(TraceItems::read(written(&items).as_bytes()), Some(items));
    }

    #[test]
    fn a_secret_is_masked_in_every_member() {
        let masker = Masker::new(Tiers::ALL, &[7; 32]);
        let key = format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3));
        let mut call = ToolCall::new(Some(&key), &key);
        let arguments = Raw::build(|w| w.object(|w| w.field_str("token", &key)));
        call.parameters = thinkthrough_core::content::Parameters::Json(arguments);
        let said = Content::new(Speaker::Tool, vec![result(&key, &key), Block::text(&key)]);
        let mut items = TraceItems::asked(&[said]);
        items.add_calls(&[Block::ToolCall(call)]);
        items.add_refusal(&key);
        let masked = written(Masked::by(&masker, &items).get());
        assert!(!masked.contains(&key) && masked.matches("[masked:").count() == 7, "{masked}");
    }

    #[test]
    fn the_title_is_the_users_own_words() {
        let asked = |texts: &[&str]| {
            let blocks = texts.iter().map(|text| Block::text(*text)).collect();
            TraceItems::asked(&[Content::new(Speaker::Human, blocks)]).title()
        };
        assert_eq!(asked(&[]), None);
        assert_eq!(asked(&["<reminder>x</reminder>", " Fix \n it "]).as_deref(), Some("Fix it"));
        assert_eq!(asked(&["Fix it", "<env>x</env>"]).as_deref(), Some("Fix it"));
        assert_eq!(asked(&["<env>x</env>"]).as_deref(), Some("<env>x</env>"));
        let long = asked(&["word ".repeat(100).as_str()]).unwrap();
        assert!(long.chars().count() == TITLE + 1 && long.ends_with('\u{2026}'), "{long}");
    }
}
