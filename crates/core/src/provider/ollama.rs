//! Ollama. A model that can think does so by default; a model that cannot think refuses the switch, so the gateway
//! sends none. Templates render the thoughts they are given.
//!
//! Facts: the documentation of the capability `thinking` and of the OpenAI-compatible endpoints (autumn 2026).

use super::family::{NONE_TO_HIGH, THREE, open};
use super::{Auth, Endpoint, ModelRule, Provider, ThinkingForm};
use crate::contract::Contract;
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "ollama",
    keys: &["OLLAMA_API_KEY"],
    address: None,
    default_model: None,
    local_port: Some(11434),
    endpoints: &[
        Endpoint {
            wire: WireId::OllamaChat,
            base_url: "http://127.0.0.1:11434",
            auth: Auth::None,
            models: &rules(OWN_PLACE, LEVELS, SWITCH),
            ..Endpoint::CHAT
        },
        Endpoint {
            base_url: "http://127.0.0.1:11434/v1",
            auth: Auth::None,
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: &rules(
                Contract { field: Some("reasoning"), ..OWN_PLACE },
                open::HARMONY_THINKING,
                EFFORT,
            ),
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Responses,
            base_url: "http://127.0.0.1:11434/v1",
            auth: Auth::None,
            models: &rules(OWN_PLACE, RESPONSES, RESPONSES),
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Messages,
            dialect: Dialect { takes_any_id: true, ..Dialect::PLAIN },
            base_url: "http://127.0.0.1:11434",
            auth: Auth::None,
            headers: &[("anthropic-version", "2023-06-01")],
            models: &rules(OWN_PLACE, ThinkingForm::ON, super::family::ON_TYPE),
            ..Endpoint::CHAT
        },
    ],
};

const OWN_PLACE: Contract = open::own_place("https://docs.ollama.com/capabilities/thinking");

const LEVELS: ThinkingForm = ThinkingForm::ON.effort("think", THREE);
const SWITCH: ThinkingForm = ThinkingForm::ON.off(r#"{"think":false}"#);
const EFFORT: ThinkingForm =
    ThinkingForm::ON.off(r#"{"reasoning_effort":"none"}"#).effort("reasoning_effort", NONE_TO_HIGH);
const RESPONSES: ThinkingForm = ThinkingForm::ON.effort("reasoning.effort", THREE);

const fn rules(
    contract: Contract,
    leveled: ThinkingForm,
    switched: ThinkingForm,
) -> [ModelRule; 7] {
    [
        ModelRule::new("*gpt-oss*", 131_072, contract, leveled),
        ModelRule::new("*qwen3*", 0, contract, switched),
        ModelRule::new("*deepseek-r1*", 0, contract, switched),
        ModelRule::new("*deepseek-v*", 0, contract, switched),
        ModelRule::new("*glm-*", 0, contract, switched),
        ModelRule::new("*kimi-k*", 0, contract, switched),
        ModelRule::new("*", 0, contract, ThinkingForm::NONE),
    ]
}
