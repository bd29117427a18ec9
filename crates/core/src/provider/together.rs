//! Together AI. Models keep their own rules; replayed `reasoning_content` is read, even if a model answers with
//! another name.
//!
//! Facts: the guides on reasoning and the quick starts of Kimi K2 Thinking and GLM-5.3 (autumn 2026).

use super::family::{LOW_HIGH_MAX, THREE, deepseek, glm, kimi, minimax, open, qwen};
use super::{Endpoint, ModelRule, Provider, SdkAddress, ThinkingForm};
use crate::contract::Contract;
use crate::settings::Effort;
use crate::wire::Dialect;

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "together",
    keys: &["TOGETHER_API_KEY"],
    address: Some(SdkAddress {
        variables: &["TOGETHER_BASE_URL"],
        default: "https://api.together.ai",
    }),
    default_model: Some("zai-org/GLM-5.3"),
    local_port: None,
    endpoints: &[Endpoint {
        base_url: "https://api.together.xyz/v1",
        dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
        models: MODELS,
        ..Endpoint::CHAT
    }],
};

const PAGE: &str = "https://docs.together.ai/docs/reasoning-overview";
const OFF: &str = r#"{"reasoning":{"enabled":false}}"#;
const EFFORT: &str = "reasoning_effort";

const GLM: Contract =
    glm::PRESERVED.with_flags(r#"{"chat_template_kwargs":{"clear_thinking":false}}"#);

const MODELS: &[ModelRule] = &[
    ModelRule::new("*gpt-oss*", 131_072, open::HARMONY, ThinkingForm::ON.effort(EFFORT, THREE)),
    ModelRule::new(
        "*glm-5.3*",
        1_048_576,
        GLM,
        ThinkingForm::ON.effort(
            EFFORT,
            &[
                (Effort::Low, "low"),
                (Effort::Medium, "medium"),
                (Effort::High, "high"),
                (Effort::Max, "max"),
            ],
        ),
    ),
    ModelRule::new("*glm-*", 0, GLM, ThinkingForm::ON.off(OFF)),
    ModelRule::new("*kimi-k3*", 0, kimi::K3, ThinkingForm::ON.effort(EFFORT, LOW_HIGH_MAX)),
    ModelRule::new("*kimi-k2-thinking*", 262_144, kimi::K2, ThinkingForm::ON),
    ModelRule::new("*kimi-k2.7*", 262_144, kimi::K27, ThinkingForm::ON),
    ModelRule::new("*kimi-k2.*", 262_144, kimi::K2, ThinkingForm::ON.off(OFF)),
    ModelRule::new("*deepseek-r1*", 0, deepseek::R1, ThinkingForm::ON),
    ModelRule::new(
        "*deepseek-v4*",
        0,
        deepseek::V4,
        ThinkingForm::ON.off(OFF).effort(EFFORT, &[(Effort::High, "high"), (Effort::Max, "max")]),
    ),
    ModelRule::new("*minimax-m*", 0, minimax::SIBLING, ThinkingForm::ON),
    ModelRule::new("*qwen3*-thinking*", 0, qwen::LOOP, ThinkingForm::ON),
    ModelRule::new("*qwen3.*", 0, qwen::LOOP, ThinkingForm::ON.off(OFF)),
    ModelRule::new("*nemotron-*", 262_144, open::sibling(PAGE), ThinkingForm::ON.off(OFF)),
];
