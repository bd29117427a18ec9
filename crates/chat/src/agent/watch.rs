//! Being told what happens.

use super::{Called, Round};
use crate::gate::Notice;
use crate::tools::ToolKind;
use thinkthrough_client::Retry;
use thinkthrough_core::content::{Content, ToolCall, ToolResponse};
use thinkthrough_core::event::Event;
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_core::tokens::TokenCount;

/// Is told what happens, as it happens. `round` counts the requests from 0.
pub trait Watch {
    /// The answer says something.
    fn event(&mut self, round: usize, event: Event<'_>);

    /// A request goes out.
    fn outgoing(&mut self, round: usize, request: &Outgoing);

    /// A request is tried again.
    fn retry(&mut self, retry: &Retry<'_>);

    /// The gate has something to say about the requests.
    fn notice(&mut self, _notice: &Notice) {}

    /// So many reasoning tokens are spent in the session.
    fn spent(&mut self, _used: TokenCount) {}

    /// A call came, and this is what it would do; whether it may is not decided yet. `index` counts the calls of the
    /// answer from 0.
    fn call_weighed(
        &mut self,
        _round: usize,
        _index: usize,
        _call: &ToolCall,
        _: (ToolKind, &str),
    ) {
    }

    /// A call was allowed and begins to run.
    fn call_started(&mut self, _round: usize, _index: usize, _call: &ToolCall) {}

    /// A running call says something.
    fn call_output(&mut self, _round: usize, _index: usize, _text: &str) {}

    /// A call is over, or was refused; others of the same answer may still run.
    fn call_finished(&mut self, _round: usize, _index: usize, _called: &Called) {}

    /// All calls of the answer are over; told once for each, in the order of the calls.
    fn tool_response(&mut self, round: usize, response: &ToolResponse);

    /// The conversation grew by this message.
    fn added(&mut self, _round: usize, _content: &Content) {}

    /// A request, its answer and its tools are over.
    fn round_over(&mut self, _round: usize, _done: &Round) {}
}
