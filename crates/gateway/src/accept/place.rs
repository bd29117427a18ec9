//! Maps the path of a request to a place of the gateway.

use crate::accept::admission::decoded_name;
use http::Method;
use std::borrow::Cow;
use thinkthrough_core::wire::Wire;
use thinkthrough_core::wire::chat_completions::ChatCompletions;
use thinkthrough_core::wire::generate_content::{GenerateContent, asked};
use thinkthrough_core::wire::messages::Messages;
use thinkthrough_core::wire::ollama_chat::{Generate, OllamaChat};
use thinkthrough_core::wire::responses::Responses;

/// The API that a caller uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    Chat,
    Generate,
    Messages,
    Lines,
    /// `/api/generate`: a single prompt, in the API of `Lines`.
    Prompt,
    Responses,
}

impl Face {
    /// The wire of the API.
    pub(crate) fn spoken(self) -> &'static dyn Wire {
        match self {
            Face::Chat => &ChatCompletions,
            Face::Generate => &GenerateContent,
            Face::Messages => &Messages,
            Face::Lines => &OllamaChat,
            Face::Prompt => &Generate,
            Face::Responses => &Responses,
        }
    }

    /// The API that uses this wire. Wires without an API of their own count as chat completions.
    pub(crate) fn of(wire: &dyn Wire) -> Self {
        let all = [Face::Generate, Face::Messages, Face::Lines, Face::Prompt, Face::Responses];
        all.into_iter().find(|face| face.spoken().id() == wire.id()).unwrap_or(Face::Chat)
    }

    /// The wire, with the form that the caller's query asks for: Google's API sends a stream as events or as an
    /// array, and enumerations as names or as numbers.
    pub(crate) fn spoken_as(self, query: Option<&str>, is_stream: bool) -> &'static dyn Wire {
        if self != Face::Generate {
            return self.spoken();
        }
        let (mut is_list, mut is_numbered) = (is_stream, false);
        for pair in query.unwrap_or_default().split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = unescaped(value).unwrap_or_default();
            if matches!(decoded_name(name).as_str(), "alt" | "$alt") {
                let mut said = value.split(';');
                is_list &= said.next() != Some("sse");
                is_numbered |= said.any(|it| it == "enum-encoding=int");
            }
        }
        asked(is_list, is_numbered)
    }

    /// The path of the API, as logs show it.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Face::Chat => "/v1/chat/completions",
            Face::Generate => "/v1beta/models/{model}:generateContent",
            Face::Messages => "/v1/messages",
            Face::Lines => "/api/chat",
            Face::Prompt => "/api/generate",
            Face::Responses => "/v1/responses",
        }
    }

    /// Whether its streams are lines. Such APIs also stream if the request does not say whether to stream.
    pub(crate) fn is_lines(self) -> bool {
        matches!(self, Face::Lines | Face::Prompt)
    }
}

/// An endpoint of the gateway, with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Asks a model for an answer. The path may name the model, and say whether to stream.
    Answer { face: Face, model: Option<String>, stream: Option<bool> },
    /// Counts the tokens of a request. The path may name the model.
    Count { face: Face, model: Option<String> },
    /// Reads or deletes a stored answer of the Responses API.
    Kept { id: String },
    /// The live events.
    Events,
    /// Whether the process is alive.
    Live,
    /// Metrics for Prometheus.
    Metrics,
    /// The list of models, in the format of that API.
    Models(Face),
    /// One model, in the format of that API.
    Model { face: Face, name: String },
    /// A provider's own API, passed through unchanged.
    Raw { provider: String, path: String },
    /// Whether the gateway is ready for requests.
    Ready,
    /// The trace of a request.
    Trace { id: String },
    /// The viewer's page and its API; `path` is the rest after `/ui`.
    Viewer { path: String },
    /// The front page. Some clients send `HEAD /` to see whether the server is up.
    Root,
}

