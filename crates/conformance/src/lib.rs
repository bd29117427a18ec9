//! Strict simulated model providers: an honest judge of clients and gateways.
//!
//! A [`Simulator`] answers HTTP requests the way one provider does. It validates them as strictly, refuses them with the
//! same status, body and words, demands its thoughts back where the real provider demands them, and says in a
//! [`LogEntry`] what it saw. Behind all of them stands one small scripted mind that thinks, calls the tools that it is
//! offered and answers with what they really said; it is no language model and says so.
//!
//! The judging part is pure: [`Simulator::handle`] turns a [`SimRequest`] into a [`SimResponse`] without sockets and
//! clocks. Thoughts are recognised by digests inside their own opaque payloads, so a restarted simulator knows its
//! thoughts again; only the simulators of stored responses keep something in memory. [`serve`] puts all simulators
//! behind one listener, each under `/<id>`.
//!
//! ```
//! use serde_json::json;
//! use thinkthrough_conformance::{SimRequest, Simulator};
//!
//! let simulator = Simulator::find("kimi-k2").ok_or("no such simulator")?;
//! let question = json!({"role": "user", "content": "Hello"});
//! let body = json!({"model": simulator.model(), "messages": [question]});
//! let answer = simulator.handle(&SimRequest::post("/v1/chat/completions", "any key", &body));
//! assert_eq!(answer.status, 200);
//! assert!(answer.json()["choices"][0]["message"]["reasoning_content"].is_string());
//! assert!(answer.log.thoughts.is_empty());
//! # Ok::<(), &str>(())
//! ```
//!
//! Nothing here uses the code that it judges: all readers, validators and writers of wire formats are its own.

mod bedrock;
mod calls;
mod catalog;
mod chat;
mod cohere;
pub mod doctor;
mod exchange;
mod fault;
mod gemini;
mod interactions;
mod json;
mod log;
mod messages;
mod mind;
mod ollama;
mod pieces;
mod reply;
mod responses;
mod seal;
mod server;
mod shape;
mod simulator;
mod tls;
mod vertex;

pub use catalog::{Listed, list};
pub use exchange::{SimChunk, SimRequest, SimResponse};
pub use fault::{Fault, FaultError};
pub use log::{LogEntry, SeenThought, ThoughtState};
pub use server::{Leaver, Left, Running, SimOptions, Watcher, serve};
pub use simulator::Simulator;
pub use tls::SimTls;
