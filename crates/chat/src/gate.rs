//! Checks before each request: the session's budget of reasoning tokens, and the provider's rate limits.

use crate::counted;
use crate::lessons::Lessons;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use thinkthrough_core::allowance::{ask, within};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::Content;
use thinkthrough_core::exchange::Own;
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::Resolved;
use thinkthrough_core::tokens::{TokenCount, TokenSource, estimate_conservative};
use thinkthrough_core::usage::Usage;
use thinkthrough_limits::runaway::{Circle, Runaway};
use thinkthrough_limits::{
    Admitted, BudgetEvent, BudgetEventKind, BudgetRefusal, BudgetRules, BudgetState, Call, Limit,
    OnExceed, RateLimiter, RateLimits, RateRefusal, Refusal, SessionBudget, admit,
};
use thinkthrough_mask::Masker;
use tokio::time::{Instant, sleep};

/// Delays requests, changes their settings, or refuses them. Several requests may be in progress at once.
pub struct Gate {
    rules: BudgetRules,
    runaway: Runaway,
    /// Masks secrets in requests, if the user wants that.
    masker: Option<Masker>,
    lessons: Lessons,
    began: Instant,
    state: Mutex<State>,
}

/// The part of the gate that changes with every request.
struct State {
    budget: SessionBudget,
    /// The least certain source of the counted tokens.
    source: TokenSource,
    /// The limits of each provider, and its recent requests.
    limiters: BTreeMap<String, (RateLimits, RateLimiter)>,
}

/// An admitted request.
#[derive(Debug)]
#[must_use = "an admitted request holds its reservations until it is settled"]
pub struct Admission {
    /// The settings for the request. The budget may have lowered them.
    pub settings: Resolved,
    /// The provider whose limits count the request.
    provider: String,
    admitted: Admitted,
}

/// A message of the gate or the loop to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A threshold of the budget was reached.
    Budget {
        /// The threshold and the spent amount.
        event: BudgetEvent,
        /// The consequence for further requests.
        on_exceed: OnExceed,
        /// The least certain source of the counted tokens.
        source: TokenSource,
    },
    /// The request waits for the provider's limit.
    Waits(RateRefusal),
    /// A thought repeats the same text.
    Runaway(Circle),
    /// The text of an answer looks as if it had thoughts between tags.
    Tags {
        /// The model that answered.
        model: String,
        /// The tag family.
        family: &'static str,
    },
    /// A file of the question is left out, because the model's API cannot carry its kind.
    Media {
        /// The model.
        model: String,
    },
}

impl Gate {
    /// A gate for a new session.
    #[must_use]
    pub fn new(rules: BudgetRules) -> Self {
        let state = State {
            budget: SessionBudget::new(),
            source: TokenSource::Reported,
            limiters: BTreeMap::new(),
        };
        Gate {
            rules,
            runaway: Runaway::default(),
            masker: None,
            lessons: Lessons::default(),
            began: Instant::now(),
            state: Mutex::new(state),
        }
    }

    /// Sets the masker for secrets in messages of users and tools.
    #[must_use]
    pub fn covering(self, masker: Option<Masker>) -> Self {
        Gate { masker, ..self }
    }

    /// Sets the action for thoughts that repeat the same text.
    #[must_use]
    pub fn watching(self, runaway: Runaway) -> Self {
        Gate { runaway, ..self }
    }

    pub(crate) fn runaway(&self) -> Runaway {
        self.runaway
    }

    pub(crate) fn masker(&self) -> Option<&Masker> {
        self.masker.as_ref()
    }

    /// Sets the facts that refusals taught about models.
    #[must_use]
    pub fn knowing(self, lessons: Lessons) -> Self {
        Gate { lessons, ..self }
    }

    /// The facts that refusals taught about models.
    #[must_use]
    pub fn lessons(&self) -> &Lessons {
        &self.lessons
    }

    /// Sets the limits per minute of a provider.
    pub fn limit(&self, provider: &str, limits: RateLimits) {
        let limiters = &mut self.state().limiters;
        match limiters.get_mut(provider) {
            Some((old, _)) => *old = limits,
            None => {
                limiters.insert(provider.to_owned(), (limits, RateLimiter::new()));
            }
        }
    }

    /// Continues with the budget of a stored conversation, including its earlier thoughts.
    pub fn resume(&self, conversation: &[Content]) {
        let TokenCount { tokens: used, source } =
            counted::sum(conversation.iter().map(counted::of));
        let mut state = self.state();
        state.budget = SessionBudget::resume(BudgetState { used, ..BudgetState::default() });
        state.source = source;
    }

    /// Reasoning tokens spent so far, with the source of the count.
    #[must_use]
    pub fn used(&self) -> TokenCount {
        let state = self.state();
        TokenCount { tokens: state.budget.used(), source: state.source }
    }