impl Place {
    /// The API whose error format the caller reads.
    pub(crate) fn face(&self) -> Option<Face> {
        match self {
            Place::Answer { face, .. }
            | Place::Count { face, .. }
            | Place::Models(face)
            | Place::Model { face, .. } => Some(*face),
            Place::Kept { .. } => Some(Face::Responses),
            Place::Events
            | Place::Live
            | Place::Metrics
            | Place::Raw { .. }
            | Place::Ready
            | Place::Root
            | Place::Trace { .. }
            | Place::Viewer { .. } => None,
        }
    }

    /// The name of the place in logs. It contains no text of the caller's path.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Place::Answer { face, .. } => face.label(),
            Place::Count { face: Face::Generate, .. } => "/v1beta/models/{model}:countTokens",
            Place::Count { .. } => "/v1/messages/count_tokens",
            Place::Events => "/v1/events",
            Place::Kept { .. } => "/v1/responses/{id}",
            Place::Live => "/livez",
            Place::Metrics => "/metrics",
            Place::Models(_) => "models",
            Place::Model { .. } => "models/{id}",
            Place::Raw { .. } => "/p/{provider}",
            Place::Ready => "/readyz",
            Place::Root => "/",
            Place::Trace { .. } => "/v1/traces/{id}",
            Place::Viewer { .. } => "/ui/",
        }
    }

    /// Whether the place needs no key.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Place::Live | Place::Metrics | Place::Ready | Place::Root)
    }
}

/// The reason why a path names no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nowhere {
    /// There is no such path.
    Path,
    /// The path exists, but not with this method.
    Method,
    /// The request asks for a compacted conversation.
    Compaction,
}

/// The place of a request.
pub(crate) fn find(method: &Method, path: &str) -> Result<Place, Nowhere> {
    if let Some(rest) = path.strip_prefix("/p/") {
        let (provider, path) = rest.split_once('/').ok_or(Nowhere::Path)?;
        let (provider, path) = (provider.to_owned(), format!("/{path}"));
        return Ok(Place::Raw { provider, path });
    }
    let path = &*versioned(path);
    if path == "/v1/responses/compact" {
        return Err(Nowhere::Compaction);
    }
    if let Some(id) = path.strip_prefix("/v1/responses/") {
        let id = Some(id.to_owned()).filter(|id| is_id(id)).ok_or(Nowhere::Path)?;
        let fits = method == Method::GET || method == Method::DELETE;
        return if fits { Ok(Place::Kept { id }) } else { Err(Nowhere::Method) };
    }
    if let Some(id) = path.strip_prefix("/v1/traces/") {
        let id = Some(id.to_owned()).filter(|id| is_id(id)).ok_or(Nowhere::Path)?;
        return if method == Method::GET { Ok(Place::Trace { id }) } else { Err(Nowhere::Method) };
    }
    if let Some(path) = path.strip_prefix("/ui").filter(|it| it.is_empty() || it.starts_with('/')) {
        let fits = [Method::GET, Method::HEAD, Method::POST].contains(method);
        let path = path.to_owned();
        return if fits { Ok(Place::Viewer { path }) } else { Err(Nowhere::Method) };
    }
    let (place, is_post) = named(path).ok_or(Nowhere::Path)?;
    let fits = match (&place, is_post) {
        // Without the stream, the head of an answer is of no use.
        (Place::Events, _) => method == Method::GET,
        (Place::Root, _) => method == Method::HEAD || method == Method::GET,
        (_, true) => method == Method::POST,
        (_, false) => method == Method::GET || method == Method::HEAD,
    };
    if fits { Ok(place) } else { Err(Nowhere::Method) }
}

/// Adds the version that the base URL of some clients lacks.
fn versioned(path: &str) -> Cow<'_, str> {
    const BARE: [&str; 4] = ["/chat/completions", "/messages", "/models", "/responses"];
    let is_bare = |bare: &&str| {
        path.strip_prefix(*bare).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match BARE.iter().any(is_bare) {
        true => Cow::Owned(format!("/v1{path}")),
        false => Cow::Borrowed(path),
    }
}

/// Whether a part of a path can be an id. Ids go into upstream URLs without escaping.
fn is_id(text: &str) -> bool {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
    !text.is_empty() && text.len() <= 512 && text.bytes().all(is_plain) && !text.contains("..")
}

