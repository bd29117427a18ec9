//! GPT and the o-series, on OpenAI's own wires.
//!
//! Chat Completions never show or take reasoning. Responses items must come back with what they produced; their
//! payload is asked for with `include`, since not every deployment sends it by itself. Whether `none` is known
//! differs by generation: not before 5.1, the default from 5.1 to 5.4, an option since 5.5.
//!
//! Facts: the API reference for `reasoning_effort` and `reasoning`, the guide on reasoning models, the model pages
//! (autumn 2026).

use crate::contract::{Contract, Return};
use crate::provider::{ModelRule, ThinkingForm};
use crate::settings::Effort;

use super::THREE;

const PAGE: &str = "https://developers.openai.com/api/docs/guides/reasoning";

/// Sealed reasoning items.
pub(in crate::provider) const ITEMS: Contract = Contract::sealed(Return::All)
    .with_flags(r#"{"include":["reasoning.encrypted_content"]}"#)
    .stated(PAGE);

/// Reasoning is neither shown nor taken.
pub(in crate::provider) const HIDDEN: Contract = Contract::NONE.stated(PAGE);

const FIRST: &[(Effort, &str)] = &[
    (Effort::Minimal, "minimal"),
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
];

const FROM_NONE: &[(Effort, &str)] = &[
    (Effort::None, "none"),
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
    (Effort::Xhigh, "xhigh"),
];

const TO_MAX: &[(Effort, &str)] = &[
    (Effort::None, "none"),
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
    (Effort::Xhigh, "xhigh"),
    (Effort::Max, "max"),
];

const TO_XHIGH: &[(Effort, &str)] = &[
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
    (Effort::Xhigh, "xhigh"),
];

/// The rules of one wire: where effort stands, what shows thoughts, and the contract.
macro_rules! rules {
    ($name:ident, $path:literal, $contract:expr, $off:literal, $on:literal, $shown:expr) => {
        pub(in crate::provider) const $name: &[ModelRule] = &[
            // The chat variants either do not reason or take no effort but their own.
            ModelRule::new("gpt-5-chat*", 128_000, HIDDEN, ThinkingForm::NONE),
            ModelRule::new("gpt-5*-chat*", 128_000, $contract, $shown(ThinkingForm::ON)),
            ModelRule::new(
                "gpt-5-pro*",
                400_000,
                $contract,
                $shown(ThinkingForm::ON.effort($path, &[(Effort::High, "high")])),
            ),
            ModelRule::new(
                "gpt-5*-pro*",
                0,
                $contract,
                $shown(ThinkingForm::ON.effort($path, TO_XHIGH)),
            ),
            ModelRule::new(
                "gpt-5.6*",
                0,
                $contract,
                $shown(ThinkingForm::ON.off($off).effort($path, TO_MAX)),
            ),
            ModelRule::new(
                "gpt-5.5*",
                1_050_000,
                $contract,
                $shown(ThinkingForm::ON.off($off).effort($path, FROM_NONE)),
            ),
            ModelRule::new(
                "gpt-5.1-codex*",
                400_000,
                $contract,
                $shown(ThinkingForm::ON.effort($path, TO_XHIGH)),
            ),
            ModelRule::new(
                "gpt-5.4*",
                1_050_000,
                $contract,
                $shown(ThinkingForm::on($on).off($off).effort($path, FROM_NONE)),
            ),
            ModelRule::new(
                "gpt-5.*",
                400_000,
                $contract,
                $shown(ThinkingForm::on($on).off($off).effort($path, FROM_NONE)),
            ),
            ModelRule::new(
                "gpt-5*",
                400_000,
                $contract,
                $shown(ThinkingForm::ON.effort($path, FIRST)),
            ),
            ModelRule::new(
                "o1*",
                200_000,
                $contract,
                $shown(ThinkingForm::ON.effort($path, THREE)),
            ),
            ModelRule::new(
                "o3*",
                200_000,
                $contract,
                $shown(ThinkingForm::ON.effort($path, THREE)),
            ),
            ModelRule::new(
                "o4*",
                200_000,
                $contract,
                $shown(ThinkingForm::ON.effort($path, THREE)),
            ),
        ];
    };
}

rules!(
    RESPONSES,
    "reasoning.effort",
    ITEMS,
    r#"{"reasoning":{"effort":"none"}}"#,
    r#"{"reasoning":{"effort":"medium"}}"#,
    summarized
);
rules!(
    CHAT,
    "reasoning_effort",
    HIDDEN,
    r#"{"reasoning_effort":"none"}"#,
    r#"{"reasoning_effort":"medium"}"#,
    never_shown
);

const fn summarized(form: ThinkingForm) -> ThinkingForm {
    form.show(r#"{"reasoning":{"summary":"auto"}}"#)
}

const fn never_shown(form: ThinkingForm) -> ThinkingForm {
    form
}

/// The fields for thoughts that strict validators of Chat Completions do not know.
pub(in crate::provider) const REFUSED: &[&str] =
    &["reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"];
