//! Corner cases of `cohere-chat` and `ollama-chat` that recordings do not have.

use crate::reading::{relay, rewritten, stream, whole};
use serde_json::{Value, json};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{
    Block, Content, Parameters, Speaker, Thinking, ToolResponse, ToolResult,
};
use thinkthrough_core::problem::ProblemCode;
use thinkthrough_core::request::{ReasoningAsk, Request};
use thinkthrough_core::settings::Effort;
use thinkthrough_core::usage::Usage;
use thinkthrough_core::wire::cohere_chat::CohereChat;
use thinkthrough_core::wire::ollama_chat::{Generate, OllamaChat};
use thinkthrough_core::wire::{Dialect, ErrorBody, Wire};
use thinkthrough_json::{Doc, Extra, Raw};

fn codes(answer: &Answer) -> Vec<ProblemCode> {
    answer.problems.iter().map(|problem| problem.code).collect()
}

fn written(wire: &dyn Wire, request: &Request) -> (Value, Vec<String>) {
    let written = wire.write_request(request, &Dialect::default());
    (serde_json::from_str(&written.body).unwrap(), written.untranslated)
}

#[test]
fn an_ollama_error_after_the_first_lines_keeps_what_came() {
    let body = concat!(
        "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"so\"},\"done\":false}\n",
        "{\"error\":\"an error was encountered while running the model\"}\n",
    );
    let answer = stream(&OllamaChat, body.as_bytes());
    assert_eq!(codes(&answer), [ProblemCode::UpstreamError]);
    assert_eq!(answer.problems[0].message, "an error was encountered while running the model");
    let [Block::Thinking(thought)] = answer.blocks.as_slice() else { panic!("{answer:?}") };
    assert_eq!(thought.thought, "so");
    assert!(thought.partial);
    let again = stream(&OllamaChat, &relay(&OllamaChat, body.as_bytes()));
    assert_eq!(again, answer);
    let whole = whole(&OllamaChat, br#"{"error":"model 'm' not found"}"#);
    assert_eq!(codes(&whole), [ProblemCode::UpstreamError]);
}

#[test]
fn ollama_without_done_is_truncated() {
    let line = r#"{"model":"m","message":{"role":"assistant","content":"half"},"done":false}"#;
    for answer in [stream(&OllamaChat, line.as_bytes()), whole(&OllamaChat, line.as_bytes())] {
        assert_eq!(answer.text(), "half");
        assert_eq!(codes(&answer), [ProblemCode::Truncated]);
        assert_eq!(answer.finish_reason, None);
    }
    assert_eq!(codes(&stream(&OllamaChat, b"")), [ProblemCode::Truncated]);
}

#[test]
fn ollama_answers_of_the_generate_form_are_read() {
    let body = concat!(
        "{\"model\":\"m\",\"response\":\"\",\"thinking\":\"2 and 2\",\"done\":false}\n",
        "{\"model\":\"m\",\"response\":\"4\",\"done\":false}\n",
        "{\"model\":\"m\",\"response\":\"\",\"done\":true,\"done_reason\":\"stop\",\"context\":[1,2],\"eval_count\":3}\n",
    );
    let single = r#"{"model":"m","response":"4","thinking":"2 and 2","done":true,"done_reason":"stop","context":[1,2],"eval_count":3}"#;
    let answer = stream(&OllamaChat, body.as_bytes());
    assert_eq!(answer, whole(&OllamaChat, single.as_bytes()));
    assert_eq!(answer.blocks.len(), 2);
    assert_eq!(answer.text(), "4");
    assert_eq!(answer.extra.get("ollama-chat", "context").unwrap().as_str(), "[1,2]");
    let usage = answer.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (None, Some(3)));
}

#[test]
fn ollama_thoughts_between_texts_keep_their_order() {
    let pieces = [("thinking", "a"), ("content", "b"), ("thinking", "c"), ("content", "d")];
    let mut body: String = pieces
        .iter()
        .map(|(key, text)| format!("{{\"message\":{{\"{key}\":\"{text}\"}},\"done\":false}}\n"))
        .collect();
    body.push_str("{\"done\":true,\"done_reason\":\"length\"}\n");
    let answer = stream(&OllamaChat, body.as_bytes());
    let kinds: Vec<_> = answer.blocks.iter().map(|b| matches!(b, Block::Thinking(_))).collect();
    assert_eq!(kinds, [true, false, true, false]);
    assert_eq!(answer.finish_reason.as_deref(), Some("length"));
    assert_eq!(stream(&OllamaChat, &relay(&OllamaChat, body.as_bytes())).blocks, answer.blocks);
}

