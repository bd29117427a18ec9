//! What can happen to a request, said once, for all who count, log and trace.

use http::HeaderMap;
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_core::answer::Answer;
use thinkthrough_core::decision::{Counts, Decision, Without};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::provider::Target;
use thinkthrough_core::settled::Settled;
use thinkthrough_limits::{BudgetEvent, Unit};

/// Something that happened to one request. It may hold headers with keys in them, so that nothing prints it.
pub(crate) enum Progress<'a> {
    /// The caller may come in. That took so long, the look-up of its key included.
    Admitted { tenant: &'a str, took: Duration },
    /// The caller had no key, or one that is not known.
    TurnedAway,
    /// The name that was asked for leads to a model.
    Routed { model: &'a str, provider: &'a str, label: Arc<str> },
    /// The name that was asked for leads to no model.
    Unrouted { model: &'a str },
    /// An answer of that model is wanted, by a request with these headers.
    RequestContext { headers: &'a HeaderMap, stream: bool },
    /// This provider's own API is called, as it is.
    Passed { provider: &'a str },
    /// A look-up failed or took too long, so that the request goes on as if nothing were known.
    Blind,
    /// What becomes of the thoughts was decided for the way that is gone next.
    Decided { counts: Counts, without: Without, is_relayed: bool, decisions: &'a [Decision] },
    /// There is no further way: what was decided last is what was done.
    Led,
    /// A way was prepared, which took so long; the request goes to this upstream next.
    Sent { target: &'a Target, session: Option<String>, took: Duration },
    /// The upstream gave no answer, or broke off, for a reason of a fixed list; what is known about it is for whoever
    /// runs the gateway, with the address.
    Failed { reason: &'static str, cause: Option<String> },
    /// A try got no proper answer, and the request is not over with that: it is tried again, or its caller gets what the
    /// provider said as it is.
    TryFailed { reason: &'static str },
    /// A refused request was mended and goes out again.
    Repaired,
    /// Another model is asked in its place.
    FellBack,
    /// The limit of its `key`, or of a `provider`, let it, or a try of it, not out: so many requests or tokens a minute.
    Limited { by: &'static str, unit: &'static str },
    /// The store was away, so that it was let out without the other gateways that share the limit of its `key`, or of a
    /// `provider`.
    LetOutAlone { by: &'static str },
    /// The request broke within the gateway.
    Panicked,
    /// What was done is explained to the caller, under this name.
    Explained { id: &'a str, counts: Counts, hops: usize },
    /// The caller gets the head of its answer.
    Head { status: u16 },
    /// The first byte of an answer's body goes to the caller.
    FirstByte,
    /// The first letter of a thought came.
    FirstThought,
    /// The first letter of visible text came.
    FirstText,
    /// The model's answer is over, or as far as it came when nobody wanted more of it.
    Said { answer: &'a Answer, settled: &'a Settled, is_stopped: bool },
    /// A thought says the same so many bytes again and again; the answer is cut there, if that is wanted.
    Circles { period: u64, is_cut: bool },
    /// The answer is cut here by the gateway, for a reason of a fixed list.
    Cut { reason: &'static str },
    /// The answer ends before its record can be seen, if it ever will be.
    Unsaved,
    /// The request is over: `completed`, `cancelled`, `failed` or `interrupted`.
    Ended { outcome: &'static str, bytes: u64 },
}

/// How an answer ended that was heard for nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Completed,
    Failed,
    /// It took too long, or said too much.
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
    /// Whose key it is.
    pub(crate) tenant: &'a Tenant,
    /// What the budget is of: `session`, `turn`, `task`, `day`, `key`.
    pub(crate) scope: &'static str,
    /// What it is counted in.
    pub(crate) unit: Unit,
    /// The session and the turn of the request that reached it.
    pub(crate) session: &'a str,
    pub(crate) run: &'a str,
    /// Which threshold, with what is spent, the budget and the share in percent.
    pub(crate) event: &'a BudgetEvent,
}

/// Something that happened to the gateway as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// The configuration changed.
    Reloaded,
    /// There was no room for a connection.
    Shed,
    /// What refusals taught could not be carried to the store, or from there.
    Unshared,
}
