//! One simulator: the frame around its wire.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::catalog::{Profile, Wire, profile};
use crate::exchange::{SimChunk, SimRequest, SimResponse};
use crate::fault::Fault;
use crate::log::LogEntry;
use crate::reply::{Answer, Refusal, Visit};
use crate::responses::Store;
use crate::{bedrock, chat, cohere, gemini, interactions, messages, ollama, responses, vertex};

/// A simulated provider. Clones share the stored responses.
#[derive(Debug, Clone)]
pub struct Simulator {
    profile: &'static Profile,
    store: Arc<Store>,
    fault: Option<Fault>,
}

impl Simulator {
    /// Finds the simulator with this id. Its memory is empty.
    pub fn find(id: &str) -> Option<Self> {
        let profile = profile(id)?;
        Some(Self { profile, store: Arc::default(), fault: None })
    }

    /// Adds a fault to every answer. The header `x-sim-fault` of a request takes precedence.
    #[must_use]
    pub fn with_fault(mut self, fault: Option<Fault>) -> Self {
        self.fault = fault;
        self
    }

    /// The id, as in `/<id>` and `sim/<id>`.
    pub fn id(&self) -> &'static str {
        self.profile.id
    }

    /// The name of the simulated model.
    pub fn model(&self) -> &'static str {
        self.profile.model
    }

    /// The id of the imitated provider. Empty if the simulator imitates none.
    pub fn provider(&self) -> &'static str {
        self.profile.provider
    }

    /// The name of the wire, as in commands and settings.
    pub fn wire(&self) -> &'static str {
        self.profile.wire()
    }

    /// Answers a request. Its path may begin with `/<id>`.
    pub fn handle(&self, request: &SimRequest) -> SimResponse {
        let mut log = LogEntry {
            simulator: self.profile.id.to_owned(),
            method: request.method.clone(),
            path: without_key(&request.path),
            ..LogEntry::default()
        };
        let fault = match self.fault_of(request) {
            Ok(fault) => fault,
            Err(refusal) => return refused(refusal, log, None),
        };
        if let Some(fault) = &fault {
            log.fault = Some(fault.to_string());
            if let Some(status) = fault.status {
                let refusal = self.refusal(status, status_text(status));
                return refused(refusal, log, fault.retry_after);
            }
        }
        let outcome = self.answer(request, &mut log);
        match outcome {
            Ok(answer) => finished(&answer, log, &fault.unwrap_or_default()),
            Err(refusal) => refused(refusal, log, None),
        }
    }

    /// Like [`handle`](Self::handle), but a large request is handled on a thread of its own.
    pub async fn respond(&self, request: SimRequest) -> SimResponse {
        let simulator = self.clone();
        aside(request.body.len(), move || simulator.handle(&request)).await
    }

    fn answer(&self, request: &SimRequest, log: &mut LogEntry) -> Result<Answer, Refusal> {
        if request.credential().is_none() {
            return Err(self.unauthorised());
        }
        let route = request.route();
        let prefix = format!("/{}/", self.profile.id);
        let route = if route.starts_with(&prefix) {
            route.strip_prefix(&format!("/{}", self.profile.id)).unwrap_or(route)
        } else {
            route
        };
        let mut visit =
            Visit { id: self.profile.id, model: self.profile.model, request, route, log };
        match &self.profile.wire {
            Wire::Bedrock => bedrock::answer(&mut visit),
            Wire::Chat(dialect) => chat::answer(&mut visit, dialect),
            Wire::Cohere => cohere::answer(&mut visit),
            Wire::Gemini(dialect) => gemini::answer(&mut visit, dialect),
            Wire::Interactions => interactions::answer(&mut visit, &self.store),
            Wire::Messages(dialect) => messages::answer(&mut visit, dialect),
            Wire::Ollama => ollama::answer(&mut visit),
            Wire::Responses(dialect) => responses::answer(&mut visit, dialect, &self.store),
            Wire::Vertex => vertex::answer(&mut visit),
        }
    }

    fn fault_of(&self, request: &SimRequest) -> Result<Option<Fault>, Refusal> {
        let Some(spec) = request.header("x-sim-fault") else { return Ok(self.fault.clone()) };
        spec.parse().map(Some).map_err(|error: crate::FaultError| {
            let text = error.to_string();
            Refusal {
                status: 400,
                body: json!({"error": {"message": text, "type": "invalid_fault"}}),
                text,
            }
        })
    }

    fn unauthorised(&self) -> Refusal {
        match &self.profile.wire {
            Wire::Bedrock => bedrock::unauthorised(),
            Wire::Chat(dialect) => chat::unauthorised(dialect),
            Wire::Cohere => cohere::unauthorised(),
            Wire::Gemini(dialect) => gemini::unauthorised(dialect),
            Wire::Interactions => interactions::unauthorised(),
            Wire::Messages(dialect) => messages::unauthorised(dialect),
            Wire::Ollama => ollama::unauthorised(),
            Wire::Responses(dialect) => responses::unauthorised(dialect),
            Wire::Vertex => vertex::unauthorised(),
        }
    }

    fn refusal(&self, status: u16, text: &str) -> Refusal {
        match &self.profile.wire {
            Wire::Bedrock => bedrock::refusal(status, text),
            Wire::Chat(dialect) => chat::refusal(dialect, status, text),
            Wire::Cohere => cohere::refusal(status, text),
            Wire::Gemini(dialect) => gemini::refusal(dialect, status, text),
            Wire::Interactions => interactions::refusal(status, text),
            Wire::Messages(dialect) => messages::refusal(dialect, status, text),
            Wire::Ollama => ollama::refusal(status, text),
            Wire::Responses(dialect) => responses::refusal(dialect, status, text),
            Wire::Vertex => vertex::refusal(status, text),
        }
    }
}

