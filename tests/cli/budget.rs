//! `think ask` within a session budget and a provider's limits, against a provider that reports its
//! usage.

use crate::place::Place;
use crate::upstream::{Upstream, chat};
use serde_json::Value;

/// A loop of three requests, each of which spends some reasoning tokens.
fn three(tokens: [Option<u64>; 3]) -> Upstream {
    let [a, b, c] = tokens;
    Upstream::start(vec![
        chat("look first", "list", a),
        chat("look again", "list", b),
        chat("now I know", "done", c),
    ])
}

fn config(place: &Place, upstream: &Upstream, extends: &str, more: &str) -> String {
    let url = &upstream.url;
    place.write(
        "config.toml",
        &format!(
            "[providers.own]\nextends = \"{extends}\"\nbase_url = \"{url}\"\napi_key = \"k\"\n{more}"
        ),
    )
}

const QUESTION: &str = "What is here?";

#[test]
fn adr_budget_warns_at_80_percent_and_tells_when_everything_is_spent_once_each() {
    let place = Place::new("warns");
    let upstream = three([Some(790), Some(20), Some(200)]);
    let budget = "[budget]\nreasoning_tokens_per_session = 1000\n";
    let config = config(&place, &upstream, "deepseek", budget);
    let ran = place.ask(&["--config", &config, "-m", "own/deepseek-v4", QUESTION]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let notes: Vec<_> = ran.err.lines().filter(|line| line.starts_with("note:")).collect();
    let warning = "note: 810 of the session's 1000 reasoning tokens are spent (81 %, reported)";
    let exceeded = "note: 1010 of the session's 1000 reasoning tokens are spent (101 %, reported); nothing is held back";
    assert_eq!(notes, [warning, exceeded]);
    assert_eq!(upstream.bodies().len(), 3);
}

#[test]
fn adr_budget_without_configuration_is_half_a_million_and_only_warns() {
    let place = Place::new("default");
    let upstream = three([Some(400_000), Some(1), Some(100_000)]);
    let config = config(&place, &upstream, "deepseek", "");
    let ran = place.ask(&["--config", &config, "-m", "own/deepseek-v4", QUESTION]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.err.contains("400000 of the session's 500000 reasoning tokens"), "{}", ran.err);
    assert!(ran.err.contains("500001 of the session's 500000 reasoning tokens"), "{}", ran.err);
}

/// The bodies of a loop whose first request spends everything.
fn spent(
    place: &Place,
    action: &str,
    extends: &str,
    model: &str,
) -> (Vec<Value>, String, Option<i32>) {
    let upstream = three([Some(1000), Some(0), Some(0)]);
    let budget =
        format!("[budget]\nreasoning_tokens_per_session = 1000\non_exceed = \"{action}\"\n");
    let config = config(place, &upstream, extends, &budget);
    let model = format!("own/{model}");
    let high = "reasoning.effort=high";
    let ran = place.ask(&["--config", &config, "-m", &model, "--set", high, QUESTION]);
    (upstream.bodies(), ran.err, ran.code)
}

#[test]
fn adr_budget_on_exceed_lower_effort_asks_for_the_least() {
    let place = Place::new("lower");
    let (bodies, err, code) = spent(&place, "lower_effort", "deepseek", "deepseek-v4");
    assert_eq!(code, Some(0), "{err}");
    let efforts: Vec<_> = bodies.iter().map(|body| body["reasoning_effort"].as_str()).collect();
    assert_eq!(efforts, [Some("high"), Some("low"), Some("low")], "the request's layer wins");
}

#[test]
fn adr_budget_on_exceed_disable_reasoning_switches_it_off() {
    let place = Place::new("disable");
    let (bodies, err, code) = spent(&place, "disable_reasoning", "deepseek", "deepseek-v4");
    assert_eq!(code, Some(0), "{err}");
    let off: Vec<_> = bodies.iter().map(|body| body["thinking"]["type"] == "disabled").collect();
    assert_eq!(off, [false, true, true]);
}

#[test]
fn adr_budget_on_exceed_block_refuses_the_next_request_in_one_sentence() {
    let place = Place::new("block");
    let (bodies, err, code) = spent(&place, "block", "deepseek", "deepseek-v4");
    assert_eq!((bodies.len(), code), (1, Some(1)), "{err}");
    let error = "error: this session has spent 1000 of its 1000 reasoning tokens; start a new session or raise `reasoning_tokens_per_session`";
    assert_eq!(err.lines().last(), Some(error));
}

#[test]
fn adr_budget_counts_what_a_provider_does_not_report_and_what_a_history_spent() {
    let place = Place::new("counts");
    let upstream = Upstream::start(vec![chat("one two three four five six seven", "done", None)]);
    let budget = "[budget]\nreasoning_tokens_per_session = 12\n";
    let config = config(&place, &upstream, "deepseek", budget);
    let history = place.file("h.jsonl");
    let args = ["--config", &config, "-m", "own/deepseek-v4", "--history", &history, QUESTION];
    let first = place.ask(&args);
    assert!(!first.err.contains("note:"), "9 tokens are not 80 % of 12: {}", first.err);
    let second = place.ask(&args);
    let exceeded = "note: 18 of the session's 12 reasoning tokens are spent (150 %, estimated)";
    assert!(second.err.contains(exceeded), "{}", second.err);
}

#[test]
fn b_11_ask_says_of_a_thought_what_the_chat_and_an_export_say() {
    let place = Place::new("one-count");
    let thought = "one two three four five six seven";
    let upstream = Upstream::start(vec![chat(thought, "done", None)]);
    let budget = "[budget]\nreasoning_tokens_per_session = 9\n";
    let config = config(&place, &upstream, "deepseek", budget);
    let ask = |more: &[&str]| {
        let args = ["--config", &config, "-m", "own/deepseek-v4"];
        place.ask(&[&args[..], more, &[QUESTION]].concat())
    };
    let text = ask(&["--set", "reasoning.display=collapsed"]);
    assert!(text.err.contains(" s, about 9 tokens\n"), "{}", text.err);
    assert!(text.err.contains("note: 9 of the session's 9 reasoning tokens"), "{}", text.err);
    let json = ask(&["--json"]).json();
    let count = serde_json::json!({"tokens": 9, "source": "estimated"});
    assert_eq!((&json["reasoning"], &json["rounds"][0]["reasoning"]), (&count, &count));
    assert_eq!(json["usage"], Value::Null, "the provider said nothing");
    let block = serde_json::json!({"type": "thinking", "thought": thought, "sourceField": "reasoning_content"});
    let kept = serde_json::json!({"speaker": "ai", "blocks": [block]}).to_string();
    let history = place.write("kept.jsonl", &kept);
    let imported = place.think(&["sessions", "import", &history]);
    assert_eq!(imported.code, Some(0), "{}", imported.err);
    let id = imported.out.trim();
    let exported = place.think(&["sessions", "export", id, "--format", "md"]);
    assert!(exported.out.contains("about 9 tokens"), "{}\n{}", exported.out, exported.err);
}

#[test]
fn ask_json_has_no_count_where_nothing_was_reported_and_nothing_was_thought() {
    let place = Place::new("no-count");
    let json = |reported| {
        let upstream = Upstream::start(vec![chat("", "done", reported)]);
        let config = config(&place, &upstream, "deepseek", "");
        place.ask(&["--config", &config, "-m", "own/deepseek-v4", "--json", QUESTION]).json()
    };
    let unknown = json(None);
    let counts = (&unknown["reasoning"], &unknown["rounds"][0]["reasoning"]);
    assert_eq!(counts, (&Value::Null, &Value::Null));
    let none = json(Some(0));
    let count = serde_json::json!({"tokens": 0, "source": "reported"});
    assert_eq!((&none["reasoning"], &none["rounds"][0]["reasoning"]), (&count, &count));
}

#[test]
fn adr_budget_is_asked_after_the_rate_limiter() {
    let place = Place::new("rate");
    let upstream = three([Some(1000), Some(0), Some(0)]);
    let limits = "limits = { requests_per_minute = 1 }\n[budget]\nreasoning_tokens_per_session = 1000\non_exceed = \"block\"\n";
    let config = config(&place, &upstream, "deepseek", limits);
    let mut child =
        crate::program::command(&["ask", "--config", &config, "-m", "own/deepseek-v4", QUESTION])
            .env("HOME", place.home())
            .stdin(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stderr.take().unwrap()));
    let waits = lines.find_map(|line| line.ok().filter(|line| line.contains("per minute")));
    child.kill().unwrap();
    child.wait().unwrap();
    let waits = waits.expect("the second request waits, although the budget would refuse it");
    assert!(
        waits.starts_with("note: the limit of 1 requests per minute is reached; going on in"),
        "{waits}"
    );
    assert_eq!(upstream.bodies().len(), 1);
}
