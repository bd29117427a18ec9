//! How neutral requests are written for providers that want different things.

use serde_json::{Value, json};
use std::borrow::Cow;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{
    Block, Content, Media, MediaSource, Other, Parameters, Speaker, Thinking, ToolCall,
    ToolResponse,
};
use thinkthrough_core::request::{AnswerFormat, ReasoningAsk, Request, Tool, ToolChoice};
use thinkthrough_core::settings::Effort;
use thinkthrough_core::wire::chat_completions::ChatCompletions;
use thinkthrough_core::wire::mistral_chat::MistralChat;
use thinkthrough_core::wire::{Dialect, ErrorBody, Wire, Written};
use thinkthrough_json::{Doc, Extra, Raw};

fn call(id: &str) -> Block {
    Block::ToolCall(ToolCall {
        id: Some(id.to_owned()),
        name: "f".to_owned(),
        parameters: Parameters::from_text(r#"{"x": 1}"#),
        signature: None,
        extra: Extra::default(),
    })
}

fn thought(text: &str, field: &str) -> Block {
    Block::Thinking(Thinking::new(text, field))
}

fn said_by_model(blocks: Vec<Block>) -> Request {
    Request {
        model: "m".to_owned(),
        contents: vec![Content::new(Speaker::Ai, blocks)],
        ..Request::default()
    }
}

fn in_field(field: &'static str) -> Dialect {
    Dialect { field: Some(Cow::Borrowed(field)), ..Dialect::default() }
}

fn body(written: &Written) -> Value {
    serde_json::from_str(&written.body).unwrap()
}

/// The only message of a request.
fn message(request: &Request, dialect: &Dialect) -> Value {
    body(&ChatCompletions.write_request(request, dialect))["messages"][0].clone()
}

#[test]
fn req_think_004_3_a_tool_call_message_carries_its_thought() {
    let request = said_by_model(vec![thought("why", "reasoning_content"), call("c")]);
    let should = json!({
        "role": "assistant", "content": null, "reasoning_content": "why",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}}],
    });
    assert_eq!(message(&request, &Dialect::default()), should);
}

#[test]
fn req_think_001_1_a_thought_goes_back_in_the_field_that_it_came_in() {
    for field in ["reasoning_content", "reasoning", "reasoning_text"] {
        let request = said_by_model(vec![thought("why", field), Block::text("x")]);
        let should = json!({ "role": "assistant", "content": "x", field: "why" });
        assert_eq!(message(&request, &Dialect::default()), should);
    }
    let foreign = said_by_model(vec![thought("why", "summary"), Block::text("x")]);
    assert_eq!(message(&foreign, &Dialect::default())["reasoning_content"], "why");
}

#[test]
fn a_dialect_names_the_field() {
    let request = said_by_model(vec![thought("why", "reasoning_content"), Block::text("x")]);
    let should = json!({ "role": "assistant", "content": "x", "reasoning": "why" });
    assert_eq!(message(&request, &in_field("reasoning")), should);
    let should = json!({ "role": "assistant", "content": "<think>\nwhy\n</think>\n\nx" });
    assert_eq!(message(&request, &in_field("think_tags")), should);
    let tagged = said_by_model(vec![thought(" why", "think_tags"), Block::text("\nx")]);
    let should = json!({ "role": "assistant", "content": "<think> why</think>\nx" });
    assert_eq!(message(&tagged, &Dialect::default()), should);
    let should = json!({
        "role": "assistant", "content": "x",
        "reasoning_details": [{"type": "reasoning.text", "text": "why"}],
    });
    assert_eq!(message(&request, &in_field("reasoning_details")), should);
    let should = json!({ "role": "assistant", "content": "x", "of_my_own": "why" });
    assert_eq!(message(&request, &in_field("of_my_own")), should);
}

