//! One or more names per generation and provider: what goes back, and how thinking is asked for.
//!
//! The names are those of the vendors' own SDKs and of public price lists in autumn 2026.

use thinkthrough_core::provider::{Target, ThinkingForm};

/// How a model is asked to think: whether it does so unasked, whether it can be switched off, and its efforts.
fn form(form: &ThinkingForm) -> String {
    let mut words = vec![match (form.default_on, form.on) {
        (true, _) => "on",
        (false, Some(_)) => "on request",
        (false, None) => "unasked",
    }];
    words.extend(form.off.map(|_| "can be off"));
    let efforts = form.effort.map(|effort| effort.words.iter().map(|(_, word)| *word));
    let mut text = words.join(", ");
    if let Some(efforts) = efforts {
        text.push_str(": ");
        text.push_str(&efforts.collect::<Vec<_>>().join(" "));
    }
    text
}

type Case = (&'static str, Option<&'static str>, &'static str, &'static str, &'static str);

#[track_caller]
fn check(cases: &[Case]) {
    let mut wrong = Vec::new();
    for (provider, wire, model, contract, thinking) in cases {
        let target = Target::built_in(provider, *wire, model).unwrap();
        let found = (target.rule.contract.summary(), form(&target.rule.thinking));
        let is_right = (found.0.as_str(), found.1.as_str()) == (*contract, *thinking);
        if !is_right || target.rule.assumed || target.doubt().is_some() {
            wrong.push(format!("{provider} {wire:?} {model}: {found:?} by {}", target.rule_source));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const CHAT: Option<&str> = Some("chat-completions");
const RESPONSES: Option<&str> = Some("responses");
const MESSAGES: Option<&str> = Some("messages");

const SIGNED: &str = "all, signed";
const LOOP_SIGNED: &str = "all, required in current-turn, signed";
const BOUND: &str = "all, prefix-bound";

#[test]
fn openai_by_generations() {
    let up_to_max = "on: low medium high xhigh max";
    let hybrid = "on, can be off: none low medium high xhigh max";
    check(&[
        ("openai", None, "gpt-6-astra", SIGNED, up_to_max),
        ("openai", None, "gpt-6-rosalind", SIGNED, up_to_max),
        ("openai", None, "gpt-6-cyber", SIGNED, up_to_max),
        ("openai", None, "gpt-6.1-sol", SIGNED, up_to_max),
        ("openai", None, "gpt-6.2-astra-law", SIGNED, up_to_max),
        ("openai", None, "gpt-6-sol", SIGNED, hybrid),
        ("openai", None, "gpt-6.2-sol", SIGNED, hybrid),
        ("openai", None, "gpt-6-luna", SIGNED, hybrid),
        ("openai", None, "gpt-6.1-terra", SIGNED, hybrid),
        ("openai", CHAT, "gpt-6-astra", "never", up_to_max),
        ("azure", None, "gpt-6-luna-2026-09-22", SIGNED, hybrid),
        ("azure", CHAT, "gpt-6.1-sol", "never", up_to_max),
        ("openai", None, "gpt-5.6-luna", SIGNED, hybrid),
        ("openai", None, "gpt-5.5-cyber", SIGNED, "on, can be off: none low medium high xhigh"),
        (
            "openai",
            None,
            "gpt-5.4-mini",
            SIGNED,
            "on request, can be off: none low medium high xhigh",
        ),
        ("openai", None, "gpt-5", SIGNED, "on: minimal low medium high"),
        ("openai", None, "gpt-5.3-chat-latest", SIGNED, "on"),
        ("openai", None, "chat-latest", SIGNED, "on"),
        ("openai", None, "gpt-daybreak-blue-latest", SIGNED, "on"),
        ("openai", None, "computer-use-preview-2025-03-11", SIGNED, "on"),
        ("openai", None, "o4-mini-deep-research", SIGNED, "on: low medium high"),
        ("openai", None, "ft:o4-mini-2025-04-16", SIGNED, "on: low medium high"),
        ("openai", None, "codex-mini-latest", SIGNED, "on: low medium high"),
        ("openai", None, "o1-mini", "never", "on"),
        ("bedrock", RESPONSES, "openai.gpt-6.1-terra", SIGNED, "on: low medium high"),
        ("bedrock", None, "global.openai.gpt-6-astra", SIGNED, "on: low medium high"),
    ]);
}

#[test]
fn claude_wherever_it_is_served() {
    let adaptive = "on: low medium high xhigh max";
    let hybrid = "on, can be off: low medium high xhigh max";
    check(&[
        ("anthropic", None, "claude-fable-5-2", BOUND, adaptive),
        ("anthropic", None, "claude-mythos-preview", SIGNED, adaptive),
        ("anthropic", None, "claude-mythos-5-2", BOUND, adaptive),
        ("vertexai", MESSAGES, "claude-mythos-5-2@20261109", BOUND, adaptive),
        (
            "anthropic",
            None,
            "claude-opus-4-6-20260205",
            SIGNED,
            "on request, can be off: low medium high max",
        ),
        ("azure", MESSAGES, "claude-opus-5-5-fast", BOUND, adaptive),
        ("azure", MESSAGES, "claude-sonnet-5", SIGNED, "on, can be off: low medium high xhigh max"),
        ("azure", MESSAGES, "claude-haiku-4-5", LOOP_SIGNED, "on request, can be off"),
        ("vertexai", MESSAGES, "claude-opus-5-5@20260901", BOUND, adaptive),
        ("vertexai", MESSAGES, "claude-haiku-4-5@20251001", LOOP_SIGNED, "on request, can be off"),
        ("bedrock", None, "us-gov.anthropic.claude-sonnet-5-5", BOUND, hybrid),
        (
            "bedrock",
            None,
            "jp.anthropic.claude-haiku-4-5-20251001-v1:0",
            LOOP_SIGNED,
            "on request, can be off",
        ),
        (
            "bedrock",
            None,
            "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-opus-5",
            SIGNED,
            "on, can be off: low medium high xhigh max",
        ),
    ]);
}

#[test]
fn gemini_by_generations() {
    let three = "on: low medium high";
    check(&[
        ("google", None, "gemini-4-argon", LOOP_SIGNED, three),
        ("google", None, "gemini-4-carbon", LOOP_SIGNED, three),
        ("google", CHAT, "gemini-4-argon", LOOP_SIGNED, three),
        ("google", Some("interactions"), "gemini-4-argon", LOOP_SIGNED, three),
        ("vertexai", None, "gemini-4-argon-cyber-permissive", LOOP_SIGNED, three),
        ("vertexai", CHAT, "google/gemini-4-argon", LOOP_SIGNED, three),
        ("google", None, "gemini-pro-latest", LOOP_SIGNED, three),
        ("google", None, "gemini-flash-lite-latest", LOOP_SIGNED, three),
        ("google", None, "gemini-3.6-flash", LOOP_SIGNED, "on: minimal low medium high"),
        ("google", None, "gemini-nano-banana-2.1", SIGNED, "on"),
        ("google", None, "gemini-robotics-er-2-preview", SIGNED, "on"),
        ("google", None, "gemma-4-31b-it", SIGNED, "unasked"),
        (
            "openrouter",
            None,
            "google/gemini-4-argon",
            "all, required in current-turn, signed, reasoning_details",
            "on request, can be off: none minimal low medium high xhigh",
        ),
    ]);
}

#[test]
fn grok_and_mistral_by_generations() {
    let four = "on: low medium high xhigh";
    let adjustable = "on request, can be off: none high";
    check(&[
        ("xai", None, "grok-4.7", "all, reasoning_content", four),
        ("xai", RESPONSES, "grok-4.7", SIGNED, four),
        ("xai", RESPONSES, "grok-4.20-multi-agent-0309", SIGNED, four),
        ("xai", RESPONSES, "grok-4.20-0309-reasoning", SIGNED, "on"),
        ("xai", RESPONSES, "grok-build-latest", SIGNED, "on: low medium high"),
        (
            "xai",
            RESPONSES,
            "grok-4-1-fast-reasoning",
            SIGNED,
            "on, can be off: none low medium high",
        ),
        ("xai", RESPONSES, "grok-3-latest", SIGNED, "on, can be off: none low medium high"),
        ("vertexai", CHAT, "xai/grok-4.7", "never", "on"),
        ("azure", CHAT, "grok-4.6", "never", "on"),
        ("bedrock", None, "us.xai.grok-4.7", SIGNED, "on"),
        ("mistral", None, "mistral-large-4", "all", adjustable),
        ("mistral", None, "mistral-large-4-0", "all", adjustable),
        ("mistral", None, "mistral-medium-3.5", "all", adjustable),
        ("mistral", None, "mistral-vibe-cli-with-tools", "all", adjustable),
        ("mistral", None, "devstral-latest", "all", adjustable),
        ("mistral", None, "zai-glm-5-3", "all", "on: low high high max"),
        (
            "mistral",
            None,
            "glm-5-2",
            "all",
            "on, can be off: none minimal low medium high xhigh max",
        ),
    ]);
}

#[test]
fn open_weights_by_their_hosts() {
    let required = "all, required, reasoning_content";
    let calls = "tool-calls, required, reasoning_content";
    let sibling = "all, reasoning_content";
    let deep = "on, can be off: low high high max";
    check(&[
        ("moonshotai", None, "kimi-k3.1-pro", required, "on: low high high max"),
        ("deepseek", None, "deepseek-v4-flash-vision-exp", calls, deep),
        ("deepseek", None, "deepseek-flash", calls, deep),
        ("zai", None, "glm-5.3-flash", sibling, "on: low high high max"),
        ("zai", None, "glm-5v-turbo", sibling, "on, can be off"),
        ("minimax", None, "MiniMax-M3.1-flash", "all, reasoning_details", "on, can be off"),
        ("minimax", None, "MiniMax-M2.5-lightning", "all, reasoning_details", "on"),
        ("alibaba", None, "qwen3.8-max", sibling, "on, can be off: low medium xhigh"),
        ("alibaba", None, "kimi-k2.7-code", required, "on"),
        ("cohere", None, "command-a-plus-05-2026", "current-turn", "on, can be off"),
        ("together", None, "nvidia/NVIDIA-Nemotron-3.5-Super-VL", sibling, "on, can be off"),
        (
            "together",
            None,
            "deepseek-ai/DeepSeek-V4.1-Flash-1017",
            calls,
            "on, can be off: high max",
        ),
        ("fireworks", None, "accounts/fireworks/routers/kimi-k3-spot", required, "on"),
        (
            "fireworks",
            None,
            "accounts/fireworks/models/deepseek-v4p1-flash",
            calls,
            "on, can be off: none low medium high",
        ),
        ("fireworks", None, "accounts/fireworks/models/nemotron-3-ultra-nvfp4", sibling, "unasked"),
        ("cerebras", None, "qwen-3.8-27b", "current-turn, reasoning", "on"),
        (
            "groq",
            None,
            "qwen/qwen3.8-27b",
            "current-turn, reasoning",
            "on, can be off: low medium high",
        ),
        (
            "azure",
            CHAT,
            "DeepSeek-V4-Flash-0731",
            "tool-calls, reasoning_content",
            "unasked: low medium high",
        ),
        ("azure", CHAT, "FW-Kimi-K2.7-Code", "tool-calls, reasoning_content", "on"),
        ("azure", CHAT, "FW-GLM-5.3", sibling, "on"),
        ("azure", CHAT, "MAI-DS-R1", "never", "on"),
        ("vertexai", CHAT, "zai-org/glm-5.2-maas", sibling, "on"),
        (
            "vertexai",
            CHAT,
            "deepseek-ai/deepseek-v3.2-maas",
            "tool-calls, reasoning_content",
            "on request",
        ),
        ("vertexai", CHAT, "deepseek-ai/deepseek-r1-0528-maas", "never", "on"),
        ("bedrock", None, "us.moonshotai.kimi-k3", "never", "on"),
        ("bedrock", None, "zai.glm-5", "never", "unasked"),
        ("bedrock", None, "minimax.minimax-m2.5", "never", "on"),
        ("bedrock", None, "eu.deepseek.v3.2", "never", "unasked"),
        ("bedrock", None, "nvidia.nemotron-super-3-120b", "never", "unasked"),
        ("bedrock", None, "apac.amazon.nova-2-lite-v1:0", "never", "on request: low medium high"),
    ]);
}

#[test]
fn names_of_models_that_do_not_think_have_no_contract_and_no_form() {
    check(&[
        ("openai", None, "gpt-4.1-mini", "never", "unasked"),
        ("openai", None, "gpt-4o-mini-tts", "never", "unasked"),
        ("openai", CHAT, "gpt-4o-audio-preview", "never", "unasked"),
        ("openai", None, "ft:gpt-4o-mini-2024-07-18:org", "never", "unasked"),
        ("openai", None, "chatgpt-4o-latest", "never", "unasked"),
        ("openai", None, "text-embedding-3-large", "never", "unasked"),
        ("anthropic", None, "claude-3-5-haiku-latest", "never", "unasked"),
        ("bedrock", None, "anthropic.claude-instant-v1", "never", "unasked"),
        ("bedrock", None, "us.amazon.nova-pro-v1:0", "never", "unasked"),
        ("google", None, "gemini-2.5-flash-preview-tts", "never", "unasked"),
        ("google", None, "gemini-2.5-flash-image", "never", "unasked"),
        ("google", None, "gemini-2.0-flash", "never", "unasked"),
        ("google", None, "gemini-embedding-001", "never", "unasked"),
        ("xai", RESPONSES, "grok-4.20-0309-non-reasoning", "never", "unasked"),
        ("xai", None, "grok-2-vision", "never", "unasked"),
        ("mistral", None, "mistral-medium-2508", "never", "unasked"),
        ("mistral", None, "mistral-small-2506", "never", "unasked"),
        ("mistral", None, "mistral-large-2512", "never", "unasked"),
        ("mistral", None, "codestral-latest", "never", "unasked"),
        ("mistral", None, "mistral-moderation-2603", "never", "unasked"),
        ("moonshotai", None, "moonshot-v1-128k", "never", "unasked"),
        ("moonshotai", None, "kimi-k2-turbo-preview", "never", "unasked"),
        ("alibaba", None, "qwen3-235b-a22b-instruct-2507", "never", "unasked"),
        ("alibaba", None, "qwen3-tts-flash", "never", "unasked"),
        ("zai", None, "glm-4-plus", "never", "unasked"),
        ("cohere", None, "command-r-08-2024", "never", "unasked"),
    ]);
}
