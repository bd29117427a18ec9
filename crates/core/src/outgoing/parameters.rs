//! The parameters about thinking in the form that the model takes: one function for settings and callers, on every
//! face.
//!
//! Settings go before the caller. On the caller's own wire its words stay as they are, and only settings are adapted.
//!
//! - An effort becomes the nearest word of the model, or a budget if the model knows only budgets; a budget becomes
//!   an effort if the model knows only efforts.
//! - Off is written in the model's own form. A model that cannot be off thinks as little as it can.
//! - A model without a form gets no parameter; an unknown model gets the caller's words as they are.

use super::off::{can_only_be_asked, is_off};
use crate::allowance::{can_be_off, lower};
use crate::json::{Raw, Writer, at_path};
use crate::problem::{Problem, ProblemCode};
use crate::provider::{BudgetForm, EffortForm, ModelRule, Target, ThinkingForm};
use crate::request::{ReasoningAsk, Request};
use crate::settings::{Budget, Effort, Key, Resolved};
use crate::wire::budget_below;

/// The parameters that are added to a body beside the messages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameters {
    /// JSON objects that are merged into the body.
    pub(crate) patches: Vec<Raw>,
    /// Objects for members that the body lacks.
    pub(super) fill: Vec<Raw>,
    /// The cap on all tokens, if a thought needs a greater one.
    pub(super) max_tokens: Option<u64>,
    /// The parameters that differ from the requested ones.
    pub(crate) adapted: Vec<&'static str>,
    /// Warnings for the user.
    pub(crate) warnings: Vec<Problem>,
}

impl Parameters {
    fn say(&mut self, patch: Option<&str>) {
        self.patches.extend(patch.and_then(|patch| Raw::parse(patch).ok()));
    }

    fn count(&mut self, name: &'static str) {
        if !self.adapted.contains(&name) {
            self.adapted.push(name);
        }
    }

    pub(super) fn warn(&mut self, name: &str, what: &str) {
        let message = format!("`{name}`: the model {what}");
        self.warnings.push(Problem::new(ProblemCode::Fallback, message));
    }

    /// Counts a parameter and warns of its change in a sentence.
    pub(super) fn adapted(&mut self, name: &'static str, what: &str) {
        self.count(name);
        self.warn(name, what);
    }
}

/// The wish of settings and caller about the model's thinking.
#[derive(Clone, Copy, Debug, Default)]
struct Wish {
    off: bool,
    on: bool,
    effort: Option<Effort>,
    budget: Option<u64>,
    /// The amount is the caller's, so that its cap on all tokens holds.
    is_callers: bool,
    show: bool,
}

impl Wish {
    fn of(request: &Request, target: &Target, settings: &Resolved, is_own: bool) -> Self {
        let silent = ReasoningAsk::default();
        let ask = if is_own { &silent } else { &request.reasoning };
        let may_ask = |is_explicit: bool| is_explicit || !request.is_relayed;
        let show = settings.include_in_response;
        let effort = settings.effort.value.filter(|effort| *effort != Effort::None);
        let budget = match settings.max_tokens.value {
            Some(Budget::Tokens(tokens)) => Some(tokens.get()),
            Some(Budget::Unlimited) | None => None,
        };
        let is_callers = effort.is_none() && budget.is_none();
        let is_asked_off = ask.enabled == Some(false) || ask.effort == Some(Effort::None);
        let off = is_off(settings) || is_callers && is_asked_off;
        let said = if is_callers { ask } else { &silent };
        let asks = said.enabled == Some(true) || said.effort.is_some() || said.max_tokens.is_some();
        let mut wish = Wish {
            off,
            on: asks || may_ask(settings.enabled.is_explicit()),
            effort: effort.or(said.effort),
            budget: budget.or(said.max_tokens),
            is_callers,
            show: show.value && may_ask(show.is_explicit()) || ask.show == Some(true),
        };
        // If a caller only switches thinking on but the model wants a degree, the middle is used.
        let form = &target.rule.thinking;
        let is_bare = said.enabled == Some(true) && wish.effort.is_none() && wish.budget.is_none();
        if is_bare && form.effort.is_none() && form.budget.is_some() {
            wish.effort = Some(Effort::Medium);
        }
        wish
    }
}

