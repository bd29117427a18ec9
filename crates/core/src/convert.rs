//! Translates bodies from one wire to another through the neutral form, and reports the losses.

use crate::answer::Answer;
use crate::content::{Block, Content};
use crate::event::Event;
use crate::json::Doc;
use crate::pipeline::{End, Pipeline, ToCaller};
use crate::problem::ProblemCode;
use crate::read::{Form, Reader};
use crate::wire::ending::Ending;
use crate::wire::{Dialect, RequestError, Wire, Written, foreign, read_for};

/// A translated body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converted {
    /// The body.
    pub body: String,
    /// Data that the other wire cannot express: names of neutral fields or blocks.
    pub untranslated: Vec<String>,
}

/// Translates a request. A request that stays on its wire stays as it is.
///
/// # Errors
/// When the body is not a request of the wire `from`.
pub fn request(from: &dyn Wire, to: &dyn Wire, body: &str) -> Result<Converted, RequestError> {
    let doc = Doc::parse_str(body)
        .map_err(|error| RequestError::new(format!("byte {}", error.at), error.to_string()))?;
    let request = read_for(from, to, doc.root())?;
    if from.id() == to.id() {
        return Ok(Converted { body: body.trim_end().to_owned(), untranslated: Vec::new() });
    }
    let Written { body, mut untranslated } = to.write_request(&request, &Dialect::PLAIN);
    let names = foreign::of_request(&request, to.id());
    let payloads = payloads(&request.contents).filter(|(_, payload)| !body.contains(*payload));
    for name in names.into_iter().chain(payloads.map(|(name, _)| name.to_owned())) {
        if !untranslated.contains(&name) {
            untranslated.push(name);
        }
    }
    Ok(Converted { body, untranslated })
}

/// The opaque payloads of a conversation, with the names of their fields.
fn payloads(contents: &[Content]) -> impl Iterator<Item = (&'static str, &str)> {
    contents.iter().flat_map(|content| {
        let whole = content.signature.as_deref().map(|payload| ("messageSignature", payload));
        whole.into_iter().chain(content.blocks.iter().flat_map(payloads_of))
    })
}

fn payloads_of(block: &Block) -> impl Iterator<Item = (&'static str, &str)> {
    let all = match block {
        Block::Thinking(it) => [
            ("thinking.signature", &it.signature),
            ("thinking.redactedData", &it.redacted_data),
            ("thinking.encryptedContent", &it.encrypted_content),
        ],
        Block::Text(it) => [("text.signature", &it.signature), NONE, NONE],
        Block::ToolCall(it) => [("tool_call.signature", &it.signature), NONE, NONE],
        Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => [NONE; 3],
    };
    all.into_iter().filter_map(|(name, payload)| Some((name, payload.as_deref()?)))
}

const NONE: (&str, &Option<String>) = ("", &None);

/// Translates a whole answer; an error becomes the other wire's error. `None` if nothing could be read.
#[must_use]
pub fn response(from: &'static dyn Wire, to: &'static dyn Wire, body: &[u8]) -> Option<Converted> {
    let (mut converter, mut out) = (StreamConverter::of(from, to, false), Vec::new());
    converter.push(body, &mut out);
    let untranslated = converter.end(&mut out)?;
    Some(Converted { body: String::from_utf8_lossy(&out).trim_end().to_owned(), untranslated })
}

/// Translates one streamed answer, piece by piece.
///
/// A body that stays on its wire is not changed, even if it broke off, because its reader can see that.
#[derive(Debug)]
pub struct StreamConverter {
    is_same: bool,
    said: Pipeline<ToCaller<()>>,
    /// Reads the written stream, to find losses.
    heard: Pipeline,
}

impl StreamConverter {
    /// A converter for one stream.
    #[must_use]
    pub fn new(from: &'static dyn Wire, to: &'static dyn Wire) -> Self {
        Self::of(from, to, true)
    }

