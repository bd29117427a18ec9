//! A client that writes the calls of one answer into messages of their own.

use crate::{FIRST, Gateway, Lock, STREAM, body};
use serde_json::{Value, json};
use thinkthrough_core::decision::Action;
use thinkthrough_core::exchange::Prepared;

const IDS: [&str; 2] = ["call_00_aB1cD2eF3gH4iJ5kL6mN", "call_01_aB1cD2eF3gH4iJ5kL6mN"];

/// A call as it stands in a message.
fn call(at: usize) -> String {
    format!(
        r#"{{"id":"{}","type":"function","function":{{"name":"ls","arguments":"{{ }}"}},"x":{at}.50}}"#,
        IDS[at]
    )
}

fn result(at: usize) -> String {
    format!(r#"{{"role":"tool", "tool_call_id":"{}","content":"a"}}"#, IDS[at])
}

/// A message with these calls, and members before them.
fn said(members: &str, calls: &[usize]) -> String {
    let calls: Vec<String> = calls.iter().map(|at| call(*at)).collect();
    format!(r#"{{{members}"role":"assistant","content":null,"tool_calls":[{}]}}"#, calls.join(","))
}

/// The conversation with these messages at its end.
fn conversation(messages: &[String]) -> String {
    let all = messages.join(",");
    FIRST.replace(r#""content":"List it."}"#, &format!("\"content\":\"List it.\"}},{all}"))
}

/// A gateway that has the record of an answer with two calls.
fn gateway(provider: &str, model: &str) -> Gateway {
    let mut gateway = Gateway::new("chat-completions", provider, None, model);
    let call = |at: usize| call(at).replacen('{', &format!("{{\"index\":{at},"), 1);
    let calls = format!(
        "data: {{\"id\":\"1\",\"choices\":[{{\"index\":0,\"delta\":{{\"tool_calls\":[{},{}]}}}}]}}\n\n",
        call(0),
        call(1)
    );
    let first = gateway.ask(FIRST, &Lock);
    let _ = gateway.answer(first, &[STREAM[0], &calls, STREAM[2], STREAM[3]], None);
    gateway
}

fn deepseek() -> Gateway {
    gateway("deepseek", "deepseek-v4-flash")
}

const THOUGHT: &str = r#""reasoning_content":"Look ä","#;

fn verdicts(prepared: &Prepared) -> Vec<Action> {
    let decisions = prepared.exchange.outgoing().decisions.iter();
    decisions.filter(|it| it.block.is_none()).map(|it| it.action).collect()
}

#[test]
fn the_fragments_go_as_the_one_message_that_they_were() {
    let one = conversation(&[said(THOUGHT, &[0, 1]), result(0), result(1)]);
    for split in [
        [said("", &[0]), result(0), said("", &[1]), result(1)],
        [said("", &[0]), said("", &[1]), result(0), result(1)],
    ] {
        let next = deepseek().ask(&conversation(&split), &Lock);
        assert_eq!(body(&next), one);
        assert_eq!(next.counts.restored, 1);
    }
    // The same from a client that keeps thoughts, one of which writes them into each.
    for second in ["", THOUGHT] {
        let split = [said(THOUGHT, &[0]), result(0), said(second, &[1]), result(1)];
        let next = deepseek().ask(&conversation(&split), &Lock);
        assert_eq!(body(&next), one);
        assert_eq!(verdicts(&next), [Action::Keep, Action::GoesOn]);
    }
}

#[test]
fn what_else_a_fragment_says_is_said() {
    let note = r#""name":"me","#;
    let second = said(note, &[1]).replace("null", r#""And \u0062.""#);
    let split = [said("", &[0]), result(0), second, result(1)];
    let next = deepseek().ask(&conversation(&split), &Lock);
    let sent = body(&next);
    for kept in [r#""name":"me""#, r#""And b.""#, r#""x":1.50"#, &result(0), &result(1)] {
        assert_eq!(sent.matches(kept).count(), 1, "{kept}: {sent}");
    }
    assert_eq!(sent.matches("assistant").count(), 1, "{sent}");
    // What all of them say is said once.
    let [one, two] = [0, 1].map(|at| said("", &[at]).replace("null", r#""Look.""#));
    let next = deepseek().ask(&conversation(&[one, result(0), two, result(1)]), &Lock);
    assert_eq!(body(&next).matches("Look.").count(), 1, "{}", body(&next));
}

#[test]
fn a_request_that_grows_begins_as_it_did() {
    let gateway = deepseek();
    let mut messages = vec![said("", &[0]), result(0), said("", &[1]), result(1)];
    let before = gateway.ask(&conversation(&messages), &Lock);
    messages.push(r#"{"role":"user","content":"Go on."}"#.to_owned());
    let after = gateway.ask(&conversation(&messages), &Lock);
    let head = body(&before).split("],\"tools\"").next().unwrap();
    assert!(body(&after).starts_with(head), "{head}\n{}", body(&after));
}

#[test]
fn behind_anything_but_results_a_fragment_is_missed() {
    let user = r#"{"role":"user","content":"Wait."}"#.to_owned();
    let split = [said("", &[0]), result(0), user, said("", &[1]), result(1)];
    let next = deepseek().ask(&conversation(&split), &Lock);
    assert_eq!((next.counts.restored, next.counts.missed, next.counts.dropped), (1, 1, 0));
    // It is told, as any answer is that lacks its thought.
    assert_eq!((next.without.told, body(&next).matches(IDS[1]).count()), (1, 0), "{}", body(&next));
}

#[test]
fn where_no_message_is_looked_at_alone_the_thought_goes_once_and_all_else_stays() {
    let gateway = gateway("alibaba", "qwen3.7-plus");
    let parts = |thought| [said(thought, &[0]), result(0), said("", &[1]), result(1)];
    let next = gateway.ask(&conversation(&parts("")), &Lock);
    let sent = body(&next);
    let expected = parts(THOUGHT).join(",");
    assert!(sent.contains(&expected), "{sent}\n{expected}");
}

/// The items of an answer by a letter each: a thought, a text, a call.
const SHAPES: [&str; 5] = ["rtcc", "rtrcc", "rtcrc", "rtcrtc", "rctrc"];

/// A whole answer of the Responses API.
fn answer(round: usize, shape: &str) -> String {
    let item = |(at, kind): (usize, char)| {
        let id = format!("{kind}_{round}{at}");
        match kind {
            'r' => json!({"type": "reasoning", "id": id, "encrypted_content": format!("gAAA{id}"),
                "summary": [{"type": "summary_text", "text": format!("Think {id}.")}]}),
            't' => json!({"type": "message", "id": id, "status": "completed", "role": "assistant",
                "content": [{"type": "output_text", "text": format!("Say {id}."), "annotations": []}]}),
            _ => json!({"type": "function_call", "id": id, "status": "completed", "name": "ls",
                "call_id": format!("call_aB1cD2eF3gH4iJ5kL6mN7o{round}{at}"), "arguments": "{}"}),
        }
    };
    let output: Vec<Value> = shape.chars().enumerate().map(item).collect();
    json!({"id": format!("resp_{round}"), "object": "response", "status": "completed",
        "model": "gpt-5.6", "output": output})
    .to_string()
}

/// The messages of an answer and its results, with each block of it in a message of its own.
fn separated(caller: &str, said: &str, has_results_behind_calls: bool) -> Vec<Value> {
    let said: Value = serde_json::from_str(said).unwrap();
    let (mut messages, mut results) = (Vec::new(), Vec::new());
    let mut say = |message: Value, result: Option<Value>| {
        messages.push(message);
        match result {
            Some(result) if has_results_behind_calls => messages.push(result),
            result => results.extend(result),
        }
    };
    if caller == "messages" {
        for block in said["content"].as_array().unwrap() {
            let result = json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": block["id"], "content": "a"}]});
            let result = (block["type"] == "tool_use").then_some(result);
            say(json!({"role": "assistant", "content": [block]}), result);
        }
    } else {
        let message = &said["choices"][0]["message"];
        let thought = &message["reasoning_content"];
        say(json!({"role": "assistant", "content": "", "reasoning_content": thought}), None);
        say(json!({"role": "assistant", "content": message["content"]}), None);
        for call in message["tool_calls"].as_array().unwrap() {
            let result = json!({"role": "tool", "tool_call_id": call["id"], "content": "a"});
            say(json!({"role": "assistant", "content": "", "tool_calls": [call]}), Some(result));
        }
    }
    messages.extend(results);
    messages
}

/// The items of the model that go upstream, named as in [`answer`].
fn items(sent: &str) -> Vec<String> {
    let sent: Value = serde_json::from_str(sent).unwrap();
    let items = sent["input"].as_array().unwrap().iter().filter_map(|item| {
        let name = item["encrypted_content"].as_str().map(|it| it.replace("gAAA", ""));
        let call = item["call_id"].as_str().filter(|_| item["type"] == "function_call");
        let call = call.map(|id| format!("c_{}", id.split_at(id.len() - 2).1));
        let text = item["content"][0]["text"].as_str();
        let text =
            text.and_then(|it| Some(it.strip_prefix("Say ")?.trim_end_matches('.').to_owned()));
        name.or(call).or(text)
    });
    items.collect()
}

#[test]
fn each_block_in_a_message_of_its_own_is_the_answer_that_it_was() {
    let named = |round: usize, shape: &str| {
        let items = shape.chars().enumerate();
        items.map(|(at, kind)| format!("{kind}_{round}{at}")).collect::<Vec<_>>()
    };
    for (caller, shape, is_behind) in
        ["messages", "chat-completions"].into_iter().flat_map(|caller| {
            SHAPES.iter().flat_map(move |shape| [(caller, *shape, false), (caller, *shape, true)])
        })
    {
        let mut gateway = Gateway::new(caller, "openai", Some("responses"), "gpt-5.6");
        let mut messages = vec![json!({"role": "user", "content": "List it."})];
        let mut expected = Vec::new();
        for round in 0..4 {
            let asked = json!({"model": "gpt-5.6", "max_tokens": 4_000, "messages": messages});
            let next = gateway.ask(&asked.to_string(), &Lock);
            let what = format!("{caller} {shape} {is_behind} {round}");
            assert_eq!((next.counts.restored, next.counts.missed), (round, 0), "{what}");
            let mut sent = items(body(&next));
            // A text at the start of the second fragment goes behind the thought that follows it in the answer.
            if caller == "messages" && shape == "rctrc" && is_behind {
                sent.sort();
                expected.sort();
            }
            assert_eq!(sent, expected, "{what}: {}", body(&next));
            let (said, _) = gateway.answer(next, &[&answer(round, shape)], None);
            messages.extend(separated(caller, &said, is_behind));
            expected.extend(named(round, shape));
        }
    }
}
