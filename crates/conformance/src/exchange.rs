//! Requests and responses of a simulator, without any transport.

use std::time::Duration;

use serde_json::Value;

use crate::log::LogEntry;

/// One HTTP request to a simulator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimRequest {
    /// The HTTP method in upper case.
    pub method: String,
    /// Path and query, with or without the leading `/<simulator id>`.
    pub path: String,
    /// Header names and values in the order of arrival. Names are compared without case.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

impl SimRequest {
    /// Makes a POST request with a JSON body and a bearer credential.
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

    /// Adds a header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The value of the first header with this name.
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

    /// The value of a query parameter, without percent-decoding.
    pub fn query(&self, name: &str) -> Option<&str> {
        let (_, query) = self.path.split_once('?')?;
        query.split('&').find_map(|pair| match pair.split_once('=') {
            Some((key, value)) if key == name => Some(value),
            _ => None,
        })
    }

    /// The credential, from any usual header or parameter. `None` if it is absent or empty.
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

/// A piece of a body, and the pause before it.
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
    /// The body in the pieces that are sent. A response that is not streamed has one piece.
    pub body: Vec<SimChunk>,
    /// The connection breaks after the last piece, so that the body is incomplete.
    pub cut: bool,
    /// The break also ends the HTTP/2 connection (GOAWAY), not only this stream.
    pub goaway: bool,
    /// The log of this request.
    pub log: LogEntry,
}

impl SimResponse {
    /// The whole body, without pauses.
    pub fn bytes(&self) -> Vec<u8> {
        self.body.iter().flat_map(|chunk| chunk.bytes.iter().copied()).collect()
    }

    /// The whole body as text. Invalid UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes()).into_owned()
    }

    /// The body as JSON, or `null` if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes()).unwrap_or(Value::Null)
    }

    /// The value of the first header with this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}
