//! How models are asked to think.

use std::num::NonZeroU64;
use thinkthrough_core::exchange::build;
use thinkthrough_core::provider::{Target, ThinkingForm};
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::{Budget, Effort, Resolved};

fn form(provider: &str, wire: Option<&str>, model: &str) -> ThinkingForm {
    Target::built_in(provider, wire, model).unwrap().rule.thinking
}

#[test]
fn br_006_silence_means_on_for_these_and_off_takes_a_word() {
    for (provider, model, off) in [
        ("deepseek", "deepseek-v4-flash", Some(r#"{"thinking":{"type":"disabled"}}"#)),
        ("zai", "glm-4.7", Some(r#"{"thinking":{"type":"disabled"}}"#)),
        ("anthropic", "claude-sonnet-5", Some(r#"{"thinking":{"type":"disabled"}}"#)),
        ("anthropic", "claude-sonnet-5-5", Some(r#"{"thinking":{"type":"between_tools"}}"#)),
        (
            "google",
            "gemini-2.5-flash",
            Some(r#"{"generationConfig":{"thinkingConfig":{"thinkingBudget":0}}}"#),
        ),
        // These cannot be switched off.
        ("zai", "glm-5.3", None),
        ("moonshotai", "kimi-k2.7-code", None),
        ("anthropic", "claude-fable-5", None),
        ("anthropic", "claude-opus-5-5", None),
        ("google", "gemini-2.5-pro", None),
        ("google", "gemini-3.1-pro-preview", None),
        ("openai", "o3", None),
        ("deepseek", "deepseek-reasoner", None),
    ] {
        let form = form(provider, None, model);
        assert!(form.default_on, "{provider} {model}");
        assert_eq!(form.off, off, "{provider} {model}");
    }
}

#[test]
fn silence_means_off_for_these() {
    for (provider, model) in [
        ("anthropic", "claude-opus-4-8"),
        ("anthropic", "claude-sonnet-4-6"),
        ("anthropic", "claude-sonnet-4-5"),
        ("openai", "gpt-5.2"),
        ("deepseek", "deepseek-chat"),
        ("alibaba", "qwen3-max"),
        ("mistral", "mistral-small-latest"),
        ("google", "gemini-2.5-flash-lite"),
    ] {
        let form = form(provider, None, model);
        assert!(!form.default_on && form.on.is_some(), "{provider} {model}");
    }
}

#[test]
fn a_model_that_may_not_think_is_not_asked_to() {
    for (provider, wire, model) in [
        ("ollama", None, "llama3.2"),
        ("vllm", None, "meta-llama/Llama-3.3-70B"),
        ("openai-compatible", None, "anything"),
        ("openai", None, "gpt-4.1"),
        ("anthropic", None, "claude-3-5-haiku-latest"),
        ("groq", None, "llama-3.3-70b-versatile"),
    ] {
        let form = form(provider, wire, model);
        assert!(
            !form.default_on && form.on.is_none() && form.effort.is_none(),
            "{provider} {model}"
        );
    }
}

#[test]
fn effort_in_the_words_of_each() {
    for (provider, wire, model, effort, path, word) in [
        ("openai", None, "gpt-5.6", Effort::Max, "reasoning.effort", "max"),
        ("openai", None, "gpt-5.2", Effort::Max, "reasoning.effort", "xhigh"),
        ("openai", None, "gpt-5", Effort::Minimal, "reasoning.effort", "minimal"),
        ("openai", Some("chat-completions"), "o3", Effort::Max, "reasoning_effort", "high"),
        ("deepseek", None, "deepseek-v4-pro", Effort::Medium, "reasoning_effort", "high"),
        ("deepseek", None, "deepseek-v4-pro", Effort::Minimal, "reasoning_effort", "low"),
        ("deepseek", None, "deepseek-v4-pro", Effort::Xhigh, "reasoning_effort", "high"),
        ("deepseek", Some("responses"), "deepseek-v4-pro", Effort::Max, "reasoning.effort", "max"),
        ("anthropic", None, "claude-opus-4-6", Effort::Xhigh, "output_config.effort", "high"),
        ("anthropic", None, "claude-opus-5", Effort::Xhigh, "output_config.effort", "xhigh"),
        (
            "bedrock",
            None,
            "us.anthropic.claude-opus-5",
            Effort::Low,
            "additionalModelRequestFields.output_config.effort",
            "low",
        ),
        (
            "google",
            None,
            "gemini-3.8-flash",
            Effort::Minimal,
            "generationConfig.thinkingConfig.thinkingLevel",
            "low",
        ),
        ("mistral", None, "mistral-small-latest", Effort::Low, "reasoning_effort", "high"),
        ("mistral", None, "mistral-small-latest", Effort::None, "reasoning_effort", "none"),
        ("groq", None, "qwen/qwen3-32b", Effort::High, "reasoning_effort", "default"),
        ("xai", None, "grok-4.5", Effort::None, "reasoning_effort", "low"),
        ("ollama", None, "gpt-oss:120b", Effort::High, "think", "high"),
    ] {
        let found = form(provider, wire, model).effort.unwrap_or_else(|| panic!("{model}"));
        assert_eq!((found.path, found.word(effort)), (path, Some(word)), "{provider} {model}");
    }
}

#[test]
fn withheld_text_is_asked_for() {
    for (provider, model) in [
        ("anthropic", "claude-opus-4-7"),
        ("anthropic", "claude-opus-5"),
        ("openai", "gpt-5.6"),
        ("google", "gemini-3-flash-preview"),
    ] {
        assert!(form(provider, None, model).show.is_some(), "{provider} {model}");
    }
    assert_eq!(form("anthropic", None, "claude-opus-4-6").show, None);
}

#[test]
fn what_the_user_says_goes_before_what_a_switch_says() {
    let body = |model: &str, provider: &str, effort: Option<Effort>, cap: Option<u64>| {
        let mut settings = Resolved::default();
        settings.effort.value = effort;
        settings.max_tokens.value = cap.and_then(NonZeroU64::new).map(Budget::Tokens);
        let target = Target::built_in(provider, None, model).unwrap();
        build(&Request::default(), &target, &settings).body
    };
    let high = body("gpt-5.2", "openai", Some(Effort::High), None);
    assert!(high.contains(r#""effort":"high""#), "{high}");
    let silent = body("gpt-5.2", "openai", None, None);
    assert!(silent.contains(r#""effort":"medium""#), "{silent}");
    let capped = body("claude-sonnet-4-5", "anthropic", None, Some(9000));
    assert!(capped.contains(r#""budget_tokens":9000"#), "{capped}");
}

#[test]
fn an_effort_becomes_a_budget_where_the_model_knows_only_budgets() {
    let target = Target::built_in("anthropic", None, "claude-sonnet-4-5").unwrap();
    let settings = Resolved {
        effort: thinkthrough_core::settings::Setting {
            value: Some(Effort::Low),
            ..Resolved::default().effort
        },
        ..Resolved::default()
    };
    for (max_tokens, budget) in [(Some(64_000), 4_096), (Some(4_000), 3_200), (None, 4_096)] {
        let request = Request { max_tokens, ..Request::default() };
        let built = build(&request, &target, &settings);
        assert!(built.body.contains(&format!("\"budget_tokens\":{budget}")), "{}", built.body);
        assert!(!built.body.contains("effort"), "{}", built.body);
        assert!(built.warnings.is_empty());
    }
    // The same said by a caller on another wire.
    let mut request = Request { max_tokens: Some(64_000), ..Request::default() };
    request.reasoning.effort = Some(Effort::High);
    let built = build(&request, &target, &Resolved::default());
    assert!(built.body.contains("\"budget_tokens\":16384"), "{}", built.body);
}
