//! Parameters about thinking are adapted once, for settings and for callers of other wires alike.

use thinkthrough_core::allowance::within;
use thinkthrough_core::exchange::build;
use thinkthrough_core::exchange::{Handling, Prepared, RequestContext};
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_core::plane::{Open, SealError};
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::{Effort, Layer, Partial, Resolved, Source, resolve};
use thinkthrough_core::wire::WireId;
use thinkthrough_json::Doc;
use thinkthrough_limits::OnExceed;

fn effort(word: &str) -> Resolved {
    let effort = Effort::parse(word);
    let said = Partial { effort: effort.map(Some), ..Partial::default() };
    resolve(&[Layer { source: Source::Session, values: said }])
}

fn off() -> Resolved {
    let values = Partial { enabled: Some(false), ..Partial::default() };
    resolve(&[Layer { source: Source::Session, values }])
}

/// Opens nothing.
struct Shut;

impl Open for Shut {
    fn open(&self, key: u32, _: &[u8], _: &[u8]) -> Result<Vec<u8>, SealError> {
        Err(SealError::KeyGone(key))
    }
}

/// What our own client sends with these settings.
fn ours(target: &Target, settings: &Resolved) -> Outgoing {
    build(&Request::default(), target, settings)
}

/// What goes upstream of a caller's request; `None` where its bytes stay.
fn prepared(caller: WireId, body: &str, target: &Target, settings: &Resolved) -> Prepared {
    let doc = Doc::parse_str(body).unwrap();
    let context =
        RequestContext::read(caller.wire(), &doc, target, settings, Handling::default(), None);
    context.unwrap().prepare(&[], &Shut)
}

fn adapted(prepared: &Prepared) -> String {
    prepared.exchange.outgoing().adapted.join(",")
}

fn members(body: &str, paths: &[&str]) -> String {
    let doc = Doc::parse_str(body).unwrap();
    let found = paths.iter().filter_map(|path| Some((path, doc.root().dotted(path)?.raw())));
    found.map(|(path, raw)| format!("{path}={raw}")).collect::<Vec<_>>().join(" ")
}

/// Every place in which thinking is said.
const PLACES: [&str; 10] = [
    "reasoning_effort",
    "reasoning.effort",
    "output_config.effort",
    "thinking.type",
    "thinking.budget_tokens",
    "enable_thinking",
    "thinking_budget",
    "chat_template_kwargs",
    "generationConfig.thinkingConfig.thinkingLevel",
    "generationConfig.thinkingConfig.thinkingBudget",
];

fn target(provider: &str, wire: Option<&str>, model: &str) -> Target {
    Target::built_in(provider, wire, model).unwrap()
}

const CHAT: Option<&str> = Some("chat-completions");
const MESSAGES: Option<&str> = Some("messages");

#[test]
fn the_nearest_effort_is_said_for_settings_and_callers_alike() {
    for (provider, wire, model, word, expected, is_adapted) in [
        ("moonshotai", None, "kimi-k3", "medium", "reasoning_effort=\"high\"", true),
        ("moonshotai", None, "kimi-k3", "low", "reasoning_effort=\"low\"", false),
        ("zai", None, "glm-5.3", "xhigh", "reasoning_effort=\"high\"", true),
        ("deepseek", None, "deepseek-v4-pro", "max", "reasoning_effort=\"max\"", false),
        ("mistral", None, "mistral-medium-3.5", "low", "reasoning_effort=\"high\"", true),
        ("groq", None, "openai/gpt-oss-120b", "max", "reasoning_effort=\"high\"", true),
        ("openai-compatible", None, "mistral-medium-3.5", "low", "reasoning_effort=\"high\"", true),
        ("openai-compatible", None, "magistral-small", "low", "", true),
        ("openai", None, "gpt-5.6-sol", "minimal", "reasoning.effort=\"low\"", true),
        ("openai", CHAT, "gpt-5.2-codex", "max", "reasoning_effort=\"xhigh\"", true),
        ("alibaba", None, "qwen3.8-max", "high", "reasoning_effort=\"medium\"", true),
        ("moonshotai", None, "kimi-k2.6", "high", "", true),
        ("openai", None, "gpt-4.1", "high", "", true),
    ] {
        let target = target(provider, wire, model);
        let own = ours(&target, &effort(word));
        let body = format!(
            r#"{{"model":"m","max_tokens":3000,"thinking":{{"type":"adaptive"}},"output_config":{{"effort":"{word}"}},"messages":[{{"role":"user","content":"hi"}}]}}"#
        );
        let callers = prepared(WireId::Messages, &body, &target, &Resolved::default());
        let said = callers.body.as_deref().unwrap();
        assert_eq!(members(said, &PLACES), expected, "{model} {word}: {said}");
        assert_eq!(members(&own.body, &PLACES), expected, "{model} {word}: {}", own.body);
        let names = if is_adapted { "reasoning.effort" } else { "" };
        assert_eq!(
            (adapted(&callers).as_str(), &*own.adapted.join(",")),
            (names, names),
            "{model}"
        );
        assert_eq!(own.warnings.is_empty(), !is_adapted, "{model}: {:?}", own.warnings);
    }
}

