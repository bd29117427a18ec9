//! Alibaba's Model Studio. Qwen reads the reasoning of earlier turns only with `preserve_thinking`, from 3.6 on. The
//! default (thinking on or off) differs by series.
//!
//! Facts: the page on deep thinking, the OpenAI and Anthropic compatible references (autumn 2026).

use super::family::qwen::{LOOP, PRESERVED};
use super::family::{ON_TYPE, deepseek, kimi};
use super::{BudgetForm, Endpoint, ModelRule, Provider, SdkAddress, ThinkingForm, WhileThinking};
use crate::contract::{Contract, Return};
use crate::settings::Effort;
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "alibaba",
    keys: &["DASHSCOPE_API_KEY", "ALIBABA_API_KEY"],
    address: Some(SdkAddress {
        variables: &["DASHSCOPE_COMPATIBLE_BASE_URL"],
        default: "https://dashscope.aliyuncs.com/compatible-mode/v1",
    }),
    default_model: Some("qwen3.7-plus"),
    local_port: None,
    endpoints: &[
        Endpoint {
            base_url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: CHAT,
            draws_ids: true,
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Responses,
            base_url: "https://dashscope-intl.aliyuncs.com/api/v2/apps/protocols/compatible-mode/v1",
            models: RESPONSES,
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Messages,
            dialect: Dialect { takes_any_id: true, ..Dialect::PLAIN },
            base_url: "https://dashscope-intl.aliyuncs.com/apps/anthropic",
            headers: &[("anthropic-version", "2023-06-01")],
            models: MESSAGES,
            ..Endpoint::CHAT
        },
    ],
};

const NEWER: Contract = PRESERVED.with_flags(r#"{"preserve_thinking":true}"#);
const ON: &str = r#"{"enable_thinking":true}"#;
const OFF: &str = r#"{"enable_thinking":false}"#;

const BUDGET: BudgetForm = BudgetForm {
    path: "thinking_budget",
    with: Some(ON),
    min: 1,
    max: 81_920,
    below_max_tokens: false,
    is_exact: true,
};

/// While a model thinks, a tool choice must be automatic or none.
const ALWAYS: ThinkingForm = ThinkingForm::ON.budget(BUDGET).choosing(WhileThinking::Automatic);
const SILENT_ON: ThinkingForm = ALWAYS.off(OFF);
const SILENT_OFF: ThinkingForm = ThinkingForm { default_on: false, on: Some(ON), ..SILENT_ON };

/// Qwen3.8 also takes an effort.
const EFFORT: ThinkingForm = SILENT_ON.effort(
    "reasoning_effort",
    &[(Effort::Low, "low"), (Effort::Medium, "medium"), (Effort::Xhigh, "xhigh")],
);

const NEWEST: ModelRule = ModelRule::new("qwen3.*", 0, NEWER, SILENT_ON);

const CHAT: &[ModelRule] = &[
    ModelRule::thoughtless("*-asr*"),
    ModelRule::thoughtless("*-tts*"),
    ModelRule::thoughtless("*-mt-*"),
    ModelRule::thoughtless("*embedding*"),
    ModelRule::new("qwen*-thinking*", 0, LOOP, ALWAYS),
    ModelRule::new("qwq*", 131_072, LOOP, ALWAYS),
    ModelRule::new("qwen3*-instruct*", 0, Contract::NONE, ThinkingForm::NONE),
    ModelRule::new("qwen3-coder*", 0, Contract::NONE, ThinkingForm::NONE),
    ModelRule::new("qwen3-max*", 262_144, LOOP, SILENT_OFF),
    ModelRule::new("qwen3.5*", 0, LOOP, SILENT_ON),
    ModelRule::new("qwen3.8*", 0, NEWER, EFFORT),
    NEWEST,
    ModelRule::new("qwen3-*", 131_072, LOOP, SILENT_ON),
    ModelRule::new("qwen-plus*", 0, LOOP, SILENT_OFF),
    ModelRule::new("qwen-flash*", 0, LOOP, SILENT_OFF),
    ModelRule::new("qwen-turbo*", 0, LOOP, SILENT_OFF),
    ModelRule::thoughtless("qwen2*"),
    ModelRule::thoughtless("qwen-coder*"),
    ModelRule::thoughtless("qwen-vl*"),
    ModelRule::new("kimi-k3*", 1_048_576, kimi::K3, ThinkingForm::ON),
    ModelRule::new("kimi-k2.7*", 262_144, kimi::K27, ThinkingForm::ON),
    ModelRule::new("kimi-k2*", 262_144, kimi::K2, SILENT_ON),
    ModelRule::new("deepseek-r1*", 131_072, deepseek::R1, ThinkingForm::ON),
    ModelRule::new("deepseek-v4*", 1_000_000, deepseek::V4, SILENT_ON),
    ModelRule::new("deepseek-v3.2*", 131_072, deepseek::V4, SILENT_OFF),
    ModelRule::new("glm-*", 0, super::family::glm::LOOP, SILENT_ON),
    NEWEST.assumed("qwen*"),
    NEWEST.assumed("*"),
];

const QWEN_RESPONSES: ModelRule =
    ModelRule::new("qwen3*", 0, Contract { field: None, ..LOOP }, SILENT_ON);

const RESPONSES: &[ModelRule] = &[QWEN_RESPONSES, QWEN_RESPONSES.assumed("*")];

const MESSAGES: &[ModelRule] = &[QWEN_MESSAGES, QWEN_MESSAGES.assumed("*")];

const QWEN_MESSAGES: ModelRule = ModelRule::new(
    "qwen*",
    0,
    Contract { field: None, returns: Return::CurrentTurn, ..LOOP },
    ThinkingForm { default_on: false, on: Some(ENABLED), ..ON_TYPE }.budget(BudgetForm {
        path: "thinking.budget_tokens",
        with: Some(ENABLED),
        min: 1,
        max: 81_920,
        below_max_tokens: false,
        is_exact: false,
    }),
);

const ENABLED: &str = r#"{"thinking":{"type":"enabled"}}"#;