#[test]
fn a_signature_of_the_whole_message_goes_back_to_where_it_was() {
    let mut answer = Answer { blocks: vec![call("c")], ..Answer::default() };
    answer.message_signature = Some("sig".to_owned());
    let contents = vec![answer.into_content(None)];
    let request = Request { model: "m".to_owned(), contents, ..Request::default() };
    let usual = json!({ "google": { "thought_signature": "sig" } });
    assert_eq!(message(&request, &Dialect::default())["extra_content"], usual);
    for place in [
        json!({ "extra_content": { "google": { "x": 1, "thought_signature": "sig" } } }),
        json!({ "thought_signature": "sig", "x": 1 }),
        json!({ "provider_specific_fields": { "thought_signature": "sig" } }),
    ] {
        let mut said = json!({ "role": "assistant", "content": "x" });
        said.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
        let text = json!({ "model": "m", "messages": [said] }).to_string();
        let mut request =
            ChatCompletions.read_request(Doc::parse_str(&text).unwrap().root()).unwrap();
        assert_eq!(request.contents[0].signature.as_deref(), Some("sig"));
        assert_eq!(message(&request, &Dialect::default()), said);
        request.contents[0].signature = None;
        assert!(!message(&request, &Dialect::default()).to_string().contains("signature"));
    }
}

#[test]
fn req_think_002_3_separate_thoughts_of_one_field_are_joined_with_a_line_feed() {
    let blocks = vec![
        thought("one", "reasoning"),
        Block::text("x"),
        thought("two", "reasoning"),
        Block::text("y"),
    ];
    let should = json!({ "role": "assistant", "content": "xy", "reasoning": "one\ntwo" });
    assert_eq!(message(&said_by_model(blocks), &Dialect::default()), should);
}

#[test]
fn one_thought_under_two_names_is_written_once_into_one_field() {
    let blocks =
        vec![thought("a", "reasoning_content"), thought("a", "reasoning"), Block::text("x")];
    let should = json!({ "role": "assistant", "content": "x", "reasoning": "a" });
    assert_eq!(message(&said_by_model(blocks), &in_field("reasoning")), should);
}

#[test]
fn ec_007_an_empty_thought_leaves_no_field_unless_the_provider_wants_one() {
    let request = said_by_model(vec![thought("", "reasoning_content"), call("c")]);
    assert_eq!(message(&request, &Dialect::default()).get("reasoning_content"), None);
    let blank = Dialect { empty: Some(Cow::Borrowed(" ")), ..in_field("reasoning_content") };
    assert_eq!(message(&request, &blank)["reasoning_content"], " ");
    let empty = Dialect { empty: Some(Cow::Borrowed("")), ..in_field("reasoning_content") };
    assert_eq!(message(&request, &empty)["reasoning_content"], "");
    // Nothing is known about the thought of this one.
    let unknown = said_by_model(vec![call("c")]);
    assert_eq!(message(&unknown, &blank).get("reasoning_content"), None);
}

#[test]
fn structured_thoughts_go_back_as_they_came() {
    let entries = json!([
        {"type": "reasoning.text", "text": "a", "signature": "S", "format": "f", "index": 0, "id": null},
        {"type": "reasoning.summary", "summary": "b", "index": 1},
        {"type": "reasoning.encrypted", "data": "gA", "id": "rs", "index": 1},
        {"type": "reasoning.of_tomorrow", "deed": [1]},
    ]);
    let answer = json!({ "choices": [{"message": {"content": "x", "reasoning": "ab", "reasoning_details": entries}}] });
    let mut fold = thinkthrough_core::event::Fold::new();
    let text = answer.to_string();
    ChatCompletions.read_response(
        Doc::parse_str(&text).unwrap().root(),
        &Dialect::default(),
        &mut fold,
    );
    let content = fold.finish().into_content(None);
    let request = Request { contents: vec![content], ..Request::default() };
    let should = json!({ "role": "assistant", "content": "x", "reasoning_details": entries });
    assert_eq!(message(&request, &Dialect::default()), should);
    let written = ChatCompletions.write_request(&request, &in_field("reasoning_content"));
    assert_eq!(body(&written)["messages"][0]["reasoning_content"], "a\nb");
    assert_eq!(written.untranslated, ["signature", "encryptedContent"]);
}

