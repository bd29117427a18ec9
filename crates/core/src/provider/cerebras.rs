//! Cerebras. GLM reads its earlier reasoning in tags inside the content, and of earlier turns only if
//! `clear_thinking` is false; gpt-oss follows harmony. `reasoning_content` is refused.
//!
//! Facts: the reference of Chat Completions, and public recordings of a replay (autumn 2026).

use super::family::open;
use super::{Endpoint, ModelRule, Provider, SdkAddress, ThinkingForm};
use crate::contract::{Contract, Return};
use crate::wire::Dialect;
use std::borrow::Cow;

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "cerebras",
    keys: &["CEREBRAS_API_KEY"],
    address: Some(SdkAddress {
        variables: &["CEREBRAS_BASE_URL"],
        default: "https://api.cerebras.ai",
    }),
    default_model: Some("gpt-oss-120b"),
    local_port: None,
    endpoints: &[Endpoint {
        base_url: "https://api.cerebras.ai/v1",
        dialect: Dialect {
            refuses: Cow::Borrowed(&["reasoning_content", "reasoning_details", "thinking_blocks"]),
            asks_for_usage: true,
            ..Dialect::PLAIN
        },
        models: MODELS,
        ..Endpoint::CHAT
    }],
};

const PAGE: &str = "https://inference-docs.cerebras.ai/capabilities/reasoning";

const TAGS: Contract = Contract::plain(Return::All, "think_tags")
    .with_flags(r#"{"clear_thinking":false}"#)
    .stated(PAGE);

/// The field that the templates of the other models render.
const FIELD: Contract = Contract::plain(Return::CurrentTurn, "reasoning").stated(PAGE);

const MODELS: &[ModelRule] = &[
    ModelRule::new(
        "zai-glm*",
        131_072,
        TAGS,
        ThinkingForm::ON.off(r#"{"reasoning_effort":"none"}"#),
    ),
    ModelRule::new("gpt-oss*", 131_072, open::HARMONY, open::HARMONY_THINKING),
    ModelRule::thoughtless("qwen-3*-instruct*"),
    ModelRule::thoughtless("qwen-3-coder*"),
    ModelRule::new("qwen-3*", 131_072, FIELD, ThinkingForm::ON),
    ModelRule::new("gemma-4*", 131_072, FIELD, ThinkingForm::NONE),
];
