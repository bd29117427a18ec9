//! Being told what happens.

use super::{Called, Round};
use crate::gate::Notice;
use crate::tools::ToolKind;
use thinkthrough_client::Retry;
use thinkthrough_core::content::{Content, ToolCall, ToolResponse};
use thinkthrough_core::event::Event;
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_core::tokens::TokenCount;

/// Receives the events of a question as they happen. `round` counts the requests from 0.
///
/// A watch may stand before another one ([`Watch::behind`]): what it does not hear itself goes there as it is.
pub trait Watch {
    /// The watch behind this one; `None`: it is the last.
    fn behind(&mut self) -> Option<&mut (dyn Watch + Send)> {
        None
    }

    /// The answer says something.
    fn event(&mut self, round: usize, event: Event<'_>);

    /// A request goes out.
    fn outgoing(&mut self, round: usize, request: &Outgoing);

    /// A request is tried again.
    fn retry(&mut self, retry: &Retry<'_>) {
        self.behind().into_iter().for_each(|watch| watch.retry(retry));
    }

    /// The gate has something to say about the requests.
    fn notice(&mut self, notice: &Notice) {
        self.behind().into_iter().for_each(|watch| watch.notice(notice));
    }

    /// So many reasoning tokens are spent in the session.
    fn spent(&mut self, used: TokenCount) {
        self.behind().into_iter().for_each(|watch| watch.spent(used));
    }

    /// A call came, and this is what it would do; whether it may is not decided yet. `index` counts the calls of the
    /// answer from 0.
    fn call_weighed(&mut self, round: usize, index: usize, call: &ToolCall, it: (ToolKind, &str)) {
        self.behind().into_iter().for_each(|watch| watch.call_weighed(round, index, call, it));
    }

    /// A call was allowed and begins to run.
    fn call_started(&mut self, round: usize, index: usize, call: &ToolCall) {
        self.behind().into_iter().for_each(|watch| watch.call_started(round, index, call));
    }

    /// A running call says something.
    fn call_output(&mut self, round: usize, index: usize, text: &str) {
        self.behind().into_iter().for_each(|watch| watch.call_output(round, index, text));
    }

    /// A call is over, or was refused; others of the same answer may still run.
    fn call_finished(&mut self, round: usize, index: usize, called: &Called) {
        self.behind().into_iter().for_each(|watch| watch.call_finished(round, index, called));
    }

    /// All calls of the answer are over; told once for each, in the order of the calls.
    fn tool_response(&mut self, round: usize, response: &ToolResponse) {
        self.behind().into_iter().for_each(|watch| watch.tool_response(round, response));
    }

    /// The conversation grew by this message.
    fn added(&mut self, round: usize, content: &Content) {
        self.behind().into_iter().for_each(|watch| watch.added(round, content));
    }

    /// A request, its answer and its tools are over.
    fn round_over(&mut self, round: usize, done: &Round) {
        self.behind().into_iter().for_each(|watch| watch.round_over(round, done));
    }
}
