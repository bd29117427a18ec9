//! The differences between the incoming and the outgoing request, for people.
//!
//! Both are compared in the neutral form, so that it does not matter whether the caller's own bytes were edited or a
//! request of another wire was written. A text is represented by its beginning, an opaque payload by its size.

use super::align;
use crate::content::{Block, Content, MediaSource};
use crate::json::{Doc, Raw};

/// The most differences that are listed.
const MOST: usize = 64;
/// The most bytes of a text that are shown.
const WORDS: usize = 1024;
/// The most bytes of a member's value that are shown.
const VALUE: usize = 200;

/// The differences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// In the messages, in their order.
    pub list: Vec<Difference>,
    /// The number of further differences.
    pub more: usize,
    /// The members of the request beside its messages that changed, each with its outgoing value; empty for a request
    /// that is newly written for another wire.
    pub members: Vec<(String, String)>,
}

/// A block that differs between the incoming and the outgoing request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The index of the message.
    pub message: usize,
    /// The index of the block in the outgoing message; for a removed block, the index that it would have.
    pub block: usize,
    /// The incoming block; `None` for an added block.
    pub came: Option<Side>,
    /// The outgoing block; `None` for a removed block.
    pub goes: Option<Side>,
}

/// A block, in the detail that people see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The kind: `thinking`, `text`, `tool_call`, `tool_response`, `media`, `other`, or `payload`: an opaque one on
    /// the message as a whole.
    pub kind: &'static str,
    /// The size of its text in bytes.
    pub bytes: usize,
    /// The size of its opaque payloads in bytes.
    pub sealed: usize,
    /// The beginning of its text; of calls and their results the id and the tool. It is not masked yet. A cut text
    /// ends with a whole word.
    pub words: String,
}

impl Differences {
    /// The differences between the messages that came and the messages that go out. Every message keeps its index; a
    /// message that was merged into another one, or described in another one, has no blocks.
    #[must_use]
    pub fn of(came: &[Content], goes: &[Content]) -> Self {
        let mut found = Differences::default();
        // Usually they are identical.
        if std::ptr::eq(came, goes) {
            return found;
        }
        for (message, (came, goes)) in came.iter().zip(goes).enumerate() {
            if came != goes {
                found.message(message, came, goes);
            }
        }
        found
    }

    /// Records members that are set to these values, if the request has other values.
    pub(super) fn set(&mut self, doc: &Doc<'_>, members: &Raw) {
        for (name, value) in members.doc().root().entries() {
            if doc.root().get(&name).is_none_or(|it| it.raw() != value.raw()) {
                self.members.retain(|(known, _)| *known != *name);
                let value = cut(value.raw(), VALUE).to_owned();
                self.members.push((name.into_owned(), value));
            }
        }
    }

    fn message(&mut self, message: usize, came: &Content, goes: &Content) {
        let (old, new) = (came.blocks.as_slice(), goes.blocks.as_slice());
        let (mut gone, mut at) = (0, 0);
        for (block, other) in align::pairs(old, new).into_iter().chain([(old.len(), new.len())]) {
            let between = (old.get(gone..block), new.get(at..other));
            let (old, new) = (between.0.unwrap_or_default(), between.1.unwrap_or_default());
            self.blocks((message, at), old, new);
            (gone, at) = (block + 1, other + 1);
        }
        if came.signature != goes.signature {
            let [came, goes] = [came, goes].map(|it| it.signature.as_deref().map(Side::payload));
            self.add(message, new.len(), came, goes);
        }
    }

    /// Walks two lists at once that have no block in common: one becomes the next of its kind.
    fn blocks(&mut self, (message, first): (usize, usize), old: &[Block], new: &[Block]) {
        let (mut gone, mut at) = (0, 0);
        loop {
            let (block, other) = (old.get(gone), new.get(at));
            let (drops, adds) = match (block, other) {
                (None, None) => return,
                (Some(_), None) => (true, false),
                (None, Some(_)) => (false, true),
                (Some(block), Some(_)) => {
                    let kind = Side::kind(block);
                    let mut rest = new.iter().skip(at).map(Side::kind);
                    let next = rest.position(|it| it == kind);
                    (next.unwrap_or(0) == 0, next.is_some())
                }
            };
            let [came, goes] = [block.filter(|_| drops), other.filter(|_| adds)];
            self.add(message, first + at, came.map(Side::of), goes.map(Side::of));
            (gone, at) = (gone + usize::from(drops), at + usize::from(adds));
        }
    }

    fn add(&mut self, message: usize, block: usize, came: Option<Side>, goes: Option<Side>) {
        match self.list.len() < MOST {
            true => self.list.push(Difference { message, block, came, goes }),
            false => self.more += 1,
        }
    }
}

