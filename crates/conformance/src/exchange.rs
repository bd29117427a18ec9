//! What goes into a simulator and what comes out, without any transport.

use std::time::Duration;

use serde_json::Value;

use crate::log::LogEntry;

/// One HTTP request, as a simulator judges it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimRequest {
    /// The HTTP method in upper case.
    pub method: String,
    /// Path and query, with or without the leading `/<simulator id>`.
    pub path: String,
    /// Header names and values in the order they came; names are compared without case.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

impl SimRequest {
    /// A POST of a JSON body that carries a bearer credential.
    pub fn post(path: &str, credential: &str, body: &Value) -> Self {
        Self {
            method: "POST".to_owned(),
            path: path.to_owned(),
            headers: vec![
                ("authorization".to_owned(), format!("Bearer {credential}")),
                ("content-type".to_owned(), "application/json".to_owned()),
            ],
            body: body.to_string().into_bytes(),
        }
    }

    /// The same request with one more header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The value of the first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The path without its query.
    pub fn route(&self) -> &str {
        self.path.split_once('?').map_or(self.path.as_str(), |(route, _)| route)
    }

    /// The value of a query parameter, as it stands in the path.
    pub fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.path.split_once('?')?;
        query.split('&').find_map(|pair| match pair.split_once('=') {
            Some((key, value)) if key == name => Some(value),
            _ => None,
        })
    }

    /// The credential of the request, wherever the usual carriers put it; `None` when there is none or it is empty.
    pub fn credential(&self) -> Option<&str> {
        let bearer = self
            .header("authorization")
            .map(|value| value.strip_prefix("Bearer ").unwrap_or(value));
        [bearer, self.header("x-api-key"), self.header("api-key"), self.header("x-goog-api-key")]
            .into_iter()
            .chain([self.query("key")])
            .flatten()
            .map(str::trim)
            .find(|value| !value.is_empty() && *value != "Bearer")
    }
}

/// A piece of a body and how long to wait before it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimChunk {
    /// The pause before these bytes.
    pub pause: Duration,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// One HTTP response of a simulator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimResponse {
    /// The HTTP status.
    pub status: u16,
    /// Header names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body in the pieces in which it is sent; a response that is not streamed has one.
    pub body: Vec<SimChunk>,
    /// The connection breaks after the last piece, so the body must be taken for incomplete.
    pub cut: bool,
    /// Over HTTP/2 the whole connection goes away with it, instead of this stream alone.
    pub goaway: bool,
    /// What the simulator saw in the request and made of it.
    pub log: LogEntry,
}

impl SimResponse {
    /// The whole body, pauses left out.
    pub fn bytes(&self) -> Vec<u8> {
        self.body.iter().flat_map(|chunk| chunk.bytes.iter().copied()).collect()
    }

    /// The whole body as text; bytes that are not UTF-8 are replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// The body as JSON, `null` when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes()).unwrap_or(Value::Null)
    }

    /// The value of the first header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}
