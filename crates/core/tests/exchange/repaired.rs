//! Repairs change only the named part of a request, and answers fit the combinations that endpoints accept.

use crate::{Gateway, Lock, body};
use thinkthrough_core::exchange::Repair;
use thinkthrough_core::settings::Efforts;

const LINE: &str = "x-anthropic-billing-header: cc_version=2.1.77; cch=";

#[test]
fn only_the_payload_that_is_named_goes_on_its_own_wire_and_on_others() {
    let request = |first: &str| {
        format!(
            r#"{{"model":"m","max_tokens":9000,"thinking":{{"type":"enabled","budget_tokens":2000}},"messages":[{{"role":"user","content":"Hi"}},{{"role":"assistant","content":{first}}},{{"role":"user","content":"And?"}},{{"role":"assistant","content":[{{"type":"thinking","thinking":"b","signature":"seal-number-two"}},{{"type":"text","text":"So"}}]}},{{"role":"user","content":"Go on."}}]}}"#
        )
    };
    let sealed = r#"[{"type":"thinking","thinking":"a","signature":"seal-number-one"},{"type":"text","text":"Ho"}]"#;
    let mut gateway = Gateway::new("messages", "anthropic", None, "claude-sonnet-4-5");
    let invalid = "messages.1.content.0: Invalid `signature` in `thinking` block";
    gateway.refusal = Some((invalid, request(sealed)));
    let left = gateway.ask(&request(sealed), &Lock);
    assert_eq!(body(&left).replace("claude-sonnet-4-5", "m"), request(r#""Ho""#));
    // The path names no thought.
    gateway.refusal = Some(("messages.0.content.0: an image is too large", request(sealed)));
    let left = gateway.ask(&request(sealed), &Lock);
    assert_eq!(body(&left).replace("claude-sonnet-4-5", "m"), request(sealed));
    // A wire without a place for the payload: the text identifies the thought.
    let mut gateway = Gateway::new("messages", "zai", None, "glm-5");
    let sent = body(&gateway.ask(&request(sealed), &Lock)).to_owned();
    let both = [r#""reasoning_content":"a""#, r#""reasoning_content":"b""#];
    assert_eq!(both.map(|it| sent.contains(it)), [true, true], "{sent}");
    gateway.refusal = Some(("Invalid 'messages[1].reasoning_content': too long.", sent));
    let left = gateway.ask(&request(sealed), &Lock);
    assert_eq!(both.map(|it| body(&left).contains(it)), [false, true], "{}", body(&left));
}

#[test]
fn an_effort_that_is_refused_is_said_in_the_words_of_the_refusal() {
    let request = r#"{"model":"m","max_tokens":9,"thinking":{"type":"adaptive"},"output_config":{"effort":"max"},"messages":[{"role":"user","content":"Hi"}]}"#;
    let efforts = |words: &str| Some(Repair::Efforts(Efforts::parse(words).unwrap()));
    for (provider, model, learned, effort) in [
        ("openai", "gpt-5.6-sol", None, Some(r#""effort":"max""#)),
        (
            "openai",
            "gpt-5.6-sol",
            efforts("none,low,medium,high,xhigh"),
            Some(r#""effort":"xhigh""#),
        ),
        ("openai", "gpt-5.6-sol", efforts(""), None),
        (
            "openai-compatible",
            "anything",
            efforts("low,high"),
            Some(r#""reasoning_effort":"high""#),
        ),
        ("openai-compatible", "anything", efforts(""), None),
    ] {
        let mut gateway = Gateway::new("messages", provider, None, model);
        gateway.learned = learned;
        let asked = gateway.ask(request, &Lock);
        let said = body(&asked).split_once("effort").map(|_| body(&asked));
        match effort {
            Some(effort) => assert!(said.is_some_and(|it| it.contains(effort)), "{said:?}"),
            None => assert_eq!(said, None, "{model}"),
        }
    }
}

#[test]
fn a_member_that_is_refused_is_not_added_and_the_callers_own_stays() {
    let request = |include: &str| {
        format!(r#"{{{include}"model":"gpt-5.6","input":[{{"role":"user","content":"Hi"}}]}}"#)
    };
    let mut gateway = Gateway::new("responses", "openai", None, "gpt-5.6");
    let added = gateway.ask(&request(""), &Lock);
    assert!(body(&added).contains("reasoning.encrypted_content"), "{}", body(&added));
    gateway.learned = Some(Repair::Without("include"));
    let left = gateway.ask(&request(""), &Lock);
    assert!(!body(&left).contains("include"), "{}", body(&left));
    let own = request(r#""include":["reasoning.encrypted_content"],"#);
    assert_eq!(gateway.ask(&own, &Lock).body, None);
}

const ASSISTANT: &str = r#"{"role":"assistant","content":"I look.","reasoning_content":"hm","tool_calls":[{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}]}"#;

fn loop_of(model: &str, assistant: &str) -> String {
    format!(
        r#"{{"model":"{model}","messages":[{{"role":"user","content":"Hi"}},{assistant},{{"role":"tool","tool_call_id":"c","content":"a"}}]}}"#
    )
}

#[test]
fn where_a_thought_and_a_text_exclude_each_other_beside_calls_the_text_goes() {
    let bare = ASSISTANT.replace(r#""reasoning_content":"hm","#, "");
    for (model, assistant, apart) in [
        ("gpt-oss-120b", ASSISTANT, true),
        ("gpt-oss-120b", &bare, false),
        ("qwen3-32b", ASSISTANT, false),
    ] {
        let gateway = Gateway::new("chat-completions", "llamacpp", None, model);
        let asked = gateway.ask(&loop_of(model, assistant), &Lock);
        let sent = asked.body.clone().unwrap_or_else(|| loop_of(model, assistant));
        assert_eq!(sent.contains("I look."), !apart, "{sent}");
        assert_eq!(sent.contains(r#""reasoning_content":"hm""#), assistant == ASSISTANT, "{sent}");
        let lost = asked.exchange.outgoing().untranslated.join(",");
        assert_eq!(lost, if apart { "text" } else { "" }, "{sent}");
    }
    // An unknown endpoint teaches it by its refusal.
    let mut gateway = Gateway::new("chat-completions", "openai-compatible", None, "gpt-oss-120b");
    gateway.refused = Some(Repair::Apart);
    let asked = gateway.ask(&loop_of("gpt-oss-120b", ASSISTANT), &Lock);
    assert!(!body(&asked).contains("I look."), "{}", body(&asked));
}

#[test]
fn a_line_of_bookkeeping_stays_with_its_house_and_goes_to_no_other() {
    let request = |system: &str| {
        format!(
            r#"{{"model":"m","max_tokens":9,{system}"messages":[{{"role":"user","content":"Hi"}}]}}"#
        )
    };
    let with = |rest: &str| format!(r#""system":[{{"type":"text","text":"{LINE}1;"}}{rest}],"#);
    let prompt = r#",{"type":"text","text":"Be kind."}"#;
    for (provider, wire, model, is_sent) in [
        ("anthropic", None, "claude-opus-4-5", true),
        ("anthropic", None, "an-alias", true),
        ("anthropic-compatible", None, "anthropic/claude-opus-4.5", true),
        ("anthropic-compatible", None, "kimi-k2.6", false),
        ("deepseek", Some("messages"), "deepseek-v4-pro", false),
        ("moonshotai", None, "kimi-k3", false),
        ("openai", None, "gpt-5.6", false),
        ("bedrock", None, "anthropic.claude-sonnet-4-5-20250929-v1:0", false),
    ] {
        let gateway = Gateway::new("messages", provider, wire, model);
        for (system, says) in [(with(prompt), true), (with(""), false)] {
            let asked = gateway.ask(&request(&system), &Lock);
            let sent = asked.body.clone().unwrap_or_else(|| request(&system));
            assert_eq!(sent.contains("billing-header"), is_sent, "{provider} {model}: {sent}");
            assert_eq!(sent.contains("Be kind."), says, "{provider} {model}: {sent}");
            assert!(says || is_sent || !sent.contains(r#""system""#), "{provider}: {sent}");
        }
    }
}

const CALLS: [&str; 3] = [
    r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":["#,
    r#"{"type":"tool_use","id":"call_00_abcdefghij0123456789","name":"ls","input":{}}"#,
    r#"],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}"#,
];

#[test]
fn an_answer_without_a_thought_goes_with_an_empty_one_and_if_that_is_refused_in_words() {
    let first =
        r#"{"model":"deepseek-v4-pro","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}"#;
    let call = CALLS[1];
    let given =
        r#"{"type":"tool_result","tool_use_id":"call_00_abcdefghij0123456789","content":"a"}"#;
    let next = first.replace(
        r#""content":"Hi"}"#,
        &format!(
            r#""content":"Hi"}},{{"role":"assistant","content":[{call}]}},{{"role":"user","content":[{given}]}}"#
        ),
    );
    let mut gateway = Gateway::new("messages", "deepseek", Some("messages"), "deepseek-v4-pro");
    let asked = gateway.ask(first, &Lock);
    let (_, done) = gateway.answer(asked, &CALLS, None);
    assert_eq!(done.records.len(), 1);
    let empty = r#"{"type":"thinking","thinking":"","signature":""}"#;
    let sent = gateway.ask(&next, &Lock);
    assert!(body(&sent).contains(&format!("[{empty},{call}]")), "{}", body(&sent));
    // The refusal goes before what the record says.
    let words = "The content[].thinking in the thinking mode must be passed back to the API";
    gateway.refused = Repair::of(words);
    let told = gateway.ask(&next, &Lock);
    assert!(!body(&told).contains(empty), "{}", body(&told));
    assert!(!body(&told).contains("tool_use"), "{}", body(&told));
    let why = told.exchange.outgoing().decisions.iter().map(|it| it.reason.to_string());
    assert!(why.into_iter().any(|it| it.contains("nothing was thought")), "{}", body(&told));
}

#[test]
fn a_sealed_item_goes_back_as_it_was_given_out() {
    let item = |more: &str| {
        format!(
            r#"{{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2VhbGVk"{more}}}"#
        )
    };
    let call = r#"{"type":"function_call","id":"fc_1","call_id":"call-0123456789abcdef0123456789abcdef-0","name":"ls","arguments":"{}"}"#;
    let first = r#"{"model":"grok-4.7","include":["reasoning.encrypted_content"],"input":[{"role":"user","content":"Hi"}]}"#;
    let answer = format!(
        r#"{{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"grok-4.7","output":[{},{call}]}}"#,
        item("")
    );
    let next = |more: &str| {
        let items = format!(
            r#""content":"Hi"}},{},{call},{{"type":"function_call_output","call_id":"call-0123456789abcdef0123456789abcdef-0","output":"a"}}"#,
            item(more)
        );
        first.replace(r#""content":"Hi"}"#, &items)
    };
    let mut gateway = Gateway::new("responses", "xai", Some("responses"), "grok-4.7");
    let asked = gateway.ask(first, &Lock);
    let (said, done) = gateway.answer(asked, &[&answer], None);
    assert_eq!(done.records.len(), 1);
    // The gateway gives the caller a minted id of the call.
    let own = |text: String| {
        let id = said.split(r#""call_id":""#).nth(1).and_then(|it| it.split('"').next()).unwrap();
        text.replace("call-0123456789abcdef0123456789abcdef-0", id)
    };
    for more in ["", r#","content":null"#] {
        let sent = gateway.ask(&own(next(more)), &Lock);
        let sent = sent.body.unwrap_or_else(|| own(next(more)));
        assert!(sent.contains(&item("")), "{sent}");
    }
    gateway.target.rule.contract.verbatim = false;
    let sent = gateway.ask(&own(next(r#","content":null"#)), &Lock);
    let sent = sent.body.unwrap_or_else(|| own(next(r#","content":null"#)));
    assert!(sent.contains(r#""content":null"#), "{sent}");
}

#[test]
fn a_refused_seal_is_not_put_back_from_its_record_and_the_answer_goes_in_words() {
    let mut gateway = Gateway::new("messages", "anthropic", None, "claude-sonnet-4-5");
    let request = |messages: &str| {
        format!(
            r#"{{"model":"m","max_tokens":9000,"thinking":{{"type":"enabled","budget_tokens":2000}},"messages":[{{"role":"user","content":"Hi"}}{messages}]}}"#
        )
    };
    let content = r#"[{"type":"thinking","thinking":"a","signature":"seal-number-one"},{"type":"tool_use","id":"toolu_01A9bC8dE7fG6hJ5kL4mN3pQ","name":"ls","input":{}}]"#;
    let answer = format!(
        r#"{{"id":"msg_1","type":"message","role":"assistant","model":"m","content":{content},"stop_reason":"tool_use","usage":{{"input_tokens":1,"output_tokens":1}}}}"#
    );
    let first = gateway.ask(&request(""), &Lock);
    gateway.answer(first, &[&answer], None);
    let result =
        r#"{"type":"tool_result","tool_use_id":"toolu_01A9bC8dE7fG6hJ5kL4mN3pQ","content":"x"}"#;
    let came = request(&format!(
        r#",{{"role":"assistant","content":{content}}},{{"role":"user","content":[{result}]}}"#
    ));
    let invalid = "messages.1.content.0: Invalid `signature` in `thinking` block";
    gateway.refusal = Some((invalid, came.clone()));
    let again = gateway.ask(&came, &Lock);
    assert!(!body(&again).contains("seal-number-one"), "{}", body(&again));
    assert!(body(&again).contains("You used the tool `ls`"), "{}", body(&again));
}
