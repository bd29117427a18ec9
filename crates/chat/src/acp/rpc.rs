//! Lines of JSON-RPC 2.0, incoming and outgoing.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use thinkthrough_json::{Doc, Raw, Val, Writer};
use tokio::sync::{mpsc, oneshot};

/// The result of a request.
pub(super) type Reply = Result<Raw, Problem>;

/// An error of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    code: i32,
    message: String,
}

impl Problem {
    pub(super) fn params(message: &str) -> Self {
        Problem { code: -32602, message: message.to_owned() }
    }

    /// An error for a resource that does not exist. Source: "Resource not found" of the protocol's schema.
    pub(super) fn missing(message: &str) -> Self {
        Problem { code: -32002, message: message.to_owned() }
    }

    pub(super) fn failed(message: &str) -> Self {
        Problem { code: -32603, message: message.to_owned() }
    }

    pub(super) fn no_method(method: &str) -> Self {
        Problem { code: -32601, message: format!("there is no method `{method}`") }
    }

    fn bad_line(message: &str) -> Self {
        Problem { code: -32700, message: format!("the line is no JSON-RPC message: {message}") }
    }
}

/// An incoming line.
#[derive(Debug)]
pub(super) enum Incoming {
    Request { id: Raw, method: String, params: Raw },
    Notice { method: String, params: Raw },
    Reply { id: u64, reply: Reply },
}

impl Incoming {
    pub(super) fn read(line: &str) -> Result<Self, Problem> {
        let doc = Doc::parse_str(line).map_err(|error| Problem::bad_line(&error.to_string()))?;
        let root = doc.root();
        let raw = |value: Option<Val<'_>>| {
            value.and_then(|value| Raw::parse(value.raw()).ok()).unwrap_or_else(Raw::null)
        };
        let (id, params) = (root.some("id"), raw(root.get("params")));
        match (root.string("method"), id) {
            (Some(method), Some(id)) => Ok(Incoming::Request { id: raw(Some(id)), method, params }),
            (Some(method), None) => Ok(Incoming::Notice { method, params }),
            (None, Some(id)) => {
                let id = id.as_u64().ok_or_else(|| Problem::bad_line("the id is none of ours"))?;
                let reply = match root.some("error") {
                    Some(error) => Err(Problem::failed(&error.text("message").unwrap_or_default())),
                    None => Ok(raw(root.get("result"))),
                };
                Ok(Incoming::Reply { id, reply })
            }
            (None, None) => Err(Problem::bad_line("it has neither `method` nor `id`")),
        }
    }
}

/// Sends lines, and matches replies with their requests.
#[derive(Debug)]
pub(super) struct Outbox {
    out: mpsc::UnboundedSender<String>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    open: BTreeMap<u64, oneshot::Sender<Reply>>,
}

impl Outbox {
    pub(super) fn new(out: mpsc::UnboundedSender<String>) -> Self {
        Outbox { out, waiting: Mutex::default() }
    }

    pub(super) fn answer(&self, id: &Raw, reply: &Reply) {
        self.line(|w| {
            w.field_raw("id", id);
            match reply {
                Ok(result) => w.field_raw("result", result),
                Err(problem) => w.key("error").object(|w| {
                    w.key("code").raw_str(&problem.code.to_string());
                    w.field_str("message", &problem.message);
                }),
            }
        });
    }

    pub(super) fn notify(&self, method: &str, params: &Raw) {
        self.line(|w| {
            w.field_str("method", method);
            w.field_raw("params", params);
        });
    }

    /// Sends a request to the editor. Dropping the future discards the reply.
    pub(super) async fn ask(&self, method: &str, params: &Raw) -> Reply {
        let (sender, reply) = oneshot::channel();
        let id = {
            let mut waiting = self.waiting();
            waiting.last += 1;
            let id = waiting.last;
            waiting.open.insert(id, sender);
            id
        };
        self.line(|w| {
            w.field_u64("id", id);
            w.field_str("method", method);
            w.field_raw("params", params);
        });
        reply.await.unwrap_or_else(|_| Err(Problem::failed("the editor has gone")))
    }

    pub(super) fn replied(&self, id: u64, reply: Reply) {
        if let Some(waiting) = self.waiting().open.remove(&id) {
            // If the question was dropped, the receiver is gone too.
            drop(waiting.send(reply));
        }
    }

    fn line(&self, body: impl FnOnce(&mut Writer)) {
        let mut w = Writer::new();
        w.object(|w| {
            w.field_str("jsonrpc", "2.0");
            body(w);
        });
        // If the editor has gone, this fails. The end of its input ends the program.
        drop(self.out.send(w.finish_line()));
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
