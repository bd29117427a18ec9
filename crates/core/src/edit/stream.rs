//! Edits of a response while it passes: each message of a stream is looked at once, and only its payload's spans
//! change.
//!
//! A message is held back until its end has come, which for a client is no wait: it could not read it before. Frames,
//! names of events, comments and white space stay as they came. JSON that a server spreads over several `data:` lines
//! passes unchanged, and so does all data that is not JSON.

use super::Draft;
use super::list::{ListEdit, member};
use crate::frame::{DEFAULT_LIMIT, Framing};
use crate::json::{Doc, Raw, Val};
use memchr::memchr;

/// Adds the edits of one message's payload to a draft.
pub type EditMessage<'e> = dyn FnMut(Val<'_>, &mut Draft) + 'e;

/// Edits the messages of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEdit {
    framing: Framing,
    /// The unfinished message.
    carry: Vec<u8>,
}

impl StreamEdit {
    /// An editor at the start of a stream.
    #[must_use]
    pub fn new(framing: Framing) -> Self {
        StreamEdit { framing, carry: Vec::new() }
    }

    /// Takes the next bytes, and appends those of every message that they complete.
    pub fn push(&mut self, bytes: &[u8], edit: &mut EditMessage<'_>, out: &mut Vec<u8>) {
        let held;
        let mut rest = if self.carry.is_empty() {
            bytes
        } else {
            self.carry.extend_from_slice(bytes);
            // An incomplete message is not read again for every piece.
            let may_end = match self.framing {
                Framing::Sse | Framing::Ndjson => memchr(b'\n', bytes).is_some(),
                Framing::Array | Framing::EventStream => self.split(&self.carry).is_some(),
            };
            if !may_end && self.carry.len() <= DEFAULT_LIMIT {
                return;
            }
            held = std::mem::take(&mut self.carry);
            &held
        };
        while let Some((message, after)) = self.split(rest) {
            match self.framing {
                // An array is never relayed: the exchange writes it anew.
                Framing::Array => out.extend_from_slice(message),
                Framing::Sse => event_line(message, edit, out),
                Framing::Ndjson => edit_value(message, edit, out),
                Framing::EventStream => aws_message(message, edit, out),
            }
            rest = after;
        }
        if rest.len() > DEFAULT_LIMIT {
            // No honest message is this long; it passes as it is.
            out.extend_from_slice(rest);
        } else {
            self.carry = rest.to_vec();
        }
    }

    /// Ends the stream: appends an unfinished last message, edited if it is whole.
    pub fn end(self, edit: &mut EditMessage<'_>, out: &mut Vec<u8>) {
        match self.framing {
            Framing::Sse => event_line(&self.carry, edit, out),
            Framing::Ndjson => edit_value(&self.carry, edit, out),
            Framing::Array | Framing::EventStream => out.extend_from_slice(&self.carry),
        }
    }

    /// The first whole line or message, and the bytes after it.
    fn split<'b>(&self, bytes: &'b [u8]) -> Option<(&'b [u8], &'b [u8])> {
        let len = match self.framing {
            Framing::Array => Some(bytes.len()).filter(|len| *len > 0)?,
            Framing::Sse | Framing::Ndjson => memchr(b'\n', bytes)? + 1,
            Framing::EventStream => {
                let total = u32::from_be_bytes(*bytes.first_chunk()?);
                // A shorter message is invalid; it passes byte by byte, and its reader reports the fault.
                usize::try_from(total).ok().filter(|total| *total >= LEAST).unwrap_or(1)
            }
        };
        bytes.split_at_checked(len)
    }
}

/// One line of server-sent events, its line end included.
fn event_line(line: &[u8], edit: &mut EditMessage<'_>, out: &mut Vec<u8>) {
    match line.strip_prefix(b"data:") {
        Some(data) => {
            out.extend_from_slice(b"data:");
            edit_value(data, edit, out);
        }
        None => out.extend_from_slice(line),
    }
}

/// Appends one value with its edits, and the white space around it. Bytes that are not JSON are appended unchanged.
pub fn edit_value(bytes: &[u8], edit: &mut EditMessage<'_>, out: &mut Vec<u8>) {
    let mut draft = Draft::new();
    if let Ok(doc) = Doc::parse(bytes) {
        edit(doc.root(), &mut draft);
    }
    match draft.finish(bytes.len()) {
        Ok(plan) => plan.slices(bytes).for_each(|slice| out.extend_from_slice(slice)),
        // Contradicting edits are not applied.
        Err(_) => out.extend_from_slice(bytes),
    }
}

/// The bytes of an AWS message without headers and payload: prelude with its checksum, and the checksum of it all.
const LEAST: usize = 16;
const PRELUDE: usize = 12;

fn aws_message(message: &[u8], edit: &mut EditMessage<'_>, out: &mut Vec<u8>) {
    match edited_aws_message(message, edit) {
        Some(edited) => out.extend_from_slice(&edited),
        None => out.extend_from_slice(message),
    }
}

