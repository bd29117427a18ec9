//! The four functions on thoughts that the founding documents name, for library users.
//!
//! The policy and the wires decide by the same rules; these are the rules on their own.

use crate::content::{Block, Content, Thinking, join_thoughts};
use crate::settings::Strip;
use crate::tokens::{estimate_conservative, estimate_opaque};
use crate::turns::Turns;

/// The thoughts of a message in order, hidden and unreadable ones included.
#[must_use]
pub fn extract_thinking_blocks(content: &Content) -> Vec<&Thinking> {
    content.thoughts().collect()
}

/// The conversation without the thoughts that `strip` keeps out; everything else stays as it is.
///
/// `allButLast` keeps those of the last turn that has any; a turn goes from one user message to the next.
#[must_use]
pub fn filter_thinking_for_context(contents: &[Content], strip: Strip) -> Vec<Content> {
    let (mut filtered, turns) = (contents.to_vec(), Turns::of(contents));
    for (message, content) in filtered.iter_mut().enumerate() {
        if turns.is_stripped(strip, message) {
            content.blocks.retain(|block| !matches!(block, Block::Thinking(_)));
        }
    }
    filtered
}

/// The text that goes into one reasoning field: separate thoughts joined with one line feed, one alone byte for byte.
/// `None` when there is no text, so that no empty field is sent.
#[must_use]
pub fn thinking_to_reasoning_field(thoughts: &[&Thinking]) -> Option<String> {
    let joined = join_thoughts(thoughts.iter().map(|it| it.thought.as_str()));
    (!joined.is_empty()).then_some(joined)
}

/// How many tokens thoughts cost when they are sent: a conservative estimate, opaque payloads included.
#[must_use]
pub fn estimate_thinking_tokens(thoughts: &[&Thinking]) -> u64 {
    let cost = |thinking: &&Thinking| {
        let payloads = [&thinking.signature, &thinking.redacted_data, &thinking.encrypted_content];
        let opaque: u64 = payloads.into_iter().flatten().map(|it| estimate_opaque(it)).sum();
        estimate_conservative(&thinking.thought).saturating_add(opaque)
    };
    thoughts.iter().map(cost).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::Speaker;

    fn thought(text: &str) -> Thinking {
        Thinking::new(text, "reasoning_content")
    }

    fn turn(question: &str, thoughts: &[&str]) -> Vec<Content> {
        let blocks = thoughts.iter().map(|text| Block::Thinking(thought(text)));
        let blocks = blocks.chain([Block::text("R")]).collect();
        vec![Content::text(Speaker::Human, question), Content::new(Speaker::Ai, blocks)]
    }

    #[test]
    fn req_think_002_1_extract_gives_all_in_order_hidden_and_opaque_ones_too() {
        let hidden = Thinking { is_hidden: true, ..thought("b") };
        let opaque = Thinking { signature: Some("s".into()), ..thought("") };
        let blocks = [thought("a"), hidden.clone(), opaque.clone()].map(Block::Thinking).to_vec();
        let content = Content::new(Speaker::Ai, blocks);
        assert_eq!(extract_thinking_blocks(&content), [&thought("a"), &hidden, &opaque]);
    }

    #[test]
    fn req_think_002_2_filter_works_on_turns_and_changes_nothing_else() {
        let mut conversation = turn("1", &["T1"]);
        conversation.extend(turn("2", &["T2", "T2b"]));
        conversation.push(Content::text(Speaker::Human, "3"));
        let left = |strip| -> Vec<String> {
            let filtered = filter_thinking_for_context(&conversation, strip);
            assert_eq!(filtered.len(), conversation.len());
            let without = |contents: &[Content]| -> Vec<Block> {
                let blocks = contents.iter().flat_map(|content| content.blocks.clone());
                blocks.filter(|block| !matches!(block, Block::Thinking(_))).collect()
            };
            assert_eq!(without(&filtered), without(&conversation));
            filtered.iter().flat_map(Content::thoughts).map(|it| it.thought.clone()).collect()
        };
        assert_eq!(left(Strip::None), ["T1", "T2", "T2b"]);
        assert_eq!(left(Strip::AllButLast), ["T2", "T2b"]);
        assert!(left(Strip::All).is_empty());
    }

    #[test]
    fn req_think_002_3_one_field_from_many_thoughts() {
        let (a, b, empty) = (thought(" a\n"), thought("b"), thought(""));
        assert_eq!(thinking_to_reasoning_field(&[&a]).as_deref(), Some(" a\n"));
        assert_eq!(thinking_to_reasoning_field(&[&a, &empty, &b]).as_deref(), Some(" a\n\nb"));
        assert_eq!(thinking_to_reasoning_field(&[&empty]), None);
        assert_eq!(thinking_to_reasoning_field(&[]), None);
    }

    #[test]
    fn req_think_002_4_the_estimate_grows_with_text_and_payload() {
        let (short, long) = (thought("abc"), thought(&"abc".repeat(100)));
        let sealed = Thinking { signature: Some("s".repeat(400)), ..short.clone() };
        let cost = |it: &Thinking| estimate_thinking_tokens(&[it]);
        assert!(cost(&short) > 0 && cost(&short) < cost(&long) && cost(&short) < cost(&sealed));
        assert_eq!(estimate_thinking_tokens(&[]), 0);
    }
}
