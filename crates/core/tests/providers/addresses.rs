//! Where requests go.

use thinkthrough_core::provider::{self, Target};
use thinkthrough_core::wire::WireId;

fn url(provider: &str, wire: Option<&str>, model: &str) -> String {
    Target::built_in(provider, wire, model).unwrap().url(true)
}

#[test]
fn the_path_follows_the_base_url() {
    for (provider, wire, model, expected) in [
        ("openai", None, "m", "https://api.openai.com/v1/responses"),
        ("openai", Some("chat-completions"), "m", "https://api.openai.com/v1/chat/completions"),
        ("anthropic", None, "m", "https://api.anthropic.com/v1/messages"),
        ("deepseek", None, "m", "https://api.deepseek.com/chat/completions"),
        ("deepseek", Some("messages"), "m", "https://api.deepseek.com/anthropic/v1/messages"),
        ("deepseek", Some("responses"), "m", "https://api.deepseek.com/responses"),
        ("zai", None, "m", "https://api.z.ai/api/paas/v4/chat/completions"),
        ("mistral", None, "m", "https://api.mistral.ai/v1/chat/completions"),
        ("perplexity", None, "m", "https://api.perplexity.ai/chat/completions"),
        ("cohere", None, "m", "https://api.cohere.com/v2/chat"),
        ("fireworks", Some("messages"), "m", "https://api.fireworks.ai/inference/v1/messages"),
        ("openrouter", Some("messages"), "m", "https://openrouter.ai/api/v1/messages"),
        ("ollama", None, "m", "http://127.0.0.1:11434/api/chat"),
        ("ollama", Some("messages"), "m", "http://127.0.0.1:11434/v1/messages"),
        ("vllm", Some("responses"), "m", "http://127.0.0.1:8000/v1/responses"),
        (
            "google",
            None,
            "gemini-3-flash",
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-flash:streamGenerateContent?alt=sse",
        ),
        (
            "google",
            Some("chat-completions"),
            "m",
            "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions",
        ),
        (
            "google",
            Some("interactions"),
            "m",
            "https://generativelanguage.googleapis.com/v1beta/interactions",
        ),
        (
            "vertexai",
            None,
            "gemini-3-flash",
            "https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-3-flash:streamGenerateContent?alt=sse",
        ),
        (
            "vertexai",
            Some("messages"),
            "claude-sonnet-4-5@20250929",
            "/models/claude-sonnet-4-5@20250929:streamRawPredict",
        ),
        (
            "bedrock",
            None,
            "us.anthropic.claude-sonnet-5",
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.anthropic.claude-sonnet-5/converse-stream",
        ),
        (
            "bedrock",
            Some("responses"),
            "openai.gpt-5.6",
            "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/responses",
        ),
    ] {
        assert_eq!(url(provider, wire, model), expected, "{provider} {wire:?}");
    }
}

#[test]
fn a_version_in_the_base_url_counts() {
    let at = |base: &str, provider: &str, wire: Option<&str>| {
        let mut target = Target::built_in(provider, wire, "m").unwrap();
        base.clone_into(&mut target.base_url);
        target.url(false)
    };
    for (base, provider, wire, expected) in [
        ("http://h/v1", "anthropic", None, "http://h/v1/messages"),
        ("http://h/a/v1/x", "anthropic", None, "http://h/a/v1/x/v1/messages"),
        ("http://h/v1", "google", None, "http://h/v1/models/m:generateContent"),
        ("http://h/v1", "mistral", None, "http://h/v1/chat/completions"),
        ("http://h/vault", "anthropic", None, "http://h/vault/v1/messages"),
        (
            "http://h/v1/projects/p/locations/l/publishers/google",
            "vertexai",
            None,
            "http://h/v1/projects/p/locations/l/publishers/google/models/m:generateContent",
        ),
        (
            "http://h/v1/projects/p/locations/l/publishers/anthropic",
            "vertexai",
            Some("messages"),
            "http://h/v1/projects/p/locations/l/publishers/anthropic/models/m:rawPredict",
        ),
    ] {
        assert_eq!(at(base, provider, wire), expected, "{base}");
    }
}

#[test]
fn t_10_it_is_known_whose_address_has_the_model_in_it() {
    for (provider, wire, expected) in [
        ("google", None, true),
        ("vertexai", None, true),
        ("vertexai", Some("messages"), true),
        ("bedrock", None, true),
        ("bedrock", Some("responses"), false),
        ("google", Some("interactions"), false),
        ("openai", None, false),
        ("anthropic", None, false),
    ] {
        let target = Target::built_in(provider, wire, "m").unwrap();
        assert_eq!(target.names_model_in_path(), expected, "{provider} {wire:?}");
    }
}

/// The base URL of a provider's endpoint where its SDK's variable has this value.
fn at(provider: &str, wire: Option<&str>, value: &str) -> String {
    let provider = provider::find(provider).unwrap();
    let wire = wire.map(|wire| WireId::parse(wire).unwrap());
    let built_in = provider.endpoint(wire).unwrap().base_url;
    provider.address.unwrap().base_url(built_in, value)
}

#[test]
fn an_address_of_the_environment_is_what_the_official_sdk_takes() {
    let chat = Some("chat-completions");
    for (provider, wire, value, expected) in [
        ("openai", None, "http://house:8000/v1", "http://house:8000/v1"),
        ("openai", chat, "http://house/v1/", "http://house/v1"),
        ("anthropic", None, "http://house", "http://house"),
        ("google", None, "http://house/", "http://house"),
        ("google", chat, "http://house", "http://house/v1beta/openai"),
        ("groq", None, "http://house", "http://house/openai/v1"),
        // Many write what another SDK takes.
        ("groq", None, "http://house/openai/v1", "http://house/openai/v1"),
        ("cerebras", None, "http://house", "http://house/v1"),
        ("fireworks", None, "http://house", "http://house/v1"),
        ("fireworks", Some("messages"), "http://house", "http://house"),
        ("zai", None, "http://house/api/paas/v4", "http://house/api/paas/v4"),
        ("zai", Some("messages"), "http://house/api/paas/v4/", "http://house/api/anthropic"),
        ("zai", Some("messages"), "http://house/x", "http://house/x/api/anthropic"),
        ("alibaba", None, "http://house/compatible-mode/v1", "http://house/compatible-mode/v1"),
        ("alibaba", Some("messages"), "http://house/v1", "http://house/v1/apps/anthropic"),
        ("vertexai", None, "http://house", "http://house/v1/publishers/google"),
        ("cohere", chat, "http://house", "http://house/compatibility/v1"),
    ] {
        assert_eq!(at(provider, wire, value), expected, "{provider} {wire:?} {value}");
    }
}