/// The message with its edited payload and new lengths and checksums. `None` if there is no edit, and for a damaged
/// message, so that it stays damaged.
fn edited_aws_message(message: &[u8], edit: &mut EditMessage<'_>) -> Option<Vec<u8>> {
    let (covered, checksum) = message.split_last_chunk::<4>()?;
    if crc32fast::hash(covered) != u32::from_be_bytes(*checksum) {
        return None;
    }
    let headers = covered.get(4..8)?.first_chunk::<4>()?;
    let headers = usize::try_from(u32::from_be_bytes(*headers)).ok()?;
    let body = covered.get(PRELUDE.checked_add(headers)?..)?;
    let mut edited = Vec::new();
    edit_value(body, edit, &mut edited);
    if edited == body {
        return None;
    }
    let total = u32::try_from(LEAST + headers + edited.len()).ok()?;
    let mut new = total.to_be_bytes().to_vec();
    new.extend_from_slice(covered.get(4..8)?);
    new.extend_from_slice(&crc32fast::hash(&new).to_be_bytes());
    new.extend_from_slice(covered.get(PRELUDE..PRELUDE + headers)?);
    new.extend_from_slice(&edited);
    new.extend_from_slice(&crc32fast::hash(&new).to_be_bytes());
    Some(new)
}

/// Replaces the model's name, wherever a message of a response has it.
pub fn rename_model(message: Val<'_>, name: &str, draft: &mut Draft) {
    let inside = ["message", "response"].into_iter().filter_map(|key| message.get(key));
    for object in std::iter::once(message).chain(inside) {
        let named = ["model", "modelVersion"].into_iter().filter_map(|key| object.get(key));
        for old in named.filter(|old| old.as_str().is_some_and(|old| old != name)) {
            draft.replace(old.span(), Raw::string(name).as_str());
        }
    }
}

/// The position of a call in an answer, in the numbers of the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallAt {
    /// The choice; 0 for the first one.
    pub choice: u64,
    /// The call's place in it.
    pub place: Option<u64>,
}

/// Replaces the ids of tool calls, wherever a message of a response has them. `rename` gets the id and the position
/// of the call, and returns the new id or `None`; a call of Gemini's or Ollama's without an id gets one. The inside
/// of a call is the model's own and is not searched.
pub fn rename_calls(
    message: Val<'_>,
    rename: &mut dyn FnMut(&str, CallAt) -> Option<String>,
    draft: &mut Draft,
) {
    calls(message, CallAt::default(), rename, draft);
}

fn calls(
    value: Val<'_>,
    outer: CallAt,
    rename: &mut dyn FnMut(&str, CallAt) -> Option<String>,
    draft: &mut Draft,
) {
    let place = value.u64("index").or_else(|| value.u64("output_index")).or(outer.place);
    if let Some(call) = call(value) {
        let native = call.id.and_then(Val::as_str).filter(|native| !native.is_empty());
        match (call.id, native, call.whole) {
            (Some(id), Some(native), _) => {
                if let Some(new) = rename(&native, CallAt { place, ..outer }) {
                    draft.replace(id.span(), Raw::string(&new).as_str());
                }
            }
            (None, _, Some(object)) => {
                if let Some(new) = rename("", CallAt { place, ..outer }) {
                    let mut members = ListEdit::of(object);
                    members.insert(0, member("id", Raw::string(&new).as_str()));
                    members.finish(draft);
                }
            }
            _ => {}
        }
        return;
    }
    for (at, item) in (0..).zip(value.items()) {
        calls(item, CallAt { place: Some(at), ..outer }, rename, draft);
    }
    for (key, member) in value.entries() {
        if !matches!(&*key, "choices" | "candidates") {
            calls(member, CallAt { place, ..outer }, rename, draft);
            continue;
        }
        for (at, item) in (0..).zip(member.items()) {
            let choice = item.u64("index").unwrap_or(at);
            calls(item, CallAt { choice, place: Some(at) }, rename, draft);
        }
    }
}

/// A call in a message.
struct Call<'d> {
    id: Option<Val<'d>>,
    /// The object that can get an id, if the call comes as a whole (as in the API whose calls may lack ids). The
    /// pieces after the first have no name.
    whole: Option<Val<'d>>,
}

