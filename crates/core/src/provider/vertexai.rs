//! Vertex AI. With an API key alone it answers at the address given here. An own project has its place in the
//! address, up to the publisher
//! (`https://LOCATION-aiplatform.googleapis.com/v1/projects/PROJECT/locations/LOCATION/publishers/google`), and for
//! the OpenAI-compatible endpoint, which also has other vendors' models, up to `endpoints/openapi`. Claude speaks
//! Anthropic's Messages there, with the publisher `anthropic`: the user configures the address, which contains the
//! model, and the body has a version of the API instead of the model.
//!
//! Facts: Google Cloud's reference of `generateContent` and its pages on thought signatures, on thinking of open
//! models and on Claude, and Anthropic's page on Vertex AI and its SDK for it (autumn 2026).

use super::family::{THREE, claude, gemini, open};
use super::{
    Auth, BudgetForm, Endpoint, ModelRule, Provider, SdkAddress, ThinkingForm, WhileThinking,
};
use crate::contract::{Contract, Return};
use crate::wire::{Dialect, Hosted, WireId};

/// The provider.
pub(super) const PROVIDER: Provider = Provider {
    id: "vertexai",
    keys: &["GOOGLE_VERTEX_API_KEY", "VERTEX_API_KEY"],
    address: Some(SdkAddress {
        variables: &["GOOGLE_VERTEX_BASE_URL"],
        default: "https://aiplatform.googleapis.com",
    }),
    default_model: Some("gemini-3.8-flash"),
    local_port: None,
    endpoints: &[
        Endpoint {
            wire: WireId::GenerateContent,
            base_url: "https://aiplatform.googleapis.com/v1/publishers/google",
            auth: Auth::Header("x-goog-api-key"),
            dialect: Dialect { is_versioned: true, ..Dialect::PLAIN },
            models: gemini::GENERATE_CONTENT,
            ..Endpoint::CHAT
        },
        Endpoint {
            dialect: Dialect { asks_for_usage: true, ..Dialect::PLAIN },
            models: CHAT,
            ..Endpoint::CHAT
        },
        Endpoint {
            wire: WireId::Messages,
            dialect: Dialect { hosted: Some(HOSTED), ..Dialect::PLAIN },
            models: RULES,
            draws_ids: true,
            ..Endpoint::CHAT
        },
    ],
};

const HOSTED: Hosted = Hosted {
    version: ("anthropic_version", "vertex-2023-10-16"),
    whole: "rawPredict",
    stream: "streamRawPredict",
};

/// As far as is known, binding is checked here, but its controls are missing.
const BOUND: Contract = claude::BOUND;

claude::rules!("{", "}", "", BOUND, &["claude-opus-5"], NEWEST.assumed("*"));

const PAGE: &str =
    "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/maas/capabilities/thinking";
const XAI: &str = "https://docs.x.ai/docs/guides/reasoning";

const NEVER: Contract = Contract::NONE.stated(PAGE);
/// Open weights on a server that hands thoughts to the template: it refuses no request for a missing thought.
const LOOP: Contract = Contract::plain(Return::ToolCalls, "reasoning_content").stated(PAGE);
const BY_TEMPLATE: ThinkingForm = ThinkingForm::on(r#"{"chat_template_kwargs":{"thinking":true}}"#);

const CHAT: &[ModelRule] = gemini::chat_rules!(
    // Thoughts are in tags within the text.
    ModelRule {
        tags: Some("think"),
        ..ModelRule::new("*deepseek-r1*", 65_336, NEVER, ThinkingForm::ON)
    },
    ModelRule::new("*deepseek-v3.1*", 163_840, NEVER, BY_TEMPLATE),
    ModelRule::new("*deepseek-v3.2*", 163_840, LOOP, BY_TEMPLATE),
    ModelRule::new("*deepseek-v4*", 1_048_576, LOOP, ThinkingForm::NONE),
    ModelRule::new("*kimi-k2-thinking*", 262_144, LOOP, ThinkingForm::ON),
    ModelRule::new("*glm-*", 0, open::sibling(PAGE), ThinkingForm::ON),
    ModelRule::new("*minimax-m*", 0, open::sibling(PAGE), ThinkingForm::ON),
    ModelRule::new(
        "*gpt-oss*",
        131_072,
        open::sibling(PAGE),
        ThinkingForm::ON.effort("reasoning_effort", THREE),
    ),
    ModelRule::new("*qwen3*-thinking*", 0, open::sibling(PAGE), ThinkingForm::ON),
    ModelRule::thoughtless("*qwen3*"),
    ModelRule::thoughtless("*non-reasoning*"),
    ModelRule::new("*grok-*", 0, Contract::NONE.stated(XAI), ThinkingForm::ON),
);
