//! What is done about thoughts that are demanded and that nobody has.

use crate::{Gateway, Lock, Lost, body};
use thinkthrough_core::contract::Told;
use thinkthrough_core::decision::Counts;
use thinkthrough_core::exchange::{Need, RequestContext, Restore, Without};

const TOOLS: &str = r#""tools":[{"type":"function","function":{"name":"ls","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}]"#;

/// Two calls at once, by a model whose thoughts nobody here has, and what they gave.
const CALLS: &str = r#"{"role":"assistant","content":"Let me see.","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{\"path\":\".\"}"}},{"id":"b","type":"function","function":{"name":"cat","arguments":"{}"}}]}"#;
const GIVEN: &str = r#"{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"x"},{"type":"text","text":"y"}]},{"role":"tool","tool_call_id":"a","content":"one\ntwo"}"#;
const CALLED_IN_WORDS: &str = r#"{"role":"assistant","content":"Let me see.\n\nI used the tool `ls` with {\"path\":\".\"}.\n\nI used the tool `cat` with {}."}"#;
const GIVEN_IN_WORDS: &str = r#"{"role":"user","content":"The tool `cat` gave:\n> x\n> y\n\nThe tool `ls` gave:\n> one\n> two"}"#;

fn chat(model: &str, messages: &[&str]) -> String {
    format!(r#"{{"model":"{model}", "messages":[{}],{TOOLS}}}"#, messages.join(","))
}

const ASKS: &str = r#"{"role":"user", "content":"List it."}"#;

#[test]
fn a_model_that_always_thinks_is_told_of_foreign_calls_in_words() {
    let mut gateway = Gateway::new("chat-completions", "moonshotai", None, "kimi-k2-thinking");
    let first = gateway.ask(&chat("kimi-k2-thinking", &[ASKS, CALLS, GIVEN]), &Lock);
    assert_eq!(first.without, Without { told: 1, ..Without::default() });
    assert_eq!((first.counts, first.missing), (Counts { missed: 1, ..Counts::default() }, Some(1)));
    let expected = chat("kimi-k2-thinking", &[ASKS, CALLED_IN_WORDS, GIVEN_IN_WORDS]);
    assert_eq!(body(&first), expected);

    // What was said once is said again in the same words, and the model's own calls are left alone.
    let own = r#"{"role":"assistant","content":"","reasoning_content":"Own.","tool_calls":[{"id":"ls:0","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#;
    let given = r#"{"role":"tool","tool_call_id":"ls:0","content":"three"}"#;
    let next = gateway.ask(&chat("kimi-k2-thinking", &[ASKS, CALLS, GIVEN, own, given]), &Lock);
    let expected = chat("kimi-k2-thinking", &[ASKS, CALLED_IN_WORDS, GIVEN_IN_WORDS, own, given]);
    assert_eq!(body(&next), expected);

    // A filler is the client's own word.
    let filled = CALLS.replace(r#""content":"#, r#""reasoning_content":" ","content":"#);
    let kept = gateway.ask(&chat("kimi-k2-thinking", &[ASKS, &filled, GIVEN]), &Lock);
    assert_eq!((kept.body, kept.without), (None, Without::default()));

    gateway.handling.restore = Restore::Required;
    let refused = gateway.ask(&chat("kimi-k2-thinking", &[ASKS, CALLS, GIVEN]), &Lock);
    assert_eq!((refused.body, refused.missing), (None, Some(1)));
}

#[test]
fn words_are_told_on_every_wire_that_demands_thoughts() {
    let calls = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{"path":"."}}]}"#;
    let given = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"one"},{"type":"image","source":{"type":"url","url":"http://x"}}],"cache_control":{"type":"ephemeral"}},{"type":"text","text":"Go on."}]}"#;
    let body_of = |messages: &[&str]| {
        format!(
            r#"{{"model":"kimi-k2-thinking","max_tokens":9,"messages":[{}]}}"#,
            messages.join(",")
        )
    };
    let gateway = Gateway::new("messages", "moonshotai", Some("messages"), "kimi-k2-thinking");
    let told = gateway.ask(&body_of(&[ASKS, calls, given]), &Lock);
    let expected = body_of(&[
        ASKS,
        r#"{"role":"assistant","content":"I used the tool `ls` with {\"path\":\".\"}."}"#,
        r#"{"role":"user","content":[{"type":"text","text":"The tool `ls` gave:\n> one","cache_control":{"type":"ephemeral"}},{"type":"image","source":{"type":"url","url":"http://x"}}]}"#,
        r#"{"role":"user","content":"Go on."}"#,
    ]);
    assert_eq!(body(&told), expected);

    // Written anew for another wire.
    let gateway = Gateway::new("messages", "moonshotai", None, "kimi-k2-thinking");
    let told = gateway.ask(&body_of(&[ASKS, calls, given]), &Lock);
    let sent = body(&told);
    assert!(sent.contains("I used the tool `ls`") && sent.contains("gave:\\n> one"), "{sent}");
    assert!(!sent.contains("tool_calls") && !sent.contains(r#""role":"tool""#), "{sent}");
}

#[test]
fn items_are_told_in_words() {
    // Items that nothing stands beside.
    let items = |items: &[&str]| {
        format!(r#"{{"model":"deepseek-reasoner","input":[{}]}}"#, items.join(","))
    };
    let asks = r#"{"role":"user","content":"List it."}"#;
    let calls = r#"{"type":"function_call","call_id":"a","name":"ls","arguments":"{}"},{"type":"function_call","call_id":"b","name":"cat","arguments":"{}"}"#;
    let given = r#"{"type":"function_call_output","call_id":"a","output":"one"},{"type":"function_call_output","call_id":"b","output":"two"}"#;
    let gateway = Gateway::new("responses", "deepseek", Some("responses"), "deepseek-reasoner");
    let told = gateway.ask(&items(&[asks, calls, given]), &Lock);
    let sent = body(&told);
    let doc = thinkthrough_json::Doc::parse_str(sent).unwrap();
    let input: Vec<_> = doc.root().get("input").unwrap().items().collect();
    assert_eq!(input.len(), 2, "{sent}");
    assert!(!sent.contains("call_id") && sent.contains("gave:\\n> one"), "{sent}");
}

#[test]
fn a_documented_value_goes_before_everything_else() {
    let calls = r#"{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}}},{"functionCall":{"name":"cat","args":{}}}]}"#;
    let given = r#"{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{}}},{"functionResponse":{"name":"cat","response":{}}}]}"#;
    let asks = r#"{"role":"user","parts":[{"text":"List it."}]}"#;
    let of = |messages: &[&str]| format!(r#"{{"contents":[{}]}}"#, messages.join(","));
    let gateway = Gateway::new("generate-content", "google", None, "gemini-3.1-pro");
    let signed = gateway.ask(&of(&[asks, calls, given]), &Lock);
    assert_eq!(signed.without, Without { bypassed: 1, ..Without::default() });
    let expected = calls.replacen(
        r#"{"functionCall""#,
        r#"{"thoughtSignature":"skip_thought_signature_validator","functionCall""#,
        1,
    );
    assert_eq!(body(&signed), of(&[asks, &expected, given]));
    let added = signed.exchange.outgoing().decisions.iter().find(|it| it.action.as_str() == "add");
    assert!(added.is_some_and(|it| it.reason.contains("documents")), "{added:?}");
    // Calls of earlier turns need none.
    let later = gateway.ask(&of(&[asks, calls, given, asks]), &Lock);
    assert_eq!(later.without, Without::default());
}

#[test]
fn thinking_that_the_caller_asked_for_is_taken_back_where_words_cannot_be_said() {
    let thinking = r#""thinking":{"type":"enabled","budget_tokens":2000}"#;
    let messages = |thinking: &str, behind: &str| {
        format!(
            r#"{{"model":"claude-sonnet-4-5","max_tokens":4000,{thinking},"messages":[{ASKS},{behind}]}}"#
        )
    };
    let calls = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ls","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"one"}]}"#;
    let words = r#"{"role":"user","content":"You used the tool `ls` with {}.\n\nThe tool `ls` gave:\n> one"}"#;
    let off = r#""thinking":{"type":"disabled"}"#;
    let mut gateway = Gateway::new("messages", "anthropic", None, "claude-sonnet-4-5");
    let told = gateway.ask(&messages(thinking, calls), &Lost);
    assert_eq!(body(&told), messages(thinking, words));
    // The beginning of an answer that is to be gone on with can be quoted nowhere.
    let begun = r#"{"role":"assistant","content":"It lists"}"#;
    let prepared = gateway.ask(&messages(thinking, begun), &Lost);
    assert!(prepared.without.is_off);
    assert_eq!(body(&prepared), messages(off, begun));
    // Nor does every model take words.
    gateway.target.rule.contract.told = Told::Never;
    let prepared = gateway.ask(&messages(thinking, calls), &Lost);
    assert!(prepared.without.is_off);
    assert_eq!(body(&prepared), messages(off, calls));
}

