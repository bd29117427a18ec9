//! Gemini. From 3 on, calls of the turn under way must carry their signatures back; before, it only helps. Thinking
//! is a level from 3 on, and a budget before; the larger models cannot be switched off. The names without a number
//! mean models of the newest generations.
//!
//! Facts: the pages on thinking, on thought signatures, on Gemini 4 and on OpenAI compatibility (autumn 2026).

use crate::contract::{Contract, Return, SKIPS_SIGNATURE, WeakIds};
use crate::provider::{BudgetForm, ModelRule, ThinkingForm};
use crate::settings::Effort;

use super::THREE;

const PAGE: &str = "https://ai.google.dev/gemini-api/docs/thought-signatures";

/// Calls mostly have no ids, and the substitutes of Google's other wires are not documented as random.
const SEALED: Contract =
    Contract { tickets: Some(WeakIds::Any), ..Contract::sealed(Return::All) }.stated(PAGE);

/// Gemini 3 and later.
pub(in crate::provider) const SIGNED: Contract = SEALED.required_in(Return::CurrentTurn);

/// The same for wires on which calls carry signatures, and on which a call from another model may carry the bypass.
pub(in crate::provider) const CALLS: Contract = SIGNED.with_bypass(SKIPS_SIGNATURE);

/// Signatures that help and are not checked.
pub(in crate::provider) const OPTIONAL: Contract = SEALED;

pub(in crate::provider) const CONTEXT: u64 = 1_048_576;

pub(in crate::provider) const FOUR: &[(Effort, &str)] = &[
    (Effort::Minimal, "minimal"),
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
];

const TWO: &[(Effort, &str)] = &[(Effort::Low, "low"), (Effort::High, "high")];

/// The same for wires on which thoughts are parts of the answer, which goes back whole.
const PARTS: Contract = CALLS.with_unsealed();
const OPTIONAL_PARTS: Contract = OPTIONAL.with_unsealed();

/// Gemini's own wire: a whole answer goes back with all its parts, readable thoughts included.
pub(in crate::provider) const GENERATE_CONTENT: &[ModelRule] = &[
    ModelRule::thoughtless("*-tts*"),
    ModelRule::thoughtless("*embedding*"),
    // The image models take part in thinking, and their signatures are not checked.
    ModelRule::new("*gemini-3*image*", 0, OPTIONAL_PARTS, ThinkingForm::ON.show(SHOW)),
    ModelRule::new("*nano-banana*", 131_072, OPTIONAL_PARTS, ThinkingForm::ON.show(SHOW)),
    ModelRule::new("*gemini-4*", CONTEXT, PARTS, leveled(THREE)),
    ModelRule::new("*gemini-pro-latest*", CONTEXT, PARTS, leveled(THREE)),
    ModelRule::new("*gemini-flash-latest*", CONTEXT, PARTS, leveled(THREE)),
    ModelRule::new("*gemini-flash-lite-latest*", CONTEXT, PARTS, leveled(THREE)),
    ModelRule::new("*gemini-3-pro*", CONTEXT, PARTS, leveled(TWO)),
    ModelRule::new("*gemini-3*-pro*", CONTEXT, PARTS, leveled(THREE)),
    ModelRule::new("*gemini-3.7*", CONTEXT, PARTS, leveled(THREE)),
    ModelRule::new("*gemini-3.8*", CONTEXT, PARTS, leveled(THREE)),
    ModelRule::new("*gemini-3*", CONTEXT, PARTS, leveled(FOUR)),
    ModelRule::thoughtless("*gemini-2.5-flash-image*"),
    ModelRule::new(
        "*gemini-2.5-pro*",
        CONTEXT,
        OPTIONAL_PARTS,
        ThinkingForm::ON.budget(budget(128, 32_768)).show(SHOW),
    ),
    ModelRule::new(
        "*gemini-2.5-flash-lite*",
        CONTEXT,
        OPTIONAL_PARTS,
        ThinkingForm::on(DYNAMIC).budget(budget(512, 24_576)).show(SHOW),
    ),
    ModelRule::new(
        "*gemini-2.5-flash*",
        CONTEXT,
        OPTIONAL_PARTS,
        ThinkingForm::ON.off(OFF).budget(budget(1, 24_576)).show(SHOW),
    ),
    ModelRule::new("*gemini-robotics-*", 131_072, OPTIONAL_PARTS, ThinkingForm::ON.show(SHOW)),
    ModelRule::thoughtless("*gemini-2.0*"),
    ModelRule::thoughtless("*gemini-1*"),
    // By their model cards, thoughts of earlier answers do not go back.
    ModelRule::new("*gemma-4*", 262_144, OPTIONAL, ThinkingForm::NONE),
    ModelRule::thoughtless("*gemma-*"),
    ModelRule::new("*gemini-4*", CONTEXT, PARTS, leveled(THREE)).assumed("*gemini-*"),
    ModelRule::new("*gemini-4*", CONTEXT, PARTS, leveled(THREE)).assumed("*"),
];

/// Whether results of tools hold no media, as before Gemini 3. Source: the page on function calling.
pub(in crate::provider) fn has_plain_results(model: &str) -> bool {
    ["gemini-1", "gemini-2", "gemma"].iter().any(|older| model.contains(older))
}

const SHOW: &str = r#"{"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}"#;
const OFF: &str = r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}"#;
const DYNAMIC: &str = r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":-1}}}"#;

