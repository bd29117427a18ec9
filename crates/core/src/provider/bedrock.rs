//! Amazon Bedrock. The parameters of every vendor are below `additionalModelRequestFields`. Only signed or sealed
//! reasoning may come back: a signature is refused by models without one, and unsigned reasoning leaks into answers
//! or is refused. Names may begin with a region (`us.`, `global.`) or be the end of an ARN. OpenAI's own models speak
//! Responses, too, at an address with another path.
//!
//! Facts: the reference of Converse, the page on the Responses API, and findings of public adapters (autumn 2026).

use super::family::{LOW_HIGH, THREE, claude, deepseek, gpt};
use super::{BudgetForm, Endpoint, ModelRule, Provider, SdkAddress, ThinkingForm, WhileThinking};
use crate::contract::{Contract, Return};
use crate::wire::WireId;

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "bedrock",
    keys: &["AWS_BEARER_TOKEN_BEDROCK"],
    address: Some(SdkAddress {
        variables: &["AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"],
        default: "https://bedrock-runtime.us-east-1.amazonaws.com",
    }),
    default_model: Some("us.anthropic.claude-sonnet-5"),
    local_port: None,
    endpoints: &[
        Endpoint {
            wire: WireId::Converse,
            base_url: "https://bedrock-runtime.us-east-1.amazonaws.com",
            models: RULES,
            draws_ids: true,
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Responses,
            base_url: "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1",
            models: &[
                ModelRule::new("*gpt-oss*", 131_072, UNSIGNED, ThinkingForm::ON),
                GPT_ITEMS,
                GPT_ITEMS.assumed("*"),
            ],
            draws_ids: true,
            ..Endpoint::CHAT
        },
    ],
};

const GPT_ITEMS: ModelRule = ModelRule::new(
    "*openai.gpt-*",
    0,
    gpt::ITEMS,
    ThinkingForm::ON.effort("reasoning.effort", THREE),
);

const PAGE: &str = "https://docs.aws.amazon.com/bedrock/latest/userguide/inference-reasoning.html";

const UNSIGNED: Contract = Contract::NONE.stated(PAGE);
const SEALED: Contract = Contract::sealed(Return::All).stated(PAGE);

/// As far as is known, binding is not checked here, and its controls are not a part of Converse.
const BOUND: Contract = claude::BOUND;

claude::rules!(
    r#"{"additionalModelRequestFields":{"#,
    "}}",
    "additionalModelRequestFields.",
    BOUND,
    &["claude-opus-5"],
    ModelRule::new(
        "*gpt-oss*",
        131_072,
        UNSIGNED,
        ThinkingForm::ON.effort("additionalModelRequestFields.reasoning_effort", THREE),
    ),
    ModelRule::new(
        "*openai.gpt-*",
        0,
        SEALED,
        ThinkingForm::ON.effort("additionalModelRequestFields.reasoning_effort", THREE),
    ),
    ModelRule::new(
        "*nova-2*",
        0,
        UNSIGNED,
        ThinkingForm::on(
            r#"{"additionalModelRequestFields":{"reasoningConfig":{"type":"enabled","maxReasoningEffort":"medium"}}}"#,
        )
        .effort("additionalModelRequestFields.reasoningConfig.maxReasoningEffort", THREE),
    ),
    ModelRule::thoughtless("*amazon.nova-*"),
    ModelRule::thoughtless("*amazon.titan-*"),
    ModelRule::thoughtless("*meta.llama*"),
    ModelRule::new("*deepseek.r1*", 131_072, deepseek::R1, ThinkingForm::ON),
    ModelRule::new("*deepseek.v3*", 131_072, UNSIGNED, ThinkingForm::NONE),
    ModelRule::new("*deepseek.v4*", 0, UNSIGNED, ThinkingForm::NONE),
    ModelRule::new(
        "*qwen.qwen3*",
        0,
        UNSIGNED,
        ThinkingForm::NONE.effort("additionalModelRequestFields.reasoning_config", LOW_HIGH),
    ),
    ModelRule::new("*kimi-k2-thinking*", 262_144, UNSIGNED, ThinkingForm::ON),
    ModelRule::new("*kimi-k2*", 262_144, UNSIGNED, ThinkingForm::NONE),
    ModelRule::new("*kimi-k3*", 1_048_576, UNSIGNED, ThinkingForm::ON),
    ModelRule::new("*zai.glm-*", 0, UNSIGNED, ThinkingForm::NONE),
    ModelRule::new("*minimax.minimax-m*", 0, UNSIGNED, ThinkingForm::ON),
    ModelRule::new("*nvidia.nemotron-*", 262_144, UNSIGNED, ThinkingForm::NONE),
    ModelRule::new("*mistral.magistral-*", 131_072, UNSIGNED, ThinkingForm::ON),
    ModelRule::thoughtless("*mistral.*"),
    ModelRule::new("*google.gemma-4*", 262_144, UNSIGNED, ThinkingForm::NONE),
    // Only some of these models seal thoughts; sealed thoughts may come back.
    ModelRule::new("*xai.grok-*", 0, SEALED, ThinkingForm::ON),
    ModelRule::new("*", 0, SEALED, ThinkingForm::NONE).assumed("*"),
);
