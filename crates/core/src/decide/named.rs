//! Finds the thoughts of a sent request that its refusal names.
//!
//! A refusal names a thought by its id, by its payload or both ends of the payload (`gAAA...9xQ=`), or by a path
//! (`messages.3.content.0`, `input[5]`). The payload or the text of the thought then identifies it in later requests.

use super::apply::{item_id, without_ids, without_item_ids};
use crate::content::{Block, Content};
use crate::json::{Doc, Val};
use crate::restore::Secret;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

/// The thoughts and payloads that a refusal names.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Named {
    words: BTreeSet<String>,
    /// The refusal has a path or a shortened payload, even if no thought matches it.
    pub(super) says_where: bool,
}

/// Payloads are secrets of the tenant's.
impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Named").field(&self.words.len()).finish()
    }
}

/// Shorter names match texts by chance.
pub(super) const SHORTEST: usize = 8;

impl Named {
    /// The thoughts of `body` that a refusal names.
    #[must_use]
    pub fn of(refusal: &str, body: &[u8]) -> Self {
        let Ok(doc) = Doc::parse(body) else { return Named::default() };
        let parts = parts(doc.root());
        let shorts: Vec<_> = refusal.split_whitespace().filter_map(short).collect();
        let places = places(refusal);
        let says_where = !shorts.is_empty() || !places.is_empty();
        let by_itself = |it: &&Part| it.words.iter().any(|word| is_named(word, refusal, &shorts));
        let mut named: Vec<&Part> = parts.iter().filter(by_itself).collect();
        if named.is_empty() && shorts.is_empty() {
            let thoughts = parts.iter().filter(|it| it.is_thought);
            named = thoughts.filter(|it| places.iter().any(|at| at.holds(it))).collect();
        }
        let words = named.into_iter().flat_map(|it| it.words.clone()).collect();
        Named { words, says_where }
    }

    /// All thoughts of a request.
    pub(crate) fn all(body: &[u8]) -> Self {
        let doc = Doc::parse(body).ok();
        let parts = doc.iter().flat_map(|doc| parts(doc.root()));
        let words = parts.filter(|it| it.is_thought).flat_map(|it| it.words).collect();
        Named { words, says_where: false }
    }

    /// Whether the refusal names no thought.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether the refusal names one of these words.
    pub(super) fn has_any(&self, words: &[String]) -> bool {
        words.iter().any(|word| self.words.contains(word))
    }

    /// The keyed digests under which the named thoughts are remembered.
    pub(crate) fn marks(&self, secret: &Secret) -> impl Iterator<Item = String> {
        self.words.iter().map(|word| secret.mark(word))
    }
}

/// Whether a refusal has a payload or an id, whole or by its ends.
pub(super) fn is_named(word: &str, refusal: &str, shorts: &[(&str, &str)]) -> bool {
    let by_ends = |(head, tail): &(&str, &str)| word.starts_with(head) && word.ends_with(tail);
    word.len() >= SHORTEST && (refusal.contains(word) || shorts.iter().any(by_ends))
}

/// The beginning and the end of a payload that a word abbreviates.
pub(super) fn short(word: &str) -> Option<(&str, &str)> {
    const ENOUGH: usize = 3;
    let word = word.trim_matches(['"', '\'', '`', '(', ')', ',']);
    let (head, tail) = word.split_once("...")?;
    (head.len() >= ENOUGH && tail.len() >= ENOUGH).then_some((head, tail))
}

/// The members that hold messages, and the members that hold the parts of a message.
const LISTS: [&str; 3] = ["messages", "input", "contents"];
const PARTS: [&str; 2] = ["content", "parts"];

/// A place in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct At {
    list: &'static str,
    message: usize,
    part: Option<usize>,
}

impl At {
    fn holds(&self, part: &Part) -> bool {
        let At { list, message, part: inner } = *self;
        (list, message) == (part.at.list, part.at.message)
            && (inner.is_none() || part.at.part.is_none() || inner == part.at.part)
    }
}

/// The places that a refusal names: `messages.3.content.0`, `input[3]`.
fn places(refusal: &str) -> Vec<At> {
    let of = |list: &'static str| {
        refusal.match_indices(list).filter_map(move |(at, _)| {
            let (message, rest) = index(refusal.get(at + list.len()..)?)?;
            let rest = rest.trim_start_matches('.');
            let part = PARTS.iter().find_map(|part| index(rest.strip_prefix(part)?));
            Some(At { list, message, part: part.map(|(part, _)| part) })
        })
    };
    LISTS.into_iter().flat_map(of).collect()
}

/// Reads an index such as `.3` or `[3]`. Returns it with the rest of the text.
fn index(text: &str) -> Option<(usize, &str)> {
    let rest = text.strip_prefix(['.', '['])?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, rest) = rest.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest.strip_prefix(']').unwrap_or(rest)))
}

