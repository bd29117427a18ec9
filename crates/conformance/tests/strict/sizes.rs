//! The work on a prompt is linear in its length, on every simulator and for every kind of prompt.

use std::fmt::Write as _;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use thinkthrough_conformance::{SimRequest, Simulator, list};

use crate::client::{client, run_tools, step};

/// A prompt of `FACTOR` times the size may take at most `MOST` times as long. Linear work takes 4
/// times as long, quadratic work 16 times.
const FACTOR: usize = 4;
const MOST: f64 = 8.0;

/// Makes a request of some size. It may send others first.
type Request<'a> = &'a dyn Fn(&Simulator, usize) -> SimRequest;

/// The processor time of this thread. Other load on the machine does not count.
fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap()
}

/// The shortest of several runs, which other load disturbs least.
fn shortest(simulator: &Simulator, request: &SimRequest) -> Duration {
    let run = || {
        let began = processor_time();
        let status = simulator.handle(request).status;
        let took = processor_time() - began;
        assert_eq!(status, 200, "{}", simulator.handle(request).text());
        took
    };
    (0..2).map(|_| run()).min().unwrap_or_default()
}

/// Compares a request with one of `FACTOR` times its size. A failed comparison is repeated.
fn assert_linear(what: &str, id: &str, size: usize, request: Request<'_>) {
    let simulator = Simulator::find(id).unwrap();
    let (small, large) = (request(&simulator, size), request(&simulator, size * FACTOR));
    let bytes = large.body.len() as f64 / small.body.len() as f64;
    assert!((3.0..5.0).contains(&bytes), "{what} on {id} grows {bytes} times");
    let ratio = || {
        let base = shortest(&simulator, &small).as_secs_f64();
        shortest(&simulator, &large).as_secs_f64() / base
    };
    let best = (0..3).map(|_| ratio()).find(|ratio| *ratio < MOST);
    assert!(best.is_some(), "{what} on {id}: {FACTOR} times the prompt takes over {MOST} times");
}

/// Lines of a diff, as a user pipes them into a question. Each has its own words, file names and
/// words that suggest tools.
fn diff(lines: usize) -> String {
    let mut text = String::from("What changed here, and which file should I read?\n");
    for line in 0..lines {
        writeln!(
            text,
            "+ let value{line} = read(\"src/file{line}.rs\"); and list dir{line}, then \"x\""
        )
        .unwrap();
    }
    text
}

#[test]
fn a_long_question_takes_linear_work_on_every_simulator() {
    for row in list() {
        assert_linear("a long question", row.id, 200, &|_, lines| {
            let mut client = client(row.id);
            client.user(&diff(lines));
            client.request(true)
        });
    }
}

#[test]
fn a_long_conversation_takes_linear_work_on_every_simulator() {
    for row in list() {
        assert_linear("a long conversation", row.id, 6, &|simulator, turns| {
            let mut client = client(row.id);
            for turn in 0..turns {
                client.user(&format!("What is in this folder, for the {turn}. time? Think first."));
                let answer = step(simulator, &mut *client, false);
                assert!(!answer.calls.is_empty(), "{}", row.id);
                run_tools(&mut *client, &answer);
                step(simulator, &mut *client, false);
            }
            client.user("And now?");
            client.request(true)
        });
    }
}

#[test]
fn a_long_word_and_a_long_listing_take_linear_work() {
    for row in list() {
        assert_linear("a long word", row.id, 50_000, &|_, letters| {
            let mut client = client(row.id);
            client.user(&"x".repeat(letters));
            client.request(true)
        });
        assert_linear("a long listing", row.id, 500, &|simulator, files| {
            let mut client = client(row.id);
            client.user("What is in this folder, and what does the readme say?");
            let first = step(simulator, &mut *client, false);
            let names: Vec<String> = (0..files).map(|file| format!("file{file}.rs")).collect();
            client.result(&first.calls[0], &names.join("\n"));
            client.request(true)
        });
    }
}

/// A conversation with this many calls in one answer, and their results in reverse order.
fn chat_calls(calls: usize) -> Value {
    let call = |place: usize| json!({"id": format!("call_{place}"), "type": "function", "function": {"name": "list", "arguments": "{}"}});
    let result = |place: usize| json!({"role": "tool", "tool_call_id": format!("call_{place}"), "content": "a.rs"});
    let mut messages = vec![
        json!({"role": "user", "content": "What is here?"}),
        json!({"role": "assistant", "content": "", "tool_calls": (0..calls).map(call).collect::<Vec<_>>()}),
    ];
    messages.extend((0..calls).rev().map(result));
    json!({"model": "m", "messages": messages})
}

fn messages_calls(calls: usize) -> Value {
    let call = |place: usize| json!({"type": "tool_use", "id": format!("toolu_{place}"), "name": "list", "input": {}});
    let result = |place: usize| json!({"type": "tool_result", "tool_use_id": format!("toolu_{place}"), "content": "a.rs"});
    json!({"model": "m", "max_tokens": 1000, "messages": [
        {"role": "user", "content": "What is here?"},
        {"role": "assistant", "content": (0..calls).map(call).collect::<Vec<_>>()},
        {"role": "user", "content": (0..calls).rev().map(result).collect::<Vec<_>>()},
    ]})
}

fn responses_calls(calls: usize) -> Value {
    let call = |place: usize| json!({"type": "function_call", "call_id": format!("call_{place}"), "name": "list", "arguments": "{}"});
    let result = |place: usize| json!({"type": "function_call_output", "call_id": format!("call_{place}"), "output": "a.rs"});
    let mut input = vec![json!({"role": "user", "content": "What is here?"})];
    input.extend((0..calls).map(call));
    input.extend((0..calls).rev().map(result));
    json!({"model": "m", "input": input})
}

/// Many tools that all fit, and one tool with many parameters.
fn tools(count: usize) -> Value {
    let schema = |count: usize| {
        let names: Vec<String> = (0..count).map(|place| format!("name{place}")).collect();
        let properties: serde_json::Map<String, Value> =
            names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
        json!({"type": "object", "properties": properties, "required": names})
    };
    let tool = |place: usize, schema: Value| json!({"type": "function", "function": {"name": format!("list{place}"), "description": "list all the files of a directory", "parameters": schema}});
    let mut tools = vec![tool(0, schema(count))];
    tools.extend((1..count).map(|place| tool(place, schema(1))));
    json!({"model": "m", "tools": tools, "messages": [{"role": "user", "content": diff(200)}]})
}

#[test]
fn many_calls_and_many_tools_take_linear_work() {
    let post = |path: &str, body: &Value| {
        SimRequest::post(path, "key", body).with_header("anthropic-version", "2023-06-01")
    };
    let chat = |path: &'static str, body: fn(usize) -> Value| {
        move |_: &Simulator, size: usize| post(path, &body(size))
    };
    assert_linear("many calls", "vllm", 2_000, &chat("/v1/chat/completions", chat_calls));
    assert_linear("many tools", "vllm", 1_000, &chat("/v1/chat/completions", tools));
    assert_linear("many calls", "anthropic-omitted", 2_000, &chat("/v1/messages", messages_calls));
    assert_linear("many calls", "xai", 2_000, &chat("/v1/responses", responses_calls));
}
