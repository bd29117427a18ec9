//! A client keeps its thoughts and asks another model.

use crate::{Gateway, Lock};
use thinkthrough_core::exchange::Prepared;
use thinkthrough_core::provider::Target;

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