#[test]
fn a_loop_that_loses_whatever_the_model_says_goes_on_without_thinking() {
    let exchange = |at: usize| {
        format!(
            r#"{{"role":"assistant","content":"","tool_calls":[{{"id":"call_{at}","type":"function","function":{{"name":"ls","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"call_{at}","content":"one"}}"#
        )
    };
    let (one, two) = (exchange(1), exchange(2));
    let mut gateway = Gateway::new("chat-completions", "deepseek", None, "deepseek-v4-pro");
    let told = |gateway: &Gateway, messages: &[&str]| {
        gateway.ask(&chat("deepseek-v4-pro", messages), &Lock).without
    };
    let off = Without { is_off: true, ..Without::default() };
    assert_eq!(told(&gateway, &[ASKS, &one]), Without { told: 1, ..Without::default() });
    assert_eq!(told(&gateway, &[ASKS, &one, &two]), off);
    // Once it is over they are told.
    assert_eq!(
        told(&gateway, &[ASKS, &one, &two, ASKS]),
        Without { told: 2, ..Without::default() }
    );
    // What nobody keeps is lost for sure.
    gateway.is_kept = false;
    assert_eq!(told(&gateway, &[ASKS, &one]), off);
    // A model that always thinks has only words.
    gateway.target.rule.thinking.off = None;
    assert_eq!(told(&gateway, &[ASKS, &one, &two]), Without { told: 2, ..Without::default() });
}

