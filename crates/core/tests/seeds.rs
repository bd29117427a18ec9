//! Lines of the written requirements that no other test is about; each name carries the id of its line.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail where it stands"
)]

use thinkthrough_core::adapter::{ReasoningAccumulator, ReasoningStreamAdapter};
use thinkthrough_core::content::{Block, Content, Speaker, Thinking};
use thinkthrough_core::event::{Event, Fold};
use thinkthrough_core::exchange::build;
use thinkthrough_core::exchange::{Finished, Turn};
use thinkthrough_core::provider::Target;
use thinkthrough_core::read::{Form, Reader};
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::{Format, Include, Layer, Partial, Resolved, Source, resolve};
use thinkthrough_core::shape::{read_content, write_content};
use thinkthrough_core::tokens::{EffectiveCount, estimate_conservative};
use thinkthrough_core::wire;
use thinkthrough_core::wire::Dialect;
use thinkthrough_json::{Doc, Writer};

const SIGNED: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",",
    "\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[],\"usage\":{\"input_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,",
    "\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,",
    "\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Let me see.\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,",
    "\"delta\":{\"type\":\"signature_delta\",\"signature\":\"Ev/+aZ09==\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,",
    "\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,",
    "\"delta\":{\"type\":\"text_delta\",\"text\":\"Four.\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},",
    "\"usage\":{\"output_tokens\":9}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

const FIELD: &str = concat!(
    "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Let \"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"me see.\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"Four.\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,",
    "\"completion_tokens\":9,\"completion_tokens_details\":{\"reasoning_tokens\":4}}}\n\ndata: [DONE]\n\n",
);

fn ask(contents: Vec<Content>) -> Request {
    Request { contents, stream: true, ..Request::default() }
}

fn question(text: &str) -> Content {
    Content::text(Speaker::Human, text.to_owned())
}

/// A content as it comes out of a history file.
fn stored(content: &Content) -> Content {
    let mut w = Writer::new();
    write_content(&mut w, content);
    let line = w.finish_line();
    read_content(Doc::parse_str(&line).unwrap().root()).unwrap()
}

#[test]
fn req_think_001_2_a_signature_survives_store_and_way_back_byte_for_byte() {
    let target = Target::built_in("anthropic", None, "claude-sonnet-4-5").unwrap();
    let settings = Resolved::default();
    let asked = ask(vec![question("2 + 2?")]);
    let mut turn = Turn::begin(&asked, &target, &settings);
    turn.head(200);
    let mut sink = |_: Event<'_>| {};
    turn.push(SIGNED.as_bytes(), &mut sink);
    let answer = turn.finish(None, &mut sink).content.unwrap();
    let Block::Thinking(thinking) = &answer.blocks[0] else { panic!("a thought") };
    assert_eq!(thinking.signature.as_deref(), Some("Ev/+aZ09=="));
    let after = vec![question("2 + 2?"), stored(&answer), question("sure?")];
    let body = build(&ask(after), &target, &settings).body;
    let block = r#"{"type":"thinking","thinking":"Let me see.","signature":"Ev/+aZ09=="}"#;
    assert!(body.contains(block), "{body}");
}

#[test]
fn req_think_001_3_every_kind_of_block_goes_through_the_store_unknown_ones_too() {
    let line = concat!(
        r#"{"speaker":"ai","blocks":["#,
        r#"{"type":"thinking","thought":"hm","sourceField":"reasoning"},"#,
        r#"{"type":"text","text":"a"},"#,
        r#"{"type":"tool_call","id":"c","name":"f","parameters":{"n":1e400}},"#,
        r#"{"type":"tool_response","callId":"c","name":"f","result":"r"},"#,
        r#"{"type":"media","mediaType":"image/png","data":"QUJD"},"#,
        r#"{"type":"server_tool_use","raw":{"type":"server_tool_use","id":"s","input":{}},"wire":"messages"}"#,
        r#"]}"#,
    );
    let content = read_content(Doc::parse_str(line).unwrap().root()).unwrap();
    let kinds: Vec<_> = content.blocks.iter().map(std::mem::discriminant).collect();
    assert!(kinds.iter().enumerate().all(|(at, kind)| !kinds[..at].contains(kind)), "{content:?}");
    assert_eq!(kinds.len(), 6);
    let mut w = Writer::new();
    write_content(&mut w, &content);
    assert_eq!(w.finish_line(), line);
}

#[test]
fn req_think_003_1_a_stream_is_read_the_same_however_it_is_cut() {
    let wire = wire::find("chat-completions").unwrap();
    let read = |pieces: &[&[u8]]| {
        let mut reader = Reader::new(wire, &Dialect::PLAIN, Form::Auto);
        let mut fold = Fold::new();
        pieces.iter().for_each(|piece| reader.push(piece, &mut fold));
        reader.end(&mut fold);
        fold.finish()
    };
    let bytes = FIELD.as_bytes();
    let whole = read(&[bytes]);
    let Block::Thinking(thinking) = &whole.blocks[0] else { panic!("a thought") };
    assert_eq!(thinking.thought, "Let me see.");
    for at in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(at);
        assert_eq!(read(&[head, tail]), whole, "cut at {at}");
    }
}

/// What an adapter makes of a stream: the reasoning, the answer, and the reasoning tokens.
fn adapted(model: &str, provider: &str, stream: &str) -> (String, String, u64) {
    let mut adapter = ReasoningStreamAdapter::resolve(model, provider);
    assert_eq!(adapter.id(), provider);
    let mut texts = ReasoningAccumulator::new();
    for piece in stream.as_bytes().chunks(7) {
        adapter.push(piece, &mut texts);
    }
    adapter.end(&mut texts);
    let tokens = texts.reasoning_tokens().tokens;
    (texts.reasoning_text().to_owned(), texts.response_text().to_owned(), tokens)
}

