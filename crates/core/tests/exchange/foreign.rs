//! A client keeps its thoughts and asks another model.

use crate::{Gateway, Lock};
use thinkthrough_core::exchange::Prepared;
use thinkthrough_core::provider::Target;
use thinkthrough_json::Doc;

const ASKED: &str = r#"{"role":"user","content":"List it."}"#;
const RESULT: &str =
    r#"{"role":"tool","tool_call_id":"toolu_01A9bC8dE7fG6hJ5kL4mN3pQ","content":"a"}"#;

fn request(model: &str, messages: &[&str]) -> String {
    format!(
        r#"{{"model":"{model}","reasoning_effort":"high","messages":[{}]}}"#,
        messages.join(",")
    )
}

fn calls(beside: &str) -> String {
    let call = r#"{"id":"toolu_01A9bC8dE7fG6hJ5kL4mN3pQ","type":"function","function":{"name":"ls","arguments":"{}"}}"#;
    format!(r#"{{"role":"assistant",{beside},"tool_calls":[{call}]}}"#)
}

/// A gateway after Claude thought twice and called a tool, and then answered.
fn claude() -> Gateway {
    let mut gateway = Gateway::new("chat-completions", "anthropic", None, "claude-sonnet-4-5");
    let whole = |content: &str| {
        format!(
            r#"{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{content}],"stop_reason":"end_turn","usage":{{"input_tokens":1,"output_tokens":1}}}}"#
        )
    };
    let thought = |text: &str| {
        format!(r#"{{"type":"thinking","thinking":"{text}","signature":"c2VhbGVk{text}"}}"#)
    };
    let call =
        r#"{"type":"tool_use","id":"toolu_01A9bC8dE7fG6hJ5kL4mN3pQ","name":"ls","input":{}}"#;
    let (one, two) = (thought("CLAUDEone"), thought("CLAUDEtwo"));
    let first = gateway.ask(&request("m", &[ASKED]), &Lock);
    gateway.answer(first, &[&whole(&format!("{one},{two},{call}"))], None);
    let shown = calls(r#""content":null"#);
    let second = gateway.ask(&request("m", &[ASKED, &shown, RESULT]), &Lock);
    gateway.answer(
        second,
        &[&whole(&format!(r#"{one},{{"type":"text","text":"One file."}}"#))],
        None,
    );
    gateway
}

fn sent(prepared: &Prepared, came: &str) -> String {
    prepared.body.clone().unwrap_or_else(|| came.to_owned())
}

#[test]
fn no_thought_of_another_models_answer_goes_however_the_client_shows_it() {
    let mut gateway = claude();
    let near = Target::built_in("deepseek", None, "deepseek-v4-pro").unwrap();
    let own = Target::built_in("openai-compatible", None, "somebodys-own").unwrap();
    for target in [near, own] {
        gateway.target = target;
        for beside in [
            // As it was, joined otherwise, edited, and shown in the text.
            r#""content":null,"reasoning_content":"CLAUDEone\nCLAUDEtwo""#,
            r#""content":null,"reasoning_content":"CLAUDEoneCLAUDEtwo""#,
            r#""content":null,"reasoning_content":"CLAUDE, and what I think""#,
        ] {
            let answer =
                r#"{"role":"assistant","content":"One file.","reasoning_content":"CLAUDEone"}"#;
            let came = request("m", &[ASKED, &calls(beside), RESULT, answer, ASKED]);
            let prepared = gateway.ask(&came, &Lock);
            let sent = sent(&prepared, &came);
            assert!(!sent.contains("CLAUDE"), "{}: {sent}", gateway.target.provider);
            assert_eq!(prepared.counts.dropped, 2, "{}: {sent}", gateway.target.provider);
        }
    }
}

#[test]
fn a_copy_of_another_models_thought_goes_from_the_text_and_leaves_no_empty_one() {
    let mut gateway = claude();
    gateway.target = Target::built_in("openai", None, "gpt-5.6-sol").unwrap();
    let copy = calls(r#""content":"<think>CLAUDEone\nCLAUDEtwo</think>""#);
    let came = request("m", &[ASKED, &copy, RESULT]);
    let sent = sent(&gateway.ask(&came, &Lock), &came);
    assert!(!sent.contains("CLAUDE") && !sent.contains(r#""text":"""#), "{sent}");
}

/// The items of a whole answer of the Responses API.
fn items(answer: &str) -> Vec<String> {
    let doc = Doc::parse_str(answer).unwrap();
    let output = doc.root().get("output").unwrap();
    output.items().map(|item| item.raw().to_owned()).collect()
}

#[test]
fn a_summary_that_the_gateway_wrote_goes_to_its_models_own_place() {
    let mut gateway = Gateway::new("responses", "deepseek", None, "deepseek-v4-pro");
    let asked = r#"{"role":"user","content":"List it."}"#;
    let request = |items: &str| format!(r#"{{"model":"m","store":false,"input":[{items}]}}"#);
    let answer = r#"{"id":"1","model":"deepseek-v4-pro","choices":[{"index":0,"message":{"role":"assistant","content":null,"reasoning_content":"Look","tool_calls":[{"id":"call_1","type":"function","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
    let first = gateway.ask(&request(asked), &Lock);
    let (said, _) = gateway.answer(first, &[answer], None);
    let items = items(&said);
    assert!(items[0].contains(r#""summary":[{"type":"summary_text","text":"Look"}]"#), "{said}");
    gateway.target = Target::built_in("deepseek", Some("responses"), "deepseek-v4-pro").unwrap();
    let result = r#"{"type":"function_call_output","call_id":"call_1","output":"a"}"#;
    let call = &items[1];
    // A client that keeps the id, and one that does not.
    let doc = Doc::parse_str(&items[0]).unwrap();
    let id = doc.root().string("id").unwrap();
    let bare = items[0].replace(&format!(r#""id":"{id}","#), "");
    assert_ne!(bare, items[0]);
    for thought in [&items[0], &bare] {
        let came = request(&format!("{asked},{thought},{call},{result}"));
        let sent = sent(&gateway.ask(&came, &Lock), &came);
        let content = r#""content":[{"type":"reasoning_text","text":"Look"}]"#;
        assert!(sent.contains(content) && !sent.contains("summary_text"), "{sent}");
    }
    // An item that its model gave as a summary stays as it is.
    let its = r#"{"id":"resp_2","object":"response","status":"completed","model":"m","output":[{"type":"reasoning","id":"rs_own","summary":[{"type":"summary_text","text":"Look"}]},{"type":"function_call","id":"fc_a","call_id":"call_2","name":"ls","arguments":"{}","status":"completed"}]}"#;
    let first = gateway.ask(&request(asked), &Lock);
    gateway.answer(first, &[its], None);
    let thought =
        r#"{"type":"reasoning","id":"rs_own","summary":[{"type":"summary_text","text":"Look"}]}"#;
    let call = call.replace("call_1", "call_2");
    let came = request(&format!("{asked},{thought},{call},{}", result.replace("call_1", "call_2")));
    let sent = sent(&gateway.ask(&came, &Lock), &came);
    assert!(sent.contains(thought), "{sent}");
}

/// A tool call in an answer with a thought that nobody here knows.
fn unknown(beside: &str) -> String {
    let call = r#"{"id":"call_1","type":"function","function":{"name":"ls","arguments":"{}"}}"#;
    let answer = format!(r#"{{"role":"assistant","content":null,{beside}"tool_calls":[{call}]}}"#);
    let result = r#"{"role":"tool","tool_call_id":"call_1","content":"a"}"#;
    request("m", &[ASKED, &answer, result])
}

#[test]
fn words_alone_beside_a_call_get_the_documented_value_where_a_seal_is_demanded() {
    for (wire, model) in [(None, "gemini-3.1-pro-preview"), (None, "gemini-3-flash-preview")] {
        let gateway = Gateway::new("chat-completions", "google", wire, model);
        let came = unknown(r#""reasoning_content":"I look.","#);
        let sent = sent(&gateway.ask(&came, &Lock), &came);
        assert!(sent.contains("skip_thought_signature_validator"), "{sent}");
        assert!(!sent.contains("I look."), "{sent}");
    }
}

#[test]
fn plain_details_of_an_unknown_maker_go_in_the_field_that_the_model_reads() {
    let details = r#""reasoning_details":[{"type":"reasoning.text","text":"I look.","index":0}],"#;
    for (provider, model, field) in [
        ("deepseek", "deepseek-v4-pro", "reasoning_content"),
        ("moonshotai", "kimi-k3", "reasoning_content"),
    ] {
        let gateway = Gateway::new("chat-completions", provider, None, model);
        let came = unknown(details);
        let sent = sent(&gateway.ask(&came, &Lock), &came);
        assert!(sent.contains(&format!(r#""{field}":"I look.""#)), "{sent}");
        assert!(!sent.contains("reasoning_details"), "{sent}");
    }
}

#[test]
fn a_call_without_its_thought_is_told_to_claude_at_another_host() {
    let gateway =
        Gateway::new("chat-completions", "openrouter", None, "anthropic/claude-sonnet-4.5");
    let came = unknown("");
    let sent = sent(&gateway.ask(&came, &Lock), &came);
    assert!(
        !sent.contains(r#""role":"assistant""#) && sent.contains("You used the tool"),
        "{sent}"
    );
}

#[test]
fn a_seal_alone_is_no_thought_to_a_model_that_reads_words() {
    let seal = r#""extra_content":{"google":{"thought_signature":"c2VhbGVkR0VNSU5J"}}"#;
    let gateway = Gateway::new("chat-completions", "deepseek", None, "deepseek-v4-pro");
    let came =
        unknown("").replace(r#""id":"call_1","type""#, &format!(r#"{seal},"id":"call_1","type""#));
    assert!(came.contains("c2VhbGVk"), "{came}");
    let prepared = gateway.ask(&came, &Lock);
    let told = sent(&prepared, &came);
    assert!(!told.contains("c2VhbGVk") && told.contains("You used the tool"), "{told}");
    assert_eq!(prepared.counts.missed, 1);
    // On the message as a whole, too.
    let answer = format!(r#"{{"role":"assistant","content":"One file.",{seal}}}"#);
    let came = request("m", &[ASKED, &answer, ASKED]);
    let sent = sent(&gateway.ask(&came, &Lock), &came);
    assert!(!sent.contains("c2VhbGVk") && sent.contains("One file."), "{sent}");
}

#[test]
fn items_of_the_responses_api_have_ids_of_their_own() {
    let mut gateway = Gateway::new("responses", "minimax", None, "MiniMax-M3");
    let answer = |id: &str| {
        format!(
            r#"{{"id":"{id}","model":"m","choices":[{{"index":0,"message":{{"role":"assistant","content":"Yes.","reasoning_details":[{{"type":"reasoning.text","id":"reasoning-text-1","text":"Look","index":0}}]}},"finish_reason":"stop"}}]}}"#
        )
    };
    let mut ids = Vec::new();
    for id in ["one", "two"] {
        let asked = r#"{"model":"m","store":false,"input":[{"role":"user","content":"List it."}]}"#;
        let first = gateway.ask(asked, &Lock);
        let (said, _) = gateway.answer(first, &[&answer(id)], None);
        let items = items(&said);
        ids.push(Doc::parse_str(&items[0]).unwrap().root().string("id").unwrap());
    }
    assert!(ids[0] != ids[1] && !ids.contains(&"reasoning-text-1".to_owned()), "{ids:?}");
}

#[test]
fn a_payload_of_a_call_without_a_record_is_geminis() {
    let seal = r#""extra_content":{"google":{"thought_signature":"CiQBVKhc7tF"}}"#;
    let call = format!(
        r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"c","type":"function","function":{{"name":"ls","arguments":"{{}}"}},{seal}}}]}}"#
    );
    let result = r#"{"role":"tool","tool_call_id":"c","content":"a"}"#;
    for (provider, model, is_sent) in [
        ("minimax", "MiniMax-M2.5", false),
        ("deepseek", "deepseek-v4-pro", false),
        ("google", "gemini-3-pro", true),
        ("openai-compatible", "somebodys-own", true),
    ] {
        let gateway = Gateway::new("chat-completions", provider, None, model);
        let came = request(model, &[ASKED, &call, result]);
        let sent = sent(&gateway.ask(&came, &Lock), &came);
        assert_eq!(sent.contains("CiQBVKhc7tF"), is_sent, "{provider}: {sent}");
    }
}
