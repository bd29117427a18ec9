//! Z.ai. Its models keep the reasoning of earlier turns only if `clear_thinking` is false.
//!
//! Facts: the guides on thinking mode and on the Anthropic format (autumn 2026).

use super::family::ON_TYPE;
use super::family::glm::{ALWAYS, LOOP, PRESERVED, STEPS};
use super::{Endpoint, ModelRule, Provider, SdkAddress, ThinkingForm};
use crate::contract::{Contract, Return};
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "zai",
    keys: &["ZAI_API_KEY", "ZHIPU_API_KEY"],
    address: Some(SdkAddress {
        variables: &["ZAI_BASE_URL"],
        default: "https://api.z.ai/api/paas/v4",
    }),
    default_model: Some("glm-5.3"),
    local_port: None,
    endpoints: &[
        Endpoint {
            base_url: "https://api.z.ai/api/paas/v4",
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: CHAT,
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Messages,
            dialect: Dialect { takes_any_id: true, ..Dialect::PLAIN },
            base_url: "https://api.z.ai/api/anthropic",
            headers: &[("anthropic-version", "2023-06-01")],
            models: MESSAGES,
            ..Endpoint::CHAT
        },
    ],
};

const KEEP: &str = r#"{"thinking":{"clear_thinking":false}}"#;

const NEWEST: ModelRule = ModelRule::new("glm-5.3*", 1_048_576, PRESERVED.with_flags(KEEP), ALWAYS);

const CHAT: &[ModelRule] = &[
    NEWEST,
    ModelRule::new("glm-5.2*", 1_048_576, PRESERVED.with_flags(KEEP), STEPS),
    ModelRule::new("glm-5*", 200_000, PRESERVED.with_flags(KEEP), ON_TYPE),
    ModelRule::new("glm-4.7*", 200_000, PRESERVED.with_flags(KEEP), ON_TYPE),
    ModelRule::new("glm-4.6*", 200_000, LOOP, ON_TYPE),
    ModelRule::new("glm-4.5*", 131_072, LOOP, ON_TYPE),
    ModelRule::new("glm-4.1v-thinking*", 65_536, LOOP, ThinkingForm::ON),
    ModelRule::thoughtless("glm-4-*"),
    ModelRule::thoughtless("glm-4v*"),
    ModelRule::thoughtless("glm-3*"),
    NEWEST.assumed("glm-*"),
    NEWEST.assumed("*"),
];

const BLOCKS: Contract = Contract { field: None, returns: Return::All, ..PRESERVED };

const NEWEST_MESSAGES: ModelRule = ModelRule::new("glm-5.3*", 1_048_576, BLOCKS, ThinkingForm::ON);

const MESSAGES: &[ModelRule] = &[
    NEWEST_MESSAGES,
    ModelRule::new("glm-5.2*", 1_048_576, BLOCKS, ON_TYPE),
    ModelRule::new("glm-5*", 200_000, BLOCKS, ON_TYPE),
    ModelRule::new("glm-4*", 0, BLOCKS, ON_TYPE),
    NEWEST_MESSAGES.assumed("glm-*"),
    NEWEST_MESSAGES.assumed("*"),
];
