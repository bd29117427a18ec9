//! Fireworks AI. Models keep their own rules, thoughts come and go as `reasoning_content`, and those of earlier turns
//! are read with `reasoning_history`. Effort and a thinking object exclude each other, so only effort is used.
//!
//! Facts: the reference of Chat Completions and the page on thinking history (autumn 2026).

use super::family::{NONE_TO_HIGH, THREE, deepseek, glm, kimi, minimax, open, qwen};
use super::{Endpoint, ModelRule, Provider, SdkAddress, ThinkingForm};
use crate::contract::{Contract, Return};
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "fireworks",
    keys: &["FIREWORKS_API_KEY"],
    address: Some(SdkAddress {
        variables: &["FIREWORKS_BASE_URL"],
        default: "https://api.fireworks.ai/inference",
    }),
    default_model: Some("accounts/fireworks/models/glm-5p3"),
    local_port: None,
    endpoints: &[
        Endpoint {
            base_url: "https://api.fireworks.ai/inference/v1",
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: MODELS,
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Responses,
            base_url: "https://api.fireworks.ai/inference/v1",
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Messages,
            dialect: Dialect { takes_any_id: true, ..Dialect::PLAIN },
            base_url: "https://api.fireworks.ai/inference",
            headers: &[("anthropic-version", "2023-06-01")],
            models: MESSAGES,
            ..Endpoint::CHAT
        },
    ],
};

const PAGE: &str = "https://docs.fireworks.ai/guides/reasoning";
const KEEP: &str = r#"{"reasoning_history":"preserved"}"#;

/// Version numbers have a `p` for the point here.
const MODELS: &[ModelRule] = &[
    ModelRule::new(
        "*gpt-oss*",
        131_072,
        Contract { field: Some("reasoning_content"), ..open::HARMONY },
        ThinkingForm::ON.effort("reasoning_effort", THREE),
    ),
    ModelRule::new("*kimi-k3*", 0, kimi::K3.with_flags(KEEP), ThinkingForm::ON),
    ModelRule::new("*kimi-k2p7*", 262_144, kimi::K27.with_flags(KEEP), ThinkingForm::ON),
    ModelRule::new("*kimi-k2-thinking*", 262_144, kimi::K2, ThinkingForm::ON),
    ModelRule::new("*kimi-k2p*", 262_144, kimi::K2.with_flags(KEEP), SWITCH),
    ModelRule::new("*deepseek-r1*", 0, deepseek::R1, ThinkingForm::ON),
    ModelRule::new("*deepseek-v3p1*", 0, deepseek::R1, SWITCH),
    ModelRule::new("*deepseek-v3p2*", 0, deepseek::V4, SWITCH),
    ModelRule::new("*deepseek-v4*", 0, deepseek::V4, SWITCH),
    ModelRule::new("*glm-5p3*", 1_048_576, glm::PRESERVED.with_flags(KEEP), glm::ALWAYS),
    ModelRule::new("*glm-*", 0, glm::PRESERVED.with_flags(KEEP), SWITCH),
    ModelRule::new("*minimax-m*", 0, minimax::SIBLING, ThinkingForm::ON),
    ModelRule::new("*qwen3*", 0, qwen::LOOP, SWITCH),
    ModelRule::new("*nemotron-*", 262_144, open::sibling(PAGE), ThinkingForm::NONE),
    ModelRule::new("*", 0, open::sibling(PAGE), ThinkingForm::NONE).assumed("*"),
];

const SWITCH: ThinkingForm =
    ThinkingForm::ON.off(r#"{"reasoning_effort":"none"}"#).effort("reasoning_effort", NONE_TO_HIGH);

const MESSAGES: &[ModelRule] = &[ModelRule::new(
    "*",
    0,
    Contract { returns: Return::All, ..Contract::NONE }.stated(PAGE),
    ThinkingForm::NONE,
)];