/// Bodies of at least this many bytes must not occupy a thread of the runtime.
const LARGE: usize = 64 * 1024;

/// Runs the work on a body of this size, on a blocking thread if the body is large.
pub(crate) async fn aside<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if bytes < LARGE {
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn status_text(status: u16) -> &'static str {
    match status {
        401 | 403 => "The credential was not accepted.",
        404 => "Not found.",
        429 => "Rate limit reached. Please try again later.",
        503 | 529 => "The server is overloaded, please try again later.",
        500.. => "The server had an error while processing your request.",
        _ => "The request was not accepted.",
    }
}

fn finished(answer: &Answer, mut log: LogEntry, fault: &Fault) -> SimResponse {
    let (body, cut) = fault.body(answer);
    log.status = 200;
    let mut headers = vec![("content-type".to_owned(), answer.content_type.to_owned())];
    if answer.content_type.starts_with("text/event-stream") {
        headers.push(("cache-control".to_owned(), "no-cache".to_owned()));
    }
    SimResponse { status: 200, headers, body, cut, goaway: cut && fault.goaway.is_some(), log }
}

fn refused(refusal: Refusal, mut log: LogEntry, retry_after: Option<u64>) -> SimResponse {
    log.status = refusal.status;
    log.refusal = Some(refusal.text);
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    if let Some(seconds) = retry_after {
        headers.push(("retry-after".to_owned(), seconds.to_string()));
    }
    let bytes = match refusal.body {
        Value::String(text) => text.into_bytes(),
        body => body.to_string().into_bytes(),
    };
    let body = vec![SimChunk { pause: std::time::Duration::ZERO, bytes }];
    SimResponse { status: refusal.status, headers, body, cut: false, goaway: false, log }
}

fn without_key(path: &str) -> String {
    let Some((route, query)) = path.split_once('?') else { return path.to_owned() };
    let kept: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("key=")).collect();
    if kept.is_empty() { route.to_owned() } else { format!("{route}?{}", kept.join("&")) }
}
