//! `think ask` against every simulated provider: a tool loop of two rounds, and a follow-up from
//! the history file.

use crate::place::Place;
use crate::program::command;
use std::fs;
use std::path::Path;

fn simulators() -> Vec<thinkthrough_conformance::Listed> {
    thinkthrough_conformance::list()
}

const QUESTION: &str = "What is in this folder? Think first.";

#[test]
fn with_no_key_and_no_configuration_the_simulated_model_answers_with_what_is_there() {
    let place = Place::new("plain");
    let ran = place.ask(&["-m", "sim/default", QUESTION]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.contains("needle.txt") && ran.out.contains("simulated"), "{}", ran.out);
    assert_eq!(ran.err.matches("thinking:").count(), 2, "{}", ran.err);
    assert!(!ran.out.contains("The user says"), "thoughts stay out of the answer: {}", ran.out);
}

#[test]
fn every_simulated_provider_takes_a_tool_loop_and_a_follow_up() {
    let place = Place::new("every");
    for listed in simulators() {
        let model = format!("sim/{}", listed.id);
        let history = place.file(&format!("{}.jsonl", listed.id));
        let first = place.ask(&["-m", &model, "--history", &history, QUESTION]);
        assert_eq!(first.code, Some(0), "{model}: {}", first.err);
        assert!(first.out.contains("needle.txt"), "{model}: {}", first.out);
        let second = ["-m", &model, "--history", &history, "Read needle.txt: what does it say?"];
        let second = place.ask(&second);
        assert_eq!(second.code, Some(0), "{model}: {}", second.err);
        assert!(second.out.contains("the needle is blue"), "{model}: {}", second.out);
        let lines = fs::read_to_string(Path::new(&history)).unwrap();
        assert!(lines.lines().count() >= 8, "{model}: {lines}");
    }
}

#[test]
fn req_think_007_4_thoughts_that_are_not_to_be_shown_are_nowhere() {
    let place = Place::new("hidden");
    let hide = "reasoning.includeInResponse=false";
    for extra in [&[][..], &["--json"], &["--stream-json"]] {
        let mut args = vec!["-m", "sim/kimi-k2", "--set", hide];
        args.extend_from_slice(extra);
        args.push(QUESTION);
        let ran = place.ask(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let all = ran.out + &ran.err;
        assert!(!all.contains("The user says") && !all.contains("simulated thought"), "{all}");
        assert!(all.contains("needle.txt"), "{all}");
    }
}

#[test]
fn json_has_the_rounds_and_stream_json_the_events() {
    let place = Place::new("json");
    let json = place.ask(&["-m", "sim/kimi-k2", "--json", QUESTION]).json();
    let rounds = json["rounds"].as_array().unwrap();
    assert_eq!(rounds.len(), 2);
    assert_eq!(rounds[0]["toolResponses"][0]["type"], "tool_response");
    assert_eq!(rounds[0]["blocks"][0]["type"], "thinking");
    assert!(json["session"].is_null() && json["trace"].is_null());
    let sum = |key: &str| rounds.iter().map(|r| r["usage"][key].as_u64().unwrap()).sum::<u64>();
    assert_eq!(json["usage"]["outputTokens"].as_u64().unwrap(), sum("outputTokens"));
    let events = place.ask(&["-m", "sim/kimi-k2", "--stream-json", QUESTION]).lines();
    assert!(events.iter().all(|event| event["round"].is_u64()));
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    for kind in
        ["thinking_start", "thinking_delta", "thinking_end", "tool_call_end", "tool_response"]
    {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
}

#[test]
fn err_001_a_bad_setting_is_refused_before_anything_is_asked() {
    let place = Place::new("bad");
    let ran = place.ask(&["-m", "sim/default", "--set", "reasoning.format=xml", QUESTION]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("allowed: field, native"), "{}", ran.err);
}

#[test]
fn a_broken_history_is_named_and_left_alone() {
    let place = Place::new("broken");
    let history = place.file("broken.jsonl");
    fs::write(&history, "{\"speaker\":\"human\",\"blocks\":[]}\nnonsense\n").unwrap();
    let ran = place.ask(&["-m", "sim/default", "--history", &history, QUESTION]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("line 2 of"), "{}", ran.err);
    assert_eq!(fs::read_to_string(&history).unwrap().lines().count(), 2);
}

#[test]
fn explain_needs_no_key_and_asking_says_which() {
    let place = Place::new("explain");
    let request = place.file("request.json");
    let body = r#"{"model":"x","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","reasoning_content":"I think","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"r"}]}"#;
    fs::write(&request, body).unwrap();
    let explain = |set: &str| {
        let args =
            ["explain", "--json", "-m", "moonshotai/kimi-k2-thinking", "--set", set, &request];
        let output =
            command(&args).env_remove("MOONSHOT_API_KEY").env("HOME", place.home()).output();
        serde_json::from_slice::<serde_json::Value>(&output.unwrap().stdout).unwrap()
    };
    let kept = explain("reasoning.includeInContext=auto");
    assert_eq!(kept["decisions"][0]["action"], "keep");
    assert_eq!(kept["body"]["messages"][1]["reasoning_content"], "I think");
    let stripped = explain("reasoning.includeInContext=false");
    assert_eq!(stripped["decisions"][0]["action"], "strip");
    assert!(stripped["body"]["messages"][1].get("reasoning_content").is_none());
    assert_eq!(stripped["decisions"][0]["setting"], "reasoning.includeInContext");
    let fewer = |value: &serde_json::Value| value["tokens"]["effective"].as_u64().unwrap();
    assert!(fewer(&stripped) < fewer(&kept), "the count is that of the request");
    let ran = place.ask(&["-m", "moonshotai/kimi-k2-thinking", "hi"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("MOONSHOT_API_KEY"), "{}", ran.err);
}
