//! The rules that models are known for, by the names that they have at each provider.

use thinkthrough_core::content::{Block, Content, Origin, Speaker, Thinking};
use thinkthrough_core::contract::{Contract, Readable, Return, WeakIds};
use thinkthrough_core::exchange::build;
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::Resolved;
use thinkthrough_json::Doc;

fn contract(provider: &str, wire: Option<&str>, model: &str) -> Contract {
    Target::built_in(provider, wire, model).unwrap().rule.contract
}

#[track_caller]
fn summaries(cases: &[(&str, Option<&str>, &str, &str)]) {
    for (provider, wire, model, expected) in cases {
        let found = contract(provider, *wire, model).summary();
        assert_eq!(found, *expected, "{provider} {wire:?} {model}");
    }
}

#[test]
fn the_reasoning_of_tool_calls_is_demanded() {
    summaries(&[
        ("deepseek", None, "deepseek-v4-flash", "tool-calls, required, reasoning_content"),
        ("deepseek", None, "deepseek-reasoner", "tool-calls, required, reasoning_content"),
        ("deepseek", None, "deepseek-flash", "tool-calls, required, reasoning_content"),
        ("deepseek", Some("messages"), "deepseek-v4-pro", "tool-calls, required"),
        ("deepseek", Some("responses"), "deepseek-v4-pro", "tool-calls, required"),
        ("deepseek", None, "deepseek-r1-0528", "never"),
        ("moonshotai", None, "kimi-k2-thinking", "tool-calls, required, reasoning_content"),
        ("moonshotai", None, "kimi-k2.6", "tool-calls, required, reasoning_content"),
        ("moonshotai", None, "kimi-k2.7-code", "all, required, reasoning_content"),
        ("moonshotai", None, "kimi-k3", "all, required, reasoning_content"),
        ("moonshotai", Some("messages"), "kimi-k3", "all, required"),
        ("moonshotai", None, "kimi-k2-0905-preview", "never"),
        (
            "together",
            None,
            "moonshotai/Kimi-K2-Thinking",
            "tool-calls, required, reasoning_content",
        ),
        (
            "fireworks",
            None,
            "accounts/fireworks/models/kimi-k2p5",
            "tool-calls, required, reasoning_content",
        ),
        (
            "openrouter",
            None,
            "deepseek/deepseek-v4-flash",
            "tool-calls, required, reasoning_details",
        ),
    ]);
}

#[test]
fn known_empty_thoughts_have_a_value_where_the_field_must_stand() {
    assert_eq!(contract("deepseek", None, "deepseek-v4-pro").empty, Some(""));
    assert_eq!(contract("moonshotai", None, "kimi-k2.5").empty, Some(" "));
    assert_eq!(contract("moonshotai", Some("messages"), "kimi-k2.5").empty, None);
    assert_eq!(contract("zai", None, "glm-4.7").empty, None);
}

#[test]
fn sealed_thoughts_go_back_where_they_came_from() {
    summaries(&[
        ("openai", None, "gpt-5.6", "all, signed"),
        ("openai", None, "o4-mini", "all, signed"),
        ("openai", Some("chat-completions"), "gpt-5.6", "never"),
        ("openai", None, "gpt-4.1", "never"),
        ("azure", None, "gpt-5.4", "all, signed"),
        ("xai", Some("responses"), "grok-4.3", "all, signed"),
        ("xai", None, "grok-4.3", "all, reasoning_content"),
        ("google", None, "gemini-3-flash-preview", "all, required in current-turn, signed"),
        ("google", None, "gemini-3.1-pro-preview", "all, required in current-turn, signed"),
        ("google", None, "gemini-3-pro-image-preview", "all, signed"),
        ("google", None, "gemini-2.5-flash", "all, signed"),
        (
            "google",
            Some("chat-completions"),
            "gemini-3.8-flash",
            "all, required in current-turn, signed",
        ),
        ("vertexai", None, "gemini-3.8-flash", "all, required in current-turn, signed"),
        ("openrouter", None, "anthropic/claude-sonnet-5", "all, signed, reasoning_details"),
        (
            "openrouter",
            None,
            "google/gemini-3-flash-preview",
            "all, required in current-turn, signed, reasoning_details",
        ),
        ("openrouter", None, "z-ai/glm-5.3", "all, reasoning_details"),
        ("bedrock", Some("responses"), "openai.gpt-5.6", "all, signed"),
        ("bedrock", Some("responses"), "us.openai.gpt-5.5-v1:0", "all, signed"),
    ]);
    assert_eq!(contract("openai", None, "gpt-5.6").readable, Readable::SameHost);
}

