//! Reads reasoning from every provider's wire, keeps it exactly, and rebuilds the next request.
//!
//! The main types, in the order of the data flow:
//!
//! - A [`Wire`](wire::Wire) is a protocol format, such as Anthropic's Messages or OpenAI's Responses. It reads and
//!   writes requests, answers and streams. Wires know only the neutral form, never each other.
//! - The neutral form is a [`Request`](request::Request) made of [`Content`](content::Content) with blocks: thoughts,
//!   text, tool calls, results. A response arrives as [`Event`](event::Event)s, and folds into an
//!   [`Answer`](answer::Answer).
//! - A [`Target`](provider::Target) is the place of a request: a provider's endpoint, a model, and the data about
//!   both. The model's [`Contract`](contract::Contract) is a part of this data: it decides whether its thoughts must,
//!   may or must not come back in later requests.
//! - [`exchange`] is one request and its answer: a [`Turn`](exchange::Turn) of an own conversation, or the [request
//!   of a client](exchange::RequestContext), which has usually dropped the thoughts: [`restore`] finds them among
//!   kept records, and [`edit`] puts them into the client's own bytes. [`decide`] selects the thoughts that go
//!   upstream, each as a [`Decision`](decision::Decision) with its reason; a [`Pipeline`](pipeline::Pipeline) takes
//!   the response from bytes to its end.
//!
//! Nothing here does I/O or reads a clock, the environment or randomness: all of that comes as arguments. No input of
//! a provider or a client causes a panic: unreadable parts become a [`Problem`](problem::Problem) beside the readable
//! ones.
//!
//! ```
//! use thinkthrough_core::pipeline::Pipeline;
//! use thinkthrough_core::provider::Target;
//!
//! let target = Target::built_in("deepseek", None, "deepseek-v4-flash").unwrap();
//! let mut pipeline = Pipeline::new(target.reader(false));
//! let body = br#"{"choices":[{"message":{"reasoning_content":"Easy.","content":"4"},"finish_reason":"stop"}]}"#;
//! let ignored = &mut |_: thinkthrough_core::event::Event<'_>| {};
//! pipeline.push(body, &mut Vec::new(), ignored);
//! let ended = pipeline.end(None, &mut Vec::new(), ignored);
//! assert_eq!(ended.answer.text(), "4");
//! let content = ended.answer.into_content(None);
//! assert_eq!(content.thoughts().next().unwrap().thought, "Easy.");
//! ```
#![doc(test(attr(deny(warnings))))]

pub mod adapter;
pub mod allowance;
pub mod answer;
mod bookkeeping;
pub mod content;
pub mod contract;
pub mod convert;
pub mod decide;
pub mod decision;
pub mod echo;
pub mod edit;
pub mod event;
pub mod exchange;
pub mod frame;
pub mod invisible;
mod model_name;
pub mod outgoing;
pub mod pipeline;
pub mod plane;
pub mod price;
pub mod problem;
pub mod provider;
pub mod read;
pub mod reasoning;
pub mod request;
pub mod restore;
pub mod settings;
pub mod settled;
pub mod shape;
pub mod tags;
pub mod tokens;
pub mod turns;
pub mod usage;
pub mod why;
pub mod wire;

use thinkthrough_json as json;
