//! MiniMax. The contracts of its models are in the file of their family. The default of M3 (thinking on or off)
//! depends on the endpoint. Without `reasoning_split`, which is the API's own default, thoughts are in tags within
//! the text; the two forms should not be mixed in one history.
//!
//! Facts: the OpenAI and Anthropic compatible references (autumn 2026).

use super::family::ON_TYPE;
use super::family::minimax::{OWN_PLACE, SPLIT};
use super::{Endpoint, ModelRule, OtherForm, Provider, ThinkingForm};
use crate::settings::Format;
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "minimax",
    keys: &["MINIMAX_API_KEY"],
    address: None,
    default_model: Some("MiniMax-M3"),
    local_port: None,
    endpoints: &[
        Endpoint {
            base_url: "https://api.minimax.io/v1",
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: CHAT,
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Messages,
            dialect: Dialect { takes_any_id: true, ..Dialect::PLAIN },
            base_url: "https://api.minimax.io/anthropic",
            headers: &[("anthropic-version", "2023-06-01")],
            models: MESSAGES,
            ..Endpoint::CHAT
        },
    ],
};

const M3: ModelRule =
    ModelRule::new("minimax-m3*", 1_000_000, SPLIT, ON_TYPE).or(tags("minimax_m3"));

const CHAT: &[ModelRule] = &[
    M3,
    ModelRule::new("minimax-m2*", 204_800, SPLIT, ThinkingForm::ON).or(tags("minimax_m2")),
    ModelRule::new("minimax-m1*", 1_000_000, SPLIT, ThinkingForm::ON).or(tags("minimax_m2")),
    ModelRule::thoughtless("minimax-text*"),
    M3.assumed("minimax-*"),
    M3.assumed("*"),
];

const M3_MESSAGES: ModelRule = ModelRule::new(
    "minimax-m3*",
    1_000_000,
    OWN_PLACE,
    ThinkingForm::on(r#"{"thinking":{"type":"adaptive"}}"#)
        .off(r#"{"thinking":{"type":"disabled"}}"#),
);

const MESSAGES: &[ModelRule] = &[
    M3_MESSAGES,
    ModelRule::new("minimax-m2*", 204_800, OWN_PLACE, ThinkingForm::ON),
    ModelRule::new("minimax-m1*", 1_000_000, OWN_PLACE, ThinkingForm::ON),
    M3_MESSAGES.assumed("minimax-*"),
    M3_MESSAGES.assumed("*"),
];

/// Thoughts in tags, as the models write them.
const fn tags(family: &'static str) -> OtherForm {
    OtherForm { format: Format::Native, field: "think_tags", flags: None, tags: Some(family) }
}