#[test]
fn off_is_said_in_the_models_own_form_or_as_little_as_it_goes() {
    for (provider, wire, model, expected, is_adapted) in [
        ("moonshotai", None, "kimi-k2.6", "thinking.type=\"disabled\"", false),
        ("moonshotai", None, "kimi-k3", "reasoning_effort=\"low\"", true),
        ("moonshotai", None, "kimi-k2-thinking", "", true),
        ("deepseek", None, "deepseek-v4-flash", "thinking.type=\"disabled\"", false),
        ("alibaba", None, "qwen3.7-plus", "enable_thinking=false", false),
        ("vllm", None, "Qwen/Qwen3-32B", "chat_template_kwargs={\"enable_thinking\":false}", false),
        ("anthropic", None, "claude-sonnet-5-5", "thinking.type=\"between_tools\"", false),
        ("anthropic", None, "claude-opus-4-6", "", false),
        ("openai", CHAT, "gpt-5.6", "reasoning_effort=\"none\"", false),
        ("openai", CHAT, "gpt-6.2-astra", "reasoning_effort=\"low\"", true),
        ("openai", CHAT, "gpt-4.1", "", false),
        (
            "google",
            None,
            "gemini-2.5-pro",
            "generationConfig.thinkingConfig.thinkingBudget=128",
            true,
        ),
        ("openai-compatible", None, "anything", "", true),
    ] {
        let target = target(provider, wire, model);
        let own = ours(&target, &off());
        let caller = match target.wire.id() {
            "messages" => WireId::ChatCompletions,
            _ => WireId::Messages,
        };
        let body = match caller {
            WireId::Messages => {
                r#"{"model":"m","max_tokens":3000,"thinking":{"type":"disabled"},"messages":[{"role":"user","content":"hi"}]}"#
            }
            _ => {
                r#"{"model":"m","reasoning_effort":"none","messages":[{"role":"user","content":"hi"}]}"#
            }
        };
        let callers = prepared(caller, body, &target, &Resolved::default());
        let said = callers.body.as_deref().unwrap();
        assert_eq!(members(said, &PLACES), expected, "{model}: {said}");
        assert_eq!(members(&own.body, &PLACES), expected, "{model}: {}", own.body);
        assert_eq!(!adapted(&callers).is_empty(), is_adapted, "{model}: {}", adapted(&callers));
        assert_eq!(!own.adapted.is_empty(), is_adapted, "{model}: {:?}", own.adapted);
        assert_eq!(own.warnings.is_empty(), !is_adapted, "{model}: {:?}", own.warnings);
    }
}

#[test]
fn a_caller_on_the_models_own_wire_keeps_its_words() {
    let body = r#"{"model":"kimi-k3","reasoning_effort":"medium","thinking":{"type":"disabled"},"messages":[{"role":"user","content":"hi"}]}"#;
    let target = target("moonshotai", None, "kimi-k3");
    let prepared = prepared(WireId::ChatCompletions, body, &target, &Resolved::default());
    assert_eq!((prepared.body.as_deref(), adapted(&prepared).as_str()), (None, ""));
}

