//! The conversation loop: ask, think, call tools, think again, answer.
//!
//! - [`run`] drives [`Turn`](thinkthrough_core::exchange::Turn)s over a [`Transport`](thinkthrough_client::Transport) until
//!   the model has answered, and tells a [`Watch`] everything that happens.
//! - [`Gate`] stands before each request: the session's budget and the provider's limits.
//! - [`Control`] stops it at any point, or says something more while tools run.
//! - [`Toolbox`] holds the tools of a session and what is allowed in it; [`Approve`] is asked where that is open.
//! - [`Cover`] covers secrets in what is shown; what is kept and sent stays as it came.
//! - [`counted`] is how many tokens a thought has, wherever it is said.
//! - [`History`] is a conversation in a file, one content a line; [`Kept`] is one in the store.
//! - [`resumption`] is what every face says when it continues one.
//! - [`export`] writes conversations as Markdown, HTML and JSON lines, and reads them back.
//! - [`screen`] draws a conversation for a terminal, and [`harmless`] keeps a model's text from steering it.
//! - [`session`] is the terminal client without a terminal: messages in, effects out; [`terminal`] carries them out.
//!
//! The loop knows no terminal: whoever watches decides what is shown.

pub mod acp;
mod agent;
pub mod answer_start;
pub mod counted;
mod cover;
mod ending;
pub mod export;
mod failure;
mod gate;
mod guardian;
pub mod harmless;
mod history;
mod instructions;
mod kept;
mod lessons;
pub mod mcp;
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
pub use instructions::with_instructions;
pub use kept::{Beside, Keeper, Kept};
pub use lessons::Lessons;
pub use tools::{
    Approve, Builtin, FileChange, Given, Job, Nobody, Pending, Permission, Question, Rule, Source,
    ToolKind, Toolbox, ToolboxError, Verdict, Weighed,
};
pub use traced::{Traced, Tracer};
pub use wording::{ago, grouped, title};
