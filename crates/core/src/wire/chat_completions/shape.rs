//! Decides which messages may become a template: messages that only add text to one open block.

use super::beside;
use super::choice::{Choice, SIBLINGS};
use super::details;
use super::parts::THINKING;
use super::template::{Shape, Target};
use crate::json::{Kind, Val};

/// Members of a chunk whose presence has a meaning.
const BODY: [&str; 6] = ["usage", "x_groq", "base_resp", "error", "detail", "message"];
/// Members of a delta that may only be empty.
const EMPTY: [&str; 12] = [
    details::BLOCKS,
    "reasoning_steps",
    "tool_calls",
    "function_call",
    "refusal",
    "annotations",
    "audio",
    "images",
    "extra_content",
    "thought_signature",
    "thoughtSignature",
    "provider_specific_fields",
];

/// The shape of a chunk that only added text, and the block that it was added to.
///
/// `choice` is the first choice after the chunk was read. `None` whenever there is a doubt.
pub(super) fn of(
    body: Val<'_>,
    choice: &Choice,
    custom: Option<&str>,
    message: &str,
) -> Option<(Shape, Target)> {
    let mut shape = Shape::default();
    let mut choices = None;
    for (key, value) in body.entries() {
        match key.as_ref() {
            "choices" if choices.is_none() => choices = Some(value),
            "choices" => return None,
            // Only the first value counts, and it was reported already.
            "id" | "model" => {}
            "object" | "type" if value.raw() == "\"error\"" => return None,
            "object" | "type" => {}
            known if BODY.contains(&known) => value.is_null().then_some(())?,
            // A change of this value must be reported.
            time if beside::is_unknown_time(time, value) => {}
            _ => shape.idle(value),
        }
    }
    let mut entries = choices?.items();
    let entry = entries.next()?;
    if entries.next().is_some() {
        return None;
    }
    let mut delta = None;
    for (key, value) in entry.entries() {
        match key.as_ref() {
            "index" => (value.as_u64() == Some(0)).then_some(())?,
            "delta" if delta.is_none() && value.is_object() => delta = Some(value),
            "delta" => return None,
            "finish_reason" => matches!(value.raw(), "null" | "\"\"").then_some(())?,
            known if BODY.contains(&known) => value.is_null().then_some(())?,
            noise if beside::NOISE.contains(&noise) => shape.idle(value),
            // It was reported, and is the same in every message that fits.
            _ => (!beside::goes_on(value.raw())).then_some(())?,
        }
    }
    let target = of_delta(delta?, choice, custom, message, &mut shape)?;
    Some((shape, target))
}

/// The members of a delta that have text.
#[derive(Default)]
struct Texts<'d> {
    content: Option<Val<'d>>,
    siblings: [Option<Val<'d>>; 4],
    entry: Option<Val<'d>>,
}

fn of_delta(
    delta: Val<'_>,
    choice: &Choice,
    custom: Option<&str>,
    message: &str,
    shape: &mut Shape,
) -> Option<Target> {
    let mut texts = Texts::default();
    let mut n_known = 0_u32;
    for (key, value) in delta.entries() {
        let key = key.as_ref();
        let sibling =
            SIBLINGS.iter().position(|name| *name == key).or((custom == Some(key)).then_some(3));
        let slot = match sibling {
            Some(at) => texts.siblings.get_mut(at)?,
            None if key == "content" => &mut texts.content,
            None if key == details::FIELD => &mut texts.entry,
            None if key == "role" => continue,
            None if EMPTY.contains(&key) => {
                matches!(value.raw(), "null" | "\"\"" | "[]" | "{}").then_some(())?;
                continue;
            }
            None if beside::NOISE.contains(&key) => {
                shape.idle(value);
                continue;
            }
            // The same as beside the delta.
            None => {
                (!beside::goes_on(value.raw())).then_some(())?;
                continue;
            }
        };
        n_known += 1;
        if !matches!(value.raw(), "null" | "\"\"" | "[]") {
            *slot = Some(value);
        }
    }
    // A repeated member is counted twice.
    let names = SIBLINGS.iter().copied().chain(custom).chain(["content", details::FIELD]);
    let distinct = names.filter(|name| delta.get(name).is_some()).count();
    if usize::try_from(n_known).ok()? != distinct {
        return None;
    }
    target(&texts, choice, custom, message, shape)
}

fn target(
    texts: &Texts<'_>,
    choice: &Choice,
    custom: Option<&str>,
    message: &str,
    shape: &mut Shape,
) -> Option<Target> {
    let mut siblings =
        texts.siblings.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?)));
    if let Some(entries) = texts.entry {
        if texts.content.is_some() || choice.text.is_some() {
            return None;
        }
        let (value, block) = choice.details.target(entries)?;
        shape.text(value, message);
        return siblings
            .all(|(_, value)| value.kind() == Kind::String && shape.text(value, message))
            .then_some(Target { block, is_thought: true });
    }
    match (texts.content, siblings.next()) {
        (Some(content), None) => of_content(content, choice, message, shape),
        (None, Some((at, value))) => {
            let field = SIBLINGS.get(at).copied().or(custom)?;
            let block = open_thought(choice, field)?;
            (value.kind() == Kind::String && shape.text(value, message)).then_some(())?;
            siblings
                .all(|(_, value)| value.kind() == Kind::String && shape.text(value, message))
                .then_some(Target { block, is_thought: true })
        }
        (Some(_), Some(_)) | (None, None) => None,
    }
}

/// The thought in `field`, while no text is open that it would end.
fn open_thought(choice: &Choice, field: &str) -> Option<usize> {
    let thought = choice.thoughts.iter().find(|thought| thought.field == field)?;
    choice.text.is_none().then_some(thought.block)
}

/// Content: a string, or a list of one part with only text in it.
fn of_content(
    content: Val<'_>,
    choice: &Choice,
    message: &str,
    shape: &mut Shape,
) -> Option<Target> {
    let open_text = || {
        let is_alone = choice.thoughts.is_empty() && !choice.details.is_open();
        let block = choice.text.as_ref().filter(|_| is_alone)?.block;
        Some(Target { block, is_thought: false })
    };
    if content.kind() == Kind::String {
        shape.text(content, message);
        return open_text();
    }
    let part = only(content)?;
    if part.get("thinking").is_none() {
        shape.text(plain(part)?, message);
        return open_text();
    }
    let is_thought = part.text("type")? == THINKING && part.entries().count() == 2;
    let piece = is_thought.then(|| only(part.get("thinking")?))??;
    shape.text(plain(piece)?, message);
    Some(Target { block: open_thought(choice, THINKING)?, is_thought: true })
}

/// The only element of a list.
fn only(list: Val<'_>) -> Option<Val<'_>> {
    let mut items = list.items();
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

/// The text of `{"type":"text","text":"..."}`, if that is all.
fn plain(part: Val<'_>) -> Option<Val<'_>> {
    let is_text = part.text("type")? == "text" && part.entries().count() == 2;
    part.get("text").filter(|text| is_text && text.kind() == Kind::String)
}