    fn of(from: &'static dyn Wire, to: &'static dyn Wire, is_stream: bool) -> Self {
        let form = if is_stream { Form::Stream } else { Form::Auto };
        let reader = |wire| Reader::new(wire, &Dialect::PLAIN, form);
        let said = Pipeline::with(reader(from), ToCaller::written(to, is_stream, ()));
        Self { is_same: from.id() == to.id(), said, heard: Pipeline::new(reader(to)) }
    }

    /// Takes the next bytes, and appends their translation.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.is_same {
            out.extend_from_slice(bytes);
            return self.said.push(bytes, &mut Vec::new(), &mut ignored);
        }
        let begin = out.len();
        self.said.push(bytes, out, &mut ignored);
        let written = out.get(begin..).unwrap_or_default();
        self.heard.push(written, &mut Vec::new(), &mut ignored);
    }

    /// Ends the stream: appends its end, and reports the losses. `None` if nothing could be read.
    #[must_use]
    pub fn end(mut self, out: &mut Vec<u8>) -> Option<Vec<String>> {
        let mut last = Vec::new();
        let said = self.said.end(None, &mut last, &mut ignored);
        if said.end == End::Unread {
            return None;
        }
        if self.is_same {
            return Some(Vec::new());
        }
        self.heard.push(&last, &mut Vec::new(), &mut ignored);
        let heard = self.heard.end(None, &mut Vec::new(), &mut ignored);
        out.append(&mut last);
        Some(lost(&said.answer, &heard.answer))
    }
}