#[test]
fn adr_adapter_openai_deepseek_and_anthropic_streams_become_chunks() {
    let expected = |tokens| ("Let me see.".to_owned(), "Four.".to_owned(), tokens);
    assert_eq!(adapted("deepseek-reasoner", "deepseek", FIELD), expected(4));
    // Nothing is reported, so it is a quarter of the characters.
    assert_eq!(adapted("claude-sonnet-4-5", "anthropic", SIGNED), expected(3));
    let event =
        |name: &str, rest: &str| format!("event: {name}\ndata: {{\"type\":\"{name}\",{rest}}}\n\n");
    let place = r#""item_id":"rs","output_index":0,"summary_index":0"#;
    let item = r#"{"type":"reasoning","id":"rs","summary":[{"type":"summary_text","text":"Let me see."}]}"#;
    let message = r#"{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Four.","annotations":[]}]}"#;
    let usage = r#"{"input_tokens":1,"output_tokens":9,"total_tokens":10,"output_tokens_details":{"reasoning_tokens":5}}"#;
    let stream = [
        event(
            "response.output_item.added",
            r#""output_index":0,"item":{"type":"reasoning","id":"rs","summary":[]}"#,
        ),
        event("response.reasoning_summary_text.delta", &format!(r#"{place},"delta":"Let me""#)),
        event("response.reasoning_summary_text.delta", &format!(r#"{place},"delta":" see.""#)),
        event("response.output_item.done", &format!(r#""output_index":0,"item":{item}"#)),
        event(
            "response.output_item.added",
            r#""output_index":1,"item":{"type":"message","id":"m","role":"assistant","content":[]}"#,
        ),
        event(
            "response.output_text.delta",
            r#""item_id":"m","output_index":1,"content_index":0,"delta":"Four.""#,
        ),
        event("response.output_item.done", &format!(r#""output_index":1,"item":{message}"#)),
        event(
            "response.completed",
            &format!(
                r#""response":{{"id":"r","status":"completed","output":[{item},{message}],"usage":{usage}}}"#
            ),
        ),
    ];
    assert_eq!(adapted("o4-mini", "openai", &stream.concat()), expected(5));
}

fn with(include: Include) -> Resolved {
    let values = Partial {
        include_in_context: Some(include),
        format: Some(Format::Field),
        ..Partial::default()
    };
    resolve(&[Layer { source: Source::Session, values }])
}

#[test]
fn req_think_005_3_the_count_follows_the_settings_of_now_and_reads_only_what_they_touch() {
    let target = Target::built_in("vllm", None, "a-model").unwrap();
    let thinking = Thinking {
        thought: "a thought of several words".to_owned(),
        source_field: "reasoning".to_owned(),
        ..Thinking::default()
    };
    let mut contents = Vec::new();
    for turn in 0..50 {
        contents.push(question(&format!("question {turn}")));
        let block = Block::Thinking(Thinking {
            thought: format!("{} {turn}", thinking.thought),
            ..thinking.clone()
        });
        let text = Block::Text(thinkthrough_core::content::Text::new(format!("answer {turn}")));
        contents.push(Content::new(Speaker::Ai, vec![block, text]));
    }
    let mut count = EffectiveCount::new(None);
    let mut counted = |include| {
        let body = build(&ask(contents.clone()), &target, &with(include)).body;
        let effective = count.of_body(&body);
        (effective.count.tokens, effective.read, estimate_conservative(&body))
    };
    let (all, read, whole) = counted(Include::True);
    assert!(read >= 100, "the first time everything is read: {read}");
    assert!(all.abs_diff(whole) <= 150, "the parts are about the whole: {all} {whole}");
    let (without, read, _) = counted(Include::False);
    assert!(without < all, "{without} {all}");
    assert_eq!(read, 50, "only the answers are other texts now");
    assert_eq!(
        (counted(Include::True).0, counted(Include::True).1),
        (all, 0),
        "known texts are not read again"
    );
}

/// What a turn makes of an answer with this status and body.
fn ended(status: u16, body: &str) -> Finished {
    let target = Target::built_in("openai-compatible", None, "m").unwrap();
    let contents = vec![Content::text(Speaker::Human, "go")];
    let request = Request { model: "m".into(), contents, stream: true, ..Request::default() };
    let mut turn = Turn::begin(&request, &target, &Resolved::default());
    turn.head(status);
    let mut ignore = |_: Event<'_>| {};
    turn.push(body.as_bytes(), &mut ignore);
    turn.finish(None, &mut ignore)
}

#[test]
fn sse_37_an_answer_of_another_status_is_never_a_stream_that_ended_well() {
    let page = "<html><body><h1>502 Bad Gateway</h1></body></html>";
    let error = r#"{"error":{"message":"no","type":"some_error"}}"#;
    for status in [301, 302, 304, 307, 400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 504, 529] {
        for body in ["", page, error, FIELD] {
            let finished = ended(status, body);
            let failure = finished.failure.unwrap_or_else(|| panic!("{status}: {body}"));
            assert_eq!(failure.status, status, "{body}");
            assert!(!failure.message.is_empty(), "{status}: {body}");
        }
        assert_eq!(ended(status, error).failure.unwrap().message, "no", "{status}");
        assert!(ended(status, page).content.is_none(), "{status}");
    }
    // 204 says that there is nothing, and so there is.
    let finished = ended(204, "");
    assert!(finished.content.is_none() && finished.answer.finish_reason.is_none());
    let finished = ended(200, FIELD);
    assert!(finished.failure.is_none() && finished.content.is_some());
}