/// The place of a path, and whether its method is `POST`.
fn named(path: &str) -> Option<(Place, bool)> {
    let answer = |face| Place::Answer { face, model: None, stream: None };
    let place = match path {
        "/" => (Place::Root, false),
        "/livez" => (Place::Live, false),
        "/readyz" => (Place::Ready, false),
        "/metrics" => (Place::Metrics, false),
        "/v1/events" => (Place::Events, false),
        "/v1/models" => (Place::Models(Face::Chat), false),
        "/v1beta/models" => (Place::Models(Face::Generate), false),
        "/api/tags" => (Place::Models(Face::Lines), false),
        "/v1/chat/completions" => (answer(Face::Chat), true),
        "/v1/responses" => (answer(Face::Responses), true),
        "/v1/messages" => (answer(Face::Messages), true),
        "/v1/messages/count_tokens" => (Place::Count { face: Face::Messages, model: None }, true),
        "/api/chat" => (answer(Face::Lines), true),
        "/api/generate" => (answer(Face::Prompt), true),
        _ => return in_path(path),
    };
    Some(place)
}

/// The place of a path that contains a model name. Google's own SDKs post to both versions of their API.
fn in_path(path: &str) -> Option<(Place, bool)> {
    let (face, rest) = match path.strip_prefix("/v1/models/") {
        Some(rest) => (Face::Chat, rest),
        None => (Face::Generate, path.strip_prefix("/v1beta/models/")?),
    };
    let (model, verb) = rest.rsplit_once(':').unwrap_or((rest, ""));
    let answer = |stream| {
        let model = Some(unescaped(model)?);
        Some((Place::Answer { face: Face::Generate, model, stream: Some(stream) }, true))
    };
    match verb {
        "generateContent" => answer(false),
        "streamGenerateContent" => answer(true),
        "countTokens" => {
            Some((Place::Count { face: Face::Generate, model: Some(unescaped(model)?) }, true))
        }
        // Model names may contain a colon (`gpt-oss:20b`); the methods of Google's API end in these words.
        _ if verb.ends_with("Content") || verb.ends_with("Contents") => None,
        _ => {
            let name = unescaped(rest).filter(|name| !name.is_empty())?;
            Some((Place::Model { face, name }, false))
        }
    }
}