/// Converts the wishes of settings and caller into the form of the model. With `is_own` the body already contains the
/// caller's own parameters.
pub(super) fn adapt(
    request: &Request,
    target: &Target,
    settings: &Resolved,
    is_own: bool,
) -> Parameters {
    let rule = &target.rule;
    let wish = Wish::of(request, target, settings, is_own);
    let mut asks = Parameters::default();
    // Flags also shape the answer (thoughts in a field of their own), so they are always sent.
    asks.fill.extend(rule.contract.flags.and_then(|flags| Raw::parse(flags).ok()));
    if wish.off {
        switch_off(rule, settings, request, &mut asks, is_own);
    } else {
        amount(rule, wish, request, &mut asks);
        asks.say(rule.thinking.show.filter(|_| wish.show));
    }
    asks
}

/// Removes members from a request that its parameters replace in the model's form, so that no member contradicts
/// them.
pub(super) fn settle(request: &mut Request, target: &Target, settings: &Resolved, is_own: bool) {
    let rule = &target.rule;
    let is_off_here = is_off(settings);
    let wish = Wish::of(request, target, settings, is_own);
    let ask = &mut request.reasoning;
    if is_off_here && can_be_off(rule) || wish.off && !is_own && !is_off_here {
        *ask = ReasoningAsk::default();
    } else if can_only_be_asked(rule, settings) {
        lower(ask);
    } else if !is_own && (has_form(&rule.thinking) || rule.is_thoughtless()) {
        *ask = ReasoningAsk { show: ask.show, ..ReasoningAsk::default() };
    }
}

/// Whether the model's form of thinking is known.
const fn has_form(form: &ThinkingForm) -> bool {
    form.default_on || form.on.is_some() || form.effort.is_some() || form.budget.is_some()
}

/// If the model does not think by default, the switch is sent only against a caller that asks for thinking. A model
/// that cannot be switched off gets the lowest effort.
fn switch_off(
    rule: &ModelRule,
    settings: &Resolved,
    request: &Request,
    asks: &mut Parameters,
    is_own: bool,
) {
    let (form, said) = (&rule.thinking, &request.reasoning);
    let is_asked = said.enabled == Some(true)
        || said.max_tokens.is_some()
        || said.effort.is_some_and(|effort| effort != Effort::None);
    let key = if settings.enabled.value { Key::Effort } else { Key::Enabled };
    let name = key.as_str();
    if form.off.is_some() {
        asks.say(form.off.filter(|_| form.default_on || is_asked));
        return;
    }
    if !form.default_on && (form.on.is_some() || rule.is_thoughtless()) {
        return;
    }
    // The model is only assumed to think, so it is unknown which parameters it refuses.
    match (form.effort.filter(|_| form.default_on), form.budget.filter(|_| form.default_on)) {
        (Some(form), _) => {
            if let Some(word) = form.word(Effort::None) {
                asks.patches.push(at_path(form.path, &Raw::string(word)));
            }
        }
        (None, Some(form)) => {
            asks.patches.push(at_path(form.path, &number(form.min)));
            asks.say(form.with);
        }
        (None, None) if form.default_on => {}
        (None, None) => {
            let what = "has no way to be told not to think, so nothing is sent";
            // The caller's own words are made less, if it has any.
            return if is_own { asks.warn(name, what) } else { asks.adapted(name, what) };
        }
    }
    asks.adapted(
        name,
        "always thinks, so thinking cannot be switched off; it thinks as little as it can",
    );
}

const NO_EFFORT: &str = "has no way to be told an effort, so none is sent";
const NO_CAP: &str = "has no cap on thinking tokens, so none is sent";

/// Adds the switch and the amount of thinking.
fn amount(rule: &ModelRule, wish: Wish, request: &Request, asks: &mut Parameters) {
    let form = &rule.thinking;
    if !has_form(form) {
        // An unknown model gets the caller's words as they are.
        if !wish.is_callers || rule.is_thoughtless() {
            unsaid(wish, asks);
        }
        return;
    }
    if has_no_room(form, wish, request) {
        let what = "needs more tokens to think than the answer may take, so it does not think";
        return asks.adapted(Key::MaxTokens.as_str(), what);
    }
    // First, because it may name an effort or a budget of its own, which the user's go before.
    asks.say(form.on.filter(|_| !form.default_on && wish.on));
    match (&form.effort, &form.budget) {
        (Some(form), None) => in_words(form, wish, asks),
        (Some(effort), Some(form)) => {
            if let Some(wanted) = wish.effort {
                word(effort, wanted, asks);
            }
            if let Some(tokens) = wish.budget {
                cap(form, tokens, wish, request, asks);
            }
        }
        // An effort becomes a number of tokens here; an explicit number takes precedence.
        (None, Some(form)) => {
            let for_effort = wish.effort.map(|effort| tokens_for(effort, form, request));
            if let Some(tokens) = wish.budget.or(for_effort) {
                cap(form, tokens, wish, request, asks);
            }
            if wish.budget.is_none() && for_effort.is_some() {
                asks.count(Key::Effort.as_str());
            }
        }
        (None, None) => unsaid(wish, asks),
    }
}