impl Side {
    fn kind(block: &Block) -> &'static str {
        match block {
            Block::Media(_) => "media",
            Block::Other(_) => "other",
            Block::Text(_) => "text",
            Block::Thinking(_) => "thinking",
            Block::ToolCall(_) => "tool_call",
            Block::ToolResponse(_) => "tool_response",
        }
    }

    fn of(block: &Block) -> Self {
        let size = |payload: &Option<String>| payload.as_ref().map_or(0, String::len);
        let (bytes, sealed, words) = match block {
            Block::Media(media) => match &media.source {
                MediaSource::Data(data) => (data.len(), 0, media.media_type.clone()),
                MediaSource::Url(url) => (url.len(), 0, media.media_type.clone()),
            },
            Block::Other(other) => (other.raw.as_str().len(), 0, other.kind.clone()),
            Block::Text(text) => (text.text.len(), size(&text.signature), cut_words(&text.text)),
            Block::Thinking(it) => {
                let sealed = [&it.signature, &it.redacted_data, &it.encrypted_content];
                let sealed = sealed.into_iter().map(size).sum();
                (it.thought.len(), sealed, cut_words(&it.thought))
            }
            Block::ToolCall(call) => {
                let id = call.id.as_deref().unwrap_or("no id");
                let words = format!("{} ({id})", call.name);
                (call.parameters.as_text().len(), size(&call.signature), cut_words(&words))
            }
            Block::ToolResponse(result) => {
                let id = result.call_id.as_deref().unwrap_or("no id");
                let words = format!("{} ({id})", result.name.as_deref().unwrap_or("result"));
                (result.result.size(), 0, cut_words(&words))
            }
        };
        Side { kind: Self::kind(block), bytes, sealed, words }
    }

    fn payload(signature: &str) -> Self {
        Side { kind: "payload", bytes: 0, sealed: signature.len(), words: String::new() }
    }
}

/// The beginning of a text, up to the end of a word: of a secret that is cut no half is left.
fn cut_words(text: &str) -> String {
    let text = text.trim();
    let begin = cut(text, WORDS);
    match begin.len() < text.len() {
        true => begin.rfind(char::is_whitespace).and_then(|end| begin.get(..end)),
        false => Some(begin),
    }
    .unwrap_or_default()
    .to_owned()
}

fn cut(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    text.get(..end.unwrap_or_default()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{Speaker, Thinking, ToolCall};

    fn answer(blocks: Vec<Block>) -> Content {
        Content::new(Speaker::Ai, blocks)
    }

    fn thought(text: &str) -> Block {
        Block::Thinking(Thinking::new(text, "reasoning_content"))
    }

    /// The differences, as a line for each: message, block, incoming side and outgoing side.
    fn told(came: &[Content], goes: &[Content]) -> Vec<String> {
        let side =
            |side: &Option<Side>| side.as_ref().map(|it| format!("{} {}", it.kind, it.words));
        let found = Differences::of(came, goes);
        let lines = found.list.iter().map(|it| {
            let [came, goes] = [&it.came, &it.goes].map(|it| side(it).unwrap_or("-".to_owned()));
            format!("{}.{}: {came} > {goes}", it.message, it.block)
        });
        lines.collect()
    }

    #[test]
    fn what_is_put_in_left_out_and_changed_stands_at_its_place() {
        let call = |id| Block::ToolCall(ToolCall::new(Some(id), "ls"));
        let came = vec![
            answer(vec![Block::text("a"), call("tk_1")]),
            answer(vec![thought("its own"), Block::text("b")]),
            answer(vec![call("tk_2")]),
        ];
        let goes = [
            answer(vec![thought("restored"), Block::text("a"), call("call_1")]),
            answer(vec![Block::text("b")]),
            answer(vec![thought("c"), call("call_2")]),
        ];
        let expected = [
            "0.0: - > thinking restored",
            "0.2: tool_call ls (tk_1) > tool_call ls (call_1)",
            "1.0: thinking its own > -",
            "2.0: - > thinking c",
            "2.1: tool_call ls (tk_2) > tool_call ls (call_2)",
        ];
        assert_eq!(told(&came, &goes), expected);
    }

    #[test]
    fn payloads_on_a_message_count_and_what_others_took_in_is_left_out() {
        let mut signed = answer(vec![Block::text("a")]);
        signed.signature = Some("sealed".to_owned());
        let came = vec![signed, answer(vec![Block::text("b")]), answer(vec![Block::text("c")])];
        let goes = [
            answer(vec![Block::text("a"), Block::text("b")]),
            answer(Vec::new()),
            answer(vec![Block::text("c")]),
        ];
        let expected = ["0.1: - > text b", "0.2: payload  > -", "1.0: text b > -"];
        assert_eq!(told(&came, &goes), expected);
    }

    #[test]
    fn in_a_long_message_too_only_what_changed_is_told() {
        let texts = |from: usize| (from..from + 200).map(|n| Block::text(n.to_string()));
        let came = vec![answer(texts(0).chain(texts(200)).collect())];
        let mut goes = came.clone();
        goes[0].blocks.insert(200, thought("in the middle"));
        goes[0].blocks.insert(0, thought("before"));
        let expected = ["0.0: - > thinking before", "0.201: - > thinking in the middle"];
        assert_eq!(told(&came, &goes), expected);
    }

    #[test]
    fn of_many_some_are_listed_and_the_rest_is_counted() {
        let came = vec![answer(Vec::new())];
        let goes = [answer((0..MOST + 3).map(|at| thought(&at.to_string())).collect())];
        let found = Differences::of(&came, &goes);
        assert_eq!((found.list.len(), found.more), (MOST, 3));
    }

    #[test]
    fn a_text_that_is_cut_ends_with_a_word() {
        let text = format!("first {}", "x".repeat(2 * WORDS));
        assert_eq!(cut_words(&text), "first");
        assert_eq!(cut_words(&"x".repeat(2 * WORDS)), "");
        assert_eq!(cut_words(" as it is "), "as it is");
    }

    #[test]
    fn members_that_say_something_else_are_told_once() {
        let doc = Doc::parse_str(r#"{"model":"kimi","stream":true}"#).unwrap();
        let mut found = Differences::default();
        for members in [r#"{"model":"a","stream":true}"#, r#"{"model":"b","n":1}"#] {
            found.set(&doc, &Raw::parse(members).unwrap());
        }
        let expected = [("model", "\"b\""), ("n", "1")];
        assert_eq!(found.members, expected.map(|(name, to)| (name.to_owned(), to.to_owned())));
    }
}
