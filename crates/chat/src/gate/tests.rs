use super::*;
use std::num::NonZeroU64;
use thinkthrough_core::content::{Block, Speaker, Thinking};
use thinkthrough_core::settings::{Budget, Effort, Source};
use thinkthrough_core::usage::Usage;
use thinkthrough_limits::{Limit, WarnAt};

fn rules(max: u64, on_exceed: OnExceed) -> BudgetRules {
    let warn_at = WarnAt::from_fraction(0.8).unwrap();
    BudgetRules { max: Limit::from_config(max), warn_at, on_exceed }
}

fn gate(max: u64, on_exceed: OnExceed) -> Gate {
    Gate::new(rules(max, on_exceed))
}

fn claude() -> Target {
    Target::built_in("anthropic", None, "claude-sonnet-4-5").unwrap()
}

fn spent(tokens: u64) -> Answer {
    let usage = Usage { reasoning_tokens: Some(tokens), ..Usage::default() };
    Answer { usage: Some(usage), ..Answer::default() }
}

async fn settings_of(gate: &Gate, said: &Resolved) -> Resolved {
    let admission = gate.admit(&claude(), said, &Request::default(), &mut |_| {}).await.unwrap();
    let settings = admission.settings.clone();
    assert_eq!(gate.settle(admission, None), []);
    settings
}

async fn spend(gate: &Gate, tokens: u64) -> Vec<String> {
    let settings = Resolved::default();
    let admission =
        gate.admit(&claude(), &settings, &Request::default(), &mut |_| {}).await.unwrap();
    let notices = gate.settle(admission, Some(&spent(tokens)));
    notices.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn adr_budget_a_jump_over_both_thresholds_tells_both() {
    let gate = gate(100, OnExceed::Warn);
    assert_eq!(spend(&gate, 79).await, [""; 0]);
    let told = spend(&gate, 41).await;
    let warning = "120 of the session's 100 reasoning tokens are spent (120 %, reported)";
    assert_eq!(told, [warning.to_owned(), format!("{warning}; nothing is held back")]);
    assert_eq!(spend(&gate, 1000).await, [""; 0], "each is told once");
}

#[tokio::test]
async fn adr_budget_what_is_left_caps_a_thought_where_the_model_can_be_told() {
    let said = Resolved::default();
    let cap = |settings: Resolved| settings.max_tokens.value.map(|budget| budget.to_string());
    let blocks = gate(500_000, OnExceed::Block);
    assert_eq!(cap(settings_of(&blocks, &said).await), None, "more than any thought is left");
    assert!(!spend(&blocks, 497_000).await.is_empty());
    assert_eq!(cap(settings_of(&blocks, &said).await), Some("3000".to_owned()));
    let mut asks = said.clone();
    asks.max_tokens.value = NonZeroU64::new(2000).map(Budget::Tokens);
    assert_eq!(cap(settings_of(&blocks, &asks).await), Some("2000".to_owned()));
    let told = spend(&blocks, 2_500).await;
    assert_eq!(told, [""; 0]);
    let refused = blocks.admit(&claude(), &said, &Request::default(), &mut |_| {}).await;
    assert!(refused.is_err(), "500 tokens are less than the model takes");
    asks.enabled.value = false;
    assert!(
        blocks.admit(&claude(), &asks, &Request::default(), &mut |_| {}).await.is_ok(),
        "it wants none"
    );
}

#[tokio::test]
async fn adr_budget_lower_effort_is_the_least_that_still_is_thinking() {
    let said = Resolved::default();
    let lowers = gate(10, OnExceed::LowerEffort);
    spend(&lowers, 10).await;
    let settings = settings_of(&lowers, &said).await;
    assert_eq!(settings.max_tokens.value, NonZeroU64::new(1024).map(Budget::Tokens));
    assert_eq!(settings.max_tokens.source, Source::Budget);
    let glm = Target::built_in("zai", None, "glm-5.2").unwrap();
    let admission = lowers.admit(&glm, &said, &Request::default(), &mut |_| {}).await.unwrap();
    assert_eq!(admission.settings.effort.value, Some(Effort::Minimal), "`none` is not thinking");
}

#[test]
fn adr_usage_what_is_not_reported_is_counted_and_says_how() {
    let thinking = |thought: &str, payload: Option<&str>| {
        let thinking = Thinking {
            thought: thought.to_owned(),
            encrypted_content: payload.map(str::to_owned),
            ..Thinking::default()
        };
        Content::new(Speaker::Ai, vec![Block::Thinking(thinking)])
    };
    let reported = Content { usage: spent(7).usage, ..thinking("many words, none counted", None) };
    let used = |contents: &[Content]| {
        let gate = gate(1000, OnExceed::Warn);
        gate.resume(contents);
        gate.used()
    };
    assert_eq!(used(std::slice::from_ref(&reported)), TokenCount::reported(7));
    let readable = thinking("twelve bytes", None);
    assert_eq!(used(&[reported, readable]), TokenCount::estimated(7 + 3));
    let opaque = thinking("", Some(&"A".repeat(160)));
    assert_eq!(used(&[opaque]), TokenCount::estimated(30));
}

#[tokio::test(start_paused = true)]
async fn adr_budget_a_request_waits_for_the_providers_limit_and_then_goes_out() {
    let limits = RateLimits {
        requests_per_minute: Limit::from_config(1),
        tokens_per_minute: Limit::from_config(100_000),
    };
    let gate = Gate::new(BudgetRules::DEFAULT);
    gate.limit(&claude().provider, limits);
    gate.limit("another", RateLimits::UNLIMITED);
    assert_eq!(spend(&gate, 1).await, [""; 0]);
    let started = Instant::now();
    let mut told = Vec::new();
    let mut notice = |notice: Notice| told.push(notice.to_string());
    let settings = Resolved::default();
    let admission =
        gate.admit(&claude(), &settings, &Request::default(), &mut notice).await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(59), "{:?}", started.elapsed());
    assert!(told[0].starts_with("the limit of 1 requests per minute is reached"), "{told:?}");
    assert_eq!(gate.settle(admission, None), []);
}
