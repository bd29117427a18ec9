//! Reserves the amounts that a request may spend: on reasoning, and in all.

use super::budget_leases::{About, Demand, Denied, Reservation};
use super::charges::{Paid, RequestCharges};
use super::demands::{Bound, Demands, thinks};
use crate::identify::keys::Pass;
use crate::observe::audit::Labels;
use crate::rejection::{Rejection, rejection};
use crate::store::vault::Vaults;
use http::HeaderMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thinkthrough_core::allowance::{MOST, can_be_off, within};
use thinkthrough_core::content::Content;
use thinkthrough_core::exchange::RequestContext;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::settings::Budget;
use thinkthrough_core::turns::begins;
use thinkthrough_json::Val;
use thinkthrough_limits::{Ask, OnExceed, Scope, Unit};
use thinkthrough_store::LedgerKey;
use tokio::time::timeout;

/// The header in which a caller names the task of a request.
const TASK: &str = "x-thinkthrough-task";
/// The most tokens that a cap on an answer leaves to the text beside the thought.
const ANSWER: u64 = 8_192;
/// The reason why an answer that is made later is refused.
const BACKGROUND: &str = "an answer that is made in the background is taken by nobody here, so that what it spends cannot \
                          be counted, and this key has a budget; ask without `background`";
/// The longest name of a task.
const LONGEST: usize = 512;

/// The caller of a request, and the store of its budgets.
pub(crate) struct Asking<'a> {
    pub(crate) pass: Option<&'a Pass>,
    pub(crate) vaults: Option<&'a Arc<dyn Vaults>>,
    pub(crate) headers: &'a HeaderMap,
    /// The session that the client names.
    pub(crate) hint: Option<&'a str>,
    /// The labels of its trace, if its tenant has a secret for that.
    pub(crate) labels: Option<Labels>,
    /// The body that goes out; `None`: the caller's own bytes.
    pub(crate) body: Option<&'a str>,
    /// Its bytes go out unchanged, and its answer is passed on at any size.
    pub(crate) is_as_it_is: bool,
}

/// The effect of its budgets on a request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowed {
    /// The action that the rules demand because a budget is spent, and the scope of that budget.
    pub(crate) exceeded: Option<(OnExceed, Scope)>,
    /// The tokens that its answer may take as it was sent.
    pub(crate) room: Room,
    /// The request must be prepared again, because its caps or settings were lowered.
    pub(crate) is_changed: bool,
}

/// The reservations of a request.
struct Reserved {
    budgets: Vec<Reservation>,
    /// An unspent budget is smaller than the least thought of the model.
    is_too_little: bool,
}

/// Tokens of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    pub(crate) thought: u64,
    /// The thought and all else.
    pub(crate) all: u64,
}

impl RequestCharges {
    /// Reserves the amounts that the outgoing body may spend, in place of earlier reservations, and applies the
    /// demands of the budgets to the request.
    pub(crate) async fn allow(
        &self,
        asking: Asking<'_>,
        asked: &mut RequestContext<'_>,
    ) -> Result<Allowed, Rejection> {
        let Some(pass) = asking.pass.filter(|pass| !pass.budgets.is_none()) else {
            return Ok(Allowed::default());
        };
        if asked.root().is_some_and(is_in_background) {
            return Err(rejection(403, "budget_unreadable", BACKGROUND));
        }
        let demands = Demands::of(&asking, asked, pass)?;
        self.put_back();
        let may_be_off = !asking.is_as_it_is && can_be_off(&asked.target().rule);
        let asks = (demands.thought, demands.money);
        let reserved = self.reserve(&asking, pass, asked.contents(), (asks, may_be_off)).await?;
        let Reserved { budgets, is_too_little } = reserved;
        let exceeded = budgets.iter().find_map(|one| one.exceeded.zip(one.scope()));
        let action = exceeded.map(|(action, _)| action);
        let is_off = is_too_little || action == Some(OnExceed::DisableReasoning) && may_be_off;
        let granted = Granted::of(&budgets, &demands, is_off);
        let (bill, is_cut) = (demands.bill, demands.bound == Bound::Cut);
        self.keep(Paid { budgets, bill, is_cut });
        let demanded = if is_off { Some(OnExceed::DisableReasoning) } else { action };
        let is_changed = !asking.is_as_it_is && granted.lay(asked, &demands, demanded);
        Ok(Allowed { exceeded, room: demands.room(), is_changed })
    }