/// Decodes the percent escapes of a part of a path. `None` if the result is not text.
pub(crate) fn unescaped(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digits = [bytes.next()?, bytes.next()?];
        let digits = std::str::from_utf8(&digits).ok()?;
        out.push(u8::from_str_radix(digits, 16).ok()?);
    }
    String::from_utf8(out).ok().filter(|text| !text.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_of_an_answer_is_found() {
        for (path, wire) in [
            ("/v1/chat/completions", "chat-completions"),
            ("/v1/responses", "responses"),
            ("/v1/messages", "messages"),
            ("/api/chat", "ollama-chat"),
            ("/api/generate", "ollama-generate"),
            ("/v1beta/models/gemini-3:generateContent", "generate-content"),
            ("/v1/models/gemini-3:generateContent", "generate-content"),
        ] {
            let Ok(Place::Answer { face, .. }) = find(&Method::POST, path) else {
                panic!("{path}")
            };
            assert_eq!(face.spoken().id(), wire);
            assert_eq!(find(&Method::GET, path), Err(Nowhere::Method));
        }
    }

    #[test]
    fn a_path_may_lack_its_version() {
        for (method, path) in [
            (Method::POST, "/chat/completions"),
            (Method::POST, "/messages"),
            (Method::POST, "/messages/count_tokens"),
            (Method::POST, "/responses"),
            (Method::GET, "/responses/resp_1"),
            (Method::GET, "/models"),
            (Method::GET, "/models/sim/kimi-k2"),
        ] {
            let found = find(&method, path);
            assert!(found.is_ok(), "{path}");
            assert_eq!(found, find(&method, &format!("/v1{path}")), "{path}");
        }
        assert_eq!(find(&Method::POST, "/responses/compact"), Err(Nowhere::Compaction));
        for path in ["/completions", "/messagesx", "/traces/a", "/events"] {
            assert_eq!(find(&Method::GET, path), Err(Nowhere::Path), "{path}");
        }
    }

    #[test]
    fn a_path_may_name_model_and_stream() {
        let found = find(&Method::POST, "/v1beta/models/google/gemini-3:streamGenerateContent");
        let model = Some("google/gemini-3".to_owned());
        let stream = Some(true);
        assert_eq!(found, Ok(Place::Answer { face: Face::Generate, model, stream }));
    }

    #[test]
    fn names_in_a_path_may_be_escaped_and_have_colons() {
        let model = |name: &str| Ok(Place::Model { face: Face::Generate, name: name.to_owned() });
        for (path, name) in [
            ("/v1beta/models/google%2Fgemini-3", "google/gemini-3"),
            ("/v1beta/models/google/gemini-3", "google/gemini-3"),
            ("/v1beta/models/ollama/gpt-oss:20b", "ollama/gpt-oss:20b"),
        ] {
            assert_eq!(find(&Method::GET, path), model(name), "{path}");
        }
        for path in ["/v1beta/models/%", "/v1beta/models/%ff", "/v1/models/a%0ab"] {
            assert_eq!(find(&Method::GET, path), Err(Nowhere::Path), "{path}");
        }
        let found = find(&Method::POST, "/v1beta/models/sim%2Fgemini-3:countTokens");
        let model = Some("sim/gemini-3".to_owned());
        assert_eq!(found, Ok(Place::Count { face: Face::Generate, model }));
    }

    #[test]
    fn kept_answers_are_read_and_deleted() {
        let kept = Place::Kept { id: "resp_1a".to_owned() };
        for method in [Method::GET, Method::DELETE] {
            assert_eq!(find(&method, "/v1/responses/resp_1a"), Ok(kept.clone()));
        }
        assert_eq!(find(&Method::POST, "/v1/responses/resp_1a"), Err(Nowhere::Method));
        for path in
            ["/v1/responses/", "/v1/responses/a/b", "/v1/responses/..", "/v1/responses/a%2f"]
        {
            assert_eq!(find(&Method::GET, path), Err(Nowhere::Path), "{path}");
        }
    }

    #[test]
    fn traces_are_read() {
        let trace = Place::Trace { id: "tr_1".to_owned() };
        assert_eq!(find(&Method::GET, "/v1/traces/tr_1"), Ok(trace));
        assert_eq!(find(&Method::DELETE, "/v1/traces/tr_1"), Err(Nowhere::Method));
    }

    #[test]
    fn events_are_listened_to() {
        assert_eq!(find(&Method::GET, "/v1/events"), Ok(Place::Events));
        assert_eq!(find(&Method::HEAD, "/v1/events"), Err(Nowhere::Method));
    }

    #[test]
    fn the_viewer_has_all_below_its_path() {
        let at = |path: &str| Ok(Place::Viewer { path: path.to_owned() });
        assert_eq!(find(&Method::GET, "/ui"), at(""));
        assert_eq!(find(&Method::POST, "/ui/api/sign-in"), at("/api/sign-in"));
        assert_eq!(find(&Method::DELETE, "/ui/"), Err(Nowhere::Method));
        assert_eq!(find(&Method::GET, "/uix"), Err(Nowhere::Path));
    }

    #[test]
    fn a_provider_gets_the_rest_of_the_path_with_any_method() {
        let raw = Place::Raw { provider: "openai".to_owned(), path: "/v1/files/a".to_owned() };
        assert_eq!(find(&Method::DELETE, "/p/openai/v1/files/a"), Ok(raw));
    }

    #[test]
    fn what_comes_later_is_not_there_yet() {
        for path in ["/v1/traces/", "/v1beta/models/a:embedContent", "/v1/models/", "/p/x"] {
            assert_eq!(find(&Method::GET, path), Err(Nowhere::Path), "{path}");
        }
    }
}