/// A thought of a request, or an item that has only an id, at its place.
struct Part {
    at: At,
    /// Its payload, else its readable text; and its id.
    words: Vec<String>,
    is_thought: bool,
}

fn parts(root: Val<'_>) -> Vec<Part> {
    let mut parts = Vec::new();
    for list in LISTS {
        for (message, value) in root.get(list).into_iter().flat_map(Val::items).enumerate() {
            let at = At { list, message, part: None };
            let inner = PARTS.iter().find_map(|key| value.get(key).filter(|it| it.is_array()));
            let is_item = value.text("type").is_some_and(|kind| kind == "reasoning");
            match inner.filter(|_| !is_item) {
                Some(inner) => {
                    for (index, block) in inner.items().enumerate() {
                        add(&mut parts, At { part: Some(index), ..at }, block, &[]);
                    }
                    add(&mut parts, at, value, &PARTS);
                }
                None => add(&mut parts, at, value, &[]),
            }
        }
    }
    parts
}

fn add(parts: &mut Vec<Part>, at: At, value: Val<'_>, but: &[&str]) {
    let mut found = Found::default();
    found.read(value, but);
    let mut words = if found.payloads.is_empty() { found.thoughts } else { found.payloads };
    words.retain(|word| !word.is_empty());
    let is_thought = !words.is_empty() || value.text("type").is_some_and(|it| it == "reasoning");
    let is_item = at.list == "input" && at.part.is_none();
    words.extend(value.text("id").filter(|id| is_item && !id.is_empty()).map(Cow::into_owned));
    if !words.is_empty() {
        parts.push(Part { at, words, is_thought });
    }
}

/// The members that hold payloads on any wire, and the members that hold readable thoughts.
const PAYLOADS: [&str; 6] = [
    "signature",
    "encrypted_content",
    "thoughtSignature",
    "thought_signature",
    "redactedContent",
    "data",
];
const THOUGHTS: [&str; 5] =
    ["reasoning_content", "reasoning", "reasoning_text", "thinking", "thought"];
/// Members of calls and results. Their content is never a thought.
const OTHERS: [&str; 5] = ["args", "arguments", "input", "output", "source"];

#[derive(Default)]
struct Found {
    payloads: Vec<String>,
    thoughts: Vec<String>,
}

impl Found {
    /// Reads an object, except the members in `but`.
    fn read(&mut self, value: Val<'_>, but: &[&str]) {
        let kind = value.text("type");
        let is_thought_part = matches!(kind.as_deref(), Some("reasoning_text" | "summary_text"))
            || value.bool("thought") == Some(true);
        for (key, inner) in value.entries().filter(|(key, _)| !but.contains(&&**key)) {
            match inner.as_str() {
                Some(text) if PAYLOADS.contains(&&*key) => self.payloads.push(text.into_owned()),
                Some(text) if THOUGHTS.contains(&&*key) || is_thought_part && key == "text" => {
                    self.thoughts.push(text.into_owned());
                }
                None if !OTHERS.contains(&&*key) => {
                    self.read(inner, &[]);
                    inner.items().for_each(|item| self.read(item, &[]));
                }
                Some(_) | None => {}
            }
        }
    }
}

/// Removes the thoughts whose payload, id or text `is_out` selects, and the ids of items that it selects. Returns also the
/// message and block indices of the thoughts.
pub(crate) fn without_named<'c>(
    mut contents: Cow<'c, [Content]>,
    is_out: impl Fn(&str) -> bool,
) -> (Cow<'c, [Content]>, Vec<(usize, usize)>) {
    let mut gone = Vec::new();
    for message in 0..contents.len() {
        let Some(content) = contents.get(message) else { continue };
        let named: Vec<usize> = (0..content.blocks.len())
            .filter(|at| has_named(&content.blocks, *at, &is_out))
            .collect();
        let is_signature_out = content.signature.as_deref().is_some_and(&is_out);
        let is_id_out = content.blocks.iter().filter_map(item_id).any(|id| is_out(&id));
        if named.is_empty() && !is_signature_out && !is_id_out {
            continue;
        }
        let Some(content) = contents.to_mut().get_mut(message) else { continue };
        if is_signature_out {
            content.signature = None;
            gone.push((message, content.blocks.len()));
        }
        let mut lost_item = false;
        let mut at = 0;
        content.blocks.retain_mut(|block| {
            at += 1;
            if !named.contains(&(at - 1)) {
                return true;
            }
            gone.push((message, at - 1));
            match block {
                Block::Thinking(thinking) => {
                    lost_item |= thinking.id.is_some();
                    return false;
                }
                Block::Text(text) => text.signature = None,
                Block::ToolCall(call) => call.signature = None,
                Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => {}
            }
            true
        });
        match lost_item {
            true => without_item_ids(content),
            false => without_ids(content, &is_out),
        }
    }
    (contents, gone)
}

