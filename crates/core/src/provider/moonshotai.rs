//! Moonshot AI. The contracts of Kimi are in the file of its family; the Anthropic format has the same rule for its
//! blocks.
//!
//! Facts: the guides to thinking models and to the Anthropic format (autumn 2026).

use super::family::kimi::{ALWAYS, EFFORT, HYBRID, K2, K3, K27, KEEP, own_place};
use super::{Endpoint, ModelRule, Provider, ThinkingForm};
use crate::contract::Contract;
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "moonshotai",
    keys: &["MOONSHOT_API_KEY"],
    address: None,
    default_model: Some("kimi-k3"),
    local_port: None,
    endpoints: &[
        Endpoint {
            base_url: "https://api.moonshot.ai/v1",
            dialect: Dialect {
                asks_for_usage: true,
                reports_cached_at_top: true,
                ..Dialect::PLAIN
            },
            models: &rules(K2, K2.with_flags(KEEP), K27.with_flags(KEEP), K3, EFFORT),
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Messages,
            dialect: Dialect { takes_any_id: true, ..Dialect::PLAIN },
            base_url: "https://api.moonshot.ai/anthropic",
            headers: &[("anthropic-version", "2023-06-01")],
            models: &rules(own_place(K2), own_place(K2), own_place(K27), own_place(K3), ALWAYS),
            ..Endpoint::CHAT
        },
    ],
};

const K256: u64 = 262_144;

const fn rules(
    k2: Contract,
    k26: Contract,
    k27: Contract,
    k3: Contract,
    form: ThinkingForm,
) -> [ModelRule; 15] {
    let newest = ModelRule::new("kimi-k3*", 1_048_576, k3, form);
    [
        newest,
        ModelRule::new("kimi-k2.7*", K256, k27, ALWAYS),
        ModelRule::new("kimi-k2.6*", K256, k26, HYBRID),
        ModelRule::new("kimi-k2.5*", K256, k2, HYBRID),
        ModelRule::new("kimi-k2-thinking*", K256, k2, ALWAYS),
        ModelRule::new("kimi-thinking*", 131_072, k2, ALWAYS),
        // A coding plan serves its newest model under this name.
        ModelRule::new("kimi-for-coding*", K256, k2, ALWAYS),
        ModelRule::thoughtless("kimi-k2"),
        ModelRule::thoughtless("kimi-k2-0*"),
        ModelRule::thoughtless("kimi-k2-turbo*"),
        ModelRule::thoughtless("kimi-k2-instruct*"),
        ModelRule::thoughtless("kimi-latest*"),
        ModelRule::thoughtless("moonshot-v1*"),
        newest.assumed("kimi-*"),
        newest.assumed("*"),
    ]
}