#[test]
fn what_a_provider_refuses_is_not_written() {
    let text = json!({
        "model": "m", "parallel_tool_calls": true, "seed": 1, "reasoning_effort": "low",
        "messages": [{"role": "assistant", "content": "x", "reasoning_content": "a", "name": "n", "reasoning": ""}],
    })
    .to_string();
    let request = ChatCompletions.read_request(Doc::parse_str(&text).unwrap().root()).unwrap();
    let refuses = &[
        "reasoning_content",
        "reasoning",
        "name",
        "parallel_tool_calls",
        "seed",
        "reasoning_effort",
    ];
    let dialect = Dialect { refuses: Cow::Borrowed(refuses), ..Dialect::default() };
    let should = json!({ "model": "m", "messages": [{"role": "assistant", "content": "x"}] });
    assert_eq!(body(&ChatCompletions.write_request(&request, &dialect)), should);
}

#[test]
fn usage_is_asked_for_where_it_must_be() {
    let dialect = Dialect { asks_for_usage: true, ..Dialect::default() };
    let mut request = Request { stream: true, ..Request::default() };
    let written = body(&ChatCompletions.write_request(&request, &dialect));
    assert_eq!(written["stream_options"], json!({ "include_usage": true }));
    request.stream = false;
    assert_eq!(
        body(&ChatCompletions.write_request(&request, &dialect)).get("stream_options"),
        None
    );
}

#[test]
fn the_cap_has_the_name_that_the_provider_wants() {
    let text = r#"{"model":"m","messages":[],"max_tokens":5}"#;
    let request = ChatCompletions.read_request(Doc::parse_str(text).unwrap().root()).unwrap();
    assert_eq!(request.max_tokens, Some(5));
    let dialect = Dialect { max_tokens_field: Some("max_completion_tokens"), ..Dialect::default() };
    let should = json!({ "model": "m", "messages": [], "max_completion_tokens": 5 });
    assert_eq!(body(&ChatCompletions.write_request(&request, &dialect)), should);
    let more = Request { max_tokens: Some(9), ..request };
    assert_eq!(body(&ChatCompletions.write_request(&more, &Dialect::default()))["max_tokens"], 9);
}

#[test]
fn thoughts_stand_before_the_text_in_mistral_content() {
    let request =
        said_by_model(vec![thought("why", "reasoning_content"), Block::text("x"), call("c")]);
    let written = body(&MistralChat.write_request(&request, &Dialect::default()));
    let should = json!([
        {"type": "thinking", "thinking": [{"type": "text", "text": "why"}]},
        {"type": "text", "text": "x"},
    ]);
    assert_eq!(written["messages"][0]["content"], should);
    assert_eq!(written["messages"][0].get("reasoning_content"), None);
}

