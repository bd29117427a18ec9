//! Cohere. Thinking blocks of the turn under way may come back, and help in tool loops.
//!
//! Facts: the reference of Chat v2 and the guide on reasoning (autumn 2026).

use super::{BudgetForm, Endpoint, ModelRule, Provider, SdkAddress, ThinkingForm};
use crate::contract::{Contract, Return};
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "cohere",
    keys: &["COHERE_API_KEY", "CO_API_KEY"],
    address: Some(SdkAddress { variables: &["CO_API_URL"], default: "https://api.cohere.com" }),
    default_model: Some("command-a-reasoning-08-2025"),
    local_port: None,
    endpoints: &[
        Endpoint {
            wire: WireId::CohereChat,
            base_url: "https://api.cohere.com",
            models: MODELS,
            ..Endpoint::CHAT
        },
        Endpoint {
            base_url: "https://api.cohere.ai/compatibility/v1",
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            // The documentation is silent about thoughts in requests here.
            models: &[ModelRule::UNKNOWN.assumed("*")],
            ..Endpoint::CHAT
        },
    ],
};

const LOOP: Contract = Contract { returns: Return::CurrentTurn, ..Contract::NONE }
    .stated("https://docs.cohere.com/docs/reasoning");

const FORM: ThinkingForm = super::family::ON_TYPE.budget(BudgetForm {
    path: "thinking.token_budget",
    with: Some(r#"{"thinking":{"type":"enabled"}}"#),
    min: 1,
    max: 31_000,
    below_max_tokens: false,
    is_exact: true,
});

const NEWEST: ModelRule = ModelRule::new("command-a-plus*", 128_000, LOOP, FORM);

const MODELS: &[ModelRule] = &[
    ModelRule::new("command-a-reasoning*", 256_000, LOOP, FORM),
    NEWEST,
    ModelRule::thoughtless("command-a-0*"),
    ModelRule::thoughtless("command-a-vision*"),
    ModelRule::thoughtless("command-a-translate*"),
    ModelRule::thoughtless("command-r*"),
    ModelRule::thoughtless("c4ai-*"),
    NEWEST.assumed("command-*"),
    NEWEST.assumed("*"),
];