/// Adds the amount for a model without budgets.
fn in_words(form: &EffortForm, wish: Wish, asks: &mut Parameters) {
    let budget = Key::MaxTokens.as_str();
    if let Some(wanted) = wish.effort {
        word(form, wanted, asks);
        if wish.budget.is_some() {
            asks.adapted(budget, NO_CAP);
        }
    } else if let Some(tokens) = wish.budget {
        asks.adapted(budget, "has no cap on thinking tokens, so an effort stands for it");
        if let Some(word) = form.word(effort_for(tokens)) {
            asks.patches.push(at_path(form.path, &Raw::string(word)));
        }
    }
}

/// Reports that the model has no field for an amount.
fn unsaid(wish: Wish, asks: &mut Parameters) {
    if wish.effort.is_some() {
        asks.adapted(Key::Effort.as_str(), NO_EFFORT);
    }
    if wish.budget.is_some() {
        asks.adapted(Key::MaxTokens.as_str(), NO_CAP);
    }
}

/// Whether a caller's own cap on all tokens leaves no room for the least budget.
fn has_no_room(form: &ThinkingForm, wish: Wish, request: &Request) -> bool {
    let is_asked = wish.effort.is_some() || wish.budget.is_some();
    let budget = form.budget.filter(|it| it.below_max_tokens && form.effort.is_none());
    let least = budget.filter(|_| wish.is_callers && is_asked).map(|form| form.min);
    least.is_some_and(|least| request.max_tokens.is_some_and(|cap| cap <= least))
}

/// The nearest word for an effort.
fn word(form: &EffortForm, wanted: Effort, asks: &mut Parameters) {
    let Some(word) = form.word(wanted) else { return };
    asks.patches.push(at_path(form.path, &Raw::string(word)));
    if !word.eq_ignore_ascii_case(wanted.as_str()) {
        let what = format!("does not know `{}`, so `{word}` is sent", wanted.as_str());
        asks.adapted(Key::Effort.as_str(), &what);
    }
}

/// The effort for a budget: the inverse of [`tokens_for`].
fn effort_for(tokens: u64) -> Effort {
    match tokens {
        0..=1_024 => Effort::Minimal,
        1_025..=4_096 => Effort::Low,
        4_097..=8_192 => Effort::Medium,
        8_193..=16_384 => Effort::High,
        16_385..=32_768 => Effort::Xhigh,
        32_769.. => Effort::Max,
    }
}

/// The budget for an effort: each step doubles the one below. If the caller caps all tokens, room for the answer is
/// left below that cap, as far as the least budget allows it.
fn tokens_for(effort: Effort, form: &BudgetForm, request: &Request) -> u64 {
    let tokens = match effort {
        Effort::None | Effort::Minimal => 1_024,
        Effort::Low => 4_096,
        Effort::Medium => 8_192,
        Effort::High => 16_384,
        Effort::Xhigh => 32_768,
        Effort::Max => form.max,
    };
    match request.max_tokens.filter(|_| form.below_max_tokens) {
        Some(cap) => tokens.min(cap / 5 * 4).max(form.min),
        None => tokens,
    }
}

fn cap(form: &BudgetForm, wanted: u64, wish: Wish, request: &Request, asks: &mut Parameters) {
    /// Room for the answer beside the thought, if the caller has no cap of its own.
    const ROOM: u64 = 8_192;
    let mut tokens = wanted.clamp(form.min, form.max.max(form.min));
    if let Some(cap) = request.max_tokens.filter(|_| wish.is_callers && form.below_max_tokens) {
        tokens = budget_below(tokens, cap).max(form.min);
    }
    if tokens != wanted {
        asks.count(Key::MaxTokens.as_str());
    }
    asks.patches.push(at_path(form.path, &number(tokens)));
    asks.say(form.with);
    if form.below_max_tokens && request.max_tokens.is_none_or(|cap| cap <= tokens) {
        asks.max_tokens = Some(tokens.saturating_add(ROOM));
    }
}

fn number(tokens: u64) -> Raw {
    Raw::build(|w: &mut Writer| w.u64(tokens))
}
