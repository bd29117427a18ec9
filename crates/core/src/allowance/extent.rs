//! How many tokens the answers to a body may take, read from the body that goes out for the model that gets it.
//!
//! Budgets, limits of tokens per minute and sums in dollars all reserve by this. Only two members lower it: a cap on
//! the whole answer in the words of the body's own wire, and a cap on the thought that the provider guarantees. All
//! other caps are wishes that a model may not know or not keep.

use super::body::{answers, may_think};
use crate::json::Val;
use crate::provider::ModelRule;
use crate::wire::Wire;

/// Tokens of a thought if neither the body nor the model's rule has a cap.
const ROOM: u64 = 32_768;
/// Tokens of a text beside a thought, if the body has no cap.
const TEXT: u64 = 8_192;
/// More than this is reserved for no answer.
pub const MOST: u64 = 131_072;

/// The most tokens that the answers to a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// How many answers the request asks for.
    pub answers: u64,
    /// Tokens of the thought of each.
    pub thought: u64,
    /// Tokens of each, its thought included.
    pub each: u64,
    /// The cap on each answer that the body sets.
    pub cap: Option<u64>,
}

impl Extent {
    /// Reads a body of this wire that goes to a model with this rule.
    #[must_use]
    pub fn of(wire: &dyn Wire, rule: &ModelRule, body: Val<'_>) -> Self {
        let cap = cap(wire, body);
        let thought = match may_think(rule, body) {
            true => thought(rule, body, cap),
            false => 0,
        };
        let free = if thought > 0 { thought.saturating_add(TEXT) } else { ROOM };
        let each = cap.unwrap_or(free).min(MOST + TEXT);
        Extent { answers: answers(body), thought, each, cap }
    }

    /// Tokens of all answers.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.each.saturating_mul(self.answers)
    }
}

