//! The system prompt from the command line.
//!
//! It is the first message of a conversation and never changes, because thoughts and caches may be bound to all
//! messages before them. Later changes of the instructions are part of the next question.

use thinkthrough_core::content::{Block, Content, Speaker};

/// Begins a message that changes the instructions.
const CHANGED: &str = "Instructions for this conversation from now on:";

/// The messages to add for a question: the question, and the instructions if the conversation begins with them.
#[must_use]
pub fn with_instructions(
    earlier: &[Content],
    instructions: Option<&str>,
    mut question: Content,
) -> Vec<Content> {
    let Some(instructions) = instructions.filter(|it| !it.trim().is_empty()) else {
        return vec![question];
    };
    if earlier.is_empty() {
        return vec![Content::text(Speaker::System, instructions), question];
    }
    let changed = format!("{CHANGED}\n\n{instructions}\n\n");
    if !hold(earlier, instructions, &changed) {
        match question.blocks.first_mut() {
            Some(Block::Text(text)) => text.text.insert_str(0, &changed),
            Some(_) | None => question.blocks.insert(0, Block::text(changed)),
        }
    }
    vec![question]
}

/// The instructions that a conversation begins with.
pub(crate) fn first(contents: &[Content]) -> Option<String> {
    let first = contents.first().filter(|it| it.speaker == Speaker::System)?;
    Some(first.visible_text())
}

/// Returns whether these instructions are the latest of the conversation.
fn hold(earlier: &[Content], instructions: &str, changed: &str) -> bool {
    let first_text = |content: &Content| match content.blocks.first() {
        Some(Block::Text(text)) => text.text.clone(),
        Some(_) | None => String::new(),
    };
    let mut said = earlier.iter().filter(|it| it.speaker == Speaker::Human).map(first_text);
    match said.rfind(|text| text.starts_with(CHANGED)) {
        Some(latest) => latest.starts_with(changed),
        None => earlier.first().is_some_and(|first| {
            first.speaker == Speaker::System && first.visible_text() == instructions
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::with_instructions;
    use thinkthrough_core::content::{Content, Speaker};

    /// The texts of a conversation with these instructions and questions.
    fn said(turns: &[(Option<&str>, &str)]) -> Vec<String> {
        let mut all: Vec<Content> = Vec::new();
        for (instructions, question) in turns {
            let question = Content::text(Speaker::Human, *question);
            let added = with_instructions(&all, *instructions, question);
            all.extend(added);
        }
        all.iter().map(Content::visible_text).collect()
    }

    #[test]
    fn instructions_begin_a_conversation_and_a_change_is_said_once() {
        let begun = said(&[(Some("be brief"), "a"), (Some("be brief"), "b"), (None, "c")]);
        assert_eq!(begun, ["be brief", "a", "b", "c"]);
        let told = "Instructions for this conversation from now on:\n\nrhyme\n\nb";
        let changed = said(&[(Some("be brief"), "a"), (Some("rhyme"), "b"), (Some("rhyme"), "c")]);
        assert_eq!(changed, ["be brief", "a", told, "c"]);
        assert_eq!(said(&[(None, "a"), (Some("rhyme"), "b")]), ["a", told]);
        assert_eq!(said(&[(Some(" "), "a")]), ["a"]);
    }
}
