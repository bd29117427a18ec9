//! GPT and the o-series, on OpenAI's own wires.
//!
//! Chat Completions never show or take reasoning. Responses items must come back with the items that they produced;
//! requests ask for their payload with `include`, since not every deployment sends it by default. Whether `none` is
//! known differs by generation: not before 5.1, the default from 5.1 to 5.4, an option since 5.5, and from 6 on one
//! of some models.
//!
//! Facts: the API reference for `reasoning_effort` and `reasoning`, the guide on reasoning models, the model pages
//! (autumn 2026).

use crate::contract::{Contract, Return};
use crate::provider::{ModelRule, ThinkingForm};
use crate::settings::Effort;

const PAGE: &str = "https://developers.openai.com/api/docs/guides/reasoning";

/// Sealed reasoning items.
pub(in crate::provider) const ITEMS: Contract = Contract::sealed(Return::All)
    .with_flags(r#"{"include":["reasoning.encrypted_content"]}"#)
    .stated(PAGE);

/// Reasoning is neither shown nor taken.
pub(in crate::provider) const HIDDEN: Contract = Contract::NONE.stated(PAGE);

pub(in crate::provider) const FIRST: &[(Effort, &str)] = &[
    (Effort::Minimal, "minimal"),
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
];

pub(in crate::provider) const FROM_NONE: &[(Effort, &str)] = &[
    (Effort::None, "none"),
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
    (Effort::Xhigh, "xhigh"),
];

pub(in crate::provider) const TO_MAX: &[(Effort, &str)] = &[
    (Effort::None, "none"),
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
    (Effort::Xhigh, "xhigh"),
    (Effort::Max, "max"),
];

pub(in crate::provider) const LOW_TO_MAX: &[(Effort, &str)] = &[
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
    (Effort::Xhigh, "xhigh"),
    (Effort::Max, "max"),
];

pub(in crate::provider) const TO_XHIGH: &[(Effort, &str)] = &[
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
    (Effort::Xhigh, "xhigh"),
];

/// A context window of 922,000 tokens and an answer of 128,000.
pub(in crate::provider) const MILLION: u64 = 1_050_000;

/// The rules of one wire: the path of the effort, the contract, the switches for thinking off and on, and the
/// parameter that shows thoughts; `$others` are models of other vendors there.
macro_rules! rules {
    ($path:literal, $contract:expr, $off:literal, $on:literal, $shown:expr, [$($others:expr),*]) => {
        {
            use $crate::provider::family::THREE;
            use $crate::provider::family::gpt::{
                FIRST, FROM_NONE, HIDDEN, LOW_TO_MAX, MILLION, TO_MAX, TO_XHIGH,
            };
            use $crate::provider::{ModelRule, ThinkingForm};
            use $crate::settings::Effort;

            const fn rule(pattern: &'static str, context: u64, form: ThinkingForm) -> ModelRule {
                ModelRule::new(pattern, context, $contract, $shown(form))
            }
            const fn always(words: &'static [(Effort, &'static str)]) -> ThinkingForm {
                ThinkingForm::ON.effort($path, words)
            }
            const fn hybrid(words: &'static [(Effort, &'static str)]) -> ThinkingForm {
                always(words).off($off)
            }
            const ON_REQUEST: ThinkingForm =
                ThinkingForm::on($on).off($off).effort($path, FROM_NONE);
            const NEWEST: ModelRule = rule("gpt-6*", MILLION, always(LOW_TO_MAX));
            &[
                // Some names below match these models, too, so these rules come first.
                ModelRule::thoughtless("*-tts*"),
                ModelRule::thoughtless("*-transcribe*"),
                ModelRule::thoughtless("*-search-preview*"),
                rule("gpt-6-luna*", MILLION, hybrid(TO_MAX)),
                rule("gpt-6-sol*", MILLION, hybrid(TO_MAX)),
                rule("gpt-6.1-terra*", MILLION, hybrid(TO_MAX)),
                rule("gpt-6.2-sol*", MILLION, hybrid(TO_MAX)),
                NEWEST,
                // The chat variants either do not reason or take no effort but their own.
                ModelRule::new("gpt-5-chat*", 128_000, HIDDEN, ThinkingForm::NONE),
                rule("gpt-5*-chat*", 128_000, ThinkingForm::ON),
                rule("chat-latest*", 400_000, ThinkingForm::ON),
                rule("gpt-chat-latest*", 128_000, ThinkingForm::ON),
                rule("gpt-5-pro*", 400_000, always(&[(Effort::High, "high")])),
                rule("gpt-5*-pro*", 0, always(TO_XHIGH)),
                rule("gpt-5.6-cyber*", 400_000, hybrid(TO_MAX)),
                rule("gpt-5.6*", MILLION, hybrid(TO_MAX)),
                rule("gpt-5.5*", MILLION, hybrid(FROM_NONE)),
                rule("gpt-5.1-codex*", 400_000, always(TO_XHIGH)),
                rule("gpt-5.4-mini*", 400_000, ON_REQUEST),
                rule("gpt-5.4-nano*", 400_000, ON_REQUEST),
                rule("gpt-5.4*", MILLION, ON_REQUEST),
                rule("gpt-5.*", 400_000, ON_REQUEST),
                rule("gpt-5*", 400_000, always(FIRST)),
                // Trained for one profession; their efforts are not documented.
                rule("*daybreak-*", 0, ThinkingForm::ON),
                rule("gpt-rosalind*", 0, ThinkingForm::ON),
                rule("computer-use*", 8_192, ThinkingForm::ON),
                // These came before any wire took reasoning, and before effort.
                ModelRule::new("o1-mini*", 128_000, HIDDEN, ThinkingForm::ON),
                ModelRule::new("o1-preview*", 128_000, HIDDEN, ThinkingForm::ON),
                rule("o1*", 200_000, always(THREE)),
                rule("o3*", 200_000, always(THREE)),
                rule("o4*", 200_000, always(THREE)),
                rule("ft:o4*", 200_000, always(THREE)),
                rule("codex-mini*", 200_000, always(THREE)),
                ModelRule::thoughtless("gpt-4*"),
                ModelRule::thoughtless("ft:gpt-4*"),
                ModelRule::thoughtless("gpt-3*"),
                ModelRule::thoughtless("ft:gpt-3*"),
                ModelRule::thoughtless("chatgpt-*"),
                ModelRule::thoughtless("gpt-audio*"),
                ModelRule::thoughtless("gpt-image*"),
                ModelRule::thoughtless("*embedding*"),
                ModelRule::thoughtless("*moderation*"),
                $($others,)*
                NEWEST.assumed("gpt-*"),
                NEWEST.assumed("*"),
            ]
        }
    };
}
pub(in crate::provider) use rules;

