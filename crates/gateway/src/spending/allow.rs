//! What a request may spend on reasoning, and in all.

use super::money::Bill;
use super::purse::{About, Denied, Reserved};
use super::tab::{Most, Tab};
use crate::audit::Labels;
use crate::door::{Turned, turned};
use crate::keys::Pass;
use crate::progress::Progress;
use crate::vault::Vaults;
use http::HeaderMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thinkthrough_core::allowance::{ask, within};
use thinkthrough_core::budget::{Ask, BudgetRules, OnExceed, Scope, Unit};
use thinkthrough_core::content::Content;
use thinkthrough_core::exchange::RequestContext;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::price::Dollars;
use thinkthrough_core::settings::Effort;
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
/// No provider takes a cap on an answer that is less.
const LEAST: u64 = 16;
/// Nothing is asked of a budget.
const NOTHING: Ask = Ask { wanted: 0, least: 0 };
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
}

/// What became of a request's budgets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowed {
    /// What the rules demand of it, because a budget is spent.
    pub(crate) exceeded: Option<OnExceed>,
    /// How many tokens its answer may take as it was sent.
    pub(crate) room: Room,
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
        let wanted = wanted(asked);
        let room = Room { thought: wanted.wanted, all: longest(asked, wanted) };
        let bill = pass.budgets.has_money().then(|| Bill::of(asked, asking.tokens)).transpose()?;
        let least = LEAST.max(wanted.least.saturating_mul(2));
        let money = bill.map_or(NOTHING, |bill| bill.ask(room.all, least));
        self.put_back();
        let all = self.reserve(&asking, pass, asked.contents(), (wanted, money)).await?;
        let exceeded = all.iter().find_map(|one| one.exceeded);
        let of = |unit| all.iter().filter(move |one: &&Reserved| one.unit == unit);
        let paid = |micro: Option<u64>| Some(bill?.answer_for(micro?));
        let cap = of(Unit::Reasoning).filter_map(|one| one.granted).min();
        let affordable = paid(of(Unit::Money).filter_map(|one| one.granted).min());
        // A part of what is paid for is left to the text.
        let thought = affordable.map(|tokens| tokens - (tokens / 4).min(ANSWER));
        let cap = cap.into_iter().chain(thought).min();
        let stops = |ask: Ask| pass.budgets.on_exceed == OnExceed::Block && ask.wanted > 0;
        let most = Most {
            thought: of(Unit::Reasoning).map(Reserved::tokens).min().filter(|_| stops(wanted)),
            all: paid(of(Unit::Money).map(Reserved::tokens).min()).filter(|_| stops(money)),
        };
        self.keep(all, bill, most);
        if let Some(tokens) = affordable.filter(|_| stops(money)) {
            asked.set_most(tokens);
        }
        let is_off = exceeded == Some(OnExceed::DisableReasoning);
        // What was not asked to think is not told how much.
        if is_off || thinks(asked) {
            let settings = within(asked.settings(), &asked.target().rule, exceeded, cap);
            asked.set_settings(settings);
        }
        Ok(Allowed { exceeded, room })
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
        let one = Ask::up_to(1);
        drop(self.reserve(&asking, pass, asked.contents(), (one, one)).await?);
        Ok(())
    }

    /// Takes from each budget, or from none.
    async fn reserve(
        &self,
        asking: &Asking<'_>,
        pass: &Pass,
        contents: &[Content],
        (wanted, money): (Ask, Ask),
    ) -> Result<Vec<Reserved>, Turned> {
        let ledgers = self.purse.ledgers(asking.vaults);
        let (session, run) = names(asking, contents);
        let mut all = Vec::new();
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
                scope: scope.as_str(),
                unit,
                session: session.clone(),
                run: run.clone(),
            };
            let ask = match unit {
                Unit::Reasoning => wanted,
                Unit::Money => money,
            };
            let reserved = self.purse.reserve(&ledgers, key, (rules, about), ask).await;
            all.push(reserved.map_err(|denied| self.denied(denied, (unit, scope), &rules))?);
        }
        Ok(all)
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

    fn denied(&self, denied: Denied, what: (Unit, Scope), rules: &BudgetRules) -> Turned {
        let (unit, scope) = what;
        let word = match unit {
            Unit::Reasoning => "reasoning",
            Unit::Money => "usd",
        };
        let amount = |amount: u64| match unit {
            Unit::Reasoning => amount.to_string(),
            Unit::Money => format!("${}", Dollars(amount)),
        };
        let things = match unit {
            Unit::Reasoning => " reasoning tokens",
            Unit::Money => "",
        };
        self.seen.tell(&Progress::Limited { by: "key", unit: word });
        let of = match scope {
            Scope::Session | Scope::Turn | Scope::Task | Scope::Key => {
                format!("this {}", scope.as_str())
            }
            Scope::Day => "the day".to_owned(),
        };
        match denied {
            Denied::Spent { used, max } => {
                let (used, max) = (amount(used), amount(max));
                let left = match unit {
                    Unit::Reasoning => "is reserved",
                    Unit::Money => "is reserved, or pays for no answer to this request",
                };
                let message = format!(
                    "{used} of the {max}{things} of {of} are spent, and what is left {left}; begin another one, or ask \
                     the gateway's operator for a greater budget"
                );
                turned(402, "reasoning_budget_exceeded", message)
            }
            Denied::Unknown => {
                let max = amount(rules.max.get().unwrap_or_default());
                let message = format!(
                    "what is left of the {max}{things} of {of} cannot be said while the store is away; ask again"
                );
                turned(503, "budget_unavailable", message)
            }
        }
    }
}

/// What the request asks of its budgets.
fn wanted(asked: &RequestContext<'_>) -> Ask {
    let (rule, said) = (&asked.target().rule, asked.reasoning());
    if said.enabled == Some(false) || said.effort == Some(Effort::None) {
        return Ask { wanted: 0, least: 0 };
    }
    let cap = rule.thinking.budget.map_or(ROOM, |form| form.max).min(MOST);
    let caps = [asked.cap(), said.max_tokens].into_iter().flatten();
    ask(rule, asked.settings(), caps.fold(cap, u64::min))
}

/// The most tokens that the answer may take: what its caller says, else the thought and room for a text.
fn longest(asked: &RequestContext<'_>, thought: Ask) -> u64 {
    asked.cap().unwrap_or_else(|| thought.wanted.saturating_add(ANSWER)).min(MOST + ANSWER)
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
