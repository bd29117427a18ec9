//! The conversation loop: ask, think, call tools, think again, answer.
//!
//! - [`run`] drives [`Turn`](thinkthrough_core::exchange::Turn)s over a [`Transport`](thinkthrough_client::Transport)
//!   until the model has answered, and reports every event to a [`Watch`].
//! - [`Gate`] checks the session's budget and the provider's limits before each request.
//! - [`Control`] stops a run at any point, or adds a message while tools run.
//! - [`Toolbox`] has the tools of a session and their permissions. [`Approve`] decides if a permission is open.
//! - [`Cover`] masks secrets on the screen. Stored and sent text is unchanged.
//! - [`counted`] counts the tokens of thoughts.
//! - [`instructions`] are the first message of a conversation. [`attachment`] reads files that go with a question.
//! - [`History`] is a conversation in a file, one content a line. [`Kept`] is one in the store.
//! - [`resumption`] has the lines about a conversation that continues.
//! - [`export`] writes conversations as Markdown, HTML and JSON lines, and reads them back.
//! - [`screen`] draws a conversation for a terminal. [`harmless`] keeps a model's text from steering the terminal.
//! - [`session`] is the terminal client without a terminal: messages in, effects out. [`terminal`] carries the
//!   effects out.
//!
//! The loop does not know the terminal. The [`Watch`] decides about the output.

pub mod acp;
mod agent;
pub mod answer_start;
pub mod attachment;
pub mod counted;
mod cover;
mod ending;
pub mod export;
mod failure;
mod gate;
mod guardian;
pub mod harmless;
mod history;
pub mod instructions;
mod kept;
mod lessons;
pub mod mcp;
mod own_commands;
pub mod owner;
pub mod resumption;
pub mod screen;
pub mod search;
pub mod session;
pub mod terminal;
mod tools;
mod traced;
mod wording;

pub use agent::{AskError, Called, Control, MAX_ROUNDS, Outcome, Round, Setup, Watch, run};
pub use cover::{Cover, Covered, CoveredEvents};
pub use ending::Ending;
pub use failure::{Attempt, why_again};
pub use gate::{Admission, Gate, Notice};
pub use history::{History, HistoryError};
pub use kept::{Beside, Keeper, Kept};
pub use lessons::Lessons;
pub use own_commands::{OwnCommand, own_commands};
pub use tools::{
    Approve, Builtin, Changes, FileChange, Given, Job, Nobody, Pending, Permission, Question, Rule,
    Source, ToolKind, Toolbox, ToolboxError, Verdict, Weighed,
};
pub use traced::{Traced, Tracer};
pub use wording::{ago, grouped, short_path, title};
