//! Hugging Face's router. It passes requests on to many hosts, so that the rules are those of the models.
//!
//! Facts: the reference of Inference Providers (autumn 2026).

use super::family::{deepseek, glm, kimi, minimax, open, qwen};
use super::{Endpoint, ModelRule, Provider, ThinkingForm};
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "huggingface",
    keys: &["HF_TOKEN", "HUGGINGFACE_API_KEY"],
    address: None,
    default_model: Some("openai/gpt-oss-120b"),
    local_port: None,
    endpoints: &[
        Endpoint {
            base_url: "https://router.huggingface.co/v1",
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: MODELS,
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Responses,
            base_url: "https://router.huggingface.co/v1",
            ..Endpoint::CHAT
        },
    ],
};

const MODELS: &[ModelRule] = &[
    ModelRule::new("*gpt-oss*", 131_072, open::HARMONY, open::HARMONY_THINKING),
    ModelRule::new("*kimi-k3*", 0, kimi::K3, ThinkingForm::ON),
    ModelRule::new("*kimi-k2.7*", 262_144, kimi::K27, ThinkingForm::ON),
    ModelRule::new("*kimi-k2.*", 262_144, kimi::K2, ThinkingForm::ON),
    ModelRule::new("*kimi-k2-thinking*", 262_144, kimi::K2, ThinkingForm::ON),
    // Only some hosts take the tags of R1 out of the text, so this rule assumes no tags.
    ModelRule::new("*deepseek-r1*", 0, deepseek::R1, ThinkingForm::ON),
    ModelRule::new("*deepseek-v4*", 0, deepseek::V4, ThinkingForm::ON),
    ModelRule::new("*deepseek-v3.2*", 0, deepseek::V4, ThinkingForm::ON),
    ModelRule::new("*glm-*", 0, glm::PRESERVED, ThinkingForm::ON),
    ModelRule::new("*minimax-m*", 0, minimax::SIBLING, ThinkingForm::ON),
    ModelRule::new("*qwen3*-instruct*", 0, qwen::LOOP, ThinkingForm::NONE),
    ModelRule::new("*qwen3*", 0, qwen::LOOP, ThinkingForm::ON),
];
