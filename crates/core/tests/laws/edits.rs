//! Laws of edits over a caller's bytes.

use std::borrow::Cow;
use std::collections::BTreeSet;
use thinkthrough_core::content::{Block, Content, Speaker, Thinking};
use thinkthrough_core::edit::request::{Additions, Unplaced, plan};
use thinkthrough_core::edit::stream::{StreamEdit, rename_calls, rename_model};
use thinkthrough_core::edit::{Change, Draft, What, changed};
use thinkthrough_core::frame::Framing;
use thinkthrough_core::wire::{Dialect, Wire, find};
use thinkthrough_json::{Doc, Val};

use super::random::{Random, pieces};
use super::wires::given_or_spelled;

/// The wires whose requests can be edited, and their lists of messages.
const WIRES: [(&str, &str); 5] = [
    ("chat-completions", "messages"),
    ("messages", "messages"),
    ("responses", "input"),
    ("generate-content", "contents"),
    ("ollama-chat", "messages"),
];

/// Thoughts go in and out of any request that can be read: what comes out is a request with exactly these thoughts, every
/// message of the caller stands there byte for byte, and a request that has grown at its end grows at its end.
pub(crate) fn requests_keep_their_bytes(bytes: &[u8]) {
    let &[choice, seed, ref body @ ..] = bytes else { return };
    let (id, key) = WIRES[usize::from(choice) % WIRES.len()];
    let body = given_or_spelled(body);
    let body = Body { wire: find(id).expect("a wire"), key, text: &body };
    let Some(contents) = body.contents() else { return };
    let untouched = body.edited(&contents, &[]).expect("nothing is asked for");
    assert!(matches!(untouched, Cow::Borrowed(same) if same == body.text.as_bytes()), "{id}");
    let changes = changes(&contents, &mut Random(u64::from(seed)));
    let Some(out) = body.edited(&contents, &changes) else { return };
    let out = std::str::from_utf8(&out).expect("text stays text");
    let after = Body { text: out, ..body };
    let read = after.contents().unwrap_or_else(|| panic!("{id} cannot read {out}"));
    same_thoughts(id, &thoughts(&read), &thoughts(&changed(&contents, &changes)), out);
    let (doc, after_doc) = (body.doc(), after.doc());
    assert_eq!(body.callers(&doc), after.callers(&after_doc), "{id}: {out}");
    body.grows(&doc, &after_doc, &changes);
}

#[derive(Clone, Copy)]
struct Body<'b> {
    wire: &'static dyn Wire,
    key: &'static str,
    text: &'b str,
}

impl<'b> Body<'b> {
    fn doc(&self) -> Doc<'b> {
        Doc::parse_str(self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    fn contents(&self) -> Option<Vec<Content>> {
        let doc = Doc::parse_str(self.text).ok()?;
        Some(self.wire.read_request(doc.root()).ok()?.contents)
    }

    /// `None` where the changes have no place in this body.
    fn edited(&self, contents: &[Content], changes: &[Change]) -> Option<Cow<'b, [u8]>> {
        let field = (self.wire.id() == "chat-completions").then_some("reasoning_content");
        let dialect = Dialect { field: field.map(Cow::Borrowed), ..Dialect::PLAIN };
        let additions = Additions::default();
        match plan(self.wire, &self.doc(), contents, changes, &dialect, additions) {
            Ok(plan) => Some(plan.apply(self.text.as_bytes())),
            Err(Unplaced::NoList | Unplaced::OtherBody) => None,
            Err(error @ Unplaced::Overlap(_)) => panic!("{error}: {}", self.text),
        }
    }

    /// The messages that are not the model's, as they are spelled.
    fn callers<'d>(&self, doc: &'d Doc<'_>) -> Vec<&'d str> {
        let is_callers = |item: &Val<'_>| {
            matches!(item.text("role").as_deref(), Some("user" | "system" | "tool"))
        };
        let list = doc.root().get(self.key).into_iter().flat_map(Val::items);
        list.filter(is_callers).map(Val::raw).collect()
    }

    fn grows(&self, doc: &Doc<'_>, after: &Doc<'_>, changes: &[Change]) {
        let last = |doc: &Doc<'_>| Some(doc.root().get(self.key)?.items().last()?.span().end);
        let (Some(at), Some(end)) = (last(doc), last(after)) else { return };
        let said = match self.wire.id() {
            "generate-content" => r#"{"role":"user","parts":[{"text":"More?"}]}"#,
            _ => r#"{"role":"user","content":"More?"}"#,
        };
        let (head, tail) = self.text.split_at(at);
        let longer = format!("{head},{said}{tail}");
        let longer = Body { text: &longer, ..*self };
        let grown = longer.contents().and_then(|contents| longer.edited(&contents, changes));
        let grown = grown.unwrap_or_else(|| panic!("{} cannot be edited", longer.text));
        let before = &after.text().as_bytes()[..end];
        assert!(grown.starts_with(before), "{}", String::from_utf8_lossy(&grown));
    }
}

