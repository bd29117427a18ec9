//! What a request may spend on reasoning, and in all.

use super::money::Bill;
use super::purse::{About, Demand, Denied, Reservation};
use super::tab::{Paid, Tab};
use crate::audit::Labels;
use crate::door::{Turned, turned};
use crate::keys::Pass;
use crate::vault::Vaults;
use http::HeaderMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thinkthrough_core::allowance::{answers, can_be_off, may_think, within};
use thinkthrough_core::budget::{Ask, OnExceed, Scope, Unit};
use thinkthrough_core::content::Content;
use thinkthrough_core::exchange::RequestContext;
use thinkthrough_core::json::Val;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::settings::Budget;
use thinkthrough_core::turns::begins;
use thinkthrough_store::LedgerKey;
use tokio::time::timeout;

/// By this header a caller says which task a request belongs to.
const TASK: &str = "x-thinkthrough-task";
/// What a thought may take where neither the caller nor the model's rule has a cap.
const ROOM: u64 = 32_768;
/// What it may take at most, whatever they say.
const MOST: u64 = 131_072;
/// Room for a text without a cap of its own.
const ANSWER: u64 = 8_192;
/// What is reserved at first for an answer that can be cut, where the budget has all that it may take.
const FIRST: u64 = 4_096;
/// How long a request waits for what others have reserved.
const PATIENCE: Duration = Duration::from_secs(5);
/// No provider takes a cap on an answer that is less.
const LEAST: u64 = 16;
/// Nothing is asked of a budget.
const NOTHING: Ask = Ask { wanted: 0, least: 0 };
/// Why an answer that is made later is refused.
const BACKGROUND: &str = "an answer that is made in the background is taken by nobody here, so that what it spends cannot \
                          be counted, and this key has a budget; ask without `background`";
/// A longer name is none.
const LONGEST: usize = 512;

/// Who asks, and where budgets are kept.
pub(crate) struct Asking<'a> {
    pub(crate) pass: Option<&'a Pass>,
    pub(crate) vaults: Option<&'a Arc<dyn Vaults>>,
    pub(crate) headers: &'a HeaderMap,
    /// What the client calls its session.
    pub(crate) hint: Option<&'a str>,
    /// What a trace of the request is found by, where its tenant has a secret for that.
    pub(crate) labels: Option<Labels>,
    /// The request has at least so many tokens as it goes out.
    pub(crate) tokens: u64,
    /// Its bytes go out as they came, and its answer is passed on whatever it takes.
    pub(crate) is_as_it_is: bool,
}

/// What became of a request's budgets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowed {
    /// What the rules demand of it, because a budget is spent, and which one that is.
    pub(crate) exceeded: Option<(OnExceed, Scope)>,
    /// How many tokens its answer may take as it was sent.
    pub(crate) room: Room,
}

/// What a request reserved.
struct Reserved {
    budgets: Vec<Reservation>,
    /// A budget has never had as much as its model thinks at least.
    is_too_little: bool,
}

/// What is asked of each kind of budget.
#[derive(Clone, Copy, Debug)]
struct Demands {
    thought: Demand,
    money: Demand,
}

/// Tokens of an answer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    pub(crate) thought: u64,
    /// The thought and all else.
    pub(crate) all: u64,
}

impl Tab {
    /// Reserves what the request may spend, in place of what it had reserved before, and lays upon it what the budget
    /// demands.
    pub(crate) async fn allow(
        &self,
        asking: Asking<'_>,
        asked: &mut RequestContext<'_>,
    ) -> Result<Allowed, Turned> {
        let Some(pass) = asking.pass.filter(|pass| !pass.budgets.is_none()) else {
            return Ok(Allowed::default());
        };
        if is_in_background(asked.root()) {
            return Err(turned(403, "budget_unreadable", BACKGROUND));
        }
        let is_hard = pass.budgets.on_exceed == OnExceed::Block;
        let is_cut = is_hard && asked.is_stream() && !asking.is_as_it_is;
        let (wanted, room, count) = match asking.is_as_it_is {
            true => reckon(asked, asked.root(), is_cut),
            false => reckon(asked, asked.head().doc().root(), is_cut),
        };
        let bill = pass.budgets.has_money().then(|| Bill::of(asked, asking.tokens)).transpose()?;
        let least = LEAST.saturating_mul(count).max(wanted.least.saturating_mul(2));
        let money = |all: u64| bill.map_or(NOTHING, |bill| bill.ask(all, least));
        let first = |most: u64| if is_cut { most.min(FIRST.saturating_mul(count)) } else { most };
        let demand = |ask: Ask, first: u64| Demand { ask, first, patience: PATIENCE, own: 0 };
        let mut demands = Demands {
            thought: demand(wanted, first(wanted.wanted)),
            money: demand(money(room.all), money(first(room.all)).wanted),
        };
        if asking.is_as_it_is && asked.cap().is_some_and(|cap| cap > 0) {
            // It cannot be told a lower cap than its own.
            demands.money.ask.least = demands.money.ask.wanted;
        }
        self.put_back();
        let may_be_off = !asking.is_as_it_is && can_be_off(&asked.target().rule);
        let reserved = self.reserve(&asking, pass, asked.contents(), (demands, may_be_off)).await?;
        let Reserved { budgets, is_too_little } = reserved;
        let spent = budgets.iter().find_map(|one| one.exceeded.zip(one.scope()));
        let exceeded = spent.map(|(action, _)| action);
        let granted = |unit| {
            let of = budgets.iter().filter(move |one: &&Reservation| one.unit == unit);
            of.filter_map(|one| one.granted).min()
        };
        let affordable =
            granted(Unit::Money).and_then(|micro| Some(bill?.answer_for(micro) / count));
        // A part of what is paid for is left to the text.
        let thought = affordable.map(|tokens| tokens - (tokens / 4).min(ANSWER));
        let cap = granted(Unit::Reasoning).map(|tokens| tokens / count);
        let cap = cap.into_iter().chain(thought).min();
        self.keep(Paid { budgets, bill, is_cut });
        if let Some(tokens) = affordable.filter(|_| is_hard) {
            asked.set_most(tokens.max(1));
        }
        let is_off = is_too_little || exceeded == Some(OnExceed::DisableReasoning) && may_be_off;
        // What was not asked to think is not told how much.
        if is_off || thinks(asked) {
            if exceeded.is_some_and(|it| it != OnExceed::Warn) {
                asked.lower_effort();
            }
            let demanded = if is_off { Some(OnExceed::DisableReasoning) } else { exceeded };
            let cap = cap.and_then(|cap| below_own(asked, cap));
            let settings = within(asked.settings(), &asked.target().rule, demanded, cap);
            asked.set_settings(settings);
        }
        Ok(Allowed { exceeded: spent, room })
    }

