//! MiniMax. What its models want back stands with their family. Whether M3 thinks when nothing is said depends on the
//! endpoint.
//!
//! Facts: the OpenAI and Anthropic compatible references (autumn 2026).

use super::family::minimax::{OWN_PLACE, SPLIT};
use super::family::ON_TYPE;
use super::{Endpoint, ModelRule, Provider, ThinkingForm};
use crate::wire::Dialect;

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "minimax",
    keys: &["MINIMAX_API_KEY"],
    default_model: Some("MiniMax-M3"),
    local_port: None,
    endpoints: &[
        Endpoint {
            base_url: "https://api.minimax.io/v1",
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: &[
                ModelRule::new("minimax-m3*", 0, SPLIT, ON_TYPE),
                ModelRule::new("minimax-m*", 204_800, SPLIT, ThinkingForm::ON),
            ],
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: "messages",
            base_url: "https://api.minimax.io/anthropic",
            headers: &[("anthropic-version", "2023-06-01")],
            models: &[
                ModelRule::new(
                    "minimax-m3*",
                    0,
                    OWN_PLACE,
                    ThinkingForm::on(r#"{"thinking":{"type":"adaptive"}}"#)
                        .off(r#"{"thinking":{"type":"disabled"}}"#),
                ),
                ModelRule::new("minimax-m*", 204_800, OWN_PLACE, ThinkingForm::ON),
            ],
            ..Endpoint::CHAT
        },
    ],
};