/// A request as another wire reads it.
fn foreign() -> Request {
    let image = |source| {
        Block::Media(Media { media_type: "image/png".to_owned(), source, extra: Extra::default() })
    };
    let result = |id: &str, result: Raw| {
        Block::ToolResponse(ToolResponse {
            call_id: Some(id.to_owned()),
            name: None,
            result: result.into(),
            is_error: true,
            extra: Extra::default(),
        })
    };
    let mut extra = Extra::default();
    extra.insert("messages", "metadata", Raw::null());
    Request {
        model: "m".to_owned(),
        contents: vec![
            Content::text(Speaker::System, "be brief"),
            Content::new(
                Speaker::Human,
                vec![
                    result("a", Raw::string("plain")),
                    result("b", Raw::parse(r#"{"n":1}"#).unwrap()),
                    Block::text("and this"),
                    image(MediaSource::Data("AA==".to_owned())),
                    image(MediaSource::Url("https://example.org/a.png".to_owned())),
                ],
            ),
            Content::new(
                Speaker::Ai,
                vec![
                    Block::Other(Other::new("messages", "server_tool_use", Raw::null())),
                    Block::text("x"),
                ],
            ),
        ],
        tools: vec![
            Tool::Function {
                name: "f".to_owned(),
                description: None,
                parameters: None,
                extra: Extra::default(),
            },
            Tool::Other { wire: "messages", raw: Raw::null() },
        ],
        tool_choice: Some(ToolChoice::Required),
        stop: vec!["END".to_owned()],
        format: Some(AnswerFormat::Schema {
            name: None,
            schema: Raw::parse("{}").unwrap(),
            strict: Some(true),
        }),
        reasoning: ReasoningAsk {
            effort: Some(Effort::High),
            max_tokens: Some(9),
            ..ReasoningAsk::default()
        },
        extra,
        ..Request::default()
    }
}

#[test]
fn thoughts_inside_the_content_keep_their_order() {
    let blocks = |field: &str| {
        vec![
            thought("a", field),
            Block::text("x"),
            thought("b", field),
            Block::text("y"),
            call("c"),
        ]
    };
    let tagged = message(&said_by_model(blocks("think_tags")), &Dialect::default());
    assert_eq!(tagged["content"], "<think>a</think>x<think>b</think>y");
    let only = said_by_model(vec![thought("a", "reasoning"), call("c")]);
    assert_eq!(message(&only, &in_field("think_tags"))["content"], "<think>\na\n</think>");
    let request = said_by_model(blocks("thinking"));
    let parts =
        body(&MistralChat.write_request(&request, &Dialect::default()))["messages"][0]["content"]
            .clone();
    let kinds: Vec<_> = parts.as_array().unwrap().iter().map(|part| part["type"].clone()).collect();
    assert_eq!(kinds, ["thinking", "text", "thinking", "text"]);
}

#[test]
fn a_request_of_another_wire_is_written_in_this_ones_words() {
    let request = foreign();
    let written = ChatCompletions.write_request(&request, &Dialect::default());
    let should = json!({
        "model": "m",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "tool", "tool_call_id": "a", "content": "plain"},
            {"role": "tool", "tool_call_id": "b", "content": "{\"n\":1}"},
            {"role": "user", "content": [
                {"type": "text", "text": "and this"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            ]},
            {"role": "assistant", "content": "x"},
        ],
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "tool_choice": "required",
        "stop": ["END"],
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {}, "strict": true}},
        "reasoning_effort": "high",
    });
    assert_eq!(body(&written), should);
    // What only the other wire knows, as its `metadata`, is told by whoever translates.
    let lost = ["isError", "server_tool_use", "tools", "reasoning.max_tokens"];
    assert_eq!(written.untranslated, lost);
    let mistral = body(&MistralChat.write_request(&request, &Dialect::default()));
    assert_eq!(mistral["tool_choice"], "any");
}

#[test]
fn calls_without_an_id_get_one_that_their_results_know() {
    let nameless = |block: Block| match block {
        Block::ToolCall(call) => Block::ToolCall(ToolCall { id: None, ..call }),
        other => other,
    };
    let result = Block::ToolResponse(ToolResponse {
        call_id: None,
        name: Some("f".to_owned()),
        result: Raw::string("r").into(),
        is_error: false,
        extra: Extra::default(),
    });
    let mut request = said_by_model(vec![nameless(call("")), nameless(call(""))]);
    request.contents.push(Content::new(Speaker::Tool, vec![result.clone(), result]));
    let written = body(&ChatCompletions.write_request(&request, &Dialect::default()));
    let id = |at: usize| written["messages"][0]["tool_calls"][at]["id"].clone();
    assert!(id(0).is_string() && id(0) != id(1));
    assert_eq!(written["messages"][1]["tool_call_id"], id(0));
    assert_eq!(written["messages"][2]["tool_call_id"], id(1));
}