const fn leveled(words: &'static [(Effort, &'static str)]) -> ThinkingForm {
    ThinkingForm::ON.effort("generationConfig.thinkingConfig.thinkingLevel", words).show(SHOW)
}

const fn budget(min: u64, max: u64) -> BudgetForm {
    BudgetForm {
        path: "generationConfig.thinkingConfig.thinkingBudget",
        with: None,
        min,
        max,
        below_max_tokens: false,
        is_exact: false,
    }
}

/// The OpenAI-compatible endpoint, on which calls carry the signatures; `$others` are models of other vendors there.
macro_rules! chat_rules {
    ($($others:expr),* $(,)?) => {{
        use $crate::provider::family::gemini::{CALLS, CHAT_OFF, CONTEXT, FOUR, OPTIONAL, chat};
        &[
            ModelRule::thoughtless("*-tts*"),
            ModelRule::thoughtless("*embedding*"),
            ModelRule::new("*gemini-3*image*", 0, OPTIONAL, ThinkingForm::ON),
            ModelRule::new("*nano-banana*", 131_072, OPTIONAL, ThinkingForm::ON),
            ModelRule::new("*gemini-4*", CONTEXT, CALLS, chat(THREE)),
            ModelRule::new("*gemini-pro-latest*", CONTEXT, CALLS, chat(THREE)),
            ModelRule::new("*gemini-flash-latest*", CONTEXT, CALLS, chat(THREE)),
            ModelRule::new("*gemini-flash-lite-latest*", CONTEXT, CALLS, chat(THREE)),
            ModelRule::new("*gemini-3*-pro*", CONTEXT, CALLS, chat(THREE)),
            ModelRule::new("*gemini-3.7*", CONTEXT, CALLS, chat(THREE)),
            ModelRule::new("*gemini-3.8*", CONTEXT, CALLS, chat(THREE)),
            ModelRule::new("*gemini-3*", CONTEXT, CALLS, chat(FOUR)),
            ModelRule::thoughtless("*gemini-2.5-flash-image*"),
            ModelRule::new("*gemini-2.5-pro*", CONTEXT, OPTIONAL, chat(FOUR)),
            ModelRule::new("*gemini-2.5-flash*", CONTEXT, OPTIONAL, chat(FOUR).off(CHAT_OFF)),
            ModelRule::new("*gemini-robotics-*", 131_072, OPTIONAL, ThinkingForm::ON),
            ModelRule::thoughtless("*gemini-2.0*"),
            ModelRule::thoughtless("*gemini-1*"),
            ModelRule::new("*gemma-4*", 262_144, OPTIONAL, ThinkingForm::NONE),
            ModelRule::thoughtless("*gemma-*"),
            $($others,)*
            ModelRule::new("*gemini-4*", CONTEXT, CALLS, chat(THREE)).assumed("*gemini-*"),
            ModelRule::new("*gemini-4*", CONTEXT, CALLS, chat(THREE)).assumed("*"),
        ]
    }};
}
pub(in crate::provider) use chat_rules;

/// Gemini alone.
pub(in crate::provider) const CHAT: &[ModelRule] = chat_rules!();

pub(in crate::provider) const CHAT_OFF: &str = r#"{"reasoning_effort":"none"}"#;

pub(in crate::provider) const fn chat(words: &'static [(Effort, &'static str)]) -> ThinkingForm {
    ThinkingForm::ON.effort("reasoning_effort", words)
}

/// The Interactions API: thought steps come back as they were, with their signatures.
pub(in crate::provider) const INTERACTIONS: &[ModelRule] = &[
    ModelRule::thoughtless("*-tts*"),
    ModelRule::thoughtless("*embedding*"),
    ModelRule::new("*gemini-4*", CONTEXT, SIGNED, steps(THREE)),
    ModelRule::new("*gemini-pro-latest*", CONTEXT, SIGNED, steps(THREE)),
    ModelRule::new("*gemini-flash-latest*", CONTEXT, SIGNED, steps(THREE)),
    ModelRule::new("*gemini-flash-lite-latest*", CONTEXT, SIGNED, steps(THREE)),
    ModelRule::new("*gemini-3*-pro*", CONTEXT, SIGNED, steps(THREE)),
    ModelRule::new("*gemini-3.7*", CONTEXT, SIGNED, steps(THREE)),
    ModelRule::new("*gemini-3.8*", CONTEXT, SIGNED, steps(THREE)),
    ModelRule::new("*gemini-3*", CONTEXT, SIGNED, steps(FOUR)),
    ModelRule::thoughtless("*gemini-2.5-flash-image*"),
    ModelRule::new("*gemini-2.5*", CONTEXT, OPTIONAL, steps(FOUR)),
    ModelRule::thoughtless("*gemini-2.0*"),
    ModelRule::thoughtless("*gemini-1*"),
    ModelRule::thoughtless("*gemma-*"),
    ModelRule::new("*gemini-4*", CONTEXT, SIGNED, steps(THREE)).assumed("*gemini-*"),
    ModelRule::new("*gemini-4*", CONTEXT, SIGNED, steps(THREE)).assumed("*"),
];

const fn steps(words: &'static [(Effort, &'static str)]) -> ThinkingForm {
    ThinkingForm::ON
        .effort("generation_config.thinking_level", words)
        .show(r#"{"generation_config":{"thinking_summaries":"auto"}}"#)
}
