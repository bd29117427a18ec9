//! Azure. OpenAI's models on their own wires, other vendors' on Chat Completions, Claude on Anthropic's. The resource
//! is part of the address, so the user configures it (`https://RESOURCE.openai.azure.com/openai/v1`, and for Claude
//! `https://RESOURCE.services.ai.azure.com/anthropic`), and the rules hold if a deployment is named after its model.
//!
//! Facts: Azure's reference of the v1 API and of Claude in Foundry, and findings of users about DeepSeek there
//! (autumn 2026).

use super::family::{THREE, claude, gpt, open};
use super::{Auth, BudgetForm, Endpoint, ModelRule, Provider, ThinkingForm, WhileThinking};
use crate::contract::{Contract, Return};
use crate::wire::{Dialect, WireId};
use std::borrow::Cow;

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "azure",
    keys: &["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"],
    address: None,
    default_model: None,
    local_port: None,
    endpoints: &[
        Endpoint {
            wire: WireId::Responses,
            auth: Auth::Header("api-key"),
            models: gpt::RESPONSES,
            draws_ids: true,
            ..Endpoint::CHAT
        },
        Endpoint {
            auth: Auth::Header("api-key"),
            dialect: Dialect {
                // OpenAI's own models refuse `reasoning_content`, too, by their rule; other models accept it.
                refuses: Cow::Borrowed(&["reasoning", "reasoning_details", "thinking_blocks"]),
                max_tokens_field: Some("max_completion_tokens"),
                asks_for_usage: true,
                ..Dialect::PLAIN
            },
            models: CHAT,
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Messages,
            auth: Auth::Header("api-key"),
            headers: &[("anthropic-version", "2023-06-01")],
            models: RULES,
            draws_ids: true,
            ..Endpoint::CHAT
        },
    ],
};

const PAGE: &str =
    "https://learn.microsoft.com/en-us/azure/foundry/foundry-models/how-to/use-chat-reasoning";

/// Thoughts come as `reasoning_content`, and may go back there; the API does not refuse requests without them.
const LOOP: Contract = Contract::plain(Return::ToolCalls, "reasoning_content").stated(PAGE);
const NEVER: Contract = Contract::NONE.stated(PAGE);
const SAID: ThinkingForm = ThinkingForm::NONE.effort("reasoning_effort", THREE);

const CHAT: &[ModelRule] = gpt::chat_rules!(
    ModelRule::new("*deepseek-v3.2*", 163_840, LOOP, SAID),
    ModelRule::new("*deepseek-v4*", 1_000_000, LOOP, SAID),
    ModelRule::new("*kimi-k2*", 262_144, LOOP, ThinkingForm::ON),
    ModelRule::new("*kimi-k3*", 1_048_576, LOOP, ThinkingForm::ON),
    ModelRule::new("*glm-*", 0, open::sibling(PAGE), ThinkingForm::ON),
    ModelRule::new("*minimax-m*", 0, open::sibling(PAGE), ThinkingForm::ON),
    ModelRule::new("*nemotron-*", 262_144, open::sibling(PAGE), ThinkingForm::NONE),
    ModelRule::new("*gpt-oss*", 131_072, LOOP, SAID),
    ModelRule::thoughtless("*non-reasoning*"),
    ModelRule::new("grok-*", 0, NEVER, ThinkingForm::ON),
    // Thoughts are in tags within the text, and are to be left out.
    ModelRule { tags: Some("think"), ..ModelRule::new("*-r1*", 131_072, NEVER, ThinkingForm::ON) },
    ModelRule {
        tags: Some("think"),
        ..ModelRule::new("phi-4*reasoning*", 32_768, NEVER, ThinkingForm::ON)
    },
);

/// As far as is known, binding is checked here, but its controls are missing.
const BOUND: Contract = claude::BOUND;

claude::rules!("{", "}", "", BOUND, &["claude-opus-5"], NEWEST.assumed("*"));
