//! The demands of a body that goes out on its key's budgets, and the bound of its answer.

use super::allow::{Asking, Room};
use super::budget_leases::Demand;
use super::money::Bill;
use crate::identify::keys::Pass;
use crate::rejection::{Rejection, rejection};
use std::time::Duration;
use thinkthrough_core::allowance::{Extent, unclear_cap};
use thinkthrough_core::exchange::RequestContext;
use thinkthrough_json::Doc;
use thinkthrough_limits::{Ask, OnExceed};

/// The part of an answer that is reserved at first if the answer can be cut and the budget has all of it.
const FIRST: u64 = 4_096;
/// The longest wait for tokens that others have reserved.
const PATIENCE: Duration = Duration::from_secs(5);
/// No provider takes a lower cap on an answer.
const LEAST: u64 = 16;

/// The bound of an answer to a key whose budget blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// The gateway cuts the stream.
    Cut,
    /// The model keeps to a cap on its whole answer.
    Cap,
    /// The provider ends the thought of a whole answer at its own cap.
    Thought,
    /// No bound.
    None,
}

/// The demands of one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demands {
    pub(super) extent: Extent,
    pub(super) bound: Bound,
    pub(super) bill: Option<Bill>,
    pub(super) thought: Demand,
    pub(super) money: Demand,
}

impl Demands {
    /// Reads the body that goes out. Fails if a budget is in dollars and the price is not known.
    pub(super) fn of(
        asking: &Asking<'_>,
        asked: &RequestContext<'_>,
        pass: &Pass,
    ) -> Result<Self, Rejection> {
        let doc = asking.body.and_then(|body| Doc::parse_str(body).ok());
        let body = doc.as_ref().map(Doc::root).or_else(|| asked.root());
        let nothing = || rejection(400, "invalid_request_error", "there is no request".to_owned());
        let body = body.ok_or_else(nothing)?;
        let target = asked.target();
        let wire = asked.caller().filter(|_| asking.is_as_it_is).unwrap_or(target.wire);
        // On other routes the gateway writes the cap of a budget over the caller's own.
        if asking.is_as_it_is
            && pass.blocks()
            && let Some(cap) = unclear_cap(wire, body)
        {
            let message = format!(
                "`{cap}` is no whole number, so that nobody can say how long the answer may get, and this key has a \
                 budget that blocks; send a number"
            );
            return Err(rejection(400, "invalid_request_error", message));
        }
        let extent = Extent::of(wire, &target.rule, body);
        let bill = pass.budgets.has_money().then(|| Bill::of(target, body)).transpose()?;
        let is_exact = target.rule.thinking.budget.is_some_and(|form| form.is_exact);
        let bound = match pass.budgets.on_exceed {
            OnExceed::Block if asking.is_as_it_is => Bound::None,
            OnExceed::Block if asked.is_stream() => Bound::Cut,
            OnExceed::Block if is_exact && thinks(asked) => Bound::Thought,
            OnExceed::Block => Bound::Cap,
            OnExceed::Warn | OnExceed::LowerEffort | OnExceed::DisableReasoning => Bound::None,
        };
        let least = asked.least_thought();
        // A cap on the answer leaves room for a text.
        let room = least.saturating_mul(2).max(LEAST);
        let of_thought = if bound == Bound::Cap { room } else { least };
        let of_all = |tokens: u64| tokens.saturating_mul(extent.answers);
        let ask =
            Ask { wanted: of_all(extent.thought), least: of_all(of_thought.min(extent.thought)) };
        let room = if extent.thought > 0 { room } else { LEAST };
        let money = |all: u64| bill.map_or(Ask::up_to(0), |bill| bill.ask(all, of_all(room)));
        let first = |most: u64| if bound == Bound::Cut { most.min(of_all(FIRST)) } else { most };
        let demand = |ask: Ask, first: u64| Demand { ask, first, patience: PATIENCE, own: 0 };
        let mut thought = demand(ask, first(ask.wanted));
        let mut money = demand(money(extent.total()), money(first(extent.total())).wanted);
        if asking.is_as_it_is && extent.cap.is_some() {
            // The gateway may not lower its cap.
            if pass.budgets.on_exceed == OnExceed::Block {
                thought.ask.least = thought.ask.wanted;
            }
            money.ask.least = money.ask.wanted;
        }
        Ok(Demands { extent, bound, bill, thought, money })
    }

    /// The most tokens that all answers may take.
    pub(super) fn room(&self) -> Room {
        let Extent { answers, thought, .. } = self.extent;
        Room { thought: thought.saturating_mul(answers), all: self.extent.total() }
    }
}

/// Whether the model will think as far as anybody can tell from the request.
pub(super) fn thinks(asked: &RequestContext<'_>) -> bool {
    let (said, settings) = (asked.reasoning(), asked.settings());
    let is_asked = said.enabled == Some(true) || said.effort.is_some() || said.max_tokens.is_some();
    let is_set = settings.effort.value.is_some() || settings.max_tokens.value.is_some();
    is_asked || is_set || asked.target().rule.thinking.default_on
}
