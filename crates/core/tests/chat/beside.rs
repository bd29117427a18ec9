//! What a server adds beside the message goes with the answer.

use crate::reading::{stream, whole};
use serde_json::{Value, json};
use thinkthrough_core::event::Event;
use thinkthrough_core::frame::{Frame, Framer, Framing};
use thinkthrough_core::wire::chat_completions::ChatCompletions;
use thinkthrough_core::wire::{Dialect, Wire};
use thinkthrough_json::Extra;

#[test]
fn a_whole_answer_keeps_what_stands_beside_its_messages() {
    let body = json!({
        "id": "r", "object": "chat.completion", "created": 1_700_000_000, "model": "m",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop",
             "native_finish_reason": "end", "logprobs": {"content": [{"token": "a"}]}},
            {"index": 1, "message": {"role": "assistant", "content": "b"}, "finish_reason": "stop", "seed": 7},
        ],
        "system_fingerprint": "fp", "provider": {"name": "p"}, "citations": ["https://a.example"],
    });
    let answer = whole(&ChatCompletions, body.to_string().as_bytes());
    let written: Value = serde_json::from_str(&ChatCompletions.write_response(&answer)).unwrap();
    assert_eq!(written, body);
}

const STREAM: &str = r#"data: {"id":"r","created":17,"model":"m","choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"t":1}}],"system_fingerprint":"fp","obfuscation":"xx"}

data: {"id":"r","created":18,"model":"m","choices":[{"index":0,"delta":{"content":"b"}}],"system_fingerprint":"fp","obfuscation":"x"}

data: {"id":"r","created":18,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop","native_finish_reason":"end"}],"service_tier":"flex"}

data: {"id":"r","created":19,"model":"m","choices":[],"timings":{"ms":3}}

data: [DONE]

"#;

#[test]
fn a_stream_keeps_it_too_and_says_it_once() {
    let mut decoder = ChatCompletions.decoder(&Dialect::default());
    let mut encoder = ChatCompletions.encoder();
    let mut out = Vec::new();
    let mut into = |event: Event<'_>| encoder.event(event, &mut out);
    Framer::new(Framing::Sse).push(STREAM.as_bytes(), &mut |frame| {
        if let Frame::Event(event) = frame {
            decoder.message(event.event, event.data, &mut into);
        }
    });
    encoder.end(&mut out);
    let out = String::from_utf8(out).unwrap();
    for member in
        [r#""system_fingerprint":"fp""#, r#""service_tier":"flex""#, r#""timings":{"ms":3}"#]
    {
        assert_eq!(out.matches(member).count(), 1, "{member}: {out}");
    }
    let end = out.lines().find(|line| line.contains(r#""finish_reason":"stop""#)).unwrap();
    assert!(end.contains(r#""native_finish_reason":"end""#), "{end}");
    assert_eq!(out.matches(r#""created":17"#).count(), out.matches(r#""created""#).count());
    assert!(!out.contains("obfuscation"), "{out}");
    let first = out.lines().next().unwrap();
    assert!(
        first.contains(r#""logprobs":{"t":1}"#) && first.contains(r#""content":"a""#),
        "{first}"
    );
    assert_eq!(out.matches("logprobs").count(), 1, "{out}");
    let (first, again) =
        (stream(&ChatCompletions, STREAM.as_bytes()), stream(&ChatCompletions, out.as_bytes()));
    assert_eq!(first.text(), again.text());
    let Extra { fields, notes, .. } = &first.extra;
    assert_eq!((fields.len(), notes.len()), (4, 1), "{:?}", first.extra);
    let kept = |(key, value): &(String, _)| again.extra.get("chat-completions", key) == Some(value);
    assert!(fields.iter().all(kept));
    assert_eq!(notes, &again.extra.notes);
}

#[test]
fn what_goes_on_beside_the_pieces_is_one_in_the_end() {
    let recorded = include_bytes!(
        "../../../../fixtures/wires/chat-completions/responses/members-beside-the-pieces/received.sse"
    );
    let answer = stream(&ChatCompletions, recorded);
    let written: Value = serde_json::from_str(&ChatCompletions.write_response(&answer)).unwrap();
    let choice = &written["choices"][0];
    let tokens = choice["logprobs"]["content"].as_array().unwrap();
    let tokens: Vec<_> = tokens.iter().map(|token| token["token"].as_str().unwrap()).collect();
    assert_eq!(tokens, ["two", "two", "four"], "lists go on, also where the same comes again");
    assert_eq!(choice["content_filter_results"], json!({"hate": {"filtered": true}}));
    assert_eq!(choice["message"]["channel"], "final", "of anything else the last counts");
    assert_eq!(choice["message"]["token_id"], 5);
}
