//! Venice. Models keep their own rules and answer with `reasoning_content`; one parameter of Venice's own switches
//! thinking off for all models that allow it.
//!
//! Facts: the reference of Chat Completions and the guide on reasoning models (autumn 2026).

use super::family::{THREE, deepseek, glm, kimi, minimax, open, qwen};
use super::{Endpoint, ModelRule, Provider, ThinkingForm};
use crate::contract::Contract;
use crate::wire::Dialect;

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "venice",
    keys: &["VENICE_API_KEY"],
    address: None,
    default_model: Some("zai-org-glm-5-3"),
    local_port: None,
    endpoints: &[Endpoint {
        base_url: "https://api.venice.ai/api/v1",
        dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
        models: MODELS,
        ..Endpoint::CHAT
    }],
};

const ALWAYS: ThinkingForm = ThinkingForm::ON.effort("reasoning_effort", THREE);
const HYBRID: ThinkingForm = ALWAYS.off(r#"{"venice_parameters":{"disable_thinking":true}}"#);

/// Version numbers have a hyphen for the point here.
const MODELS: &[ModelRule] = &[
    ModelRule::new(
        "*gpt-oss*",
        131_072,
        Contract { field: Some("reasoning_content"), ..open::HARMONY },
        ALWAYS,
    ),
    ModelRule::new("kimi-k3*", 0, kimi::K3, ALWAYS),
    ModelRule::new("kimi-k2-7*", 262_144, kimi::K27, ALWAYS),
    ModelRule::new("kimi-k2-thinking*", 262_144, kimi::K2, ALWAYS),
    ModelRule::new("kimi-k2-*", 262_144, kimi::K2, HYBRID),
    ModelRule::new("*deepseek-r1*", 0, deepseek::R1, ThinkingForm::ON),
    ModelRule::new("*deepseek-v4*", 0, deepseek::V4, HYBRID),
    ModelRule::new("*deepseek-v3.2*", 0, deepseek::V4, HYBRID),
    ModelRule::new("*glm-5-3*", 1_048_576, glm::PRESERVED, ALWAYS),
    ModelRule::new("*glm-*", 0, glm::PRESERVED, HYBRID),
    ModelRule::new("*minimax-m*", 0, minimax::SIBLING, ALWAYS),
    ModelRule::new("*qwen*", 0, qwen::LOOP, HYBRID),
];
