//! The last rule of a vendor's own endpoint: what holds for models that nobody knew when the rules were written.

use crate::forms;
use thinkthrough_core::content::{Block, Content, Origin, Speaker, Thinking};
use thinkthrough_core::decision::Action;
use thinkthrough_core::exchange::build;
use thinkthrough_core::provider::{ALL, Endpoint, ModelRule, Provider, Target, ThinkingForm, find};
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::{Effort, Resolved};

/// Vendors at their own addresses, and the clouds that serve under the vendors' names.
const VENDORS: [&str; 15] = [
    "openai",
    "azure",
    "anthropic",
    "google",
    "vertexai",
    "bedrock",
    "deepseek",
    "moonshotai",
    "minimax",
    "zai",
    "alibaba",
    "xai",
    "mistral",
    "perplexity",
    "cohere",
];

/// No rule names this, and none ever will.
const TOMORROW: &str = "vendors-newest-9-zenith";

fn endpoints() -> impl Iterator<Item = (&'static Provider, &'static Endpoint)> {
    assert!(VENDORS.iter().all(|id| find(id).is_some()));
    forms::endpoints().filter(|(provider, _)| VENDORS.contains(&provider.id))
}

#[test]
fn every_vendors_endpoint_ends_with_an_assumed_rule_for_every_name() {
    for (provider, endpoint) in endpoints() {
        let name = format!("{} {}", provider.id, endpoint.wire);
        let last = endpoint.models.last().unwrap_or_else(|| panic!("{name} has no rule"));
        assert!(last.assumed && last.pattern == "*", "{name}: {}", last.pattern);
        let target = Target::of(provider, endpoint, TOMORROW);
        assert_eq!(target.rule_source, format!("{} *, assumed", provider.id));
        assert!(target.doubt().is_some_and(|doubt| doubt.contains("newest")), "{name}");
    }
}

#[test]
fn what_is_assumed_demands_nothing_and_switches_nothing() {
    for provider in ALL {
        for endpoint in provider.endpoints {
            for rule in endpoint.models.iter().filter(|rule| rule.assumed) {
                let name = format!("{} {} {}", provider.id, endpoint.wire, rule.pattern);
                let ThinkingForm { default_on, on, off, budget, show, effort: _, choice: _ } =
                    rule.thinking;
                assert!(!default_on && on.is_none() && off.is_none(), "{name}");
                assert!(budget.is_none() && show.is_none(), "{name}");
                let contract = rule.contract;
                assert!(!contract.required && !contract.when_off, "{name}");
                assert!(!contract.only_when_on && !contract.demands(true, true), "{name}");
                assert_eq!(
                    (contract.flags, contract.empty, rule.context),
                    (None, None, 0),
                    "{name}"
                );
            }
            let has_any = endpoint.models.iter().any(|rule| rule.assumed);
            let last = endpoint.models.last();
            assert!(!has_any || last.is_some_and(|last| last.assumed), "{}", provider.id);
        }
    }
}

/// The body that goes out, and the one that would if nothing were known.
fn bodies(target: &Target, request: &Request, settings: &Resolved) -> (String, String) {
    let unknown = Target { rule: ModelRule::UNKNOWN, ..target.clone() };
    (build(request, target, settings).body, build(request, &unknown, settings).body)
}

#[test]
fn an_assumed_rule_sends_nothing_by_itself() {
    let mut off = Resolved::default();
    off.enabled.value = false;
    for (provider, endpoint) in endpoints() {
        let target = Target::of(provider, endpoint, TOMORROW);
        for settings in [&Resolved::default(), &off] {
            for is_relayed in [false, true] {
                let request = Request {
                    contents: vec![Content::text(Speaker::Human, "go")],
                    is_relayed,
                    ..Request::default()
                };
                let (body, unknown) = bodies(&target, &request, settings);
                assert_eq!(body, unknown, "{} {}", provider.id, endpoint.wire);
            }
        }
    }
}

#[test]
fn an_assumed_rule_says_an_effort_that_somebody_names() {
    let mut settings = Resolved::default();
    settings.effort.value = Some(Effort::High);
    for (provider, word) in [
        ("openai", r#""effort":"high""#),
        ("anthropic", r#""effort":"high""#),
        ("google", r#""thinkingLevel":"high""#),
        ("deepseek", r#""reasoning_effort":"high""#),
        ("xai", r#""reasoning_effort":"high""#),
        ("mistral", r#""reasoning_effort":"high""#),
    ] {
        let target = Target::built_in(provider, None, TOMORROW).unwrap();
        let body = build(&Request::default(), &target, &settings).body;
        assert!(body.contains(word), "{provider}: {body}");
    }
}

#[test]
fn thoughts_of_tomorrows_flagship_go_back_like_those_of_todays() {
    for (provider, wire, today) in [
        ("openai", None, "gpt-6.1-sol"),
        ("azure", None, "gpt-6.1-sol"),
        ("anthropic", None, "claude-opus-5-5"),
        ("azure", Some("messages"), "claude-opus-5-5"),
        ("google", None, "gemini-4-argon"),
        ("google", Some("interactions"), "gemini-4-argon"),
        ("vertexai", None, "gemini-4-argon"),
        ("bedrock", None, "us.anthropic.claude-opus-5"),
        ("deepseek", None, "deepseek-v4-pro"),
        ("deepseek", Some("messages"), "deepseek-v4-pro"),
        ("moonshotai", None, "kimi-k3"),
        ("zai", None, "glm-5.3"),
        ("alibaba", None, "qwen3.8-max"),
        ("xai", Some("responses"), "grok-4.7"),
        ("mistral", None, "mistral-large-4"),
        ("cohere", None, "command-a-plus-05-2026"),
    ] {
        let sent = |model: &str| {
            let target = Target::built_in(provider, wire, model).unwrap();
            let thought =
                Thinking { signature: Some("c2VhbA==".into()), ..Thinking::new("so", "thinking") };
            let mut answer = Content::text(Speaker::Ai, "said");
            answer.blocks.insert(0, Block::Thinking(thought));
            answer.origin = Some(Origin { model: model.to_owned(), ..target.origin(None) });
            let contents = vec![Content::text(Speaker::Human, "go"), answer];
            let built =
                build(&Request { contents, ..Request::default() }, &target, &Resolved::default());
            let is_sent = |action: Action| matches!(action, Action::Keep | Action::Add);
            let actions: Vec<_> = built.decisions.iter().map(|it| is_sent(it.action)).collect();
            assert!(!actions.is_empty(), "{provider} {model}");
            actions
        };
        assert_eq!(sent(TOMORROW), sent(today), "{provider} {wire:?}");
        assert!(sent(TOMORROW).contains(&true), "{provider} {wire:?}");
    }
}
