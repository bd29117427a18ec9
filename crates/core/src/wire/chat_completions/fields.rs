//! The members of a delta or message, and which of them are known.

use super::{details, parts};
use crate::json::Val;

/// The members of a delta or message, found in one pass.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fields<'d> {
    pub(super) content: Option<Val<'d>>,
    pub(super) siblings: [Option<Val<'d>>; 3],
    pub(super) custom: Option<Val<'d>>,
    pub(super) details: Option<Val<'d>>,
    pub(super) blocks: Option<Val<'d>>,
    pub(super) steps: Option<Val<'d>>,
    pub(super) tool_calls: Option<Val<'d>>,
    pub(super) function_call: Option<Val<'d>>,
    pub(super) refusal: Option<Val<'d>>,
    pub(super) annotations: Option<Val<'d>>,
    pub(super) audio: Option<Val<'d>>,
    pub(super) images: Option<Val<'d>>,
    pub(super) is_signed: bool,
    /// There are unknown members.
    pub(super) has_more: bool,
}

/// The known members of a delta or message, without custom names.
const KNOWN: [&str; 18] = [
    "role",
    "content",
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    details::FIELD,
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

/// Whether this member of a delta or message is unknown.
pub(super) fn is_unknown(key: &str, custom: Option<&str>) -> bool {
    !KNOWN.contains(&key) && custom != Some(key)
}

impl<'d> Fields<'d> {
    /// Reads the members that are not `null`; `custom` is one more sibling string that a provider uses.
    pub(super) fn read(message: Val<'d>, custom: Option<&str>) -> Self {
        // One pass; looking each member up would scan the object a dozen times.
        let mut fields = Fields::default();
        for (key, value) in message.entries().filter(|(_, value)| !value.is_null()) {
            let [content, reasoning, text] = &mut fields.siblings;
            match key.as_ref() {
                "role" => {}
                "content" => fields.content = Some(value),
                "reasoning_content" => *content = Some(value),
                "reasoning" => *reasoning = Some(value),
                "reasoning_text" => *text = Some(value),
                details::FIELD => fields.details = Some(value),
                details::BLOCKS => fields.blocks = Some(value),
                "reasoning_steps" => fields.steps = Some(value),
                "tool_calls" => fields.tool_calls = Some(value),
                "function_call" => fields.function_call = Some(value),
                "refusal" => fields.refusal = Some(value),
                "annotations" => fields.annotations = Some(value),
                "audio" => fields.audio = Some(value),
                "images" => fields.images = Some(value),
                "extra_content"
                | "thought_signature"
                | "thoughtSignature"
                | "provider_specific_fields" => fields.is_signed = true,
                other if custom == Some(other) => fields.custom = Some(value),
                _ => fields.has_more = true,
            }
        }
        fields
    }

    /// The structured entries, in the form that has any.
    pub(super) fn structured(&self) -> Option<(&'static str, Val<'d>)> {
        [(details::FIELD, self.details), (details::BLOCKS, self.blocks)].into_iter().find_map(
            |(field, entries)| Some((field, entries.filter(|list| list.items().next().is_some())?)),
        )
    }

    /// Whether there is readable reasoning.
    pub(super) fn think(&self) -> bool {
        let says = |value: &Option<Val<'_>>| value.is_some_and(|value| value.raw().len() > 2);
        let is_thought =
            |part: Val<'_>| part.text("type").is_some_and(|kind| parts::is_thinking(&kind));
        self.siblings.iter().chain([&self.custom, &self.steps]).any(says)
            || self.structured().is_some_and(|(_, entries)| details::have_text(entries))
            || self.content.is_some_and(|content| content.items().any(is_thought))
    }

    /// Whether all members are absent or empty.
    pub(super) fn is_empty(&self) -> bool {
        let says = |value: &Option<Val<'_>>| {
            value.is_some_and(|value| !matches!(value.raw(), "\"\"" | "[]" | "{}"))
        };
        !self.siblings.iter().any(says)
            && ![self.content, self.custom, self.details, self.blocks, self.steps, self.tool_calls]
                .iter()
                .any(says)
            && ![self.function_call, self.refusal, self.annotations, self.audio, self.images]
                .iter()
                .any(says)
    }
}

#[cfg(test)]
mod tests {
    use super::{Fields, KNOWN, is_unknown};
    use crate::json::Doc;

    #[test]
    fn what_is_known_is_read_and_nothing_else() {
        for key in KNOWN.iter().chain(&["own", "new"]) {
            let message = format!(r#"{{"{key}":"x"}}"#);
            let doc = Doc::parse_str(&message).unwrap();
            let fields = Fields::read(doc.root(), Some("own"));
            assert_eq!(fields.has_more, is_unknown(key, Some("own")), "{key}");
            assert_eq!(fields.has_more, *key == "new", "{key}");
        }
    }
}
