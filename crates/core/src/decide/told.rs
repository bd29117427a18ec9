//! Describes an answer in words, with the results of its calls.
//!
//! The text depends only on the answer and on the messages up to the next answer, so that the same history always
//! gives the same words. The description counts as calls and results in every decision: it begins no turn.

use crate::content::{Block, Content, Speaker, Thinking, ToolCall, ToolResponse};
use crate::contract::Told;
use crate::json::Extra;
use std::ops::Range;

/// Whether an answer can be described in this way. A value that the client sends in place of a thought stays, and so
/// does its message.
pub(super) fn can_tell(contents: &[Content], answer: &Range<usize>, how: Told) -> bool {
    let Some((said, behind)) = parts(contents, answer) else { return false };
    let blocks = || said.iter().flat_map(|content| &content.blocks);
    // A seal without words is lost to a model that reads words.
    let is_lost = |it: &Thinking| it.thought.is_empty() && it.is_sealed();
    let has_own = blocks().any(|block| matches!(block, Block::Thinking(it) if !is_lost(it)));
    match how {
        Told::Never => false,
        Told::InAnswer => !has_own,
        // A user message cannot contain blocks that only the model's wire has.
        Told::InUserMessage => {
            let has_calls = said.iter().any(|content| content.tool_calls().next().is_some());
            let has_odd = blocks().any(|block| matches!(block, Block::Other(_)));
            !has_own && !has_odd && (has_calls || is_asked_behind(behind))
        }
    }
}

/// Describes an answer in words, if that is possible and necessary.
///
/// Results become words of the user rather than of the model, because the last message must not look like an
/// unfinished answer.
pub(super) fn tell(contents: &mut [Content], answer: &Range<usize>, how: Told) -> bool {
    if !can_tell(contents, answer, how) {
        return false;
    }
    let Some((said, behind)) = contents.split_at_mut_checked(answer.end) else { return false };
    let said = said.get_mut(answer.start..).unwrap_or_default();
    let calls: Vec<ToolCall> = said.iter().flat_map(Content::tool_calls).cloned().collect();
    match how {
        Told::Never => return false,
        Told::InAnswer if calls.is_empty() => return false,
        Told::InAnswer => {
            said.iter_mut().for_each(in_answer);
            results(Words::default(), &calls, behind);
        }
        Told::InUserMessage => {
            let mut words = Words::default();
            for block in said.iter_mut().flat_map(|content| std::mem::take(&mut content.blocks)) {
                words.answered(block, calls.is_empty());
            }
            // If there are no results, the words replace the answer itself.
            if let Some(words) = results(words, &calls, behind)
                && let Some(content) = said.first_mut()
            {
                *content = words.content();
            }
        }
    }
    true
}

/// An answer's messages, and those behind it.
fn parts<'c>(
    contents: &'c [Content],
    answer: &Range<usize>,
) -> Option<(&'c [Content], &'c [Content])> {
    Some((contents.get(answer.clone())?, contents.get(answer.end..)?))
}

/// Calls become words of the answer's own text.
fn in_answer(content: &mut Content) {
    let mut words = Words::default();
    for block in std::mem::take(&mut content.blocks) {
        match block {
            Block::ToolCall(call) => words.say(&called("I", &call), &call.extra),
            other => words.blocks.push(other),
        }
    }
    (content.blocks, content.about_tools) = (words.blocks, true);
}

/// Adds the results of the calls to these words, in the place of the first result. Returns the words if there is no
/// result.
fn results(mut words: Words, calls: &[ToolCall], behind: &mut [Content]) -> Option<Words> {
    let count = behind.iter().take_while(|content| content.speaker == Speaker::Tool).count();
    let given = behind.get_mut(..count).unwrap_or_default();
    if given.is_empty() {
        return Some(words);
    }
    let mut place = 0;
    for block in given.iter_mut().flat_map(|content| std::mem::take(&mut content.blocks)) {
        match block {
            Block::ToolResponse(result) => {
                words.result(&result, name(&result, calls, place));
                place += 1;
            }
            other => words.blocks.push(other),
        }
    }
    // The other messages become empty, and are dropped.
    if let Some(first) = given.first_mut() {
        *first = words.content();
    }
    None
}

