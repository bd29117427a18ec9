//! The name of the model that answers, and why an answer was refused.

use crate::tickets::{Client, WIRES};
use crate::{Gateway, Lock};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::event::Fold;
use thinkthrough_core::read::{Form, Reader};
use thinkthrough_core::wire::{Dialect, find};

fn read(wire: &str, stream: bool, body: &str) -> Answer {
    let form = if stream { Form::Stream } else { Form::Whole };
    let mut reader = Reader::new(find(wire).unwrap(), &Dialect::PLAIN, form);
    let mut fold = Fold::new();
    reader.push(body.as_bytes(), &mut fold);
    reader.end(&mut fold);
    fold.finish()
}

fn ask(caller: &'static str, provider: &str, model: &str, stream: bool) -> Gateway {
    Gateway { stream: Some(stream), ..Gateway::new(caller, provider, None, model) }
}

const CHUNKS: &str = "data: {\"id\":\"1\", \"model\": \"m-0711\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"the model\"}}]}\n\ndata: {\"id\":\"1\",\"model\":\"m-0711\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const WHOLE: &str = r#"{ "id":"1", "model": "m-0711","choices":[{"index":0,"message":{"role":"assistant","content":"the model"},"finish_reason":"stop"}]}"#;

#[test]
fn an_answer_bears_the_name_that_was_asked_for_and_nothing_else_changes() {
    for (caller, stream) in WIRES.iter().flat_map(|wire| [(*wire, true), (*wire, false)]) {
        let answer = if stream { CHUNKS } else { WHOLE };
        for alias in [None, Some("mine"), Some("m-0711")] {
            let mut gateway = ask(caller, "openai-compatible", "m-0711", stream);
            gateway.alias = alias;
            let prepared = gateway.ask(&Client::new(caller, stream).request(), &Lock);
            let is_renamed = alias == Some("mine");
            if caller == "chat-completions" {
                assert_eq!(prepared.exchange.is_untouched(), !is_renamed);
            }
            let (said, _) = gateway.answer(prepared, &[answer], None);
            let name = if is_renamed { "mine" } else { "m-0711" };
            if caller == "chat-completions" {
                assert_eq!(said, answer.replace("m-0711", name));
            }
            let read = read(caller, stream, &said);
            assert_eq!(read.model.as_deref(), Some(name), "{caller} {stream}: {said}");
            assert_eq!(read.text(), "the model");
        }
    }
}

const REFUSED: &str = r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"It asks for harm.","recommended_model":"claude-haiku-4-5"},"usage":{"input_tokens":1,"output_tokens":2}}"#;
const REFUSED_EVENTS: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\",\"stop_details\":{\"type\":\"refusal\",\"category\":\"cyber\",\"explanation\":\"It asks for harm.\",\"recommended_model\":\"claude-haiku-4-5\"}},\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

#[test]
fn why_an_answer_was_refused_reaches_callers_of_every_wire() {
    for (caller, stream) in WIRES.iter().flat_map(|wire| [(*wire, true), (*wire, false)]) {
        let answer = if stream { REFUSED_EVENTS } else { REFUSED };
        let mut gateway = ask(caller, "anthropic", "claude-opus-4-6", stream);
        let prepared = gateway.ask(&Client::new(caller, stream).request(), &Lock);
        let (said, _) = gateway.answer(prepared, &[answer], None);
        let read = read(caller, stream, &said);
        let explained = read.refusal.clone().unwrap_or_else(|| read.text());
        assert_eq!(explained, "It asks for harm.", "{caller} {stream}: {said}");
        for word in ["cyber", "claude-haiku-4-5"] {
            assert!(said.contains(word), "{caller} {stream}: {said}");
        }
    }
}

/// Clients tell answers apart by their ids, and some read no answer without one.
#[test]
fn an_answer_that_is_written_anew_has_an_id_a_model_and_a_time() {
    let whole =
        r#"{"message":{"role":"assistant","content":"Ho"},"done":true,"done_reason":"stop"}"#;
    for (caller, parts) in [
        ("chat-completions", &[r#""id":"chatcmpl-7a""#, r#""created":9"#, r#""model":"m""#][..]),
        ("cohere-chat", &[r#""id":"7a""#]),
        ("generate-content", &[r#""responseId":"7a""#, r#""modelVersion":"m""#]),
        ("messages", &[r#""id":"msg_7a""#, r#""model":"m""#]),
        ("responses", &[r#""id":"resp_7a""#, r#""created_at":9"#, r#""model":"m""#]),
    ] {
        for stream in [true, false] {
            let mut gateway = ask(caller, "ollama", "m", stream);
            let prepared = gateway.ask(&Client::new(caller, stream).request(), &Lock);
            let (said, _) = gateway.answer(prepared, &[&format!("{whole}\n")], None);
            for part in parts {
                assert!(said.contains(part), "{caller} {stream}: no {part} in {said}");
            }
        }
    }
}
