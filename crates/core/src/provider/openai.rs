//! OpenAI. Chat completions never show or take reasoning; Responses items must come back with what they produced.
//!
//! Facts: the API reference for `reasoning_effort` and `reasoning`, and the guide on reasoning models (autumn 2026).

use super::{Auth, EffortForm, Endpoint, ModelRule, Provider, ThinkingForm};
use crate::contract::{Contract, Return};
use crate::settings::Effort;
use crate::wire::Dialect;
use std::borrow::Cow;

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "openai",
    keys: &["OPENAI_API_KEY"],
    default_model: Some("gpt-5.6"),
    local_port: None,
    endpoints: &[
        Endpoint {
            wire: "responses",
            base_url: "https://api.openai.com/v1",
            auth: Auth::Bearer,
            headers: &[],
            dialect: Dialect::PLAIN,
            models: RESPONSES,
        },
        Endpoint {
            wire: "chat-completions",
            base_url: "https://api.openai.com/v1",
            auth: Auth::Bearer,
            headers: &[],
            dialect: Dialect {
                refuses: Cow::Borrowed(&["reasoning_content", "reasoning", "reasoning_details"]),
                max_tokens_field: Some("max_completion_tokens"),
                asks_for_usage: true,
                ..Dialect::PLAIN
            },
            models: CHAT,
        },
    ],
};

const EFFORTS: &[(Effort, &str)] = &[
    (Effort::None, "none"),
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
    (Effort::Xhigh, "xhigh"),
    (Effort::Max, "max"),
];

const FULL: EffortForm = EffortForm { path: "reasoning.effort", words: EFFORTS };

const ITEMS: Contract = Contract::sealed(Return::All)
    .with_flags(r#"{"include":["reasoning.encrypted_content"]}"#)
    .stated("https://platform.openai.com/docs/guides/reasoning");

const RESPONSES: &[ModelRule] = &[
    ModelRule {
        pattern: "gpt-5*",
        context: 400_000,
        contract: ITEMS,
        thinking: ThinkingForm {
            default_on: true,
            off: Some(r#"{"reasoning":{"effort":"none"}}"#),
            effort: Some(FULL),
            show: Some(r#"{"reasoning":{"summary":"auto"}}"#),
            ..ThinkingForm::NONE
        },
        tags: None,
    },
    ModelRule {
        pattern: "o*",
        context: 200_000,
        contract: ITEMS,
        thinking: ThinkingForm {
            default_on: true,
            effort: Some(EffortForm {
                path: "reasoning.effort",
                words: &[(Effort::Low, "low"), (Effort::Medium, "medium"), (Effort::High, "high")],
            }),
            show: Some(r#"{"reasoning":{"summary":"auto"}}"#),
            ..ThinkingForm::NONE
        },
        tags: None,
    },
];

const CHAT: &[ModelRule] = &[ModelRule {
    pattern: "gpt-5*",
    context: 400_000,
    contract: Contract::NONE,
    thinking: ThinkingForm {
        default_on: true,
        off: Some(r#"{"reasoning_effort":"none"}"#),
        effort: Some(EffortForm { path: "reasoning_effort", words: EFFORTS }),
        ..ThinkingForm::NONE
    },
    tags: None,
}];