/// The call that the value is, if it is one.
fn call<'d>(value: Val<'d>) -> Option<Call<'d>> {
    let is_call = value.get("function").is_some_and(Val::is_object)
        || value.text("type").as_deref() == Some("tool_use");
    let own = || Some(Call { id: Some(value.get("call_id")?), whole: None });
    let inner = || {
        let call = value.get("functionCall")?;
        let is_named = call.text("name").is_some_and(|name| !name.is_empty());
        Some(Call { id: call.get("id"), whole: Some(call).filter(|_| is_named) })
    };
    if is_call {
        // Arguments that are no text come in one piece, from an API whose calls may have no ids.
        let function = value.get("function");
        let is_whole = function.is_some_and(|it| it.get("arguments").is_some_and(Val::is_object));
        return Some(Call { id: value.get("id"), whole: Some(value).filter(|_| is_whole) });
    }
    own().or_else(inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::event_stream::encode_event;
    use crate::frame::{Frame, Framer};

    fn rename(message: Val<'_>, draft: &mut Draft) {
        rename_model(message, "alias", draft);
        rename_calls(
            message,
            &mut |id, at| Some(format!("tk-{id}-{}-{:?}", at.choice, at.place)),
            draft,
        );
    }

    fn run(framing: Framing, pieces: &[&[u8]], edit: &mut EditMessage<'_>) -> Vec<u8> {
        let (mut stream, mut out) = (StreamEdit::new(framing), Vec::new());
        pieces.iter().for_each(|piece| stream.push(piece, edit, &mut out));
        stream.end(edit, &mut out);
        out
    }

    const SSE: &str = "event: x\r\ndata:  {\"model\": \"m\",\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"a\",\"function\":{}}]}}] }\r\n\r\n: model\ndata: [DONE]\n\ndata: {\"response\":{\"model\":\"m\",\"output\":[{\"call_id\":\"b\",\"id\":\"fc\"}]}}";
    const LINES: &str = "{\"modelVersion\":\"m\"}\n\n{\"type\":\"tool_use\",\"id\":\"a\"} \nbroken {\n{\"model\":\"m\"}";

    #[test]
    fn only_models_and_ids_change() {
        let expected = SSE
            .replace("\"model\": \"m\"", "\"model\": \"alias\"")
            .replace("\"model\":\"m\"", "\"model\":\"alias\"")
            .replace("\"id\":\"a\"", "\"id\":\"tk-a-0-Some(1)\"")
            .replace("\"call_id\":\"b\"", "\"call_id\":\"tk-b-0-Some(0)\"");
        let out = run(Framing::Sse, &[SSE.as_bytes()], &mut rename);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let expected = LINES.replace("\"m\"", "\"alias\"").replace("\"a\"", "\"tk-a-0-None\"");
        let out = run(Framing::Ndjson, &[LINES.as_bytes()], &mut rename);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn a_call_is_told_apart_by_its_choice() {
        for (body, expected) in [
            (
                r#"{"choices":[{"index":1,"message":{"tool_calls":[{"id":"a","function":{}}]}},{"index":0,"delta":{"tool_calls":[{"index":3,"id":"a","function":{}}]}}]}"#,
                ["tk-a-1-Some(0)", "tk-a-0-Some(3)"],
            ),
            (
                r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"a"}}]}},{"content":{"parts":[{"text":""},{"functionCall":{"id":"a"}}]}}]}"#,
                ["tk-a-0-Some(0)", "tk-a-1-Some(1)"],
            ),
        ] {
            let mut out = Vec::new();
            edit_value(body.as_bytes(), &mut rename, &mut out);
            let pieces: Vec<&str> = body.split("\"a\"").collect();
            let [one, two] = expected;
            let expected = format!("{}\"{one}\"{}\"{two}\"{}", pieces[0], pieces[1], pieces[2]);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }

    #[test]
    fn aws_messages_get_new_checksums() {
        let (mut stream, mut expected) = (Vec::new(), Vec::new());
        for model in ["m", "other"] {
            encode_event("e", &format!("{{\"model\":\"{model}\"}}"), &mut stream).unwrap();
            encode_event("e", "{\"model\":\"alias\"}", &mut expected).unwrap();
        }
        assert_eq!(run(Framing::EventStream, &[&stream], &mut rename), expected);
        let (mut read, mut framer) = (Vec::new(), Framer::new(Framing::EventStream));
        framer.push(&expected, &mut |frame| match frame {
            Frame::Event(event) => read.push(event.data.to_owned()),
            Frame::Comment | Frame::Problem(_) => read.push("damaged".to_owned()),
        });
        assert_eq!(read, ["{\"model\":\"alias\"}"; 2]);
        // A damaged message stays damaged.
        let at = stream.len() - 6;
        stream[at] ^= 1;
        let mut unedited = expected[..expected.len() / 2].to_vec();
        unedited.extend_from_slice(&stream[first_len(&stream)..]);
        assert_eq!(run(Framing::EventStream, &[&stream], &mut rename), unedited);
    }

    fn first_len(stream: &[u8]) -> usize {
        usize::try_from(u32::from_be_bytes(stream[..4].try_into().unwrap())).unwrap()
    }

    #[test]
    fn however_it_is_cut_the_output_is_the_same() {
        let mut aws = Vec::new();
        encode_event("e", "{\"model\":\"m\"}", &mut aws).unwrap();
        for (framing, stream) in [
            (Framing::Sse, SSE.as_bytes()),
            (Framing::Ndjson, LINES.as_bytes()),
            (Framing::EventStream, aws.as_slice()),
        ] {
            let whole = run(framing, &[stream], &mut rename);
            for cut in 0..stream.len() {
                let (head, tail) = stream.split_at(cut);
                assert_eq!(run(framing, &[head, tail], &mut rename), whole, "{framing:?} {cut}");
                // Without edits, the output equals the input.
                assert_eq!(run(framing, &[head, tail], &mut |_, _| {}), stream);
            }
            let bytes: Vec<&[u8]> = stream.chunks(1).collect();
            assert_eq!(run(framing, &bytes, &mut rename), whole);
        }
    }
}