/// The Responses API.
pub(in crate::provider) const RESPONSES: &[ModelRule] = rules!(
    "reasoning.effort",
    ITEMS,
    r#"{"reasoning":{"effort":"none"}}"#,
    r#"{"reasoning":{"effort":"medium"}}"#,
    summarized,
    []
);

/// Chat Completions; `$others` are models of other vendors there.
macro_rules! chat_rules {
    ($($others:expr),* $(,)?) => {
        $crate::provider::family::gpt::rules!(
            "reasoning_effort",
            $crate::provider::family::gpt::HIDDEN,
            r#"{"reasoning_effort":"none"}"#,
            r#"{"reasoning_effort":"medium"}"#,
            $crate::provider::family::gpt::never_shown,
            [$($others),*]
        )
    };
}
pub(in crate::provider) use chat_rules;

/// OpenAI's models alone.
pub(in crate::provider) const CHAT: &[ModelRule] = chat_rules!();

const fn summarized(form: ThinkingForm) -> ThinkingForm {
    form.show(r#"{"reasoning":{"summary":"auto"}}"#)
}

pub(in crate::provider) const fn never_shown(form: ThinkingForm) -> ThinkingForm {
    form
}

/// The fields for thoughts that strict validators of Chat Completions do not know.
pub(in crate::provider) const REFUSED: &[&str] =
    &["reasoning_content", "reasoning", "reasoning_details", "thinking_blocks"];