/// Whether `is_out` selects the block of a message with this index, or the payload on the message as a whole.
pub(super) fn is_named_at(content: &Content, block: usize, is_out: &dyn Fn(&str) -> bool) -> bool {
    match content.blocks.len() == block {
        true => content.signature.as_deref().is_some_and(is_out),
        false => has_named(&content.blocks, block, &is_out),
    }
}

fn has_named(blocks: &[Block], at: usize, is_out: &impl Fn(&str) -> bool) -> bool {
    match blocks.get(at) {
        Some(Block::Thinking(it)) => {
            // A wire without a place for the payload sends the text alone, so that the text is the name.
            let payloads = [&it.signature, &it.redacted_data, &it.encrypted_content, &it.id];
            let words = payloads.into_iter().flatten().chain([&it.thought]);
            words.filter(|word| !word.is_empty()).any(|word| is_out(word))
        }
        Some(Block::Text(text)) => text.signature.as_deref().is_some_and(is_out),
        Some(Block::ToolCall(call)) => call.signature.as_deref().is_some_and(is_out),
        Some(Block::Media(_) | Block::Other(_) | Block::ToolResponse(_)) | None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{Speaker, Thinking};

    fn words(refusal: &str, body: &str) -> Vec<String> {
        Named::of(refusal, body.as_bytes()).words.into_iter().collect()
    }

    #[test]
    fn a_refusal_names_a_thought_by_its_payload_its_id_or_its_place() {
        let messages = r#"{"messages":[{"role":"user","content":"Hi"},
            {"content":[{"type":"thinking","thinking":"a","signature":"seal-number-one"},{"type":"text","text":"x"}]},
            {"content":[{"type":"thinking","thinking":"b","signature":"seal-number-two"}]}]}"#;
        let input = r#"{"input":[{"role":"user","content":"Hi"},
            {"type":"reasoning","id":"rs_12345678","summary":[],"encrypted_content":"gAAA-first-XyZ="},
            {"type":"function_call","id":"fc_12345678","call_id":"c","arguments":"{\"reasoning\":\"no\"}"},
            {"type":"reasoning","summary":[],"encrypted_content":"gAAA-other-QrS="}]}"#;
        let chat = r#"{"messages":[{"role":"assistant","content":"x","reasoning_content":"hm"}]}"#;
        for (refusal, body, named) in [
            ("messages.2.content.0: no", messages, &["seal-number-two"][..]),
            ("messages.1.content.1: no", messages, &[]),
            ("messages[1]: no", messages, &["seal-number-one"]),
            ("seal-number-two is not ours", messages, &["seal-number-two"]),
            ("messages.0: no", messages, &[]),
            ("input[3]: odd", input, &["gAAA-other-QrS="]),
            ("input[2]: odd", input, &[]),
            ("gAAA...XyZ= could not be verified", input, &["gAAA-first-XyZ=", "rs_12345678"]),
            ("gAAA...AbC= could not be verified", input, &[]),
            ("Item 'fc_12345678' was provided without its item", input, &["fc_12345678"]),
            ("Item with id 'rs_12345678' not found", input, &["gAAA-first-XyZ=", "rs_12345678"]),
            ("messages[0] is odd", chat, &["hm"]),
            ("something is odd", chat, &[]),
        ] {
            assert_eq!(words(refusal, body), named, "{refusal}");
        }
    }

    #[test]
    fn only_what_is_named_goes() {
        let sealed = |seal: &str| {
            let signature = Some(seal.to_owned());
            Block::Thinking(Thinking { signature, ..Thinking::new("hm", "thinking") })
        };
        let answer = |blocks| Content::new(Speaker::Ai, blocks);
        let said = [
            answer(vec![sealed("one"), Block::text("x")]),
            answer(vec![sealed("two"), Block::text("y")]),
            answer(vec![Block::Thinking(Thinking::new("plain", "reasoning_content"))]),
        ];
        let out = |word: &'static str| {
            let (left, gone) = without_named(Cow::Borrowed(&said), |it| it == word);
            (left.iter().map(|it| it.blocks.len()).collect::<Vec<_>>(), gone)
        };
        assert_eq!(out("two"), (vec![2, 1, 1], vec![(1, 0)]));
        assert_eq!(out("plain"), (vec![2, 2, 0], vec![(2, 0)]));
        assert_eq!(out("hm"), (vec![1, 1, 1], vec![(0, 0), (1, 0)]));
    }
}