#[test]
fn an_answer_without_calls_is_quoted_before_the_next_message() {
    let calls = r#"{"role":"assistant","content":"Let me see.\nSoon.","tool_calls":[{"id":"a","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#;
    let given = r#"{"role":"tool","tool_call_id":"a","content":"one"}"#;
    let said = r#"{"role":"assistant","content":"One file.\nThat is all."}"#;
    let gateway = Gateway::new("chat-completions", "deepseek", None, "deepseek-v4-pro");
    let told = gateway.ask(&chat("deepseek-v4-pro", &[ASKS, calls, given, said, ASKS]), &Lock);
    assert_eq!(told.without, Without { told: 2, ..Without::default() });
    let words = r#"{"role":"user","content":"You said:\n> Let me see.\n> Soon.\n\nYou used the tool `ls` with {}.\n\nThe tool `ls` gave:\n> one"}"#;
    let quoted = r#"{"role":"user","content":"You answered:\n> One file.\n> That is all."}"#;
    assert_eq!(body(&told), chat("deepseek-v4-pro", &[ASKS, words, quoted, ASKS]));
    // Kimi demands nothing of such an answer, and it stays where it is.
    let gateway = Gateway::new("chat-completions", "moonshotai", None, "kimi-k2-thinking");
    let told = gateway.ask(&chat("kimi-k2-thinking", &[ASKS, calls, given, said, ASKS]), &Lock);
    assert_eq!(told.without, Without { told: 1, ..Without::default() });
    assert!(body(&told).contains(said), "{}", body(&told));
}

#[test]
fn thoughts_stay_out_of_a_request_without_thinking_where_they_are_refused() {
    let own = r#"{"type":"thinking","thinking":"Look","signature":"c2ln"},"#;
    let request = |thinking: &str, own: &str| {
        format!(
            r#"{{"model":"claude-sonnet-4-5","max_tokens":4000{thinking},"messages":[{ASKS},{{"role":"assistant","content":[{own}{{"type":"tool_use","id":"a","name":"ls","input":{{}}}}]}},{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"a","content":"one"}}]}}]}}"#
        )
    };
    let gateway = Gateway::new("messages", "anthropic", None, "claude-sonnet-4-5");
    // Silence means off for this model.
    for thinking in ["", r#","thinking":{"type":"disabled"}"#] {
        let prepared = gateway.ask(&request(thinking, own), &Lock);
        assert_eq!(prepared.body, Some(request(thinking, "")));
    }
    let on = r#","thinking":{"type":"enabled","budget_tokens":2000}"#;
    assert_eq!(gateway.ask(&request(on, own), &Lock).body, None);
}

#[test]
fn a_request_of_nobodys_goes_down_the_ladder_too() {
    let calls = r#"{"role":"assistant","content":"","tool_calls":[{"id":"ls:0","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#;
    let given = r#"{"role":"tool","tool_call_id":"ls:0","content":"one"}"#;
    let of = |messages: &[&str]| {
        format!(r#"{{"model":"kimi-k2-thinking","messages":[{}]}}"#, messages.join(","))
    };
    let mut gateway = Gateway::new("chat-completions", "moonshotai", None, "kimi-k2-thinking");
    let known = gateway.ask(&of(&[ASKS, calls, given]), &Lock);
    gateway.is_nobodys = true;
    let nobodys = gateway.ask(&of(&[ASKS, calls, given]), &Lock);
    assert_eq!(nobodys.without, Without { told: 1, ..Without::default() });
    assert_eq!((nobodys.counts.missed, nobodys.missing), (1, Some(1)));
    assert_eq!((&nobodys.body, nobodys.counts), (&known.body, known.counts));
    // Nothing of it can be looked up or kept.
    let text = of(&[ASKS, calls, given]);
    let doc = thinkthrough_json::Doc::parse_str(&text).unwrap();
    let asked = RequestContext::read(
        gateway.caller,
        &doc,
        &gateway.target,
        &gateway.settings,
        gateway.handling,
        None,
    );
    assert_eq!(asked.unwrap().need(), Need::Nothing);
    let (_, done) = gateway.answer(nobodys, &[r#"{"id":"r","choices":[{"index":0,"message":{"role":"assistant","content":"a","reasoning_content":"b"},"finish_reason":"stop"}]}"#], None);
    assert!(done.records.is_empty());
}
