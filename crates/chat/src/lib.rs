//! The conversation loop: ask, think, call tools, think again, answer.
//!
//! - [`run`] drives [`Turn`](thinkthrough_core::turn::Turn)s over a [`Transport`](thinkthrough_client::Transport) until
//!   the model has answered, and tells a [`Watch`] everything that happens.
//! - [`Toolbox`] holds the tools; the built-in ones read files inside one folder and nothing else.
//! - [`History`] is a conversation in a file, one content a line.
//!
//! Nothing here knows a terminal: whoever watches decides what is shown.

mod agent;
mod history;
mod tools;

pub use agent::{AskError, Outcome, Round, Setup, Watch, run};
pub use history::{History, HistoryError};
pub use tools::{Toolbox, ToolboxError};
