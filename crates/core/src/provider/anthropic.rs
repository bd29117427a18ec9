//! Anthropic. What its models demand stands with their family; here, a request asks to lose a block that is bound to
//! another conversation rather than to fail, which takes a header and a flag.
//!
//! Facts: the API reference of Messages and the page on what is new in Fable 5.1 (autumn 2026).

use super::family::claude;
use super::{
    Auth, BudgetForm, Endpoint, ModelRule, Provider, SdkAddress, ThinkingForm, WhileThinking,
};
use crate::contract::Contract;
use crate::wire::{Dialect, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "anthropic",
    keys: &["ANTHROPIC_API_KEY"],
    address: Some(SdkAddress {
        variables: &["ANTHROPIC_BASE_URL"],
        default: "https://api.anthropic.com",
    }),
    default_model: Some("claude-sonnet-5"),
    local_port: None,
    endpoints: &[Endpoint {
        wire: WireId::Messages,
        base_url: "https://api.anthropic.com",
        auth: Auth::Header("x-api-key"),
        dialect: Dialect { reads_bookkeeping: true, ..Dialect::PLAIN },
        headers: &[
            ("anthropic-version", "2023-06-01"),
            ("anthropic-beta", "thinking-binding-controls-2026-08-01"),
        ],
        models: RULES,
        draws_ids: true,
    }],
};

/// The type is that of all these models, and the field is refused without one.
const BOUND: Contract = claude::BOUND.with_flags(
    r#"{"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}}"#,
);

claude::rules!("{", "}", "", BOUND, &["claude-opus-5", "claude-opus-5-5"], NEWEST.assumed("*"));