    /// Refuses a request without costs if the budget is spent and its key is blocked.
    pub(crate) async fn check(
        &self,
        asking: Asking<'_>,
        asked: &RequestContext<'_>,
    ) -> Result<(), Rejection> {
        let is_blocked = |pass: &&Pass| pass.budgets.on_exceed == OnExceed::Block;
        let Some(pass) = asking.pass.filter(|it| !it.budgets.is_none()).filter(is_blocked) else {
            return Ok(());
        };
        let one = Demand::of(Ask::up_to(1));
        drop(self.reserve(&asking, pass, asked.contents(), ((one, one), false)).await?);
        Ok(())
    }

    /// Takes from each budget, or from none.
    async fn reserve(
        &self,
        asking: &Asking<'_>,
        pass: &Pass,
        contents: &[Content],
        ((thought, money), may_be_off): ((Demand, Demand), bool),
    ) -> Result<Reserved, Rejection> {
        let ledgers = self.budget_leases.ledgers(asking.vaults);
        let (session, run) = names(asking, contents);
        let (mut all, mut is_too_little) = (Vec::new(), false);
        for (unit, scope, rules) in pass.budgets.rules() {
            let name = match scope {
                Scope::Session => session.clone(),
                Scope::Turn => run.clone(),
                Scope::Task => task(asking.headers).unwrap_or_else(|| session.clone()),
                Scope::Day => day(),
                Scope::Key => String::new(),
            };
            let key = LedgerKey::new(&pass.tenant, unit.ledger(scope), &name);
            let about = About {
                tenant: pass.tenant.clone(),
                scope,
                unit,
                session: session.clone(),
                run: run.clone(),
            };
            let demand = match unit {
                Unit::Reasoning => thought,
                Unit::Money => money,
            };
            let what = (rules, about.clone());
            let mut reserved =
                self.budget_leases.reserve(&ledgers, key.clone(), what, demand).await;
            let is_untouched = matches!(reserved, Err(Denied::Spent { used: 0, .. }));
            let is_off = may_be_off && unit == Unit::Reasoning;
            if is_untouched && (asking.is_as_it_is || is_off) {
                // The budget is unspent but too small, so that the request is not refused: it goes out unchanged, or
                // without a thought if its model cannot think little enough.
                is_too_little |= is_off;
                let ask = Ask { least: 1, ..demand.ask };
                let any = Demand { ask, ..demand };
                reserved = self.budget_leases.reserve(&ledgers, key, (rules, about), any).await;
            }
            match reserved {
                Ok(reserved) => all.push(reserved),
                // A demand without patience only checks whether anything is left.
                Err(Denied::Reserved { .. }) if demand.patience.is_zero() => {}
                Err(denied) => return Err(self.denied(denied, (unit, scope), &rules)),
            }
        }
        Ok(Reserved { budgets: all, is_too_little })
    }

    /// The spent amount of a budget for the whole key or the day. `None` for budgets of sessions, turns or tasks, and
    /// if the store does not answer in time.
    pub(crate) async fn spent(
        &self,
        vaults: Option<&Arc<dyn Vaults>>,
        tenant: &Tenant,
        (unit, scope): (Unit, Scope),
        patience: Duration,
    ) -> Option<u64> {
        let name = match scope {
            Scope::Day => day(),
            Scope::Key => String::new(),
            Scope::Session | Scope::Turn | Scope::Task => return None,
        };
        let ledgers = self.budget_leases.ledgers(vaults);
        let key = LedgerKey::new(tenant, unit.ledger(scope), &name);
        timeout(patience, ledgers.used(&key)).await.ok()?.ok()
    }
}

/// Whether the answer may be made in the background: servers take other values than `true` for yes.
fn is_in_background(body: Val<'_>) -> bool {
    let is_no = |said: Val<'_>| said.as_bool() == Some(false) || said.as_f64() == Some(0.0);
    body.some("background").is_some_and(|said| !is_no(said))
}

