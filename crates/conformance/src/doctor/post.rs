//! Sends the requests of the doctor's clients.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use thinkthrough_client::{Client, ClientConfig, Request, Timeouts};

/// A request without its address.
#[derive(Debug, Clone)]
pub(super) struct Letter {
    /// Path and query.
    pub(super) path: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

/// The response.
#[derive(Debug, Clone, Default)]
pub(super) struct Heard {
    pub(super) status: u16,
    /// The header `x-thinkthrough`, if the response has it.
    pub(super) explained: Option<String>,
    pub(super) body: Vec<u8>,
    /// The body broke off, or the client hung up.
    pub(super) broken: bool,
}

impl Heard {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// The HTTP client of the doctor.
#[derive(Debug)]
pub(super) struct Postman {
    client: Client,
}

impl Postman {
    pub(super) fn new() -> Result<Self, String> {
        let patience = Duration::from_secs(20);
        let timeouts = Timeouts { connect: patience, first_byte: patience, idle: patience };
        let config = ClientConfig { timeouts, ..ClientConfig::default() };
        Client::new(config).map(|client| Self { client }).map_err(|error| error.to_string())
    }

    /// Sends a request and reads the response, but at most `pieces` pieces of its body.
    pub(super) async fn send(
        &self,
        base: &str,
        letter: &Letter,
        pieces: Option<usize>,
    ) -> Result<Heard, String> {
        let mut request = Request::post(&format!("{base}{}", letter.path), letter.body.clone())
            .map_err(|error| error.to_string())?;
        for (name, value) in &letter.headers {
            let value = HeaderValue::from_str(value).map_err(|error| error.to_string())?;
            request.headers.append(HeaderName::from_static(name), value);
        }
        let answer = self.client.send(&request).await.map_err(|error| error.to_string())?;
        let explained = answer.headers.get("x-thinkthrough").and_then(|value| value.to_str().ok());
        let mut heard = Heard {
            status: answer.status.as_u16(),
            explained: explained.map(str::to_owned),
            ..Heard::default()
        };
        let (mut body, mut count) = (answer.body, 0);
        while let Some(piece) = body.next().await {
            match piece {
                Ok(bytes) => heard.body.extend_from_slice(&bytes),
                Err(_) => heard.broken = true,
            }
            count += 1;
            if pieces.is_some_and(|limit| count >= limit) {
                heard.broken = true;
                break;
            }
        }
        Ok(heard)
    }
}