/// Whether a message of the user's comes next.
fn is_asked_behind(behind: &[Content]) -> bool {
    let next = behind.iter().find(|content| content.speaker != Speaker::System);
    next.is_some_and(|content| content.speaker == Speaker::Human)
}

/// The description in one message.
#[derive(Default)]
struct Words {
    blocks: Vec<Block>,
}

impl Words {
    /// The message that it is.
    fn content(self) -> Content {
        Content { about_tools: true, ..Content::new(Speaker::Human, self.blocks) }
    }

    /// Tells a part of an answer to the model that gave it.
    fn answered(&mut self, block: Block, is_all: bool) {
        match block {
            Block::Text(text) if text.text.trim().is_empty() => {}
            Block::Text(text) => {
                let verb = if is_all { "answered" } else { "said" };
                self.say(&format!("You {verb}:\n{}", quoted(text.text.trim())), &text.extra);
            }
            Block::ToolCall(call) => self.say(&called("You", &call), &call.extra),
            Block::Media(media) => self.blocks.push(Block::Media(media)),
            Block::Other(_) | Block::Thinking(_) | Block::ToolResponse(_) => {}
        }
    }

    /// Adds a paragraph to the text that ends here. A cache marker on the described block moves with it.
    fn say(&mut self, words: &str, about: &Extra) {
        let is_open =
            |block: &&mut Block| matches!(block, Block::Text(text) if text.signature.is_none());
        if self.blocks.last_mut().filter(is_open).is_none() {
            self.blocks.push(Block::text(""));
        }
        let Some(Block::Text(text)) = self.blocks.last_mut() else { return };
        if !text.text.trim().is_empty() {
            text.text.push_str("\n\n");
        }
        text.text.push_str(words);
        let marker = about.fields.iter().find(|(key, _)| key == MARKER);
        if let (Some(wire), Some((key, value))) = (about.wire, marker) {
            text.extra.insert(wire, key, value.clone());
        }
    }

    fn result(&mut self, result: &ToolResponse, name: &str) {
        let given = result.result.blocks();
        let is_text = |block: &&Block| match block {
            Block::Text(_) => true,
            Block::Other(other) => other.is_data(),
            _ => false,
        };
        let (texts, others): (Vec<&Block>, Vec<&Block>) = given.iter().partition(is_text);
        let texts: Vec<&str> = texts
            .iter()
            .filter_map(|block| match block {
                Block::Text(text) => Some(text.text.as_str()),
                Block::Other(other) => Some(other.raw.as_str()),
                _ => None,
            })
            .collect();
        let text = texts.join("\n");
        let verb = if result.is_error { "failed" } else { "gave" };
        let words = match text.trim() {
            "" => format!("The tool `{name}` {verb}."),
            _ => format!("The tool `{name}` {verb}:\n{}", quoted(&text)),
        };
        self.say(&words, &result.extra);
        // Blocks other than text are copied.
        self.blocks.extend(others.into_iter().cloned());
    }
}

/// Quotes each line that a tool or a model wrote, because a user message would lend it the user's voice.
fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
    lines.join("\n")
}

/// The member that marks a part of the prompt for caching.
const MARKER: &str = "cache_control";

fn called(who: &str, call: &ToolCall) -> String {
    format!("{who} used the tool `{}` with {}.", call.name, call.parameters.as_text())
}

/// The tool of a result: the tool of the call that it names, else of the call at its place.
fn name<'c>(result: &'c ToolResponse, calls: &'c [ToolCall], place: usize) -> &'c str {
    let named = calls.iter().find(|call| call.id.is_some() && call.id == result.call_id);
    let call = named.or_else(|| calls.get(place)).map(|call| call.name.as_str());
    result.name.as_deref().or(call).unwrap_or("?")
}