/// The grants of budgets to each answer, if they are less than it may take.
struct Granted {
    /// Tokens of its thought.
    thought: Option<u64>,
    /// Tokens of the whole answer, sent to its model as a cap.
    all: Option<u64>,
}

impl Granted {
    fn of(budgets: &[Reservation], demands: &Demands, is_off: bool) -> Self {
        let Demands { extent, bound, bill, .. } = *demands;
        let least = |unit| {
            let of = budgets.iter().filter(move |one: &&Reservation| one.unit == unit);
            of.filter_map(|one| one.granted).min()
        };
        let thought = least(Unit::Reasoning).map(|tokens| tokens / extent.answers);
        let beyond = extent.cap.filter(|cap| extent.thought > 0 && *cap > MOST).map(|_| MOST);
        // An answer without a thought has no cap because of a budget of thoughts.
        let capped = thought.or(beyond).filter(|_| bound == Bound::Cap && !is_off);
        let paid = |micro| Some(bill?.answer_for(micro) / extent.answers);
        let all = least(Unit::Money).and_then(paid).into_iter().chain(capped).min();
        // A part of the answer is left to the text.
        let below = all.map(|tokens| tokens - (tokens / 4).min(ANSWER));
        let thought = thought.filter(|_| capped.is_none());
        Granted { thought: thought.into_iter().chain(below).min(), all: all.map(|it| it.max(1)) }
    }

    /// Applies the grants and the demands of the rules to the request. Returns whether the request changed.
    fn lay(
        self,
        asked: &mut RequestContext<'_>,
        demands: &Demands,
        demanded: Option<OnExceed>,
    ) -> bool {
        let is_above = |most: &u64| demands.extent.cap.is_none_or(|cap| cap > *most);
        let most = self.all.filter(|_| demands.bound != Bound::None).filter(is_above);
        most.into_iter().for_each(|most| asked.set_most(most));
        let demanded = demanded.filter(|action| *action != OnExceed::Warn);
        let is_off = demanded == Some(OnExceed::DisableReasoning);
        // A model that was not asked to think gets no cap on its thought.
        if !is_off && !thinks(asked) {
            return most.is_some();
        }
        let cap = self.thought.and_then(|cap| below_own(asked, cap));
        if demanded.is_some() {
            asked.lower_effort();
        }
        let settings = within(asked.settings(), &asked.target().rule, demanded, cap);
        asked.set_settings(settings);
        most.is_some() || demanded.is_some() || cap.is_some()
    }
}

/// A cap on the thought that leaves room below the cap on all, if the API counts one within the other. `None` if the
/// caller or the settings have a lower one already.
fn below_own(asked: &RequestContext<'_>, cap: u64) -> Option<u64> {
    let is_below = asked.target().rule.thinking.budget.is_some_and(|form| form.below_max_tokens);
    let all = asked.cap().filter(|all| is_below && *all > 0).map(|all| all / 5 * 4);
    let cap = all.map_or(cap, |all| cap.min(all));
    own_caps(asked).into_iter().flatten().all(|own| cap < own).then_some(cap)
}

/// The caps on the thought that the caller and the settings name.
fn own_caps(asked: &RequestContext<'_>) -> [Option<u64>; 2] {
    let set = match asked.settings().max_tokens.value {
        Some(Budget::Tokens(tokens)) => Some(tokens.get()),
        Some(Budget::Unlimited) | None => None,
    };
    [asked.reasoning().max_tokens.filter(|cap| *cap > 0), set]
}

/// The names of the session and the turn. Without a secret of the tenant, requests without a named session share one.
fn names(asking: &Asking<'_>, contents: &[Content]) -> (String, String) {
    if let Some(labels) = &asking.labels {
        return (labels.session.clone(), labels.run.clone());
    }
    let session = asking.hint.unwrap_or_default().to_owned();
    let turns = contents.iter().filter(|content| begins(content)).count();
    let run = format!("{session} {turns}");
    (session, run)
}

fn task(headers: &HeaderMap) -> Option<String> {
    let name = headers.get(TASK)?.to_str().ok()?;
    Some(name.to_owned()).filter(|name| !name.is_empty() && name.len() <= LONGEST)
}

/// The day in UTC, counted from 1970.
fn day() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_secs() / (24 * 60 * 60)).to_string()
}
