//! Finds the messages of a request in its bytes, for each wire.

use crate::json::Val;
use std::ops::Range;

/// The list of messages of a request, and which of its elements each neutral message was read from.
#[derive(Clone, Debug)]
pub(super) struct Layout<'d> {
    /// The member that the list is.
    pub(super) key: &'static str,
    pub(super) list: Val<'d>,
    pub(super) groups: Vec<Group>,
}

/// Elements of the list and the neutral messages that they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) elements: Range<usize>,
    pub(super) contents: Range<usize>,
}

impl<'d> Layout<'d> {
    /// The layout of a request body; `None` for wires and forms without a list.
    pub(super) fn of(wire: &str, body: Val<'d>) -> Option<Self> {
        let (key, before) = match wire {
            "chat-completions" | "mistral-chat" | "ollama-chat" => ("messages", 0),
            "messages" => ("messages", usize::from(body.some("system").is_some())),
            "generate-content" => ("contents", usize::from(has_instruction(body))),
            "responses" => ("input", usize::from(body.text("instructions").is_some())),
            _ => return None,
        };
        let list = body.get(key).filter(|list| list.is_array())?;
        let groups = match wire {
            "messages" => groups(list, before, |message| Some(user_parts(message))),
            "responses" => runs(list, before),
            _ => groups(list, before, |_| Some(1)),
        };
        Some(Layout { key, list, groups: groups? })
    }

    /// How many neutral messages there are.
    pub(super) fn contents(&self) -> usize {
        self.groups.last().map_or(0, |group| group.contents.end)
    }
}

fn groups(
    list: Val<'_>,
    before: usize,
    count: impl Fn(Val<'_>) -> Option<usize>,
) -> Option<Vec<Group>> {
    let mut next = before;
    let group = |(index, message): (usize, Val<'_>)| {
        let start = next;
        next += count(message)?;
        Some(Group { elements: index..index + 1, contents: start..next })
    };
    list.items().enumerate().map(group).collect()
}

/// Instructions with content are a message of their own.
fn has_instruction(body: Val<'_>) -> bool {
    let said =
        ["systemInstruction", "system_instruction"].into_iter().filter_map(|key| body.some(key));
    said.into_iter().any(|said| said.as_str().is_some() || said.entries().next().is_some())
}

/// A user's message with results of tools counts as one message for each run of results and for each run of other
/// blocks.
fn user_parts(message: Val<'_>) -> usize {
    if message.text("role").as_deref() != Some("user") {
        return 1;
    }
    let is_result = |block: Val<'_>| block.text("type").as_deref() == Some("tool_result");
    let blocks: Vec<bool> =
        message.get("content").into_iter().flat_map(Val::items).map(is_result).collect();
    1 + blocks.windows(2).filter(|pair| pair.first() != pair.last()).count()
}

/// Consecutive items of the model are one message.
fn runs(list: Val<'_>, before: usize) -> Option<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut was_model = false;
    for (index, item) in list.items().enumerate() {
        let is_model = is_by_model(item);
        let next = groups.last().map_or(before, |group| group.contents.end);
        match groups.last_mut() {
            Some(last) if was_model && is_model => last.elements.end = index + 1,
            _ => groups.push(Group { elements: index..index + 1, contents: next..next + 1 }),
        }
        was_model = is_model;
    }
    Some(groups)
}

/// Whether the reader of the wire takes an item for the model's.
fn is_by_model(item: Val<'_>) -> bool {
    let is_assistant = || item.text("role").as_deref() == Some("assistant");
    match item.text("type").as_deref() {
        Some("message") => is_assistant(),
        None => item.get("role").is_none() || is_assistant(),
        Some("function_call_output" | "custom_tool_call_output")
            if item.get("output").is_some() =>
        {
            false
        }
        Some(kind) => {
            let is_given = kind.ends_with("_call_output") || kind == "mcp_approval_response";
            !is_given || item.text("execution").as_deref() == Some("server")
        }
    }
}