#[test]
fn ollama_arguments_may_be_a_string() {
    let body = r#"{"message":{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\": 1}"}},{"function":{"name":"g","arguments":"{broken"}}]},"done":true}"#;
    let answer = whole(&OllamaChat, body.as_bytes());
    let [Block::ToolCall(first), Block::ToolCall(second)] = answer.blocks.as_slice() else {
        panic!("{answer:?}")
    };
    assert_eq!(first.parameters.as_text(), r#"{"a": 1}"#);
    assert_eq!(second.parameters, Parameters::Invalid("{broken".into()));
    assert_eq!(
        whole(&OllamaChat, OllamaChat.write_response(&answer).as_bytes()).blocks,
        answer.blocks
    );
}

#[test]
fn an_ollama_request_that_says_nothing_about_streams_asks_for_one() {
    let silent = r#"{"model":"m","messages":[{"role":"user","content":"q"}]}"#;
    let doc = Doc::parse_str(silent).unwrap();
    let mut request = OllamaChat.read_request(doc.root()).unwrap();
    assert!(request.stream);
    assert_eq!(rewritten(&OllamaChat, silent), serde_json::from_str::<Value>(silent).unwrap());
    request.stream = false;
    assert_eq!(written(&OllamaChat, &request).0["stream"], json!(false));
}

/// A conversation as it comes from another wire.
fn conversation() -> Request {
    let mut call = thinkthrough_core::content::ToolCall {
        id: Some("call_1".into()),
        name: "count".into(),
        parameters: Parameters::from_text("{\"what\":\"boats\"}"),
        signature: None,
        extra: Extra::default(),
    };
    call.extra.insert("messages", "caller", Raw::string("direct"));
    let result = ToolResponse {
        call_id: Some("call_1".into()),
        name: None,
        result: ToolResult::Blocks(vec![Block::text("7")]),
        is_error: false,
        extra: Extra::default(),
    };
    let thought = Thinking { signature: Some("s".into()), ..Thinking::new("Boats.", "thinking") };
    Request {
        model: "m".into(),
        contents: vec![
            Content::text(Speaker::Human, "How many?"),
            Content::new(Speaker::Ai, vec![Block::Thinking(thought), Block::ToolCall(call)]),
            Content::new(Speaker::Tool, vec![Block::ToolResponse(result)]),
        ],
        max_tokens: Some(50),
        reasoning: ReasoningAsk { effort: Some(Effort::Max), ..ReasoningAsk::default() },
        ..Request::default()
    }
}

#[test]
fn thoughts_of_other_wires_stand_in_their_place_for_ollama() {
    let (body, lost) = written(&OllamaChat, &conversation());
    let expected = json!({
        "model": "m", "stream": false, "think": "high", "options": {"num_predict": 50},
        "messages": [
            {"role": "user", "content": "How many?"},
            {"role": "assistant", "content": "", "thinking": "Boats.", "tool_calls": [
                {"id": "call_1", "function": {"name": "count", "arguments": {"what": "boats"}}},
            ]},
            {"role": "tool", "content": "7", "tool_name": "count", "tool_call_id": "call_1"},
        ],
    });
    assert_eq!(body, expected);
    assert!(lost.is_empty(), "{lost:?}");
}

#[test]
fn thoughts_of_other_wires_stand_in_their_place_for_cohere() {
    let mut request = conversation();
    let (body, lost) = written(&CohereChat, &request);
    let expected = json!({
        "model": "m", "max_tokens": 50, "thinking": {"type": "enabled"},
        "messages": [
            {"role": "user", "content": "How many?"},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "Boats."}],
             "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": "count", "arguments": "{\"what\":\"boats\"}"}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": "7"},
        ],
    });
    assert_eq!(body, expected);
    assert_eq!(lost, ["reasoning.effort"]);
    request.reasoning = ReasoningAsk { max_tokens: Some(300), ..ReasoningAsk::default() };
    let thinking = json!({"type": "enabled", "token_budget": 300});
    assert_eq!(written(&CohereChat, &request).0["thinking"], thinking);
    request.reasoning = ReasoningAsk { enabled: Some(false), ..ReasoningAsk::default() };
    assert_eq!(written(&CohereChat, &request).0["thinking"], json!({"type": "disabled"}));
    assert_eq!(written(&OllamaChat, &request).0["think"], json!(false));
}