#[test]
fn where_answers_go_back_whole_thoughts_without_a_payload_go_along() {
    let unsealed = |provider, wire, model| contract(provider, wire, model).unsealed;
    assert!(unsealed("google", None, "gemini-3.8-flash"));
    assert!(unsealed("vertexai", None, "gemini-2.5-pro"));
    assert!(unsealed("openrouter", None, "openai/gpt-5.2"));
    assert!(!unsealed("google", Some("chat-completions"), "gemini-3.8-flash"));
    assert!(!unsealed("anthropic", None, "claude-sonnet-5"));
    assert!(!unsealed("openai", None, "gpt-5.6"));
}

#[test]
fn claude_by_generations() {
    for (models, expected) in [
        (
            &["claude-3-7-sonnet-20250219", "claude-sonnet-4-20250514"][..],
            "all, required in current-turn, signed",
        ),
        (
            &["claude-opus-4-5-20251101", "claude-haiku-4-5", "claude-opus-4-1"],
            "all, required in current-turn, signed",
        ),
        (
            &["claude-opus-4-6", "claude-sonnet-4-6", "claude-opus-4-7", "claude-opus-4-8"],
            "all, signed",
        ),
        (
            &["claude-opus-5", "claude-sonnet-5", "claude-fable-5", "claude-mythos-5-1"],
            "all, signed",
        ),
        (&["claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5"], "all, prefix-bound"),
        (&["claude-fable-5-1", "claude-fable-5-2"], "all, prefix-bound"),
    ] {
        for model in models {
            assert_eq!(contract("anthropic", None, model).summary(), expected, "{model}");
            let regional = format!("us.anthropic.{model}-v1:0");
            assert_eq!(contract("bedrock", None, &regional).summary(), expected, "{regional}");
            let dated = format!("{model}@20260101");
            let on_vertex = contract("vertexai", Some("messages"), &dated);
            assert_eq!(on_vertex.summary(), expected, "{dated}");
        }
    }
    assert_eq!(contract("bedrock", None, "openai.gpt-oss-120b-1:0").returns, Return::Never);
    assert_eq!(contract("bedrock", None, "us.deepseek.r1-v1:0").returns, Return::Never);
}

#[test]
fn what_is_missed_but_not_demanded() {
    summaries(&[
        ("zai", None, "glm-4.7", "all, reasoning_content"),
        ("zai", None, "glm-4.5-air", "current-turn, reasoning_content"),
        ("zai", Some("messages"), "glm-5.3", "all"),
        ("alibaba", None, "qwen3.7-plus", "all, reasoning_content"),
        ("alibaba", None, "qwen3-max", "current-turn, reasoning_content"),
        ("alibaba", None, "qwen3-coder-plus", "never"),
        ("minimax", None, "MiniMax-M2.5", "all, reasoning_details"),
        ("minimax", Some("messages"), "MiniMax-M3", "all"),
        ("mistral", None, "magistral-medium-2509", "all"),
        ("cohere", None, "command-a-reasoning-08-2025", "current-turn"),
        ("groq", None, "openai/gpt-oss-120b", "current-turn, reasoning"),
        ("groq", None, "llama-3.3-70b-versatile", "never"),
        ("cerebras", None, "zai-glm-4.7", "all, think_tags"),
        ("vllm", None, "anything", "all, reasoning"),
        ("sglang", None, "anything", "all, reasoning_content"),
        ("llamacpp", None, "anything", "all, reasoning_content"),
        ("lmstudio", None, "anything", "all, reasoning_content"),
        ("ollama", None, "anything", "all"),
        ("ollama", Some("chat-completions"), "anything", "all, reasoning"),
        ("perplexity", None, "sonar-reasoning-pro", "never"),
    ]);
}

#[test]
fn br_001_a_plain_endpoint_sends_nothing_back() {
    for (provider, wires) in [
        ("openai-compatible", &["chat-completions", "responses"][..]),
        ("anthropic-compatible", &["messages"]),
    ] {
        for wire in wires {
            let target = Target::built_in(provider, Some(wire), "anything").unwrap();
            // Nothing but that its ids of calls may repeat.
            let none = Contract { tickets: Some(WeakIds::Any), ..Contract::NONE };
            assert_eq!(target.rule.contract, none);
            assert_eq!(target.rule_source, "none");
            assert_eq!(target.base_url, "");
        }
    }
}

