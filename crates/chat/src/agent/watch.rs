//! The interface for observers of a question.

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
/// A watch may stand before another one ([`Watch::behind`]): calls that it does not handle go on to that watch.
pub trait Watch {
    /// The next watch. `None` for the last one.
    fn behind(&mut self) -> Option<&mut (dyn Watch + Send)> {
        None
    }

    /// An event of the answer.
    fn event(&mut self, round: usize, event: Event<'_>);

    /// A request goes out.
    fn outgoing(&mut self, round: usize, request: &Outgoing);

    /// A request is sent again.
    fn retry(&mut self, retry: &Retry<'_>) {
        self.behind().into_iter().for_each(|watch| watch.retry(retry));
    }

    /// A message of the gate or the loop.
    fn notice(&mut self, notice: &Notice) {
        self.behind().into_iter().for_each(|watch| watch.notice(notice));
    }

    /// The number of reasoning tokens that the session has spent.
    fn spent(&mut self, used: TokenCount) {
        self.behind().into_iter().for_each(|watch| watch.spent(used));
    }

    /// The effect of a call, before it is decided whether the call may run. `index` counts the calls of the answer
    /// from 0.
    fn call_weighed(&mut self, round: usize, index: usize, call: &ToolCall, it: (ToolKind, &str)) {
        self.behind().into_iter().for_each(|watch| watch.call_weighed(round, index, call, it));
    }

    /// A call was allowed and begins to run.
    fn call_started(&mut self, round: usize, index: usize, call: &ToolCall) {
        self.behind().into_iter().for_each(|watch| watch.call_started(round, index, call));
    }

    /// Output of a running call.
    fn call_output(&mut self, round: usize, index: usize, text: &str) {
        self.behind().into_iter().for_each(|watch| watch.call_output(round, index, text));
    }

    /// A call has ended, or was refused. Other calls of the same answer may still run.
    fn call_finished(&mut self, round: usize, index: usize, called: &Called) {
        self.behind().into_iter().for_each(|watch| watch.call_finished(round, index, called));
    }

    /// All calls of the answer have ended. Called once for each result, in the order of the calls.
    fn tool_response(&mut self, round: usize, response: &ToolResponse) {
        self.behind().into_iter().for_each(|watch| watch.tool_response(round, response));
    }

    /// A message was added to the conversation.
    fn added(&mut self, round: usize, content: &Content) {
        self.behind().into_iter().for_each(|watch| watch.added(round, content));
    }

    /// A request, its answer and its tools have ended.
    fn round_over(&mut self, round: usize, done: &Round) {
        self.behind().into_iter().for_each(|watch| watch.round_over(round, done));
    }
}