/// The cap on the answer in a body of this wire that is no whole number. Some servers read such a cap all the same.
#[must_use]
pub fn unclear_cap(wire: &dyn Wire, body: Val<'_>) -> Option<&'static str> {
    let is_unclear = |path: &str| body.dotted(path).is_some_and(|said| said.as_u64().is_none());
    wire.caps().iter().copied().find(|path| is_unclear(path))
}

/// The cap that holds for each answer. The greatest of several caps counts, because servers differ in which one they
/// read. A member that is 0 or no whole number makes the body one without a cap.
fn cap(wire: &dyn Wire, body: Val<'_>) -> Option<u64> {
    let mut most = None;
    for path in wire.caps() {
        if let Some(said) = body.dotted(path) {
            most = most.max(Some(said.as_u64().filter(|cap| *cap > 0)?));
        }
    }
    most
}

fn thought(rule: &ModelRule, body: Val<'_>, cap: Option<u64>) -> u64 {
    let most = match rule.thinking.budget {
        Some(form) if form.is_exact => {
            let own = body.dotted(form.path).and_then(Val::as_u64).filter(|own| *own > 0);
            own.map_or(form.max, |own| own.min(form.max))
        }
        Some(form) => cap.map_or(form.max, |cap| cap.min(form.max)),
        None => cap.unwrap_or(ROOM),
    };
    most.min(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;
    use crate::provider::Target;

    fn extent(provider: &str, wire: &str, model: &str, body: &str) -> [u64; 3] {
        let target = Target::built_in(provider, Some(wire), model).unwrap();
        let doc = Doc::parse_str(body).unwrap();
        let Extent { answers, thought, each, .. } =
            Extent::of(target.wire, &target.rule, doc.root());
        [answers, thought, each]
    }

    #[test]
    fn only_a_cap_on_the_answer_or_a_guarantee_lowers_what_an_answer_may_take() {
        let chat = "chat-completions";
        for (provider, wire, model, body, expected) in [
            ("vllm", chat, "m", "{}", [1, 32_768, 40_960]),
            ("vllm", chat, "m", r#"{"max_tokens":500,"n":3}"#, [3, 500, 500]),
            (
                "vllm",
                chat,
                "m",
                r#"{"max_tokens":1,"max_completion_tokens":5000}"#,
                [1, 5_000, 5_000],
            ),
            (
                "vllm",
                chat,
                "m",
                r#"{"max_tokens":5000,"max_completion_tokens":1}"#,
                [1, 5_000, 5_000],
            ),
            (
                "vllm",
                chat,
                "m",
                r#"{"max_tokens":1,"max_completion_tokens":"9"}"#,
                [1, 32_768, 40_960],
            ),
            ("vllm", chat, "m", r#"{"max_tokens":1,"max_completion_tokens":null}"#, [1, 1, 1]),
            ("vllm", chat, "m", r#"{"max_tokens":0}"#, [1, 32_768, 40_960]),
            ("vllm", chat, "m", r#"{"max_tokens":60000}"#, [1, 60_000, 60_000]),
            ("vllm", chat, "m", r#"{"max_tokens":1e9}"#, [1, MOST, MOST + TEXT]),
            ("vllm", chat, "m", r#"{"max_tokens":1000000000}"#, [1, MOST, MOST + TEXT]),
            // The provider may ignore these caps.
            ("vllm", chat, "m", r#"{"thinking":{"budget_tokens":1}}"#, [1, 32_768, 40_960]),
            ("vllm", chat, "m", r#"{"budget_tokens":1,"thinking_budget":1}"#, [1, 32_768, 40_960]),
            ("vllm", chat, "m", r#"{"reasoning":{"max_tokens":1}}"#, [1, 32_768, 40_960]),
            ("vllm", chat, "m", r#"{"max_output_tokens":1}"#, [1, 32_768, 40_960]),
            (
                "anthropic",
                "messages",
                "claude-sonnet-4-5",
                r#"{"max_tokens":16000,"thinking":{"type":"enabled","budget_tokens":1024}}"#,
                [1, 16_000, 16_000],
            ),
            (
                "anthropic",
                "messages",
                "claude-sonnet-4-5",
                r#"{"max_tokens":2000,"thinking":{"type":"enabled","budget_tokens":9000}}"#,
                [1, 2_000, 2_000],
            ),
            ("anthropic", "messages", "claude-sonnet-4-5", r#"{"max_tokens":9}"#, [1, 0, 9]),
            (
                "google",
                "generate-content",
                "gemini-2.5-flash",
                r#"{"generationConfig":{"maxOutputTokens":100,"thinkingConfig":{"thinkingBudget":1},"candidateCount":2}}"#,
                [2, 100, 100],
            ),
            (
                "google",
                "generate-content",
                "gemini-2.5-flash",
                r#"{"generation_config":{"max_output_tokens":100}}"#,
                [1, 100, 100],
            ),
            ("google", "generate-content", "gemini-2.5-flash", "{}", [1, 24_576, 32_768]),
            // The provider ends the thought at its cap, and the cap on the answer is one on the text.
            (
                "alibaba",
                chat,
                "qwen3-max-preview",
                r#"{"thinking_budget":700,"max_tokens":100,"enable_thinking":true}"#,
                [1, 700, 100],
            ),
        ] {
            let extent = extent(provider, wire, model, body);
            assert_eq!(extent, expected, "{provider} {model} {body}");
        }
    }

    #[test]
    fn a3_a_cap_that_is_no_whole_number_is_unclear() {
        let wire = crate::wire::find("chat-completions").unwrap();
        for (body, expected) in [
            (r#"{"max_tokens":"18000"}"#, Some("max_tokens")),
            (r#"{"max_tokens":5,"max_completion_tokens":-1}"#, Some("max_completion_tokens")),
            (r#"{"max_tokens":1.5}"#, Some("max_tokens")),
            (r#"{"max_tokens":[5]}"#, Some("max_tokens")),
            (r#"{"max_tokens":null,"max_output_tokens":"5"}"#, None),
            (r#"{"max_tokens":0}"#, None),
            (r#"{"max_tokens":1e3}"#, None),
        ] {
            let doc = Doc::parse_str(body).unwrap();
            assert_eq!(unclear_cap(wire, doc.root()), expected, "{body}");
        }
    }

    #[test]
    fn each_wire_has_its_own_word_for_the_cap() {
        let rule = ModelRule::UNKNOWN;
        for wire in crate::wire::ALL {
            for path in wire.caps() {
                let body = crate::json::at_path(path, &crate::json::Raw::build(|w| w.u64(70)));
                let extent = Extent::of(*wire, &rule, body.doc().root());
                assert_eq!((extent.cap, extent.each), (Some(70), 70), "{} {path}", wire.id());
            }
        }
    }
}