#[test]
fn a_cohere_answer_that_failed_is_an_error() {
    let failed = r#"{"id":"i","message":{"role":"assistant","content":[{"type":"text","text":"a"}]},"finish_reason":"ERROR"}"#;
    let body = concat!(
        "event: content-delta\ndata: {\"type\":\"content-delta\",\"index\":0,\"delta\":{\"message\":{\"content\":{\"text\":\"a\"}}}}\n\n",
        "event: message-end\ndata: {\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"ERROR\",\"error\":\"generation failed\"}}\n\n",
    );
    let streamed = stream(&CohereChat, body.as_bytes());
    for answer in [&whole(&CohereChat, failed.as_bytes()), &streamed] {
        assert_eq!(answer.text(), "a");
        assert_eq!(codes(answer), [ProblemCode::UpstreamError]);
        assert_eq!(answer.finish_reason.as_deref(), Some("ERROR"));
    }
    assert_eq!(streamed.problems[0].message, "generation failed");
    assert!(!stream(&CohereChat, &relay(&CohereChat, body.as_bytes())).is_complete());
    let refused = whole(&CohereChat, br#"{"id":"i","message":"invalid api token"}"#);
    assert_eq!(codes(&refused), [ProblemCode::UpstreamError]);
    assert_eq!(refused.problems[0].message, "invalid api token");
}

#[test]
fn cohere_without_message_end_is_truncated() {
    let body = "event: content-delta\ndata: {\"type\":\"content-delta\",\"index\":0,\"delta\":{\"message\":{\"content\":{\"thinking\":\"a\"}}}}\n\ndata: [DONE]\n\n";
    let answer = stream(&CohereChat, body.as_bytes());
    assert_eq!(codes(&answer), [ProblemCode::Truncated]);
    let [Block::Thinking(thought)] = answer.blocks.as_slice() else { panic!("{answer:?}") };
    assert!(thought.partial);
    assert_eq!(thought.thought, "a");
    let relayed = stream(&CohereChat, &relay(&CohereChat, body.as_bytes()));
    assert!(!relayed.is_complete());
}

#[test]
fn billed_units_are_no_tokens() {
    let body = r#"{"id":"i","message":{"content":[]},"finish_reason":"COMPLETE","usage":{"billed_units":{"input_tokens":5,"output_tokens":6}}}"#;
    let usage = whole(&CohereChat, body.as_bytes()).usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (None, None));
    assert!(usage.raw.unwrap().as_str().contains("billed_units"));
}

#[test]
fn counts_and_reasons_of_other_wires_come_in_the_words_of_these() {
    let answer = Answer {
        blocks: vec![Block::text("a")],
        usage: Some(Usage {
            input_tokens: Some(10),
            output_tokens: Some(4),
            cache_read_tokens: Some(90),
            ..Usage::default()
        }),
        finish_reason: Some("max_tokens".into()),
        tool_plan: Some("plan".into()),
        ..Answer::default()
    };
    let body: Value = serde_json::from_str(&CohereChat.write_response(&answer)).unwrap();
    assert_eq!(body["finish_reason"], "MAX_TOKENS");
    assert_eq!(body["usage"]["tokens"], json!({"input_tokens": 100, "output_tokens": 4}));
    assert_eq!(body["message"]["tool_plan"], "plan");
    let body: Value = serde_json::from_str(&OllamaChat.write_response(&answer)).unwrap();
    assert_eq!(body["done_reason"], "length");
    assert_eq!((&body["prompt_eval_count"], &body["eval_count"]), (&json!(100), &json!(4)));
    assert_eq!(body["message"]["content"], "aplan");
}

