//! Gemini. From 3 on, calls of the turn under way must carry their signatures back; before, it only helps.
//! Thinking is said as a level from 3 on, and as a budget before; the larger models cannot be switched off.
//!
//! Facts: the pages on thinking, on thought signatures and on OpenAI compatibility (autumn 2026).

use crate::contract::{Contract, Return, SKIPS_SIGNATURE};
use crate::provider::{BudgetForm, ModelRule, ThinkingForm};
use crate::settings::Effort;

use super::THREE;

const PAGE: &str = "https://ai.google.dev/gemini-api/docs/thought-signatures";

/// Gemini 3 and later.
pub(in crate::provider) const SIGNED: Contract =
    Contract::sealed(Return::All).required_in(Return::CurrentTurn).stated(PAGE);

/// The same on the wires where calls carry signatures, and where one that no Gemini made may say so.
const CALLS: Contract = SIGNED.with_bypass(SKIPS_SIGNATURE);

/// Signatures that help and are not checked.
pub(in crate::provider) const OPTIONAL: Contract = Contract::sealed(Return::All).stated(PAGE);

const CONTEXT: u64 = 1_048_576;

const FOUR: &[(Effort, &str)] = &[
    (Effort::Minimal, "minimal"),
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
];

const TWO: &[(Effort, &str)] = &[(Effort::Low, "low"), (Effort::High, "high")];

/// The same where thoughts are parts of the answer, which goes back whole.
const PARTS: Contract = CALLS.with_unsealed();
const OPTIONAL_PARTS: Contract = OPTIONAL.with_unsealed();

/// Gemini's own wire, where a whole answer goes back with all its parts, readable thoughts included.
pub(in crate::provider) const GENERATE_CONTENT: &[ModelRule] = &[
    // The image model takes part in thinking, and its signatures are not checked.
    ModelRule::new("*gemini-3*image*", 0, OPTIONAL_PARTS, ThinkingForm::ON.show(SHOW)),
    ModelRule::new("*gemini-3-pro*", CONTEXT, PARTS, leveled(TWO)),
    ModelRule::new("*gemini-3*-pro*", CONTEXT, PARTS, leveled(THREE)),
    ModelRule::new("*gemini-3.7*", CONTEXT, PARTS, leveled(THREE)),
    ModelRule::new("*gemini-3.8*", CONTEXT, PARTS, leveled(THREE)),
    ModelRule::new("*gemini-3*", CONTEXT, PARTS, leveled(FOUR)),
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
    ModelRule::new("*gemini-*", 0, OPTIONAL_PARTS, ThinkingForm::NONE),
];

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
    }
}

/// The OpenAI-compatible endpoint, where signatures ride on the calls.
pub(in crate::provider) const CHAT: &[ModelRule] = &[
    ModelRule::new("*gemini-3*image*", 0, OPTIONAL, ThinkingForm::ON),
    ModelRule::new("*gemini-3*-pro*", CONTEXT, CALLS, chat(THREE)),
    ModelRule::new("*gemini-3.7*", CONTEXT, CALLS, chat(THREE)),
    ModelRule::new("*gemini-3.8*", CONTEXT, CALLS, chat(THREE)),
    ModelRule::new("*gemini-3*", CONTEXT, CALLS, chat(FOUR)),
    ModelRule::new("*gemini-2.5-pro*", CONTEXT, OPTIONAL, chat(FOUR)),
    ModelRule::new("*gemini-2.5-flash*", CONTEXT, OPTIONAL, chat(FOUR).off(CHAT_OFF)),
    ModelRule::new("*gemini-*", 0, OPTIONAL, ThinkingForm::NONE),
];

const CHAT_OFF: &str = r#"{"reasoning_effort":"none"}"#;

const fn chat(words: &'static [(Effort, &'static str)]) -> ThinkingForm {
    ThinkingForm::ON.effort("reasoning_effort", words)
}

/// The Interactions API: thought steps come back as they were, with their signatures.
pub(in crate::provider) const INTERACTIONS: &[ModelRule] = &[
    ModelRule::new("*gemini-3*-pro*", CONTEXT, SIGNED, steps(THREE)),
    ModelRule::new("*gemini-3.7*", CONTEXT, SIGNED, steps(THREE)),
    ModelRule::new("*gemini-3.8*", CONTEXT, SIGNED, steps(THREE)),
    ModelRule::new("*gemini-3*", CONTEXT, SIGNED, steps(FOUR)),
    ModelRule::new("*gemini-2.5*", CONTEXT, OPTIONAL, steps(FOUR)),
    ModelRule::new("*gemini-*", 0, OPTIONAL, ThinkingForm::NONE),
];

const fn steps(words: &'static [(Effort, &'static str)]) -> ThinkingForm {
    ThinkingForm::ON
        .effort("generation_config.thinking_level", words)
        .show(r#"{"generation_config":{"thinking_summaries":"auto"}}"#)
}
