//! Joins what clients keep in pieces, as it came in a stream: each chunk a message of its own, each piece of a thought a
//! part of its own, and its signature in a part behind it. On this API such pieces are one answer; others take them for
//! several.

use crate::content::{Block, Content, Speaker};

/// Joins messages of the model that follow each other, and in them the pieces of thoughts and texts.
pub(super) fn join(contents: &mut Vec<Content>) {
    contents.dedup_by(|next, answer| {
        let is_more = [&*next, &*answer].iter().all(|it| {
            it.speaker == Speaker::Ai && it.signature.is_none() && it.extra.fields.is_empty()
        });
        if is_more {
            answer.blocks.append(&mut next.blocks);
        }
        is_more
    });
    for answer in contents.iter_mut().filter(|it| it.speaker == Speaker::Ai) {
        answer.blocks.dedup_by(is_taken);
    }
}

/// Whether a block was the next piece of the one before, which has it now. A signature ends a thought, and a text with one
/// stays apart.
fn is_taken(next: &mut Block, block: &mut Block) -> bool {
    match (next, block) {
        (Block::Thinking(next), Block::Thinking(thought)) => {
            let is_open = !thought.thought.is_empty() && !thought.has_payload();
            if is_open {
                thought.thought.push_str(&next.thought);
                thought.signature = next.signature.take();
            }
            is_open
        }
        (Block::Text(next), Block::Text(text)) => {
            let is_plain = [&*next, &*text]
                .iter()
                .all(|it| it.signature.is_none() && it.extra.fields.is_empty());
            if is_plain {
                text.text.push_str(&next.text);
            }
            is_plain
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::content::{Block, Thinking};
    use crate::json::Doc;
    use crate::wire::find;

    #[test]
    fn an_answer_that_was_kept_chunk_by_chunk_is_one_message() {
        let chunk = |parts: &str| format!(r#"{{"role":"model","parts":[{parts}]}}"#);
        let body = format!(
            r#"{{"contents":[{{"role":"user","parts":[{{"text":"Hi"}}]}},{},{},{},{}]}}"#,
            chunk(r#"{"text":"a ","thought":true},{"text":"b","thought":true}"#),
            chunk(
                r#"{"text":"","thought":true,"thoughtSignature":"s"},{"text":"c","thought":true}"#
            ),
            chunk(r#"{"text":"The "}"#),
            chunk(r#"{"text":"end"},{"functionCall":{"name":"ls","args":{}}}"#),
        );
        let wire = find("generate-content").unwrap();
        let mut request = wire.read_request(Doc::parse_str(&body).unwrap().root()).unwrap();
        wire.before_translation(&mut request);
        let [_, answer] = request.contents.as_slice() else { panic!("{:?}", request.contents) };
        let thought = |block: &Block| match block {
            Block::Thinking(Thinking { thought, signature, .. }) => {
                format!("{thought} {signature:?}")
            }
            Block::Text(text) => text.text.clone(),
            other => format!("{other:?}").chars().take(8).collect(),
        };
        let said: Vec<String> = answer.blocks.iter().map(thought).collect();
        assert_eq!(said, ["a b Some(\"s\")", "c None", "The end", "ToolCall"]);
    }
}
