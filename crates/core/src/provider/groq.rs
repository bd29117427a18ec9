//! Groq. It takes thoughts under the name `reasoning` and refuses the message for `reasoning_content`; models that do
//! not reason may refuse both, so only those with a rule get any.
//!
//! Facts: the reference of Chat Completions and the guide on reasoning (autumn 2026).

use super::family::{THREE, open};
use super::{Endpoint, ModelRule, Provider, SdkAddress, ThinkingForm};
use crate::contract::{Contract, Return};
use crate::settings::Effort;
use crate::wire::Dialect;
use std::borrow::Cow;

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "groq",
    keys: &["GROQ_API_KEY"],
    address: Some(SdkAddress { variables: &["GROQ_BASE_URL"], default: "https://api.groq.com" }),
    default_model: Some("openai/gpt-oss-120b"),
    local_port: None,
    endpoints: &[Endpoint {
        base_url: "https://api.groq.com/openai/v1",
        dialect: Dialect {
            refuses: Cow::Borrowed(&["reasoning_content", "reasoning_details", "thinking_blocks"]),
            ..Dialect::PLAIN
        },
        models: MODELS,
        ..Endpoint::CHAT
    }],
};

const LOOP: Contract = Contract::plain(Return::CurrentTurn, "reasoning")
    .stated("https://console.groq.com/docs/reasoning");

const OFF: &str = r#"{"reasoning_effort":"none"}"#;
const SHOW: &str = r#"{"reasoning_format":"parsed"}"#;

const MODELS: &[ModelRule] = &[
    ModelRule::new("openai/gpt-oss*", 131_072, LOOP, open::HARMONY_THINKING),
    ModelRule::new(
        "qwen/qwen3.*",
        0,
        LOOP,
        ThinkingForm::ON.off(OFF).effort("reasoning_effort", THREE).show(SHOW),
    ),
    ModelRule::new(
        "qwen/qwen3*",
        131_072,
        LOOP,
        ThinkingForm::ON
            .off(OFF)
            .effort("reasoning_effort", &[(Effort::None, "none"), (Effort::Minimal, "default")])
            .show(SHOW),
    ),
];
