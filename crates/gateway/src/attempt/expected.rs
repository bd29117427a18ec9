//! Tells an answer from an error or a foreign body with the status of an answer.

use bytes::Bytes;
use http::Uri;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use thinkthrough_client::{BodyStream, ClientError, Response as Answer, shown};
use thinkthrough_core::exchange::Repair;
use thinkthrough_core::frame::Framing;
use thinkthrough_core::wire::{Wire, error};
use thinkthrough_json::{Doc, Val};

/// The most bytes of a refusal that are passed on.
pub(crate) const REFUSAL: usize = 1024 * 1024;
/// The greatest length of a JSON body that may be an error despite the status of an answer.
const SHORT: usize = 4096;
/// The member that every such error has.
const ERROR: &[u8] = b"\"error\"";

/// The expected form of an answer.
pub(crate) struct Expected<'a> {
    pub(crate) url: &'a Uri,
    pub(crate) wire: &'static dyn Wire,
    pub(crate) is_stream: bool,
    pub(crate) is_relayed: bool,
}

impl Expected<'_> {
    /// Checks a body with the status of an answer. Returns the provider's error in JSON, if it is one. Fails for a
    /// web page from in between, for JSON that is not an answer, and for one JSON value in place of a stream of
    /// events, unless it is translated, because the caller could not read it.
    pub(crate) async fn error_in(&self, answer: &mut Answer) -> Result<Option<Bytes>, ClientError> {
        if is_media(answer, "text/html") {
            return Err(self.no_answer("it is a web page"));
        }
        if !self.may_be_error(answer) {
            return Ok(None);
        }
        let Some(first) = answer.body.next().await else { return Ok(None) };
        let first = first?;
        let head = first.trim_ascii_start();
        // An array may be a stream, too; a short one is all there at once.
        let is_list = head.starts_with(b"[");
        let is_object = head.starts_with(b"{") && is_json_media(answer);
        let is_value = is_object || Doc::parse(head).is_ok();
        let is_stream = self.wire.framing() != Framing::EventStream || first.first() == Some(&0);
        answer.body.put_back(first);
        if !is_value && self.is_stream && !is_stream {
            return Err(self.no_answer("it is no event stream"));
        }
        if !is_value {
            return Ok(None);
        }
        let whole = std::mem::replace(&mut answer.body, BodyStream::whole(Bytes::new()));
        let whole = whole.collect_up_to(REFUSAL).await?;
        if is_error(&whole) {
            return Ok(Some(whole));
        }
        if is_json(&whole, |value| !self.wire.is_answer(value)) {
            return Err(self.no_answer("it is JSON, but no answer"));
        }
        if self.is_stream && self.is_relayed && !is_list {
            return Err(self.no_answer("it is one JSON value and no stream"));
        }
        answer.body = BodyStream::whole(whole);
        Ok(None)
    }

    /// The refusal of thoughts in the first event of a stream, if it can be repaired: some providers send the status
    /// before they look at the request. Waits only for the first event.
    pub(crate) async fn refusal_in(
        &self,
        answer: &mut Answer,
    ) -> Result<Option<Bytes>, ClientError> {
        let Some(first) = answer.body.next().await else { return Ok(None) };
        let first = first?;
        let refusal = first_data(self.wire.framing(), &first)
            .filter(|data| is_error(data) && Repair::of(&String::from_utf8_lossy(data)).is_some())
            .map(Bytes::copy_from_slice);
        answer.body.put_back(first);
        Ok(refusal)
    }

    /// Whether an array of messages comes in place of events.
    pub(crate) async fn is_array(&self, answer: &mut Answer) -> Result<bool, ClientError> {
        if !self.wire.has_forms() {
            return Ok(false);
        }
        let Some(first) = answer.body.next().await else { return Ok(false) };
        let first = first?;
        let is_array = first.trim_ascii_start().starts_with(b"[");
        answer.body.put_back(first);
        Ok(is_array)
    }

    /// Whether the body may be an error. Streams of JSON lines begin like one value, and long values are no errors.
    fn may_be_error(&self, answer: &Answer) -> bool {
        if self.is_stream {
            return matches!(self.wire.framing(), Framing::Sse | Framing::EventStream);
        }
        if !is_json_media(answer) {
            return false;
        }
        let length = answer.headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok());
        length.and_then(|it| it.parse::<usize>().ok()).is_some_and(|length| length <= SHORT)
    }

    pub(crate) fn no_answer(&self, detail: &str) -> ClientError {
        ClientError::Protocol { target: shown(self.url), detail: detail.to_owned() }
    }
}

fn is_error(body: &[u8]) -> bool {
    let has_name = body.windows(ERROR.len()).any(|name| name == ERROR);
    has_name && is_json(body, |value| error::read(value).is_some())
}

fn is_json_media(answer: &Answer) -> bool {
    is_media(answer, "application/json")
}

/// Whether the body's media type has this prefix.
fn is_media(answer: &Answer, begin: &str) -> bool {
    let media = answer.headers.get(CONTENT_TYPE).and_then(|media| media.to_str().ok());
    media.unwrap_or_default().to_ascii_lowercase().starts_with(begin)
}

/// Whether a body is a JSON value of this kind.
fn is_json(body: &[u8], is: impl FnOnce(Val<'_>) -> bool) -> bool {
    Doc::parse(body).is_ok_and(|doc| is(doc.root()))
}

/// The data of the first event, if these bytes begin with all of it.
fn first_data(framing: Framing, bytes: &[u8]) -> Option<&[u8]> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    match framing {
        Framing::Sse => lines.find_map(|line| line.strip_prefix(b"data:")),
        Framing::Ndjson => lines.next(),
        // There an exception is a message of its own kind, with a status of its own.
        Framing::Array | Framing::EventStream => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_of_the_first_event_stands_behind_comments_and_names() {
        for (framing, bytes, data) in [
            (Framing::Sse, ": hi\n\nevent: error\ndata: {1}\n\ndata: {2}\n\n", Some(" {1}")),
            (Framing::Sse, "data:{1}\r\n\r\n", Some("{1}\r")),
            (Framing::Sse, ": hi\n\n", None),
            (Framing::Ndjson, "{1}\n{2}\n", Some("{1}")),
            (Framing::EventStream, "data: {1}\n", None),
        ] {
            let found = first_data(framing, bytes.as_bytes());
            assert_eq!(found, data.map(str::as_bytes), "{bytes}");
        }
    }
}
