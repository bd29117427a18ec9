//! One complete item as blocks.

use super::{ID, message};
use crate::content::{Block, Other, Parameters, Thinking, ToolCall};
use crate::json::{Extra, Raw, Val};

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// `message`.
    Message,
    /// `reasoning`.
    Reasoning,
    /// `function_call`.
    Function,
    /// `custom_tool_call`.
    Custom,
    /// Anything else.
    Other,
}

impl ItemKind {
    /// The kind of an item with this `type`.
    pub(super) fn of(name: &str) -> Self {
        match name {
            "message" => ItemKind::Message,
            "reasoning" => ItemKind::Reasoning,
            "function_call" => ItemKind::Function,
            "custom_tool_call" => ItemKind::Custom,
            _ => ItemKind::Other,
        }
    }

    /// The kind of this item; one without a type is a message if it has a role.
    pub(super) fn of_item(item: Val<'_>) -> Self {
        match item.text("type") {
            Some(name) => ItemKind::of(&name),
            None if item.get("role").is_some() => ItemKind::Message,
            None => ItemKind::Other,
        }
    }
}

/// The blocks of a complete item of the model.
pub(super) fn blocks(item: Val<'_>) -> Vec<Block> {
    match ItemKind::of_item(item) {
        ItemKind::Message => message::blocks(item),
        ItemKind::Reasoning => thinking(item).map(Block::Thinking).into_iter().collect(),
        ItemKind::Function => vec![Block::ToolCall(function(item))],
        ItemKind::Custom => vec![Block::ToolCall(custom(item))],
        ItemKind::Other => vec![Block::Other(other(item))],
    }
}

/// An item with no form of its own, under the wire's name for it.
pub(super) fn other(item: Val<'_>) -> Other {
    let kind = item.string("type").unwrap_or_else(|| "item".to_owned());
    Other::new(ID, kind, Raw::from(item))
}

/// A reasoning item. `None` for an item with neither text, id nor payload.
pub(super) fn thinking(item: Val<'_>) -> Option<Thinking> {
    let summary = texts(item.get("summary"), "summary_text");
    let content = texts(item.get("content"), "reasoning_text");
    let encrypted_content = item.string("encrypted_content");
    let id = item.string("id");
    let is_said = |parts: &Option<Parts>, needs_text: bool| {
        parts.as_ref().is_some_and(|parts| parts.plain && !(needs_text && parts.texts.is_empty()))
    };
    let mut known = vec!["type"];
    for (key, taken) in [
        ("summary", is_said(&summary, false)),
        // No content, `null` and `[]` are three things; only texts are written from the neutral form.
        ("content", is_said(&content, true)),
        ("encrypted_content", encrypted_content.is_some()),
        ("id", id.is_some()),
    ] {
        if taken {
            known.push(key);
        }
    }
    let summary = summary.map(|parts| parts.texts).unwrap_or_default();
    let content = content.map(|parts| parts.texts).unwrap_or_default();
    let thinking = Thinking {
        thought: thought(&summary, &content),
        source_field: if has_text(&content) { "content" } else { "summary" }.to_owned(),
        encrypted_content,
        id,
        summary: Some(summary),
        content: Some(content),
        partial: item.text("status").is_some_and(|status| status == "incomplete"),
        extra: Extra::collect(ID, item, &known),
        ..Thinking::default()
    };
    (!thinking.is_nothing()).then_some(thinking)
}

/// The readable text: the concatenated content parts, else the summary parts joined with a blank line.
fn thought(summary: &[String], content: &[String]) -> String {
    if has_text(content) { content.concat() } else { summary.join("\n\n") }
}

fn has_text(parts: &[String]) -> bool {
    parts.iter().any(|part| !part.is_empty())
}

/// The texts of a list of parts.
struct Parts {
    texts: Vec<String>,
    /// The parts have only their text and the usual type, so that the texts alone rebuild them.
    plain: bool,
}

fn texts(list: Option<Val<'_>>, kind: &str) -> Option<Parts> {
    let list = list.filter(|list| list.is_array())?;
    let texts = list.items().map(|part| part.string("text").unwrap_or_default()).collect();
    let plain = list.items().all(|part| {
        part.text("type").is_some_and(|name| name == kind)
            && part.text("text").is_some()
            && part.entries().count() == 2
    });
    Some(Parts { texts, plain })
}

/// A `function_call` item. The arguments' text is kept beside their value if the value alone would lose it.
pub(super) fn function(item: Val<'_>) -> ToolCall {
    let (parameters, is_exact) = match item.get("arguments") {
        Some(arguments) => match arguments.as_str() {
            Some(text) => {
                let parameters = Parameters::from_text(&text);
                let is_exact = parameters.as_text() == text;
                (parameters, is_exact)
            }
            // Some relatives send the arguments as an object.
            None if arguments.is_null() => (Parameters::default(), false),
            None => (Parameters::Json(Raw::from(arguments)), false),
        },
        None => (Parameters::default(), true),
    };
    let mut known = vec!["type"];
    if is_exact {
        known.push("arguments");
    }
    call(item, parameters, known)
}

/// A `custom_tool_call` item, whose input is any text.
pub(super) fn custom(item: Val<'_>) -> ToolCall {
    let input = item.string("input");
    let mut known = vec!["type"];
    if input.is_some() {
        known.push("input");
    }
    call(item, Parameters::Free(input.unwrap_or_default()), known)
}

fn call(item: Val<'_>, parameters: Parameters, mut known: Vec<&str>) -> ToolCall {
    let id = item.string("call_id");
    let name = item.string("name");
    if id.is_some() {
        known.push("call_id");
    }
    if name.is_some() {
        known.push("name");
    }
    ToolCall {
        id,
        name: name.unwrap_or_default(),
        parameters,
        signature: None,
        extra: Extra::collect(ID, item, &known),
    }
}