#[test]
fn finish_reasons_of_other_wires_are_said_in_this_ones_words() {
    let said = |reason: &str, blocks: Vec<Block>| {
        let answer = Answer { blocks, finish_reason: Some(reason.to_owned()), ..Answer::default() };
        let written: Value =
            serde_json::from_str(&ChatCompletions.write_response(&answer)).unwrap();
        written["choices"][0]["finish_reason"].clone()
    };
    assert_eq!(said("end_turn", vec![]), "stop");
    assert_eq!(said("MAX_TOKENS", vec![]), "length");
    assert_eq!(said("STOP", vec![call("c")]), "tool_calls");
    assert_eq!(said("refusal", vec![]), "content_filter");
    assert_eq!(said("stop", vec![call("c")]), "tool_calls", "clients run tools at this word only");
    assert_eq!(said("insufficient_system_resource", vec![]), "length");
    assert_eq!(said("unheard_of", vec![]), "unheard_of");
}

#[test]
fn requests_that_are_none_name_the_place() {
    let cases = [
        ("[]", ""),
        ("{}", "model"),
        (r#"{"model":"m"}"#, "messages"),
        (r#"{"model":"m","messages":[{"content":"x"}]}"#, "messages[0].role"),
        (r#"{"model":"m","messages":[{"role":"user"},{"role":"boss"}]}"#, "messages[1].role"),
        (r#"{"model":"m","messages":[{"role":"user","content":7}]}"#, "messages[0].content"),
        (
            r#"{"model":"m","messages":[{"role":"user","content":["a",7]}]}"#,
            "messages[0].content[1]",
        ),
    ];
    for (text, at) in cases {
        let error = ChatCompletions.read_request(Doc::parse_str(text).unwrap().root()).unwrap_err();
        assert_eq!(error.at, at, "{text}");
    }
}

#[test]
fn what_a_caller_says_about_reasoning_is_understood() {
    let ask = |more: Value| {
        let mut text = json!({ "model": "m", "messages": [] });
        text.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let text = text.to_string();
        let read =
            ChatCompletions.read_request(Doc::parse_str(&text).unwrap().root()).unwrap().reasoning;
        (read.enabled, read.effort, read.max_tokens, read.show)
    };
    assert_eq!(ask(json!({})), (None, None, None, None));
    assert_eq!(
        ask(json!({"reasoning_effort": "none"})),
        (Some(false), Some(Effort::None), None, None)
    );
    assert_eq!(ask(json!({"reasoning_effort": 700})), (None, None, Some(700), None));
    assert_eq!(ask(json!({"thinking": {"type": "disabled"}})), (Some(false), None, None, None));
    let budget = json!({"thinking": {"type": "enabled", "budget_tokens": 5}});
    assert_eq!(ask(budget), (Some(true), None, Some(5), None));
    let router = json!({"reasoning": {"effort": "low", "exclude": true}});
    assert_eq!(ask(router), (None, Some(Effort::Low), None, Some(false)));
    let template = json!({"chat_template_kwargs": {"enable_thinking": false}});
    assert_eq!(ask(template), (Some(false), None, None, None));
    assert_eq!(
        ask(json!({"enable_thinking": true, "thinking_budget": 8})),
        (Some(true), None, Some(8), None)
    );
    assert_eq!(ask(json!({"reasoning_format": "hidden"})), (None, None, None, Some(false)));
}

#[test]
fn errors_are_written_in_the_wires_own_form() {
    let error =
        ErrorBody { status: 400, code: "reasoning_missing".to_owned(), message: "why".to_owned() };
    let members = json!({ "message": "why", "type": "invalid_request_error", "param": null, "code": "reasoning_missing" });
    let written: Value = serde_json::from_str(&ChatCompletions.write_error(&error)).unwrap();
    assert_eq!(written, json!({ "error": members }));
    let written: Value = serde_json::from_str(&MistralChat.write_error(&error)).unwrap();
    assert_eq!(written["object"], "error");
    assert_eq!(written["message"], "why");
}

#[test]
fn paths_are_the_apis_own() {
    assert_eq!(ChatCompletions.path("m", true), "/chat/completions");
    assert_eq!(MistralChat.path("m", false), "/v1/chat/completions");
}
