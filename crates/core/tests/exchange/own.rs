//! What a client sends of thoughts itself.

use crate::{FIRST, Gateway, Lock, STREAM, body, second};
use serde_json::Value;
use thinkthrough_core::exchange::Thoughts;
use thinkthrough_core::shape::{read_content, write_content};
use thinkthrough_core::wire::{Dialect, find};
use thinkthrough_json::{Doc, Raw};

#[test]
fn a_thought_goes_under_the_name_that_the_provider_reads() {
    let request = |field: &str| {
        format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"Hi"}},{{{field},"role":"assistant","content":"Ho"}},{{"role":"user","content":"And?"}}]}}"#
        )
    };
    let (old, new) = (r#""reasoning_content":"T\u00e4""#, r#""reasoning":"Tä""#);
    for (provider, model, from, to) in [
        ("groq", "openai/gpt-oss-120b", old, new),
        ("vllm", "m", old, new),
        ("deepseek", "deepseek-v4-flash", r#""reasoning":"T""#, r#""reasoning_content":"T""#),
    ] {
        let gateway = Gateway::new("chat-completions", provider, None, model);
        let (from, to) = (request(from).replace("\"m\"", &format!("\"{model}\"")), request(to));
        let to = to.replace("\"m\"", &format!("\"{model}\""));
        assert_eq!(gateway.ask(&from, &Lock).body.as_deref(), Some(to.as_str()), "{provider}");
        assert_eq!(gateway.ask(&to, &Lock).body, None, "{provider}");
    }
}

#[test]
fn a_reasoning_item_whose_message_lost_its_id_loses_its_own() {
    let request = |reasoning: &str, follower: &str| {
        format!(
            r#"{{"model":"gpt-5.6","store":false,"include":["reasoning.encrypted_content"],"input":[{{"role":"user","content":"Hi"}},{{{reasoning}"type":"reasoning","summary":[],"encrypted_content":"gAAA"}},{follower},{{"role":"user","content":"And?"}}]}}"#
        )
    };
    let message = |id: &str| {
        format!(
            r#"{{{id}"type":"message","role":"assistant","content":[{{"type":"output_text","text":"Ho"}}]}}"#
        )
    };
    // A call is known by its `call_id`.
    let call = |id: &str| {
        let given = r#"{"type":"function_call_output","call_id":"c","output":"one"}"#;
        format!(
            r#"{{{id}"type":"function_call","call_id":"c","name":"ls","arguments":"{{}}"}},{given}"#
        )
    };
    let gateway = Gateway::new("responses", "openai", None, "gpt-5.6");
    let (reasoning, id) = (r#""id":"rs_1","#, r#""id":"it_1","#);
    let lost = gateway.ask(&request(reasoning, &message("")), &Lock);
    assert_eq!(lost.body, Some(request("", &message(""))));
    for (reasoning, follower) in [
        (reasoning, message(id)),
        ("", message(id)),
        ("", message("")),
        (reasoning, call(id)),
        (reasoning, call("")),
    ] {
        let request = request(reasoning, &follower);
        assert_eq!(gateway.ask(&request, &Lock).body, None, "{request}");
    }
}

#[test]
fn a_copy_of_the_thought_in_the_text_goes_and_what_only_looks_like_one_stays() {
    let mut gateway = Gateway::new("chat-completions", "deepseek", None, "deepseek-v4-flash");
    let first = gateway.ask(FIRST, &Lock);
    // An id that no other answer has, so that a strange copy does not put the answer in doubt.
    let own = |text: &str| text.replace("call_1", "call_00_aB1cD2eF3gH4iJ5kL6mN7o");
    let stream = STREAM.map(own);
    let _ = gateway.answer(first, &stream.each_ref().map(String::as_str), None);
    for (shown, left) in [
        (r"<think>\nLook ä\n</think>\n\n", "\"\""),
        (r"<details><summary>Thought</summary>Look ä</details>\n", "\"\""),
        (r"<think>\nLook elsewhere\n</think>\n\n", r#""<think>\nLook elsewhere\n</think>\n\n""#),
    ] {
        let next = gateway.ask(
            &own(&second()).replace(r#""content":null"#, &format!(r#""content":"{shown}""#)),
            &Lock,
        );
        let expected = own(&second()).replace(
            r#"{"role":"assistant","content":null"#,
            &format!(r#"{{"reasoning_content":"Look ä","role":"assistant","content":{left}"#),
        );
        assert_eq!(body(&next), expected);
    }
}

#[test]
fn whichever_choice_goes_on_has_its_thought() {
    let mut gateway = Gateway::new("chat-completions", "vllm", None, "m");
    let ask = r#"{"model":"m","n":2,"messages":[{"role":"user","content":"Hi"}]}"#;
    let first = gateway.ask(ask, &Lock);
    let choice = |index: u8| {
        format!(
            r#"{{"index":{index},"message":{{"role":"assistant","content":"Answer {index}","reasoning":"Thought {index}"}},"finish_reason":"stop"}}"#
        )
    };
    let answer = format!(r#"{{"id":"1","choices":[{},{}]}}"#, choice(0), choice(1));
    let (_, done) = gateway.answer(first, &[&answer], None);
    assert_eq!(done.records.len(), 2);
    for index in [0, 1] {
        let request = |thought: &str| {
            format!(
                r#"{{"model":"m","n":2,"messages":[{{"role":"user","content":"Hi"}},{{{thought}"role":"assistant","content":"Answer {index}"}},{{"role":"user","content":"And?"}}]}}"#
            )
        };
        let next = gateway.ask(&request(""), &Lock);
        assert_eq!(body(&next), request(&format!(r#""reasoning":"Thought {index}","#)));
    }
}

#[test]
fn a_member_of_a_part_is_never_taken_for_a_note_of_ours() {
    let wire = find("responses").unwrap();
    for part in [
        r#"{"type":"refusal","refusal":"No.","~message":{"id":"stolen"}}"#,
        r#"{"type":"refusal","refusal":"No.","~message":null}"#,
        r#"{"type":"novel","~message":{"role":"user"},"message":{"id":"stolen"}}"#,
        r#"{"type":"novel"}"#,
    ] {
        let text = format!(
            r#"{{"model":"m","input":[{{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{part},{part}]}},{{"role":"user","content":"And?"}}]}}"#
        );
        let doc = Doc::parse_str(&text).unwrap();
        let request = wire.read_request(doc.root()).unwrap();
        let written = wire.write_request(&request, &Dialect::PLAIN).body;
        let (came, went): (Value, Value) =
            (serde_json::from_str(&text).unwrap(), serde_json::from_str(&written).unwrap());
        assert_eq!(went, came);
        for content in &request.contents {
            let kept = Raw::build(|w| write_content(w, content));
            assert_eq!(&read_content(kept.doc().root()).unwrap(), content, "in a history file");
        }
    }
}

#[test]
fn withheld_thoughts_are_asked_for_where_the_model_is_set_to_show_them() {
    let of = |thinking: &str| {
        format!(
            r#"{{{thinking}"model":"claude-opus-4-8","max_tokens":9,"messages":[{{"role":"user","content":"Hi"}}]}}"#
        )
    };
    let adaptive = r#""thinking":{"type":"adaptive"},"#;
    let shown = r#""thinking":{"display":"summarized","type":"adaptive"},"#;
    let mut gateway = Gateway::new("messages", "anthropic", None, "claude-opus-4-8");
    assert_eq!(gateway.ask(&of(adaptive), &Lock).body, None);
    gateway.handling.thoughts = Thoughts::Show;
    assert_eq!(body(&gateway.ask(&of(adaptive), &Lock)), of(shown));
    // What the caller says itself stays, and where it wants no thoughts none are shown.
    for said in [
        r#""thinking":{"type":"adaptive","display":"omitted"},"#,
        r#""thinking":{"type":"disabled"},"#,
        "",
    ] {
        assert_eq!(gateway.ask(&of(said), &Lock).body, None, "{said}");
    }
    // And from another wire.
    let mut gateway = Gateway::new("chat-completions", "anthropic", None, "claude-opus-4-8");
    let chat =
        r#"{"model":"m","reasoning_effort":"low","messages":[{"role":"user","content":"Hi"}]}"#;
    assert!(!body(&gateway.ask(chat, &Lock)).contains("display"));
    gateway.handling.thoughts = Thoughts::Show;
    let sent = gateway.ask(chat, &Lock);
    assert!(body(&sent).contains(r#""display":"summarized""#), "{}", body(&sent));
}

/// Kimi refuses such an answer, and a client that keeps it could ask nothing more.
#[test]
fn an_answer_that_says_nothing_is_left_out_where_it_is_refused() {
    let with = |answer: &str, behind: &str| {
        format!(
            r#"{{"model":"kimi-k2.6","messages":[{{"role":"user","content":"Hi"}},{{"role":"assistant",{answer}}}{behind}]}}"#
        )
    };
    let (user, calls) = (
        r#",{"role":"user","content":"And?"}"#,
        r#",{"role":"assistant","content":null,"tool_calls":[{"id":"ls:0","type":"function","function":{"name":"ls","arguments":"{}"}}]},{"role":"tool","tool_call_id":"ls:0","content":"one"}"#,
    );
    let thought = r#""content":"","reasoning_content":"T""#;
    let out = r#"{"thinking":{"keep":"all"},"model":"kimi-k2.6","messages":[{"role":"user","content":"Hi"},{"role":"user","content":"And?"}]}"#;
    let gateway = Gateway::new("chat-completions", "moonshotai", None, "kimi-k2.6");
    let goes = |answer: &str, behind: &str| gateway.ask(&with(answer, behind), &Lock).body;
    assert_eq!(goes(thought, user).as_deref(), Some(out));
    assert_eq!(goes(r#""content":" ""#, user).as_deref(), Some(out));
    // The beginning of the next answer, and a fragment of one, stay.
    for (answer, behind) in [(r#""content":"","partial":true"#, ""), (thought, calls)] {
        let body = goes(answer, behind).unwrap_or_else(|| with(answer, behind));
        assert!(body.contains(&format!(r#""role":"assistant",{answer}"#)), "{body}");
    }
    let gateway = Gateway::new("chat-completions", "deepseek", None, "deepseek-v4-pro");
    let kept = with(thought, user).replace("kimi-k2.6", "deepseek-v4-pro");
    assert_eq!(gateway.ask(&kept, &Lock).body, None);
}

#[test]
fn empty_members_and_flags_that_the_provider_refuses_do_not_go() {
    let with = |model: &str, beside: &str, more: &str| {
        format!(
            r#"{{"model":"{model}",{more}"messages":[{{"role":"user","content":"Hi"}},{{"role":"assistant","content":"Ho"{beside}}},{{"role":"user","content":"And?"}}]}}"#
        )
    };
    let groq = "openai/gpt-oss-120b";
    let gateway = Gateway::new("chat-completions", "groq", None, groq);
    for beside in [r#","reasoning_content":"""#, r#","reasoning_content":null"#] {
        let body = gateway.ask(&with(groq, beside, ""), &Lock).body;
        assert_eq!(body, Some(with(groq, "", "")), "{beside}");
    }
    let gateway = Gateway::new("chat-completions", "moonshotai", None, "kimi-k2.6");
    let effort = with("kimi-k2.6", "", r#""reasoning_effort":"high","#);
    let body = gateway.ask(&effort, &Lock).body.unwrap_or_else(|| effort.clone());
    assert!(!body.contains(r#""keep""#), "{body}");
    // Flags about the form of thoughts stay.
    let gateway = Gateway::new("chat-completions", "minimax", None, "MiniMax-M2.5");
    let effort = with("MiniMax-M2.5", "", r#""reasoning_effort":"high","#);
    let body = gateway.ask(&effort, &Lock).body.unwrap();
    assert!(body.contains(r#""reasoning_split":true"#), "{body}");
}

/// Some providers count the calls of each answer, so that ids repeat; others refuse that, or take ids of one form only.
#[test]
fn calls_of_elsewhere_get_ids_that_the_provider_takes() {
    let call = |id: &str| {
        format!(
            r#"{{"role":"assistant","content":"","tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"ls","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"{id}","content":"one"}}"#
        )
    };
    let user = r#"{"role":"user","content":"And?"}"#;
    let request = |model: &str| {
        let (one, other) = (call("functions.ls:0"), call("functions.ls:0"));
        format!(r#"{{"model":"{model}","messages":[{user},{one},{user},{other},{user}]}}"#)
    };
    let sent = |provider: &str, model: &str| -> Value {
        let gateway = Gateway::new("chat-completions", provider, None, model);
        serde_json::from_str(&gateway.ask(&request(model), &Lock).body.unwrap()).unwrap()
    };
    let ids = |body: &Value, path: &dyn Fn(&Value) -> Vec<Value>| -> Vec<String> {
        let found = body["messages"].as_array().unwrap().iter().flat_map(path);
        found.filter_map(|id| id.as_str().map(str::to_owned)).collect()
    };
    let claude = sent("anthropic", "claude-opus-4-6");
    let of_blocks = |key: &'static str| {
        move |message: &Value| {
            let blocks = message["content"].as_array().into_iter().flatten();
            blocks.map(|block| block[key].clone()).collect::<Vec<_>>()
        }
    };
    let (calls, results) =
        (ids(&claude, &of_blocks("id")), ids(&claude, &of_blocks("tool_use_id")));
    assert!(calls.len() == 2 && calls[0] != calls[1] && calls == results, "{claude}");

    let mistral = sent("mistral", "mistral-medium-3.5");
    let of_calls = |message: &Value| vec![message["tool_calls"][0]["id"].clone()];
    let of_result = |message: &Value| vec![message["tool_call_id"].clone()];
    let (calls, results) = (ids(&mistral, &of_calls), ids(&mistral, &of_result));
    let is_short = |id: &String| id.len() == 9 && id.bytes().all(|it| it.is_ascii_alphanumeric());
    assert!(calls.len() == 2 && calls.iter().all(is_short), "{mistral}");
    assert_eq!(calls, results, "{mistral}");
    // Mistral refuses a user message right behind a result.
    let roles = ids(&mistral, &|message| vec![message["role"].clone()]);
    assert!(!roles.windows(2).any(|two| two == ["tool", "user"]), "{mistral}");

    let gemini = sent("google", "gemini-3-pro");
    assert!(!gemini.to_string().contains(r#""text":"""#), "{gemini}");
}