    /// Waits until the provider's limits admit a request, then asks the budget.
    ///
    /// # Errors
    /// If the budget is spent and its rules block.
    pub async fn admit(
        &self,
        target: &Target,
        settings: &Resolved,
        request: &Request,
        notice: &mut (dyn FnMut(Notice) + Send),
    ) -> Result<Admission, BudgetRefusal> {
        let tokens = self.size(target, settings, request);
        let call = Call { tokens, reasoning: ask(&target.rule, settings, u64::MAX) };
        let provider = &target.provider;
        loop {
            match self.try_admit(provider, call) {
                Ok(admitted) => {
                    let budget = &admitted.budget;
                    let settings = within(settings, &target.rule, budget.exceeded(), budget.cap());
                    return Ok(Admission { settings, provider: provider.clone(), admitted });
                }
                Err(Refusal::Budget(refusal)) => return Err(refusal),
                Err(Refusal::Rate(refusal)) => {
                    notice(Notice::Waits(refusal));
                    sleep(refusal.retry_after.max(Duration::from_millis(1))).await;
                }
            }
        }
    }

    fn try_admit(&self, provider: &str, call: Call) -> Result<Admitted, Refusal> {
        let now = self.began.elapsed();
        let State { budget, limiters, .. } = &mut *self.state();
        let mut free = (RateLimits::UNLIMITED, RateLimiter::new());
        let (limits, limiter) = limiters.get_mut(provider).unwrap_or(&mut free);
        admit((limiter, limits), (budget, &self.rules), call, now)
    }

    /// Upper estimate of the tokens of a request and its answer. 0 if no limit counts tokens.
    fn size(&self, target: &Target, settings: &Resolved, request: &Request) -> u64 {
        /// Allowance for the answer, whose size is unknown.
        const ANSWER: u64 = 8_192;
        let counts =
            |(limits, _): &(RateLimits, RateLimiter)| limits.tokens_per_minute != Limit::Unlimited;
        if !self.state().limiters.get(&target.provider).is_some_and(counts) {
            return 0;
        }
        let own = Own { masker: self.masker(), ..Own::new(request, target, settings) };
        let body = own.outgoing().body;
        estimate_conservative(&body).saturating_add(ANSWER)
    }

    /// Charges a request. A request without an answer costs nothing.
    pub fn settle(&self, admission: Admission, answer: Option<&Answer>) -> Vec<Notice> {
        let Admission { provider, admitted: Admitted { rate, budget }, .. } = admission;
        let usage = answer.and_then(|answer| answer.usage.as_ref());
        let blocks = answer.map_or(&[][..], |answer| answer.blocks.as_slice());
        let is_whole = answer.is_some_and(Answer::is_complete);
        let count = counted::total(usage, blocks, is_whole);
        let total = usage.and_then(Usage::total);
        let now = self.began.elapsed();
        let mut state = self.state();
        if let Some((_, limiter)) = state.limiters.get_mut(&provider) {
            match (answer, total) {
                (None, _) => limiter.give_back(rate, now),
                (Some(_), Some(total)) => limiter.settle(rate, total, now),
                // Without a reported total, the reservation is the best estimate.
                (Some(_), None) => drop(rate),
            }
        }
        state.source = state.source.min(count.source);
        let (on_exceed, source) = (self.rules.on_exceed, state.source);
        let events = state.budget.settle(&self.rules, budget, count.tokens);
        events.into_iter().map(|event| Notice::Budget { event, on_exceed, source }).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate")
            .field("rules", &self.rules)
            .field("used", &self.used())
            .finish_non_exhaustive()
    }
}

impl Notice {
    /// The message without the waiting time.
    #[must_use]
    pub fn cause(&self) -> String {
        match self {
            Notice::Budget { .. }
            | Notice::Runaway(_)
            | Notice::Tags { .. }
            | Notice::Media { .. } => self.to_string(),
            Notice::Waits(RateRefusal { unit, limit, .. }) => {
                format!("the limit of {limit} {} per minute is reached", unit.as_str())
            }
        }
    }
}

impl std::fmt::Display for Notice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Notice::Budget { event, on_exceed, source } => {
                let BudgetEvent { kind, used, max, percent } = event;
                write!(f, "{used} of the session's {max} reasoning tokens are spent ")?;
                write!(f, "({percent} %, {source})")?;
                f.write_str(match (kind, on_exceed) {
                    (BudgetEventKind::Warning, _) => "",
                    (BudgetEventKind::Exceeded, OnExceed::Warn) => "; nothing is held back",
                    (BudgetEventKind::Exceeded, OnExceed::LowerEffort) => {
                        "; from now on the model is asked for the least effort"
                    }
                    (BudgetEventKind::Exceeded, OnExceed::DisableReasoning) => {
                        "; from now on the model is asked not to think"
                    }
                    (BudgetEventKind::Exceeded, OnExceed::Block) => {
                        "; further requests are refused"
                    }
                })
            }
            Notice::Runaway(Circle { period, .. }) => write!(
                f,
                "the thought says the same {period} bytes again and again; `[chat] runaway = \"cut\"` stops such ones"
            ),
            Notice::Tags { model, family } => write!(
                f,
                "the answer looks as if `{model}` thinks between tags in its text; if so, set `tags = \"{family}\"` in its entry of `[models]`, and they become thoughts"
            ),
            Notice::Media { model } => write!(
                f,
                "a file of the question stays out, because the API of `{model}` has no place for its kind; ask another model, or convert the file"
            ),
            Notice::Waits(refusal) => {
                let seconds = refusal.retry_after.as_secs_f64();
                write!(f, "{}; going on in {seconds:.1} s", self.cause())
            }
        }
    }
}

#[cfg(test)]
mod tests;
