//! Anthropic. The contracts of its models are in the file of their family. On this API a request asks the server to
//! drop a block that is bound to another conversation, instead of failing; that takes a header and a flag.
//!
//! Facts: the API reference of Messages and the page about the news in Fable 5.1 (autumn 2026).

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

/// All these models have this type, and the API refuses the field without a type.
const BOUND: Contract = claude::BOUND.with_flags(
    r#"{"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}}"#,
);

claude::rules!("{", "}", "", BOUND, &["claude-opus-5", "claude-opus-5-5"], NEWEST.assumed("*"));