#[test]
fn br_001_a_plain_endpoints_body_is_what_the_caller_wrote() {
    for (provider, wire, body) in [
        (
            "openai-compatible",
            "chat-completions",
            r#"{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"go"},{"role":"assistant","content":"said","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"done"},{"role":"user","content":"and?"}]}"#,
        ),
        (
            "openai-compatible",
            "responses",
            r#"{"model":"m","input":[{"role":"user","content":"go"},{"role":"assistant","type":"message","content":[{"type":"output_text","text":"said","annotations":[]}]},{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c1","output":"done"},{"role":"user","content":"and?"}]}"#,
        ),
        (
            "anthropic-compatible",
            "messages",
            r#"{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"text","text":"said"},{"type":"tool_use","id":"c1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"done"}]},{"role":"user","content":"and?"}]}"#,
        ),
    ] {
        let target = Target::built_in(provider, Some(wire), "m").unwrap();
        let doc = Doc::parse_str(body).unwrap();
        let mut request = target.wire.read_request(doc.root()).unwrap();
        let sent = |request: &Request| {
            let mut request = request.clone();
            request.is_relayed = true;
            build(&request, &target, &Resolved::default()).body
        };
        assert_eq!(sent(&request), body, "{wire}");
        // What the model thought is known, but not that anybody wants it back.
        for content in request.contents.iter_mut().filter(|it| it.speaker == Speaker::Ai) {
            let thought =
                Thinking { signature: Some("s".into()), ..Thinking::new("so", "thinking") };
            content.blocks.insert(0, Block::Thinking(thought));
        }
        assert!(request.contents.iter().flat_map(Content::thoughts).count() > 0, "{wire}");
        assert_eq!(sent(&request), body, "{wire}");
    }
}

#[test]
fn flags_that_only_preserve_are_sent_where_a_model_takes_them() {
    let flags = |provider: &str, model: &str| contract(provider, None, model).flags;
    let keep = Some(r#"{"thinking":{"keep":"all"}}"#);
    assert_eq!(flags("moonshotai", "kimi-k3"), None);
    assert_eq!(flags("moonshotai", "kimi-k2.7-code"), keep);
    assert_eq!(flags("moonshotai", "kimi-k2.6"), keep);
    assert_eq!(flags("moonshotai", "kimi-k2.5"), None);
    assert_eq!(flags("moonshotai", "kimi-k2-thinking"), None);
    assert_eq!(flags("zai", "glm-5"), Some(r#"{"thinking":{"clear_thinking":false}}"#));
    assert_eq!(flags("zai", "glm-4.6"), None);
    assert_eq!(flags("alibaba", "qwen3.6-plus"), Some(r#"{"preserve_thinking":true}"#));
    assert_eq!(flags("alibaba", "qwen3.5-plus"), None);
    assert_eq!(flags("minimax", "MiniMax-M2"), Some(r#"{"reasoning_split":true}"#));
    assert!(flags("anthropic", "claude-fable-5-1").unwrap().contains("drop_block"));
    assert_eq!(flags("anthropic", "claude-fable-5"), None);
    assert_eq!(flags("bedrock", "us.anthropic.claude-fable-5-1"), None);
}

#[test]
fn who_reads_whom_among_models_that_are_bound() {
    let origin = |model: &str| Origin {
        provider: "p".to_owned(),
        endpoint: "https://p".to_owned(),
        model: model.to_owned(),
        account: None,
    };
    for (provider, ours, its, reads) in [
        ("anthropic", "claude-fable-5-1", "claude-opus-5", true),
        ("anthropic", "claude-fable-5-1", "claude-opus-5-20260701", true),
        ("anthropic", "claude-fable-5-1", "claude-opus-5-5", true),
        ("anthropic", "claude-fable-5-1", "claude-fable-5-2", false),
        ("bedrock", "us.anthropic.claude-fable-5-1", "us.anthropic.claude-opus-5", true),
        ("bedrock", "us.anthropic.claude-fable-5-1", "us.anthropic.claude-opus-5-5", false),
        ("anthropic", "claude-mythos-5-2", "claude-fable-5-2", true),
        ("anthropic", "claude-fable-5-2", "claude-mythos-5-2", false),
        ("anthropic", "claude-opus-5-5", "claude-opus-5", false),
    ] {
        let contract = contract(provider, None, ours);
        assert_eq!(contract.can_read(&origin(its), &origin(ours)), reads, "{ours} reads {its}");
    }
}
