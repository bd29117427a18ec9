//! Strict simulated model providers, which judge clients and gateways.
//!
//! A [`Simulator`] answers HTTP requests like one provider. It validates them as strictly, and
//! refuses them with the same status, body and words. It demands its thoughts back if the real
//! provider demands them, and reports its findings in a [`LogEntry`]. All simulators share a small
//! scripted mind. The mind thinks, calls the offered tools and answers with their real results. It
//! is no language model and says so.
//!
//! The judge is pure: [`Simulator::handle`] turns a [`SimRequest`] into a [`SimResponse`] without
//! sockets and clocks. A simulator recognises its thoughts by digests inside their opaque payloads
//! or at the end of their text, so that it still knows them after a restart. Only the simulators of
//! stored responses keep data in memory. [`serve`] puts all simulators behind one listener, each
//! under `/<id>`.
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
//! All readers, validators and writers of wire formats are the crate's own, so that it does not
//! judge code by the same code. Only the doctor's HTTP client comes from another crate of the
//! project.

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
