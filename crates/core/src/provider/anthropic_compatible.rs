//! Any server that speaks Anthropic's wire. It has no rules, and no thoughts go back unless the user configures a
//! contract.

use super::{Auth, Endpoint, Provider};
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "anthropic-compatible",
    keys: &["ANTHROPIC_COMPATIBLE_API_KEY"],
    address: None,
    default_model: None,
    local_port: None,
    endpoints: &[Endpoint {
        wire: WireId::Messages,
        dialect: Dialect { takes_any_id: true, ..Dialect::PLAIN },
        auth: Auth::Header("x-api-key"),
        headers: &[("anthropic-version", "2023-06-01")],
        ..Endpoint::CHAT
    }],
};
