//! The steps of a request, reported once for metrics, log and traces.

use http::HeaderMap;
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::decision::{Counts, Decision, Without};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::provider::Target;
use thinkthrough_core::settled::Settled;
use thinkthrough_limits::{BudgetEvent, Unit};

/// A step of one request. It may hold headers with keys in them, so that it is not printable.
pub(crate) enum Progress<'a> {
    /// The caller may come in. `took` includes the look-up of its key.
    Admitted { tenant: &'a str, took: Duration },
    /// The caller had no key, or an unknown one.
    TurnedAway,
    /// The requested name leads to a model.
    Routed { model: &'a str, provider: &'a str, label: Arc<str> },
    /// The requested name leads to no model.
    Unrouted { model: &'a str },
    /// The request asks that model for an answer, with these headers.
    RequestContext { headers: &'a HeaderMap, stream: bool },
    /// This provider's own API is called, unchanged.
    Passed { provider: &'a str },
    /// A look-up failed or took too long, so that the request goes on as if there were no records.
    Blind,
    /// The next attempt's decisions about thoughts.
    Decided { counts: Counts, without: Without, is_relayed: bool, decisions: &'a [Decision] },
    /// There is no further attempt, so that the last decisions are final.
    Led,
    /// An attempt was prepared in this time; the request goes to this upstream next.
    Sent { target: &'a Target, session: Option<String>, took: Duration },
    /// The upstream gave no answer, or broke off, for a reason of a fixed list. `cause` names the address and is only
    /// for the operator.
    Failed { reason: &'static str, cause: Option<String> },
    /// A try got no proper answer, and the request goes on: it is tried again, or its caller gets the provider's
    /// answer unchanged.
    TryFailed { reason: &'static str },
    /// A refused request was repaired and goes out again.
    Repaired,
    /// Another model is asked in its place.
    FellBack,
    /// A rate limit of its `key`, or of a `provider`, held the request or a try of it: too many requests or tokens a
    /// minute.
    Limited { by: &'static str, unit: &'static str },
    /// The store was away, so that the request was let out without the other gateways that share the limit of its
    /// `key` or of a `provider`.
    LetOutAlone { by: &'static str },
    /// The request broke within the gateway.
    Panicked,
    /// The caller gets an explanation of the decisions, under this trace id.
    Explained { id: &'a str, counts: Counts, hops: usize },
    /// The caller gets the head of its answer.
    Head { status: u16 },
    /// The first byte of an answer's body goes to the caller.
    FirstByte,
    /// The first letter of a thought came.
    FirstThought,
    /// The first letter of visible text came.
    FirstText,
    /// The model's answer is over. `is_stopped`: the gateway stopped reading it early.
    Said { answer: &'a Answer, settled: &'a Settled, is_stopped: bool },
    /// A thought repeats the same `period` bytes again and again. `is_cut`: the answer is cut there.
    Circles { period: u64, is_cut: bool },
    /// The gateway cuts the answer here, for a reason of a fixed list.
    Cut { reason: &'static str },
    /// The answer ends before its record is visible, and it may never be.
    Unsaved,
    /// The request is over: `completed`, `cancelled`, `failed` or `interrupted`.
    Ended { outcome: &'static str, bytes: u64 },
}

/// The end of an answer that was read after its caller had left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Completed,
    Failed,
    /// It took too long, or was too long.
    Left,
}

impl Heard {
    pub(crate) const ALL: [Heard; 3] = [Heard::Completed, Heard::Failed, Heard::Left];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Heard::Completed => "completed",
            Heard::Failed => "failed",
            Heard::Left => "left",
        }
    }
}

/// A threshold of a budget was reached. The answer that reached it may be over already.
pub(crate) struct BudgetReached<'a> {
    /// The tenant of the key.
    pub(crate) tenant: &'a Tenant,
    /// The scope of the budget: `session`, `turn`, `task`, `day`, `key`.
    pub(crate) scope: &'static str,
    /// The unit of the budget.
    pub(crate) unit: Unit,
    /// The session and the turn of the request that reached it.
    pub(crate) session: &'a str,
    pub(crate) run: &'a str,
    /// The threshold, with the spent amount, the budget and the share in percent.
    pub(crate) event: &'a BudgetEvent,
}

/// A change of the gateway as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The configuration changed.
    Reloaded,
    /// There was no room for a connection.
    Shed,
    /// Lessons from refusals could not be written to the store, or read from it.
    Unshared,
}
