//! Detects the wire of a body by its members, for saved bodies without a route.

use super::Framing;
use crate::frame::{Frame, Framer};
use crate::json::{Doc, Val};

/// The findings in the beginning of a response body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The possible wires, the likeliest first; empty for an error body or an unknown shape.
    pub wires: &'static [&'static str],
    /// The model that it names.
    pub model: Option<String>,
}

/// The kind of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The body of a caller.
    Request,
    /// A whole answer, or an error.
    Response,
    /// A streamed answer.
    Stream,
}

const CHAT: &[&str] = &["chat-completions", "mistral-chat"];
const RESPONSES: &[&str] = &["responses"];
const MESSAGES: &[&str] = &["messages"];
const GENERATE_CONTENT: &[&str] = &["generate-content"];
const INTERACTIONS: &[&str] = &["interactions"];
const CONVERSE: &[&str] = &["converse"];
const COHERE_CHAT: &[&str] = &["cohere-chat"];
const OLLAMA_CHAT: &[&str] = &["ollama-chat"];

/// The findings in the first bytes of a response body; `None` if more bytes are needed, but never at the end of the
/// body.
#[must_use]
pub fn look(begun: &[u8], is_all: bool) -> Option<Seen> {
    let Some(first) = begun.iter().find(|byte| !byte.is_ascii_whitespace() && **byte != 0xef)
    else {
        return is_all.then(Seen::default);
    };
    match first {
        // The first bytes of an AWS message are its length, a number far below 2^24.
        0 => Some(Seen { wires: CONVERSE, model: None }),
        b'{' | b'[' => look_at_json(begun, is_all),
        b'<' => Some(Seen::default()),
        _ => look_at_events(begun, is_all),
    }
}

/// The kind of a body of a wire with this framing: a request, a whole answer, or a stream.
#[must_use]
pub fn kind(body: &[u8], framing: Framing) -> Kind {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}');
    if !text.trim_start().starts_with(['{', '[']) {
        return Kind::Stream;
    }
    match Doc::parse_str(text) {
        Ok(doc) if is_request(doc.root()) => Kind::Request,
        Err(_) if framing == Framing::Ndjson => Kind::Stream,
        Ok(_) | Err(_) => Kind::Response,
    }
}

/// Members that only requests have.
fn is_request(body: Val<'_>) -> bool {
    let is_answer = ["choices", "output", "candidates", "steps", "outputs", "error", "stop_reason"]
        .iter()
        .any(|key| body.some(key).is_some());
    let asks = ["messages", "contents", "input", "prompt", "previous_response_id"];
    !is_answer && asks.iter().any(|key| body.some(key).is_some())
}

fn look_at_json(begun: &[u8], is_all: bool) -> Option<Seen> {
    let text = String::from_utf8_lossy(begun);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    // A wire of lines shows itself with its first one; a value over several lines must be whole.
    let first_line = text.split_once('\n').map(|(line, _)| line);
    let doc = first_line.and_then(|line| Doc::parse_str(line).ok());
    let doc = doc.or_else(|| is_all.then(|| Doc::parse_str(text).ok()).flatten());
    match doc {
        Some(doc) => Some(seen(None, doc.root())),
        None => is_all.then(Seen::default),
    }
}

fn look_at_events(begun: &[u8], is_all: bool) -> Option<Seen> {
    let mut found: Option<Seen> = None;
    let mut take = |frame: Frame<'_>| {
        if let (Frame::Event(event), None) = (frame, &found)
            && let Ok(doc) = Doc::parse_str(event.data)
        {
            let seen = seen(event.event, doc.root());
            found = (!seen.wires.is_empty()).then_some(seen);
        }
    };
    let mut framer = Framer::new(Framing::Sse);
    framer.push(begun, &mut take);
    if is_all {
        framer.end(&mut take);
    }
    found.or_else(|| is_all.then(Seen::default))
}

fn seen(name: Option<&str>, value: Val<'_>) -> Seen {
    let value = if value.is_array() { value.items().next().unwrap_or(value) } else { value };
    Seen { wires: wires(name, value), model: model(value) }
}

fn model(value: Val<'_>) -> Option<String> {
    let inside = ["response", "message", "interaction"];
    let named = |value: Val<'_>| value.string("model").or_else(|| value.string("modelVersion"));
    named(value).or_else(|| inside.iter().find_map(|key| value.some(key).and_then(named)))
}