fn ignored(_: Event<'_>) {}

/// The parts of one answer that the other lacks, by the names of fields and blocks.
fn lost(said: &Answer, heard: &Answer) -> Vec<String> {
    let (before, after) = (inventory(said), inventory(heard));
    let mut lost: Vec<String> = Vec::new();
    for name in &before {
        let count = |all: &[String]| all.iter().filter(|one| *one == name).count();
        if count(&before) > count(&after) && !lost.contains(name) {
            lost.push(name.clone());
        }
    }
    lost
}

/// The names of the parts of an answer, one entry for each occurrence.
fn inventory(answer: &Answer) -> Vec<String> {
    let mut names = Vec::new();
    for block in &answer.blocks {
        match block {
            Block::Text(text) => names.extend(present("text.signature", &text.signature)),
            Block::Thinking(thinking) => {
                names.extend((!thinking.thought.is_empty()).then(|| "thinking".to_owned()));
                names.extend(present("thinking.signature", &thinking.signature));
                names.extend(present("thinking.redactedData", &thinking.redacted_data));
                names.extend(present("thinking.encryptedContent", &thinking.encrypted_content));
                names.extend(present("thinking.id", &thinking.id));
            }
            Block::ToolCall(call) => {
                names.push("tool_call".to_owned());
                names.extend(present("tool_call.signature", &call.signature));
            }
            Block::ToolResponse(_) => names.push("tool_response".to_owned()),
            Block::Media(_) => names.push("media".to_owned()),
            Block::Other(other) => names.push(other.kind.clone()),
        }
    }
    for (name, value) in [
        ("refusal", &answer.refusal),
        ("toolPlan", &answer.tool_plan),
        ("messageSignature", &answer.message_signature),
        ("stopSequence", &answer.stop_sequence),
    ] {
        names.extend(present(name, value));
    }
    names.extend(foreign::of_answer(answer));
    let ending = answer.finish_reason.as_deref().and_then(Ending::of);
    let says_more = matches!(
        ending,
        Some(
            Ending::ContextFull | Ending::Failed | Ending::Length | Ending::Pause | Ending::Refused
        )
    );
    names.extend(says_more.then(|| "finishReason".to_owned()));
    if let Some(usage) = &answer.usage {
        for (name, count) in [
            ("usage.cacheReadTokens", usage.cache_read_tokens),
            ("usage.cacheWriteTokens", usage.cache_write_tokens),
            ("usage.reasoningTokens", usage.reasoning_tokens),
        ] {
            names.extend(count.filter(|count| *count > 0).map(|_| name.to_owned()));
        }
    }
    names.extend(answer.choices.iter().map(|_| "choices".to_owned()));
    let errors = answer.problems.iter().filter(|it| it.code == ProblemCode::UpstreamError);
    names.extend(errors.map(|_| "error".to_owned()));
    names
}

fn present(name: &str, value: &Option<String>) -> Option<String> {
    value.as_ref().map(|_| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::find;

    fn read_whole(wire: &'static dyn Wire, body: &str) -> Answer {
        let mut pipeline = Pipeline::new(Reader::new(wire, &Dialect::PLAIN, Form::Auto));
        pipeline.push(body.as_bytes(), &mut Vec::new(), &mut ignored);
        pipeline.end(None, &mut Vec::new(), &mut ignored).answer
    }

    const SIGNED: &str = r#"{"type":"message","id":"m","role":"assistant","model":"x","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}"#;

    fn wire(id: &str) -> &'static dyn Wire {
        find(id).unwrap()
    }

    #[test]
    fn a_whole_answer_says_the_same_on_another_wire() {
        let converted =
            response(wire("messages"), wire("mistral-chat"), SIGNED.as_bytes()).unwrap();
        let answer = read_whole(wire("mistral-chat"), &converted.body);
        assert_eq!(answer.text(), "Hi");
        assert!(matches!(&answer.blocks[0], Block::Thinking(thinking) if thinking.thought == "hm"));
    }

    #[test]
    fn what_stays_on_its_wire_stays_as_it_is() {
        let converted = response(wire("messages"), wire("messages"), SIGNED.as_bytes()).unwrap();
        assert_eq!(converted.body, SIGNED);
        let stream = b"data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\ndata: [DONE]\n\n";
        let mut out = Vec::new();
        let mut converter =
            StreamConverter::new(wire("chat-completions"), wire("chat-completions"));
        converter.push(stream, &mut out);
        assert_eq!(converter.end(&mut out), Some(Vec::new()));
        assert_eq!(out, stream);
    }

    #[test]
    fn errors_become_the_other_wires_errors() {
        let body = r#"{"error":{"message":"slow down","type":"rate_limit_error","code":null}}"#;
        let converted =
            response(wire("chat-completions"), wire("messages"), body.as_bytes()).unwrap();
        let error = Doc::parse_str(&converted.body).unwrap();
        assert_eq!(error.root().text("type").as_deref(), Some("error"));
        assert_eq!(
            error.root().path(&["error", "message"]).unwrap().as_str().as_deref(),
            Some("slow down")
        );
        assert_eq!(
            error.root().path(&["error", "type"]).unwrap().as_str().as_deref(),
            Some("rate_limit_error")
        );
    }

    #[test]
    fn a_stream_says_the_same_on_another_wire_however_it_is_cut() {
        let stream = "data: {\"id\":\"1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n\
                      data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n\
                      data: [DONE]\n\n";
        for cut in 0..stream.len() {
            let mut out = Vec::new();
            let mut converter = StreamConverter::new(wire("chat-completions"), wire("messages"));
            converter.push(&stream.as_bytes()[..cut], &mut out);
            converter.push(&stream.as_bytes()[cut..], &mut out);
            assert!(converter.end(&mut out).is_some());
            let answer = read_whole(wire("messages"), std::str::from_utf8(&out).unwrap());
            assert_eq!(answer.text(), "Hi", "{cut}");
            assert!(
                matches!(&answer.blocks[0], Block::Thinking(thinking) if thinking.thought == "hm")
            );
        }
    }

    #[test]
    fn what_is_lost_is_named() {
        let body = r#"{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"a"}},{"index":1,"finish_reason":"stop","message":{"content":"b"}}]}"#;
        let converted =
            response(wire("chat-completions"), wire("messages"), body.as_bytes()).unwrap();
        assert_eq!(converted.untranslated, ["choices"]);
    }

    #[test]
    fn a_request_that_is_none_names_the_place() {
        let (chat, messages) = (wire("chat-completions"), wire("messages"));
        assert!(request(chat, messages, "{").is_err());
        let converted = request(
            chat,
            messages,
            r#"{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":9}"#,
        );
        assert!(converted.unwrap().body.contains("\"max_tokens\":9"));
    }
}