/// Readable thoughts, message by message.
fn thoughts(contents: &[Content]) -> Vec<Vec<String>> {
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let of = |content: &Content| -> Vec<String> {
        let all = content.thoughts().map(|thinking| plain(&thinking.thought));
        all.filter(|thought| !thought.is_empty()).collect()
    };
    contents.iter().map(of).filter(|thoughts| !thoughts.is_empty()).collect()
}

/// Each thought is there, in its place, and nothing else. Where a field has room for one, those of a message are joined,
/// and one that repeats an earlier one may be left out.
fn same_thoughts(wire: &str, read: &[Vec<String>], expected: &[Vec<String>], out: &str) {
    if !matches!(wire, "chat-completions" | "ollama-chat") {
        return assert_eq!(read, expected, "{out}");
    }
    assert_eq!(read.len(), expected.len(), "{out}");
    for (read, expected) in read.iter().zip(expected) {
        let joined = read.concat().into_bytes();
        // How much of the text the thoughts so far may be.
        let mut ends = BTreeSet::from([0]);
        for (at, thought) in expected.iter().enumerate() {
            let repeats = expected[..at].contains(thought);
            let told = ends.iter().filter(|end| joined[**end..].starts_with(thought.as_bytes()));
            let told = told.map(|end| end + thought.len());
            ends = told.chain(ends.iter().copied().filter(|_| repeats)).collect();
        }
        assert!(ends.contains(&joined.len()), "{read:?} {expected:?}: {out}");
    }
}

fn changes(contents: &[Content], random: &mut Random) -> Vec<Change> {
    let mut changes = Vec::new();
    for (message, content) in contents.iter().enumerate() {
        if content.speaker != Speaker::Ai || random.below(3) == 0 {
            continue;
        }
        for (block, value) in content.blocks.iter().enumerate() {
            let what = match (value, random.below(3)) {
                (Block::Thinking(_), 0) => What::Remove,
                (Block::Thinking(_), _) | (_, 0) => continue,
                _ => What::Insert(Box::new(Thinking {
                    signature: Some("c2ln".to_owned()),
                    id: Some("rs_1".to_owned()),
                    summary: Some(vec![format!("new{message}{block}")]),
                    ..Thinking::new(format!("new{message}{block}"), "thinking")
                })),
            };
            changes.push(Change { message, block, what });
        }
    }
    changes
}

/// Edits of a response: however it is cut, the same comes out, and with nothing to edit what went in.
pub(crate) fn streams_keep_their_bytes(bytes: &[u8]) {
    let &[choice, seed, ref body @ ..] = bytes else { return };
    let framing = [Framing::Sse, Framing::Ndjson, Framing::EventStream][usize::from(choice) % 3];
    let rename = |message: Val<'_>, draft: &mut Draft| {
        rename_model(message, "alias", draft);
        rename_calls(message, &mut |id, at| Some(format!("tk-{id}-{at:?}")), draft);
    };
    let whole = run(framing, &[body], &rename);
    assert_eq!(run(framing, &pieces(body, seed), &rename), whole, "{framing:?}");
    assert_eq!(run(framing, &pieces(body, seed), &|_, _| {}), body, "{framing:?}");
}

fn run(framing: Framing, pieces: &[&[u8]], edit: &dyn Fn(Val<'_>, &mut Draft)) -> Vec<u8> {
    let (mut stream, mut out) = (StreamEdit::new(framing), Vec::new());
    let mut edit = |message: Val<'_>, draft: &mut Draft| edit(message, draft);
    pieces.iter().for_each(|piece| stream.push(piece, &mut edit, &mut out));
    stream.end(&mut edit, &mut out);
    out
}
