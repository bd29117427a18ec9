//! DeepSeek. The names `deepseek-reasoner` and `deepseek-chat` mean V4 with and without thinking.
//!
//! Facts: the guides on thinking mode, on the Anthropic format and on Responses (autumn 2026).

use super::family::LOW_HIGH_MAX;
use super::family::deepseek::{CHAT, ON, R1, V4, V4_OWN_PLACE};
use super::{Auth, Endpoint, ModelRule, Provider, ThinkingForm};
use crate::contract::Contract;
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "deepseek",
    keys: &["DEEPSEEK_API_KEY"],
    address: None,
    default_model: Some("deepseek-v4-flash"),
    local_port: None,
    endpoints: &[
        Endpoint {
            base_url: "https://api.deepseek.com",
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: &rules(V4, CHAT, CHAT_ON),
            draws_ids: true,
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Messages,
            dialect: Dialect::PLAIN,
            base_url: "https://api.deepseek.com/anthropic",
            auth: Auth::Header("x-api-key"),
            headers: &[("anthropic-version", "2023-06-01")],
            models: &rules(V4_OWN_PLACE, MESSAGES, CHAT_ON),
            draws_ids: true,
        },
        Endpoint {
            wire: WireId::Responses,
            base_url: "https://api.deepseek.com",
            models: &rules(V4_OWN_PLACE, RESPONSES, RESPONSES_ON),
            draws_ids: true,
            ..Endpoint::CHAT
        },
    ],
};

const CHAT_ON: &str = r#"{"thinking":{"type":"enabled"}}"#;
const RESPONSES_ON: &str = r#"{"reasoning":{"effort":"high"}}"#;

const MESSAGES: ThinkingForm = ON.effort("output_config.effort", LOW_HIGH_MAX);
const RESPONSES: ThinkingForm = ThinkingForm { off: None, ..ON }
    .off(r#"{"reasoning":{"effort":"none"}}"#)
    .effort("reasoning.effort", LOW_HIGH_MAX);

const fn rules(contract: Contract, form: ThinkingForm, on: &'static str) -> [ModelRule; 12] {
    let silent = ThinkingForm { default_on: false, on: Some(on), ..form };
    let always = ThinkingForm { off: None, ..form };
    let newest = ModelRule::new("deepseek-v4*", 1_000_000, contract, form);
    [
        ModelRule::new("deepseek-r1*", 131_072, R1, ThinkingForm::ON),
        ModelRule::new("deepseek-chat*", 1_000_000, contract, silent),
        ModelRule::new("deepseek-reasoner*", 1_000_000, contract, always),
        ModelRule::new("deepseek-v3.1*", 131_072, R1, ThinkingForm::NONE),
        ModelRule::new("deepseek-v3.2*", 131_072, contract, form),
        ModelRule::thoughtless("deepseek-v3*"),
        ModelRule::thoughtless("deepseek-coder*"),
        ModelRule::new("deepseek-flash*", 1_000_000, contract, form),
        ModelRule::new("deepseek-pro*", 1_000_000, contract, form),
        newest,
        newest.assumed("deepseek-*"),
        newest.assumed("*"),
    ]
}
