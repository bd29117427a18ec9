//! LM Studio. Thoughts go back as `reasoning_content`, under whichever name they came; effort uses OpenAI's words.
//!
//! Facts: the changelog of the API (autumn 2026).

use super::family::open;
use super::{Auth, Endpoint, ModelRule, Provider, ThinkingForm};
use crate::contract::Contract;
use crate::settings::Effort;
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "lmstudio",
    keys: &["LMSTUDIO_API_KEY"],
    address: None,
    default_model: None,
    local_port: Some(1234),
    endpoints: &[
        Endpoint {
            base_url: "http://127.0.0.1:1234/v1",
            auth: Auth::None,
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: &rules(Contract { field: Some("reasoning_content"), ..OWN_PLACE }, EFFORT),
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Responses,
            base_url: "http://127.0.0.1:1234/v1",
            auth: Auth::None,
            models: &rules(OWN_PLACE, RESPONSES),
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Messages,
            dialect: Dialect { takes_any_id: true, ..Dialect::PLAIN },
            base_url: "http://127.0.0.1:1234",
            auth: Auth::None,
            headers: &[("anthropic-version", "2023-06-01")],
            models: &rules(OWN_PLACE, ThinkingForm::ON),
            ..Endpoint::CHAT
        },
    ],
};

const OWN_PLACE: Contract = open::own_place("https://lmstudio.ai/docs/developer/api-changelog");

const WORDS: &[(Effort, &str)] = &[
    (Effort::None, "none"),
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
    (Effort::Xhigh, "xhigh"),
];

const EFFORT: ThinkingForm =
    ThinkingForm::ON.off(r#"{"reasoning_effort":"none"}"#).effort("reasoning_effort", WORDS);
const RESPONSES: ThinkingForm =
    ThinkingForm::ON.off(r#"{"reasoning":{"effort":"none"}}"#).effort("reasoning.effort", WORDS);

const fn rules(contract: Contract, form: ThinkingForm) -> [ModelRule; 4] {
    [
        ModelRule::new("*gpt-oss*", 131_072, contract, ThinkingForm { off: None, ..form }),
        ModelRule::new("*qwen3*", 0, contract, form),
        ModelRule::new("*glm-*", 0, contract, form),
        ModelRule::new("*", 0, contract, ThinkingForm::NONE),
    ]
}
