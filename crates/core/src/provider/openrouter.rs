//! OpenRouter. `reasoning_details` come back whole, in order and unmodified: on routes to models that seal their
//! thoughts the payloads are of use there only; on the others the text counts. The strict rules of the models behind
//! it show through.
//!
//! Facts: the guide on reasoning tokens, the pages on moving to new models (autumn 2026).

use super::family::{claude, gemini, open};
use super::{BudgetForm, Endpoint, ModelRule, OtherForm, Provider, ThinkingForm};
use crate::contract::{Contract, Return};
use crate::settings::{Effort, Format};
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "openrouter",
    keys: &["OPENROUTER_API_KEY"],
    address: None,
    default_model: Some("anthropic/claude-sonnet-5"),
    local_port: None,
    endpoints: &[
        Endpoint {
            base_url: "https://openrouter.ai/api/v1",
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: CHAT,
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Responses,
            base_url: "https://openrouter.ai/api/v1",
            models: RESPONSES,
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Messages,
            base_url: "https://openrouter.ai/api",
            headers: &[("anthropic-version", "2023-06-01")],
            models: MESSAGES,
            ..Endpoint::CHAT
        },
    ],
};

const PAGE: &str = "https://openrouter.ai/docs/use-cases/reasoning-tokens";
const DETAILS: &str = "reasoning_details";

const TEXT: Contract = Contract::plain(Return::All, DETAILS).stated(PAGE);
const SEALED: Contract =
    Contract { field: Some(DETAILS), ..Contract::sealed(Return::All) }.with_unsealed().stated(PAGE);
/// Claude's generations with manual thinking.
const MANUAL: Contract = Contract { only_when_on: true, ..SEALED }.required_in(Return::CurrentTurn);
const CALLS: Contract = Contract::plain(Return::ToolCalls, DETAILS).required().stated(PAGE);

/// Plain strings are taken of models whose thoughts are plain text; a payload has no room in them.
const STRING: OtherForm =
    OtherForm { format: Format::Field, field: "reasoning", flags: None, tags: None };

const FORM: ThinkingForm = ThinkingForm {
    on: Some(r#"{"reasoning":{"enabled":true}}"#),
    ..ThinkingForm::NONE
        .off(r#"{"reasoning":{"effort":"none"}}"#)
        .effort(
            "reasoning.effort",
            &[
                (Effort::None, "none"),
                (Effort::Minimal, "minimal"),
                (Effort::Low, "low"),
                (Effort::Medium, "medium"),
                (Effort::High, "high"),
                (Effort::Xhigh, "xhigh"),
            ],
        )
        .budget(BudgetForm {
            path: "reasoning.max_tokens",
            with: None,
            min: 1024,
            max: 128_000,
            below_max_tokens: true,
            is_exact: false,
        })
};

const CHAT: &[ModelRule] = &[
    ModelRule::new("anthropic/claude-3.7*", 0, MANUAL, FORM),
    ModelRule::new("anthropic/claude-*-4", 0, MANUAL, FORM),
    ModelRule::new("anthropic/claude-*-4:*", 0, MANUAL, FORM),
    ModelRule::new("anthropic/claude-*-4.1*", 0, MANUAL, FORM),
    ModelRule::new("anthropic/claude-*-4.5*", 0, MANUAL, FORM),
    ModelRule::new("anthropic/*", 0, SEALED, FORM),
    ModelRule::new("openai/gpt-oss*", 131_072, TEXT, FORM).or(STRING),
    ModelRule::new("openai/*", 0, SEALED, FORM),
    ModelRule::new(
        "google/gemini-3*",
        1_048_576,
        Contract { field: Some(DETAILS), ..gemini::SIGNED },
        FORM,
    ),
    ModelRule::new(
        "google/gemini-4*",
        1_048_576,
        Contract { field: Some(DETAILS), ..gemini::SIGNED },
        FORM,
    ),
    ModelRule::new("google/gemini-*", 0, SEALED, FORM),
    ModelRule::new("x-ai/*", 0, SEALED, FORM),
    ModelRule::new("deepseek/deepseek-r1*", 0, TEXT, FORM).or(STRING),
    ModelRule::new("deepseek/deepseek-v4*", 1_048_576, CALLS, FORM).or(STRING),
    ModelRule::new("deepseek/deepseek-v3.2*", 0, CALLS, FORM).or(STRING),
    ModelRule::new("moonshotai/kimi-k2-thinking*", 262_144, CALLS, FORM).or(STRING),
    ModelRule::new("moonshotai/kimi-k2.*", 262_144, CALLS, FORM).or(STRING),
    ModelRule::new("moonshotai/kimi-k3*", 0, CALLS, FORM).or(STRING),
    ModelRule::new("*", 0, TEXT, FORM).or(STRING),
];

const RESPONSES: &[ModelRule] = &[
    ModelRule::new("anthropic/*", 0, ITEMS, FORM),
    ModelRule::new("google/*", 0, ITEMS, FORM),
    ModelRule::new("openai/gpt-oss*", 131_072, open::own_place(PAGE), FORM),
    ModelRule::new("openai/*", 0, ITEMS, FORM),
    ModelRule::new("x-ai/*", 0, ITEMS, FORM),
    ModelRule::new("*", 0, open::own_place(PAGE), FORM),
];

const ITEMS: Contract = Contract { field: None, ..SEALED };

/// Blocks are not bound to their prefix through here.
const MESSAGES: &[ModelRule] = &[
    ModelRule::new("anthropic/*", 0, claude::ADAPTIVE, ThinkingForm::NONE),
    ModelRule::new("*", 0, open::own_place(PAGE), ThinkingForm::NONE),
];