/// A request with a forced tool choice: any tool, or the one that is named.
fn forcing(wire: WireId, is_named: bool, thinks: bool) -> String {
    let think = match (wire, thinks) {
        (_, false) => "",
        (WireId::Messages, true) => r#""thinking":{"type":"enabled","budget_tokens":2000},"#,
        (_, true) => r#""reasoning_effort":"high","#,
    };
    match wire {
        WireId::Messages => {
            let choice =
                if is_named { r#"{"type":"tool","name":"look"}"# } else { r#"{"type":"any"}"# };
            format!(
                r#"{{"model":"m","max_tokens":9000,{think}"messages":[{{"role":"user","content":"hi"}}],"tools":[{{"name":"look","input_schema":{{"type":"object"}}}}],"tool_choice":{choice}}}"#
            )
        }
        _ => {
            let choice = match is_named {
                true => r#"{"type":"function","function":{"name":"look"}}"#,
                false => r#""required""#,
            };
            format!(
                r#"{{"model":"m",{think}"messages":[{{"role":"user","content":"hi"}}],"tools":[{{"type":"function","function":{{"name":"look","parameters":{{"type":"object"}}}}}}],"tool_choice":{choice}}}"#
            )
        }
    }
}

#[test]
fn a_forced_tool_goes_with_thinking_off_or_becomes_the_models_choice() {
    let (chat, messages) = (WireId::ChatCompletions, WireId::Messages);
    let off = "reasoning.enabled";
    for (provider, wire, model, caller, is_named, expected, choice) in [
        ("deepseek", CHAT, "deepseek-v4-flash", chat, false, off, "\"required\""),
        ("deepseek", CHAT, "deepseek-v4-flash", messages, false, off, "\"required\""),
        ("deepseek", MESSAGES, "deepseek-v4-flash", chat, false, off, "{\"type\":\"any\"}"),
        ("anthropic", None, "claude-opus-4-6", messages, false, off, "{\"type\":\"any\"}"),
        ("anthropic", None, "claude-sonnet-4-5", chat, false, off, "{\"type\":\"any\"}"),
        ("anthropic", None, "claude-fable-5-2", chat, true, "tool_choice", "{\"type\":\"auto\"}"),
        ("moonshotai", None, "kimi-k3", messages, true, "tool_choice", "\"auto\""),
        ("moonshotai", None, "kimi-k3", messages, false, "tool_choice", "\"auto\""),
        ("openai", CHAT, "gpt-5.6", messages, false, "", "\"required\""),
    ] {
        let target = target(provider, wire, model);
        let body = forcing(caller, is_named, true);
        let prepared = prepared(caller, &body, &target, &Resolved::default());
        let sent = prepared.body.as_deref().unwrap_or(&body);
        let names = adapted(&prepared);
        assert_eq!(names.contains(off), expected == off, "{model}: {names} {sent}");
        assert_eq!(names.contains("tool_choice"), expected == "tool_choice", "{model}: {names}");
        assert_eq!(members(sent, &["tool_choice"]), format!("tool_choice={choice}"), "{model}");
        if expected == off {
            let said = members(sent, &PLACES);
            assert!(matches!(&*said, "" | "thinking.type=\"disabled\""), "{model}: {said}");
        }
        assert_eq!(prepared.conflict, None, "{model}");
    }
    // The provider's own refusal goes on: a forced tool is a guarantee.
    let target = target("anthropic", None, "claude-fable-5-2");
    let body = forcing(messages, true, false);
    let sent = prepared(messages, &body, &target, &Resolved::default()).body;
    let sent = sent.as_deref().unwrap_or(&body);
    assert_eq!(members(sent, &["tool_choice.type"]), "tool_choice.type=\"tool\"");
}

#[test]
fn thinking_that_the_user_set_is_not_switched_off_for_a_forced_tool() {
    let target = target("deepseek", None, "deepseek-v4-flash");
    let body = forcing(WireId::Messages, false, false);
    let refused = prepared(WireId::Messages, &body, &target, &effort("high"));
    assert!(refused.conflict.as_deref().is_some_and(|why| why.contains("deepseek-v4-flash")));
    let none = prepared(WireId::Messages, &body, &target, &effort("none"));
    assert_eq!(none.conflict, None);
}

#[test]
fn an_effort_that_a_budget_lowered_is_nobodys_wish_to_think() {
    let target = target("deepseek", None, "deepseek-v4-flash");
    let body = forcing(WireId::Messages, false, false);
    let lowered = within(&resolve(&[]), &target.rule, Some(OnExceed::LowerEffort), None);
    assert_eq!(lowered.effort.value, Some(Effort::Low));
    let forced = prepared(WireId::Messages, &body, &target, &lowered);
    assert_eq!(forced.conflict, None);
    let sent = forced.body.as_deref().unwrap();
    assert_eq!(members(sent, &["thinking.type"]), "thinking.type=\"disabled\"", "{sent}");
}

#[test]
fn a_familys_rule_holds_at_an_endpoint_that_nothing_is_known_about() {
    let required = "tool-calls, required, reasoning_content";
    for (provider, wire, model, contract) in [
        ("openai-compatible", None, "deepseek-ai/DeepSeek-V4-Flash-FP8", required),
        ("openai-compatible", None, "moonshotai/Kimi-K2.6", required),
        ("openai-compatible", None, "accounts/x/models/kimi-k2-thinking", required),
        ("openai-compatible", None, "openai/gpt-oss-120b", "all, reasoning"),
        (
            "openai-compatible",
            None,
            "google/gemini-3.8-flash",
            "all, required in current-turn, signed",
        ),
        ("openai-compatible", Some("responses"), "gpt-5.6-2026-06-01", "all, signed"),
        ("anthropic-compatible", None, "us.anthropic.claude-opus-4-6-v1:0", "all, signed"),
        (
            "anthropic-compatible",
            None,
            "claude-sonnet-4.5@20250929",
            "all, required in current-turn, signed",
        ),
        ("openai-compatible", None, "anything", "never"),
    ] {
        let target = target(provider, wire, model);
        assert_eq!(target.rule.contract.summary(), contract, "{model} by {}", target.rule_source);
    }
    // A host that says something itself is asked by the plain name, too.
    let known = target("moonshotai", None, "moonshotai/Kimi-K2.6");
    assert!(!known.rule.assumed && known.rule.thinking.off.is_some(), "{}", known.rule_source);
}