fn wires(name: Option<&str>, value: Val<'_>) -> &'static [&'static str] {
    let text = |key: &str| value.text(key).unwrap_or_default();
    let is_object = |key: &str| value.some(key).is_some_and(Val::is_object);
    let is_array = |key: &str| value.some(key).is_some_and(Val::is_array);
    for said in [name.unwrap_or_default(), &text("type"), &text("event_type")] {
        let wires = wires_of_event(said);
        if !wires.is_empty() {
            return wires;
        }
    }
    match &*text("object") {
        "response" => return RESPONSES,
        "interaction" => return INTERACTIONS,
        object if object.starts_with("chat.completion") => return CHAT,
        _ => {}
    }
    if is_array("choices") {
        CHAT
    } else if is_array("candidates") || is_object("promptFeedback") || is_object("usageMetadata") {
        GENERATE_CONTENT
    } else if is_array("steps") || is_array("outputs") {
        INTERACTIONS
    } else if value.path(&["output", "message"]).is_some() || value.some("stopReason").is_some() {
        CONVERSE
    } else if is_array("output") {
        RESPONSES
    } else if value.some("done").is_some_and(|done| done.as_bool().is_some()) {
        OLLAMA_CHAT
    } else if is_object("message") && value.some("finish_reason").is_some() {
        COHERE_CHAT
    } else if is_array("content") && value.some("stop_reason").is_some() {
        MESSAGES
    } else {
        &[]
    }
}

/// The wires that have an event, or an object, of this name.
fn wires_of_event(name: &str) -> &'static [&'static str] {
    match name {
        "message"
        | "message_start"
        | "content_block_start"
        | "content_block_delta"
        | "content_block_stop"
        | "message_delta"
        | "message_stop" => MESSAGES,
        "message-start" | "content-start" | "content-delta" | "content-end" | "tool-plan-delta"
        | "tool-call-start" | "tool-call-delta" | "tool-call-end" | "citation-start"
        | "citation-end" | "message-end" => COHERE_CHAT,
        "content.start" | "content.delta" | "content.stop" | "step.start" | "step.delta"
        | "step.stop" => INTERACTIONS,
        _ if name.starts_with("interaction.") => INTERACTIONS,
        _ if name.starts_with("response.") => RESPONSES,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(body: &str) -> Option<&'static str> {
        look(body.as_bytes(), true).unwrap().wires.first().copied()
    }

    #[test]
    fn bodies_show_their_wire() {
        for (body, wire) in [
            (r#"{"object":"chat.completion","choices":[]}"#, Some("chat-completions")),
            ("data: {\"choices\":[]}\n\n", Some("chat-completions")),
            (
                ": hello\n\nevent: ping\ndata: {}\n\nevent: message_start\ndata: {}\n\n",
                Some("messages"),
            ),
            (r#"{"type":"message","content":[]}"#, Some("messages")),
            (r#"{"object":"response","output":[]}"#, Some("responses")),
            ("data: {\"type\":\"response.created\"}\n\n", Some("responses")),
            (r#"[{"candidates":[]}]"#, Some("generate-content")),
            (r#"{"output":{"message":{}},"stopReason":"end_turn"}"#, Some("converse")),
            ("\0\0\0\u{1}", Some("converse")),
            (
                r#"{"id":"1","message":{"content":[]},"finish_reason":"COMPLETE"}"#,
                Some("cohere-chat"),
            ),
            ("data: {\"type\":\"message-start\"}\n\n", Some("cohere-chat")),
            ("{\"message\":{},\"done\":false}\n{\"done\":true}\n", Some("ollama-chat")),
            (r#"{"steps":[],"status":"completed"}"#, Some("interactions")),
            ("data: {\"event_type\":\"interaction.created\"}\n\n", Some("interactions")),
            (r#"{"error":{"message":"no"}}"#, None),
            ("<html>", None),
            ("", None),
        ] {
            assert_eq!(first(body), wire, "{body}");
        }
    }

    #[test]
    fn a_wire_is_seen_as_soon_as_it_can_be() {
        assert_eq!(look(b"data: {\"choices\"", false), None);
        assert_eq!(look(b"{\"message\":{},\"done\":false}", false), None);
        let seen = look(b"data: {\"choices\":[],\"model\":\"m\"}\n\n", false).unwrap();
        assert_eq!(seen, Seen { wires: CHAT, model: Some("m".to_owned()) });
        assert_eq!(look(b"{\"done\":false}\n", false).unwrap().wires, OLLAMA_CHAT);
    }

    #[test]
    fn kinds_are_told_apart() {
        for (body, framing, expected) in [
            (r#"{"messages":[]}"#, Framing::Sse, Kind::Request),
            (r#"{"model":"m","input":"hi"}"#, Framing::Sse, Kind::Request),
            (r#"{"contents":[]}"#, Framing::Sse, Kind::Request),
            (r#"{"object":"response","input":[],"output":[]}"#, Framing::Sse, Kind::Response),
            (r#"{"error":{"message":"no"}}"#, Framing::Sse, Kind::Response),
            ("data: {}\n\n", Framing::Sse, Kind::Stream),
            ("{\"a\":1}\n{\"a\":2}\n", Framing::Ndjson, Kind::Stream),
            ("{\"a\":1}\n", Framing::Ndjson, Kind::Response),
            ("\0\0\0\u{1}", Framing::EventStream, Kind::Stream),
        ] {
            assert_eq!(kind(body.as_bytes(), framing), expected, "{body}");
        }
    }
}
