//! What a client sends of thoughts itself.

use crate::{FIRST, Gateway, Lock, STREAM, body, second};

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
    let _ = gateway.answer(first, &STREAM, None);
    for (shown, left) in [
        (r"<think>\nLook ä\n</think>\n\n", "\"\""),
        (r"<details><summary>Thought</summary>Look ä</details>\n", "\"\""),
        (r"<think>\nLook elsewhere\n</think>\n\n", r#""<think>\nLook elsewhere\n</think>\n\n""#),
    ] {
        let next = gateway
            .ask(&second().replace(r#""content":null"#, &format!(r#""content":"{shown}""#)), &Lock);
        let expected = second().replace(
            r#"{"role":"assistant","content":null"#,
            &format!(r#"{{"reasoning_content":"Look ä","role":"assistant","content":{left}"#),
        );
        assert_eq!(body(&next), expected);
    }
}

#[test]
fn the_parts_of_a_split_answer_have_the_field_that_is_demanded_of_each() {
    let mut gateway = Gateway::new("chat-completions", "deepseek", None, "deepseek-v4-flash");
    let call = |index: u8| {
        format!(
            r#"{{"index":{index},"id":"call_{index}","type":"function","function":{{"name":"ls","arguments":"{{}}"}}}}"#
        )
    };
    let calls = format!(
        "data: {{\"id\":\"1\",\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{},{}]}}}}]}}\n\n",
        call(0),
        call(1)
    );
    let first = gateway.ask(FIRST, &Lock);
    let _ = gateway.answer(first, &[STREAM[0], &calls, STREAM[2], STREAM[3]], None);
    let part = |thought: &str, index: u8| {
        let call = call(index).replacen(&format!(r#""index":{index},"#), "", 1);
        format!(
            r#"{{{thought}"role":"assistant","content":null,"tool_calls":[{call}]}},{{"role":"tool","tool_call_id":"call_{index}","content":"a"}}"#
        )
    };
    let split = |thoughts: [&str; 2]| {
        let parts = format!("{},{}", part(thoughts[0], 0), part(thoughts[1], 1));
        FIRST.replace(r#""content":"List it."}"#, &format!("\"content\":\"List it.\"}},{parts}"))
    };
    let next = gateway.ask(&split(["", ""]), &Lock);
    let thoughts = [r#""reasoning_content":"Look ä","#, r#""reasoning_content":"","#];
    assert_eq!(body(&next), split(thoughts));
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