    /// Refuses a request that spends nothing where the budget is spent and its key is blocked.
    pub(crate) async fn check(
        &self,
        asking: Asking<'_>,
        asked: &RequestContext<'_>,
    ) -> Result<(), Turned> {
        let is_blocked = |pass: &&Pass| pass.budgets.on_exceed == OnExceed::Block;
        let Some(pass) = asking.pass.filter(|it| !it.budgets.is_none()).filter(is_blocked) else {
            return Ok(());
        };
        let one = Demand::of(Ask::up_to(1));
        let demands = Demands { thought: one, money: one };
        drop(self.reserve(&asking, pass, asked.contents(), (demands, false)).await?);
        Ok(())
    }

    /// Takes from each budget, or from none.
    async fn reserve(
        &self,
        asking: &Asking<'_>,
        pass: &Pass,
        contents: &[Content],
        (demands, may_be_off): (Demands, bool),
    ) -> Result<Reserved, Turned> {
        let ledgers = self.purse.ledgers(asking.vaults);
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
                Unit::Reasoning => demands.thought,
                Unit::Money => demands.money,
            };
            let what = (rules, about.clone());
            let mut reserved = self.purse.reserve(&ledgers, key.clone(), what, demand).await;
            let is_untouched = matches!(reserved, Err(Denied::Spent { used: 0, .. }));
            let is_off = may_be_off && unit == Unit::Reasoning;
            if is_untouched && (asking.is_as_it_is || is_off) {
                // Nothing is spent yet, so that it is not refused: it goes as it is, or without a thought, where its
                // model cannot be told to think as little as there is.
                is_too_little |= is_off;
                let ask = Ask { least: 1, ..demand.ask };
                let any = Demand { ask, ..demand };
                reserved = self.purse.reserve(&ledgers, key, (rules, about), any).await;
            }
            match reserved {
                Ok(reserved) => all.push(reserved),
                // What asks without waiting only looks whether anything is left.
                Err(Denied::Reserved { .. }) if demand.patience.is_zero() => {}
                Err(denied) => return Err(self.denied(denied, (unit, scope), &rules)),
            }
        }
        Ok(Reserved { budgets: all, is_too_little })
    }

    /// What is spent of a budget that is one for the whole key or the day; `None` for those that each session, turn or
    /// task has, and where the store does not answer in time.
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
        let ledgers = self.purse.ledgers(vaults);
        let key = LedgerKey::new(tenant, unit.ledger(scope), &name);
        timeout(patience, ledgers.used(&key)).await.ok()?.ok()
    }
}

/// Whether the answer may be made in the background: servers take other values than `true` for yes.
fn is_in_background(body: Val<'_>) -> bool {
    let is_no = |said: Val<'_>| said.as_bool() == Some(false) || said.as_f64() == Some(0.0);
    body.some("background").is_some_and(|said| !is_no(said))
}

/// What the body of a request asks of its budgets, how many tokens all of its answers may take, and how many answers
/// it asks for.
fn reckon(asked: &RequestContext<'_>, body: Val<'_>, is_cut: bool) -> (Ask, Room, u64) {
    let (rule, count) = (&asked.target().rule, answers(body));
    let own = asked.cap().filter(|cap| *cap > 0);
    let most = rule.thinking.budget.map_or(ROOM, |form| form.max).min(MOST);
    let caps = own_caps(asked).into_iter().chain([own]).flatten();
    let thought = match may_think(rule, body) {
        true => caps.fold(most, u64::min),
        false => 0,
    };
    // What cannot be cut is to be paid for as a whole.
    let text = if is_cut || thought > 0 { ANSWER } else { ROOM };
    let all = own.unwrap_or_else(|| thought.saturating_add(text)).min(MOST + ANSWER);
    let least = asked.least_thought().min(thought);
    let of = |tokens: u64| tokens.saturating_mul(count);
    let ask = Ask { wanted: of(thought), least: of(least) };
    (ask, Room { thought: of(thought), all: of(all) }, count)
}

/// A cap on the thought that leaves room below the cap on all, where the two belong together; `None` where the caller or
/// the settings have a lower one already.
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

/// Whether the model will think as far as anybody can tell from the request.
fn thinks(asked: &RequestContext<'_>) -> bool {
    let (said, settings) = (asked.reasoning(), asked.settings());
    let is_asked = said.enabled == Some(true) || said.effort.is_some() || said.max_tokens.is_some();
    let is_set = settings.effort.value.is_some() || settings.max_tokens.value.is_some();
    is_asked || is_set || asked.target().rule.thinking.default_on
}

/// What the session and the turn are called. Without a secret of the tenant, requests whose client names no session are
/// of one.
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