#[test]
fn errors_are_written_in_the_forms_of_these_wires() {
    let error = ErrorBody { status: 400, code: "c".into(), message: "no \"m\"".into() };
    for wire in [&CohereChat as &dyn Wire, &OllamaChat] {
        let answer = whole(wire, wire.write_error(&error).as_bytes());
        assert_eq!(answer.upstream_error().unwrap().message, "no \"m\"", "{}", wire.id());
    }
    assert_eq!(CohereChat.path("m", true), "/v2/chat");
    assert_eq!(OllamaChat.path("m", true), "/api/chat");
}

#[test]
fn requests_that_are_none_say_where() {
    for wire in [&CohereChat as &dyn Wire, &OllamaChat] {
        for (body, at) in [
            ("[]", "$"),
            (r#"{"messages":[]}"#, "model"),
            (r#"{"model":"m"}"#, "messages"),
            (r#"{"model":"m","messages":[{"role":"x","content":""}]}"#, "messages[0].role"),
            (r#"{"model":"m","messages":[{"role":"user","content":5}]}"#, "messages[0].content"),
        ] {
            let doc = Doc::parse_str(body).unwrap();
            assert_eq!(wire.read_request(doc.root()).unwrap_err().at, at, "{body}");
        }
    }
}

#[test]
fn a_prompt_becomes_a_conversation_and_its_answer_a_response() {
    let body = r#"{"model":"m","system":"Be exact.","prompt":"2+2?","images":["iVBORw0="],"think":true,"options":{"num_predict":9,"seed":1},"context":[]}"#;
    let doc = Doc::parse_str(body).unwrap();
    let request = Generate.read_request(doc.root()).unwrap();
    let expected = json!({
        "model": "m", "think": true, "options": {"seed": 1, "num_predict": 9},
        "messages": [
            {"role": "system", "content": "Be exact."},
            {"role": "user", "content": "2+2?", "images": ["iVBORw0="]},
        ],
    });
    assert_eq!(written(&Generate, &request), (expected, Vec::new()));
    for (body, at) in [
        (r#"{"model":"m","prompt":"q","context":[1]}"#, "context"),
        (r#"{"model":"m","prompt":"q","raw":true}"#, "raw"),
        (r#"{"model":"m"}"#, "prompt"),
    ] {
        let doc = Doc::parse_str(body).unwrap();
        assert_eq!(Generate.read_request(doc.root()).unwrap_err().at, at);
    }
}

#[test]
fn a_generated_answer_has_its_pieces_on_the_response() {
    let body = concat!(
        "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"2 and 2\"},\"done\":false}\n",
        "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"4\"},\"done\":false}\n",
        "{\"model\":\"m\",\"message\":{\"content\":\"\",\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":{}}}]},\"done\":true,\"done_reason\":\"stop\",\"eval_count\":3}\n",
    );
    let answer = stream(&OllamaChat, body.as_bytes());
    assert_eq!(answer.blocks.len(), 3);
    let relayed = relay(&Generate, body.as_bytes());
    let first: Value =
        serde_json::from_slice(relayed.split(|b| *b == b'\n').next().unwrap()).unwrap();
    let expected = json!({"model": "m", "response": "", "thinking": "2 and 2", "done": false});
    assert_eq!(first, expected);
    assert_eq!(stream(&Generate, &relayed), answer);
    let single = Generate.write_response(&answer);
    assert!(single.contains(r#""response":"4""#) && !single.contains("message"), "{single}");
    assert_eq!(whole(&Generate, single.as_bytes()), answer);
}

/// A plan goes back where it came from: beside the calls.
#[test]
fn a_tool_plan_goes_back() {
    let body = r#"{"id":"i","message":{"role":"assistant","tool_plan":"I will look.","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"TOOL_CALL"}"#;
    let answer = whole(&CohereChat, body.as_bytes());
    let contents = vec![answer.into_content(None)];
    let request = Request { model: "m".into(), contents, ..Request::default() };
    let expected = serde_json::from_str::<Value>(body).unwrap();
    assert_eq!(written(&CohereChat, &request).0["messages"][0], expected["message"]);
}
